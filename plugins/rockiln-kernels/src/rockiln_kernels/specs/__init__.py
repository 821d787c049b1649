"""One module a base op → SPECS, the OpSpecs of the op and what is derived from it (quantised outputs, backward)."""
