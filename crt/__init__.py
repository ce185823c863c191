"""Chefs' Random Tables: random features for the Gaussian and softmax kernels, in JAX."""

from importlib.metadata import version

from crt import formulas, kernels, parameters, projections, special, statistics
from crt.estimate import (
    Summary,
    apply_kernel,
    classify,
    estimate_kernel,
    log_estimate_kernel,
    read,
    regress,
    summarise,
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

__version__ = version("chefs-random-tables")

__all__ = [
    "GERF",
    "MECHANISMS",
    "OPRF",
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
    "classify",
    "estimate_kernel",
    "formulas",
    "kernels",
    "log_estimate_kernel",
    "parameters",
    "projections",
    "read",
    "regress",
    "special",
    "statistics",
    "summarise",
]
