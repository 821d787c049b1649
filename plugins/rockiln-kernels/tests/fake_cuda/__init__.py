"""A libcuda for tests: calls of the launcher and of gpu/ are checked; a kernel is a function of the test."""
