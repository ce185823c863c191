"""Faults of the gain of orthogonality, the tail bounds and the sufficient numbers of draws."""

from typing import Any

import jax.numpy as jnp

from crt import formulas, projections
from verification.faults.fault import Fault, scaled


def no_d(original: Any) -> Any:
    return lambda rho, d, z, n: original(rho, d, z, n) - d / 2 * jnp.log((1 + 1 / rho) / 2)


GAINS = (
    Fault(
        "gain-off",
        "log G off by 1e-9",
        formulas,
        "log_orthogonal_gain",
        lambda f: lambda *args: f(*args) + 1e-9,
    ),
    Fault(
        "trig-gain-off",
        "TrigRF's gain off by 0.1 %",
        formulas,
        "orthogonal_gain_trig",
        scaled(1.001),
    ),
    Fault(
        "independent-directions",
        "independent rows in place of orthogonal ones",
        projections,
        "orthogonal",
        lambda _: projections.iid,
    ),
)

BOUNDS = (
    Fault(
        "no-d-in-s",
        "D² dropped from the supremum S, as printed",
        formulas,
        "log_supremum_oprf",
        no_d,
    ),
    Fault(
        "s-off",
        "log S too small by 1e-9",
        formulas,
        "log_supremum_oprf",
        lambda f: lambda *args: f(*args) - 1e-9,
    ),
    Fault(
        "lower-bound-fourth-power",
        "Bernstein's lower bound to the fourth power",
        formulas,
        "log_bernstein_lower",
        scaled(4.0),
    ),
    Fault(
        "cantelli-sixth-power",
        "Cantelli's bound to the sixth power",
        formulas,
        "log_cantelli",
        scaled(6.0),
    ),
    Fault(
        "hundredth-of-m",
        "a hundredth of the M that suffices on a ball",
        formulas,
        "features_for_uniform",
        scaled(0.01),
    ),
    Fault(
        "fiftieth-of-m",
        "a fiftieth of the M that suffices for given pairs",
        formulas,
        "features_for_pairs",
        scaled(0.02),
    ),
)
