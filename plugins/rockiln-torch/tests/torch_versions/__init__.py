"""Environments of older torch releases, for tests on a CPU."""
