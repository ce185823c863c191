"""Poisson sums behind the variance of orthogonal features, accurate where closed forms are not.

With K ~ Poisson(mean) and u_K the product of 1 - a_j over j < K, each function comes from the mean
of `sign^K (1 - u_K)`. The deficit has a_j = j/(d + 2j), mean z and sign +1, the trigonometric gap
a_j = 4j/(d + 2j), mean z/2 and sign -1. The terms are added upwards from K = 0 with weights known
up to a common factor, so nothing overflows, and the deficit is a sum of positive terms.

Every function is elementwise, keeps the dtype of its arguments, and works under `jit`, `vmap` and
`grad` in z and in d, also with `jax.numpy_dtype_promotion("strict")`. The domain is z >= 0, d > 0;
outside the result is NaN. An array costs as many steps as its most expensive entry, fewer than
min(z, 10 sqrt(d) + 300) + 10 sqrt(z) + 50.

Accuracy: each docstring bounds the error of the value f, with eps the spacing of floats at 1 (2^-23
or 2^-52). The errors of z f_z and d f_d lie within 8 eps (1 + |f|) for the logarithm, within
8 eps (|f| + |z f_z| + |d f_d|) for the deficit, and those of f_z and f_d within 8 eps for the gap.
Second derivatives exist in forward over reverse mode only, and lose digits as z or 1/z grows.
"""

import functools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from crt.arrays import promote

Numbers = Float[Array, "..."]

# Weights above this are scaled back by it; a power of two, so that scaling is exact.
_BIG = 2.0**60
# For d below the first and a mean above the second, the trigonometric gap has a short expansion.
_FAR_DIMENSION, _FAR_MEAN, _FAR_TERMS = 10, 100.0, 20


class _Sum(NamedTuple):
    """A sum high + low: `low` collects what rounding takes from `high`."""

    high: Numbers
    low: Numbers

    def add(self, term: Numbers) -> "_Sum":
        total = self.high + term
        moved = total - self.high
        lost = (self.high - (total - moved)) + (term - moved)
        return _Sum(total, self.low + lost)

    def times(self, power_of_two: Numbers) -> "_Sum":
        return _Sum(self.high * power_of_two, self.low * power_of_two)

    @property
    def value(self) -> Numbers:
        return self.high + self.low


class _Means(NamedTuple):
    """E sign^K (1 - u_K), E sign^K (u_K - u_{K+1}) and E sign^K du_K/dd."""

    gap: Numbers
    step: Numbers
    slope: Numbers


def _margin(like: Numbers) -> float:
    """Returns p such that e^-p is lost beside 1 in the dtype: 39 or 19."""
    return 3 - math.log(float(jnp.finfo(like.dtype).eps))


def _last(mean: Numbers) -> Numbers:
    """Returns k beyond which Poisson(mean) has a negligible share, also of its terms from K = 2.

    Bernstein: P(K >= mean + t) <= exp(-t^2/(2 mean + 2t/3)).
    """
    p = _margin(mean) + 18
    return mean + p / 3 + jnp.sqrt(p * p / 9 + 2 * p * mean) + 2


def _mean_beyond(n: Numbers) -> Numbers:
    """Returns a mean for which P(K < n) is negligible: P(K <= m - t) <= exp(-t^2/(2m))."""
    p = 2 * _margin(n)
    root = (math.sqrt(p) + jnp.sqrt(p + 4 * n)) / 2
    return root * root


