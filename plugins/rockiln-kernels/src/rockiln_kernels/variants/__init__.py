"""One module a base op → make_variants(arch): the kernels to compile and how a call becomes launches."""
