"""One kind of file a module: its text → hits of rules."""
