"""What is in an image, as a CycloneDX document. See docs/supply-chain.md."""
