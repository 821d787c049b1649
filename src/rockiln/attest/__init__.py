"""Statements about an image (SLSA provenance, its SBOM), signed and attached to it. See docs/supply-chain.md."""
