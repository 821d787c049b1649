"""What a scanner found in an image, what a person has said of it, and whether the image may go out. docs/cve.md."""
