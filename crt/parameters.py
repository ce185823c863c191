"""Optimal parameters of every mechanism, from statistics of the data alone.

Each function works under `jit` and `vmap` (over heads, say) and passes gradients. ρ*, A* (s = +1),
λ* and the λ_l minimise the mean log second moment over all pairs exactly; for p and for s = -1 the
averages are put in the place of a pair's own values, as the paper does.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Float

from crt import formulas, special
from crt.statistics import Statistics

LEAST_RATE = 1e-30
SMALLEST_SHARE = 1e-6


def _root(
    slope: Callable[[Array], Array], low: Array, high: Array, steps: int = 64
) -> Float[Array, ""]:
    """The zero of an increasing function in [low, high], by Newton steps kept inside the bracket.

    A step that leaves the bracket is replaced by its middle. The last step is taken once more
    outside the loop, with the position held fixed, which gives the implicit derivative.
    """

    def step(_: Array, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        low, at, high = state
        value, change = jax.jvp(slope, (at,), (jnp.ones_like(at),))
        low, high = jnp.where(value < 0, at, low), jnp.where(value < 0, high, at)
        newton = at - value / change
        inside = (newton > low) & (newton < high)
        return low, jnp.where(inside, newton, 0.5 * (low + high)), high

    _, at, _ = lax.fori_loop(0, steps, step, (low, 0.5 * (low + high), high))
    at = lax.stop_gradient(at)
    value, change = jax.jvp(slope, (at,), (jnp.ones_like(at),))
    correction = value / lax.stop_gradient(change)
    # Zero up to rounding: only its derivative is wanted.
    return at - (correction - lax.stop_gradient(correction))


def rho(statistics: Statistics, scale: Array | float = 1.0) -> Float[Array, ""]:
    """ρ* of OPRF (thm-minvar), at least the smallest normal number, where its squares overflow.

    The mean of ‖x+y‖² counts `scale` times: points multiplied by the root of the scale.
    """
    best = formulas.rho_star(scale * statistics.squared_norm(1.0), statistics.dim)
    return jnp.maximum(best, jnp.finfo(best.dtype).tiny)


def gerf_minus(z: Float[Array, ""], d: int) -> Float[Array, ""]:
    """Optimal A of a GERF with s = -1 (gerf-optimum-minus): A = (1-1/t)/8, t the root in [1, 1+√2].

    z = ‖x-y‖² or its mean over pairs. The optimum over all complex A lies there.
    """
    low = jnp.ones_like(z)
    t = _root(lambda t: formulas.gerf_stationarity(t, z, d), low, (1 + 2**0.5) * low)
    return formulas.a_of_rho(t)


def gerf(statistics: Statistics) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """A and s of a GERF: the better of both signs' optima, A real (gerf-optimum).

    For s = +1 the optimum is OPRF's closed form, for s = -1 a root in one dimension; the sign with
    the smaller log second moment at the mean statistics is taken.
    """
    d, n = statistics.dim, statistics.norms()
    sum_z, difference_z = statistics.squared_norm(1.0), statistics.squared_norm(-1.0)
    plus, minus = formulas.a_star(sum_z, d), gerf_minus(difference_z, d)
    by_plus = formulas.log_second_moment_gerf(plus, 1.0, d, sum_z, n)
    by_minus = formulas.log_second_moment_gerf(minus, -1.0, d, difference_z, n)
    better = by_plus <= by_minus
    one = jnp.ones_like(plus)
    return jnp.where(better, plus, minus), jnp.where(better, one, -one)


def rate(statistics: Statistics) -> Float[Array, ""]:
    """λ* of PoisRF (thm-pois), at least 1e-30: with Σ x_l²y_l² = 0 there is no optimum above 0."""
    return jnp.maximum(formulas.lambda_star(statistics.poisson(), statistics.dim), LEAST_RATE)


def rates(statistics: Statistics) -> Float[Array, " d"]:
    """λ_l of OptPoisRF (opt-dirf), at least 1e-6 of the largest: new data may lie off the axes."""
    best = formulas.rates_star(statistics.x.square, statistics.y.square)
    return jnp.maximum(jnp.maximum(best, SMALLEST_SHARE * jnp.max(best)), LEAST_RATE)


def chance(r: Float[Array, " d"]) -> Float[Array, ""]:
    """Optimal p of GeomRF (geom-optimum), r_l = |x_l y_l| or its mean over pairs.

    Newton in w = log(q²-1), where p = 1/(1+e^{-w}). From I1/I0(t) ≤ min(1, t/2) and
    I1/I0(t) ≥ t/(2+t) the root of φ'(q) lies in the bracket used here.
    """
    d, eps = r.shape[-1], jnp.finfo(r.dtype).eps
    r = jnp.maximum(r, jnp.finfo(r.dtype).tiny ** 0.25)
    largest = jnp.max(r)
    above = jnp.maximum((2 * d) ** 0.5 / largest, (2 * d / largest) ** (2 / 3))
    ratio = d / jnp.sum(r**2)
    below = 2 * ratio / (1 + jnp.sqrt(1 + 4 * ratio))  # q²-1 where q²(q²-1) = d/Σr²

    def slope(w: Array) -> Array:
        q = jnp.sqrt(1 + jnp.exp(w))
        return formulas.geom_stationarity(q, r)

    # Below 2 eps, q rounds to 1, where the slope is infinite.
    low = jnp.log(jnp.maximum(jnp.minimum(below, above), 2 * eps))
    high = jnp.maximum(jnp.log(above), low)
    p = special.expit(_root(slope, low, high))
    return jnp.clip(p, eps, 1 - eps)
