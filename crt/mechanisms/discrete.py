"""Discretely-induced features (eq-dirf): products over coordinates of powers,

    f(ω, x) = e^{-‖x‖²/2} Π_l x_l^{ω_l} (ω_l!)^{-1/2} p(ω_l)^{-1/2},    ω_l ∈ {0, 1, 2, …}.

For the softmax kernel the factor e^{-‖x‖²/2} is absent. All features of L points are one matrix
product of logarithms and one of parities: O(LMd), no (L, M, d) array.
Gradients in x are those of the logarithms, right where no coordinate is 0.
"""

from abc import abstractmethod
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.special import gammaln
from jax.typing import ArrayLike
from jaxtyping import Float, Real

from crt import errors, formulas, parameters
from crt.arrays import promote
from crt.mechanisms.base import Mechanism
from crt.mechanisms.exponential import project, row_norms
from crt.pytrees import pytree
from crt.statistics import Statistics

# Far below ω·log|x| of any data, and far above the least float32 even after a sum over d.
LOG_ZERO = -1e30
# log k! for k = 0, 1, …, 63.
LOG_FACTORIALS = np.cumsum(np.log(np.maximum(np.arange(64.0), 1)))


def check_rates(name: str, value: object) -> None:
    """Refuses a rate that is not positive and finite."""
    errors.parameter(name, value, "positive and finite", lambda rate: (rate > 0) & (rate < np.inf))


def check_chance(value: object) -> None:
    """Refuses a probability that does not lie strictly between 0 and 1."""
    errors.parameter("p", value, "strictly between 0 and 1", lambda p: (p > 0) & (p < 1))


def poisson(key: Array, rates: Array, num_features: int, dim: int, dtype) -> Array:
    """Counts ω (M, d), ω_l ~ Poisson(λ_l).

    float32 holds whole numbers up to 2²⁴ exactly. With rates near or above it the counts are
    rounded to even ones, and the signs of odd powers are lost: draw with dtype float64 there.
    """
    counts = jax.random.poisson(key, rates, (num_features, dim))
    return counts.astype(dtype or jnp.result_type(float))


def geometric(key: Array, p: Array, num_features: int, dim: int, dtype) -> Array:
    """Counts ω (M, d) with P(ω_l = k) = p(1-p)^k, k = 0, 1, …: ⌊E/-log(1-p)⌋, E exponential."""
    dtype = dtype or jnp.result_type(float)
    waiting = jax.random.exponential(key, (num_features, dim), dtype)
    return jnp.floor(waiting / -jnp.log1p(-jnp.asarray(p, dtype)))


def log_powers(x: Array, omega: Array, log_unit: Array) -> Float[Array, "*batch l m"]:
    """Σ_l ω_l (log x_l - ½ log_unit_l) for positive x."""
    return project(jnp.log(x) - 0.5 * log_unit, omega)


def log_signed_powers(
    x: Array, omega: Array, log_unit: Array
) -> tuple[Float[Array, "*batch l m"], Float[Array, "*batch l m"]]:
    """log of Π_l |x_l|^{ω_l} unit_l^{-ω_l/2} and its sign; -∞ and 1 where it vanishes.

    The logarithm of 0 is a finite number far below all others, so 0·ω is 0 where ω = 0 (0⁰ = 1),
    and one matrix product shows where a factor vanishes.
    """
    zero = x == 0
    logs = jnp.log(jnp.where(zero, 1, jnp.abs(x))) - 0.5 * log_unit
    sums = project(jnp.where(zero, LOG_ZERO, logs), omega)
    flips = project((x < 0).astype(x.dtype), (omega % 2).astype(x.dtype))
    return jnp.where(sums > 0.5 * LOG_ZERO, sums, -jnp.inf), 1 - 2 * (flips % 2)


def poisson_constant(rates: Array, omega: Array) -> Array:
    """Σ_l λ_l/2: in (ω_l! p(ω_l))^{-1/2} = e^{λ_l/2} λ_l^{-ω_l/2} the factorials cancel."""
    return 0.5 * jnp.sum(jnp.broadcast_to(rates, omega.shape[-1:]))


def log_factorial(omega: Array) -> Array:
    """log ω!, from a table for small counts: float32's gammaln(1) is not 0, and d errors add."""
    small = jnp.minimum(omega, len(LOG_FACTORIALS) - 1).astype(jnp.int32)
    known = jnp.asarray(LOG_FACTORIALS, omega.dtype)[small]
    return jnp.where(omega < len(LOG_FACTORIALS), known, gammaln(omega + 1))