@functools.partial(jax.jit, static_argnames=("scale", "sign"))
def _poisson_means(mean: Numbers, d: Numbers, scale: int, sign: int) -> _Means:
    """Returns the three means for a_j = scale j/(d + 2j) and K ~ Poisson(mean)."""
    zero, one = jnp.zeros_like(mean), jnp.ones_like(mean)

    def add_term(index: Array, carry: tuple) -> tuple:
        u, gap, step, slope, terms, sums = carry
        sums = [s.add(term) for s, term in zip(sums, terms, strict=True)]
        k = index.astype(mean.dtype)
        slope = slope - scale * k / (d + 2 * k) * slope + step / (d + 2 * k)
        u, gap, k = u.add(-step), gap.add(step), k + 1
        step = scale * k * u.value / (d + 2 * k)
        weight = terms[0] * (mean / k)
        back = jnp.where(weight > _BIG, 1 / _BIG, one)
        weight, sums = weight * back, [s.times(back) for s in sums]
        signed = jnp.where(index % 2 == 0, sign * weight, weight)
        terms = [weight, signed * gap.value, signed * step, signed * slope]
        return u, gap, step, slope, terms, sums

    empty = _Sum(zero, zero)
    # What is added to a compensated sum was computed one step before: a product that the compiler
    # fuses with the addition in one place and rounds in another would spoil the compensation.
    start = (_Sum(one, zero), empty, zero, zero, [one, zero, zero, zero], [empty] * 4)
    # A NaN must not decide how far the other entries go.
    stop = jnp.max(jnp.nan_to_num(_last(mean)), initial=0).astype(jnp.int32)
    *_, (total, *sums) = jax.lax.fori_loop(0, stop, add_term, start)
    return _Means(*(s.value / total.value for s in sums))


def _deficit_means(z: Numbers, d: Numbers) -> _Means:
    """Returns the means of the deficit; z is cut where the deficit is 1 and its slopes are 0.

    Since -log u_n >= sum_{j<n} j/(d + 2j) >= (n-1)^2/(2(d + 2n - 2)), u_n is negligible from
    n = 1 + 2p + sqrt(4p^2 + 2dp) on, and so is its mean once K < n is negligible.
    """
    p = _margin(z)
    cut = _mean_beyond(1 + 2 * p + jnp.sqrt(4 * p * p + 2 * p * d))
    near = _poisson_means(jnp.minimum(z, cut), d, scale=1, sign=1)
    beyond = z > cut
    step, slope = (jnp.where(beyond, 0.0, slope) for slope in (near.step, near.slope))
    return _Means(jnp.minimum(near.gap, 1.0), step, slope)


@jax.custom_jvp
def _deficit(z: Numbers, d: Numbers) -> Numbers:
    return _deficit_means(z, d).gap


@_deficit.defjvp
def _deficit_jvp(primals: tuple, tangents: tuple) -> tuple[Numbers, Numbers]:
    means = _deficit_means(*primals)
    return means.gap, means.step * tangents[0] - means.slope * tangents[1]


def orthogonal_deficit(z: Real[ArrayLike, "..."], d: Real[ArrayLike, "..."]) -> Float[Array, "..."]:
    """Returns 1 - e^-z 1F1(d; d/2; z/2) within 3 eps |f|: z^2/(2(d+2)) near 0, 1 far away."""
    return _deficit(*_arguments(z, d))


