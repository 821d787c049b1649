"""One TOML file a base op: the op x arch x dtype cells a pack must hold, and the gaps with their reasons."""
