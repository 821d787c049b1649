"""A Report → text for people, JSON, SARIF 2.1.0, or a summary to paste into an issue."""
