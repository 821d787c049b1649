"""Keys, and signatures over images as cosign stores them. See docs/supply-chain.md."""
