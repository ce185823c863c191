"""Chefs' Random Tables: random features for the Gaussian and softmax kernels, in JAX."""

from importlib.metadata import version

from crt import formulas, kernels, parameters, projections, special, statistics
from crt.attention import FavorAttention
from crt.choice import Choice, choose
from crt.estimate import (
    apply_kernel,
    estimate_kernel,
    log_estimate_kernel,
    mean_over_features,
    read,
    read_scaled,
    summarise,
    unscale,
)
from crt.mechanisms import (
    GERF,
    MECHANISMS,
    OPRF,
    GeomRF,
    GeomRFPlus,
    Mechanism,
    OptPoisRF,
    PoisRF,
    PoisRFPlus,
    PosRF,
    TrigRF,
)
from crt.regression import classify, regress
from crt.sweep import Summary

__version__ = version("chefs-random-tables")

__all__ = [
    "GERF",
    "MECHANISMS",
    "OPRF",
    "Choice",
    "FavorAttention",
    "GeomRF",
    "GeomRFPlus",
    "Mechanism",
    "OptPoisRF",
    "PoisRF",
    "PoisRFPlus",
    "PosRF",
    "Summary",
    "TrigRF",
    "apply_kernel",
    "choose",
    "classify",
    "estimate_kernel",
    "formulas",
    "kernels",
    "log_estimate_kernel",
    "mean_over_features",
    "parameters",
    "projections",
    "read",
    "read_scaled",
    "regress",
    "special",
    "statistics",
    "summarise",
    "unscale",
]
