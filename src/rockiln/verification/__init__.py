"""Is an image what was signed? Signature, statements and every byte, without a network. See docs/supply-chain.md."""
