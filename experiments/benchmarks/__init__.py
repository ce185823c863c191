"""Benchmarks against other libraries, in one run and on the same data."""
