"""One module a base op → make_cases(spec, cell): the inputs its kernels are run on."""
