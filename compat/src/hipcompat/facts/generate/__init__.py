"""Published packages, named by version and hash → facts.tsv; run as `python -m hipcompat.facts.generate`."""
