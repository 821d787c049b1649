"""A finished image → a registry: pushed by digest, smoked by digest, only then named by tags. See docs/publish.md."""
