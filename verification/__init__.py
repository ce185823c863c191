"""Checks of the shipped code against the statements, with stated error rates and power."""
