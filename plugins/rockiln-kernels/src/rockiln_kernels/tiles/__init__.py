"""One TOML file a base op: block sizes, warps and stages per arch, as data."""
