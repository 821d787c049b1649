"""Under which licence each package of an image is, and which may not be passed on. See docs/supply-chain.md."""
