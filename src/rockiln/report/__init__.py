"""Values that builds left → one HTML page to look at. See docs/report.md."""
