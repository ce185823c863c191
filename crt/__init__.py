"""Chefs' Random Tables: random features for the Gaussian and softmax kernels, in JAX."""

from importlib.metadata import version

from crt import formulas, special

__version__ = version("chefs-random-tables")

__all__ = ["formulas", "special"]
