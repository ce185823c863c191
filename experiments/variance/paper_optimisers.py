"""The paper's own optimisers, for comparison with `crt.parameters`.

The paper minimises the log second moment at the mean statistics numerically: A of GERF over the
complex plane by two runs of L-BFGS-B with 50 iterations, one per sign s, and p of GeomRF by Brent's
method with 100 iterations. It names no starting point: here A = 0, TrigRF and PosRF. Both work in
float64.
"""

from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy import optimize

from crt import formulas
from crt.statistics import Statistics

ITERATIONS_A, ITERATIONS_P = 50, 100
# Re(1-8A) > 0 is open: the runs stay this far inside.
MARGIN = 1e-6


class Minimum(NamedTuple):
    """Where the smallest value was found: A (complex) and s, or p, and the log second moment."""

    at: complex
    value: float
    s: float = 0.0


@cache
def _gerf_objective() -> Callable:
    def objective(parts, s, d, z, n):
        return formulas.log_second_moment_gerf(jax.lax.complex(parts[0], parts[1]), s, d, z, n)

    return jax.jit(jax.value_and_grad(objective))


@cache
def _geom_objective() -> Callable:
    return jax.jit(lambda p, root: formulas.log_second_moment_geom(root, root, p))


def _run(s: float, start: complex, iterations: int, *moments: np.float64) -> Minimum:
    def objective(parts: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = _gerf_objective()(jnp.asarray(parts), s, *moments)
        return float(value), np.asarray(slope)

    found = optimize.minimize(
        objective,
        np.array([start.real, start.imag]),
        method="L-BFGS-B",
        jac=True,
        bounds=[(None, 0.125 - MARGIN), (None, None)],
        options={"maxiter": iterations},
    )
    return Minimum(complex(*found.x), float(found.fun), s)


def gerf(
    statistics: Statistics, starts: Iterable[complex] = (0j,), iterations: int = ITERATIONS_A
) -> Minimum:
    """The best A and s that L-BFGS-B finds: one run per sign and starting point."""
    starts = tuple(starts)
    with jax.enable_x64(True):
        d, n = np.float64(statistics.dim), np.float64(statistics.norms())
        runs = [
            _run(s, start, iterations, d, np.float64(statistics.squared_norm(s)), n)
            for s in (-1.0, 1.0)
            for start in starts
        ]
    return min(runs, key=lambda run: run.value)


def chance(statistics: Statistics, iterations: int = ITERATIONS_P) -> Minimum:
    """The p that Brent's method finds in (0, 1)."""
    with jax.enable_x64(True):
        root = np.sqrt(np.asarray(statistics.geometric(), float))
        found = optimize.minimize_scalar(
            lambda p: float(_geom_objective()(p, root)),
            bounds=(0.0, 1.0),
            method="bounded",
            options={"maxiter": iterations, "xatol": 1e-12},
        )
    return Minimum(float(found.x), float(found.fun))