def geometric_constant(p: Array, omega: Array) -> Array:
    """Per feature, -½ Σ_l log ω_l! - (d/2) log p."""
    return -0.5 * (jnp.sum(log_factorial(omega), axis=-1) + omega.shape[-1] * jnp.log(p))


class Discrete(Mechanism):
    """Mechanisms whose projections are vectors of counts."""

    discrete: ClassVar[bool] = True
    signed_features: ClassVar[bool] = True

    @abstractmethod
    def parameter(self) -> ArrayLike:
        """The one parameter of the law."""

    @abstractmethod
    def constants(self, omega: Array) -> tuple[Array, Array]:
        """log unit (per coordinate) and the logarithm of what is common to all x."""

    def log_values(
        self, x: Array, omega: Array, side: str, kernel: str
    ) -> tuple[Array, Array | None]:
        x, omega = promote(x, omega, self.parameter())[:2]
        log_unit, constant = self.constants(omega)
        logs, signs = log_signed_powers(x, omega, log_unit)
        return logs + (constant + row_norms(x, 0.0 if kernel == "softmax" else -0.5)), signs


class Poisson(Discrete):
    """Poisson laws, one rate or one per coordinate."""

    def draw(self, key: Array, num_features: int, dim: int, orthogonal: bool, dtype) -> Array:
        return poisson(key, jnp.asarray(self.parameter()), num_features, dim, dtype)

    def constants(self, omega: Array) -> tuple[Array, Array]:
        rates = jnp.asarray(self.parameter(), omega.dtype)
        return jnp.log(rates), poisson_constant(rates, omega)


class Geometric(Discrete):
    """Geometric laws from 0."""

    def draw(self, key: Array, num_features: int, dim: int, orthogonal: bool, dtype) -> Array:
        return geometric(key, jnp.asarray(self.parameter()), num_features, dim, dtype)

    def constants(self, omega: Array) -> tuple[Array, Array]:
        p = jnp.asarray(self.parameter(), omega.dtype)
        return jnp.log1p(-p), geometric_constant(p, omega)


@pytree
class PoisRF(Poisson):
    """Poisson features with one rate λ (thm-pois)."""

    rate: Real[ArrayLike, "*b"]
    name: ClassVar[str] = "pois"

    def __post_init__(self) -> None:
        check_rates("rate", self.rate)

    @classmethod
    def from_statistics(cls, statistics: Statistics) -> "PoisRF":
        """λ* at the mean of Σ x_l²y_l² over all pairs."""
        return cls(parameters.rate(statistics))

    def parameter(self) -> ArrayLike:
        return self.rate

    def gaussian_log_second_moment(self, x: Array, y: Array) -> Array:
        return formulas.log_second_moment_pois(x, y, self.rate)

    def gaussian_log_variance(self, x: Array, y: Array) -> Array:
        return formulas.log_variance_pois(x, y, self.rate)


@pytree
class OptPoisRF(Poisson):
    """Poisson features with a rate λ_l per coordinate: the optimal discrete law (opt-dirf)."""

    rates: Real[ArrayLike, "*b d"]
    name: ClassVar[str] = "optpois"
    vectors: ClassVar[tuple[str, ...]] = ("rates",)

    def __post_init__(self) -> None:
        check_rates("rates", self.rates)

    @classmethod
    def from_statistics(cls, statistics: Statistics) -> "OptPoisRF":
        """λ_l = (mean x_l² · mean y_l²)^{1/2}."""
        return cls(parameters.rates(statistics))

    def parameter(self) -> ArrayLike:
        return self.rates

    def gaussian_log_second_moment(self, x: Array, y: Array) -> Array:
        return formulas.log_second_moment_optpois(x, y, self.rates)

    def gaussian_log_variance(self, x: Array, y: Array) -> Array:
        return formulas.log_variance_optpois(x, y, self.rates)


@pytree
class GeomRF(Geometric):
    """Geometric features with parameter p (thm-geom)."""

    p: Real[ArrayLike, "*b"]
    name: ClassVar[str] = "geom"

    def __post_init__(self) -> None:
        check_chance(self.p)

    @classmethod
    def from_statistics(cls, statistics: Statistics) -> "GeomRF":
        """The minimum of the convex problem in q = (1-p)^{-1/2} at the means of |x_l y_l|."""
        return cls(parameters.chance(statistics.geometric()))

    def parameter(self) -> ArrayLike:
        return self.p

    def gaussian_log_second_moment(self, x: Array, y: Array) -> Array:
        return formulas.log_second_moment_geom(x, y, self.p)

    def gaussian_log_variance(self, x: Array, y: Array) -> Array:
        return formulas.log_variance_geom(x, y, self.p)