def _log_parts(z: Numbers, d: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Returns the logarithm of the deficit and its derivatives in z and d.

    Below the floor the deficit is proportional to z^2, and z^2 itself would underflow.
    """
    floor = float(jnp.finfo(z.dtype).eps) / 64
    means = _deficit_means(jnp.maximum(z, floor), d)
    below, pole = z < floor, z == 0
    share = jnp.where(below, z / floor, 1.0)
    in_z = jnp.where(below, 2 / jnp.where(below & ~pole, z, floor), means.step / means.gap)
    value = jnp.log(means.gap) + 2 * jnp.log(share)
    return value, jnp.where(pole, 0.0, in_z), -means.slope / means.gap


@jax.custom_jvp
def _log_deficit(z: Numbers, d: Numbers) -> Numbers:
    return _log_parts(z, d)[0]


@_log_deficit.defjvp
def _log_deficit_jvp(primals: tuple, tangents: tuple) -> tuple[Numbers, Numbers]:
    value, in_z, in_d = _log_parts(*primals)
    return value, in_z * tangents[0] + in_d * tangents[1]


def log_orthogonal_deficit(
    z: Real[ArrayLike, "..."], d: Real[ArrayLike, "..."]
) -> Float[Array, "..."]:
    """Returns the logarithm of `orthogonal_deficit` within 3 eps (1 + |f|).

    It is -inf at z = 0, where its derivative in z is defined as 0.
    """
    return _log_deficit(*_arguments(z, d))


@jax.jit
def _trig_far(z: Numbers, d: Numbers) -> Numbers:
    """Returns -1F1(d; d/2; -x) for large x = z/2: -Gamma(d/2)/Gamma(-d/2) x^-d (1 + ...)."""
    x, half = z / 2, d / 2

    def nest(index: Array, total: Numbers) -> Numbers:
        k = (_FAR_TERMS - index).astype(z.dtype)
        return 1 + (d + k - 1) / x * ((half + k) / k) * total

    total = jax.lax.fori_loop(0, _FAR_TERMS, nest, jnp.ones_like(x))
    # By reflection, -Gamma(h)/Gamma(-h) = h Gamma(h)^2 sin(pi h)/pi.
    lead = jnp.exp(2 * jax.lax.lgamma(half) - d * jnp.log(x))
    return half / math.pi * jnp.sin(math.pi * half) * lead * total


def _trig_cut(z: Numbers, d: Numbers) -> tuple[Numbers, Array, tuple[Numbers, Numbers]]:
    """Returns the mean to sum with, where z is beyond it, and arguments for the expansion there.

    From n = 3.4p + sqrt(pd) on, u_n is negligible if d >= 10; for less it only becomes small.
    """
    p = _margin(z)
    small = d < _FAR_DIMENSION
    cut = jnp.where(small, _FAR_MEAN, _mean_beyond(3.4 * p + jnp.sqrt(p * d)))
    mean, beyond = jnp.minimum(z / 2, cut), z / 2 > cut
    far = small & beyond
    # At the largest float the expansion and its derivatives are 0.
    limit = float(jnp.finfo(z.dtype).max)
    return mean, beyond, (jnp.minimum(jnp.where(far, z, limit), limit), jnp.where(far, d, 2.0))


@jax.custom_jvp
def _trig(z: Numbers, d: Numbers) -> Numbers:
    mean, beyond, far = _trig_cut(z, d)
    return jnp.where(beyond, _trig_far(*far), _poisson_means(mean, d, scale=4, sign=-1).gap)


@_trig.defjvp
def _trig_jvp(primals: tuple, tangents: tuple) -> tuple[Numbers, Numbers]:
    z, d = primals
    mean, beyond, far = _trig_cut(z, d)
    near = _poisson_means(mean, d, scale=4, sign=-1)
    one, zero = jnp.ones_like(z), jnp.zeros_like(z)
    value, far_z = jax.jvp(_trig_far, far, (one, zero))
    _, far_d = jax.jvp(_trig_far, far, (zero, one))
    in_z = jnp.where(beyond, far_z, -near.gap - near.step / 2)
    in_d = jnp.where(beyond, far_d, -near.slope)
    return jnp.where(beyond, value, near.gap), in_z * tangents[0] + in_d * tangents[1]


def orthogonal_trig(z: Real[ArrayLike, "..."], d: Real[ArrayLike, "..."]) -> Float[Array, "..."]:
    """Returns e^-z - 1F1(d; d/2; -z/2) within 2 eps, absolutely; about z^2/(2(d+2)) near 0."""
    return _trig(*_arguments(z, d))


def _arguments(z: Real[ArrayLike, "..."], d: Real[ArrayLike, "..."]) -> tuple[Numbers, Numbers]:
    """Returns z and d as arrays of one floating dtype and shape, NaN outside the domain."""
    z, d = jnp.broadcast_arrays(*promote(z, d))
    # Added, not selected, so that derivatives become NaN too.
    return z + jnp.where((z >= 0) & (d > 0), 0.0, jnp.nan), d
