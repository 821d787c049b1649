"""Sources → exact artifacts: apt and uv resolve, in private directories; no resolver of our own."""
