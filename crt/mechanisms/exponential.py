"""Generalised exponential features (GERF) and their positive members, PosRF and OPRF.

    f1(ω, x) = D·exp(A‖ω‖² + B·ω·x + C‖x‖²),    f2(ω, y) = D·exp(A‖ω‖² + s·B·ω·y + C‖y‖²),

ω ~ N(0, I), with B, C, D from A and s by thm-gerf. For the softmax kernel C is C + ½.
"""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.typing import ArrayLike
from jaxtyping import Num, Real

from crt import errors, formulas, parameters, projections
from crt.arrays import promote
from crt.mechanisms.base import Mechanism, norms, squared_norm
from crt.pytrees import pytree
from crt.statistics import Statistics


def project(x: Array, omega: Array) -> Array:
    """ω·x for all rows and projections, (…, L, M), in the full precision of the dtype."""
    return jnp.einsum("...ld,md->...lm", x, omega, precision=lax.Precision.HIGHEST)


def row_norms(x: Array, c: float | Array) -> Array:
    """c·‖x‖² for every row, (…, L, 1)."""
    return c * jnp.sum(x**2, axis=-1, keepdims=True)


def positive_log_gain(x: Array, y: Array) -> tuple[Array, Array]:
    """log G, and the sign 1, of G = e^{-2n}(e^z - 1F1(d; d/2; z/2)) of s = +1, any A."""
    log_gain = formulas.log_orthogonal_gain(squared_norm(x, y, 1), norms(x, y), x.shape[-1])
    return log_gain, jnp.ones_like(log_gain)


def trigonometric_log_gain(x: Array, y: Array) -> tuple[Array, Array]:
    """log|G| and the sign of G = e^{-z} - 1F1(d; d/2; -z/2) of s = -1, any A."""
    gain = formulas.orthogonal_gain_trig(squared_norm(x, y, -1), x.shape[-1])
    none = gain == 0
    return jnp.where(none, -jnp.inf, jnp.log(jnp.where(none, 1, jnp.abs(gain)))), jnp.sign(gain)


class Exponential(Mechanism):
    """Mechanisms with Gaussian projections."""

    def draw(self, key: Array, num_features: int, dim: int, orthogonal: bool, dtype) -> Array:
        draw = projections.orthogonal if orthogonal else projections.iid
        return draw(key, num_features, dim, dtype)


@pytree
class PosRF(Exponential):
    """Positive features of FAVOR+: exp(ω·x - ‖x‖²), the GERF with A = 0, s = +1."""

    name: ClassVar[str] = "pos"

    @classmethod
    def from_statistics(cls, statistics: Statistics) -> "PosRF":
        """No parameter to fit."""
        return cls()

    def log_values(
        self, x: Array, omega: Array, side: str, kernel: str
    ) -> tuple[Array, Array | None]:
        return project(x, omega) + row_norms(x, -0.5 if kernel == "softmax" else -1.0), None

    def gaussian_log_second_moment(self, x: Array, y: Array) -> Array:
        return formulas.log_second_moment_pos(squared_norm(x, y, 1), norms(x, y))

    def gaussian_log_variance(self, x: Array, y: Array) -> Array:
        return formulas.log_variance_pos(squared_norm(x, y, 1), norms(x, y))

    def gaussian_log_gain(self, x: Array, y: Array) -> tuple[Array, Array]:
        return positive_log_gain(x, y)


@pytree
class OPRF(Exponential):
    """Optimal positive features of FAVOR++: A = (1-1/ρ)/8 ≤ 0, s = +1 (thm-minvar).

    Bounded for ρ < 1, and of the least variance among GERFs with s = +1 at ρ = ρ*; ρ = 1 is PosRF.
    """

    rho: Real[ArrayLike, "*b"]
    name: ClassVar[str] = "oprf"

    def __post_init__(self) -> None:
        errors.parameter("rho", self.rho, "in (0, 1]", lambda rho: (rho > 0) & (rho <= 1))

    @classmethod
    def from_statistics(cls, statistics: Statistics) -> "OPRF":
        """ρ* at the mean of ‖x_i + y_j‖² over all pairs."""
        return cls(parameters.rho(statistics))

    def log_values(
        self, x: Array, omega: Array, side: str, kernel: str
    ) -> tuple[Array, Array | None]:
        x, omega, rho = promote(x, omega, self.rho)
        weight = formulas.a_of_rho(rho) * jnp.sum(omega**2, axis=-1)
        weight += formulas.log_d_of_rho(rho, omega.shape[-1])
        own = row_norms(x, -0.5 if kernel == "softmax" else -1.0)
        return formulas.b_of_rho(rho) * project(x, omega) + weight + own, None

    def gaussian_log_second_moment(self, x: Array, y: Array) -> Array:
        z, n = squared_norm(x, y, 1), norms(x, y)
        return formulas.log_second_moment_oprf(self.rho, x.shape[-1], z, n)

    def gaussian_log_variance(self, x: Array, y: Array) -> Array:
        z, n = squared_norm(x, y, 1), norms(x, y)
        return formulas.log_variance_oprf(self.rho, x.shape[-1], z, n)

    def gaussian_log_gain(self, x: Array, y: Array) -> tuple[Array, Array]:
        return positive_log_gain(x, y)


@pytree
class GERF(Exponential):
    """Generalised exponential features with any A, Re(1-8A) > 0, real or complex, and s = ±1.

    Features are complex; the estimate is the real part. `fit` takes the optimum over all complex A
    and both signs, which is real (gerf-optimum).
    """

    A: Num[ArrayLike, "*b"]
    s: Real[ArrayLike, "*b"]
    name: ClassVar[str] = "gerf"
    complex_features: ClassVar[bool] = True

    def __post_init__(self) -> None:
        errors.parameter(
            "A",
            self.A,
            "finite with Re(1-8A) > 0, where the variance is finite",
            lambda a: np.isfinite(a) & (1 - 8 * np.real(a) > 0),
            kinds=(jnp.number,),
        )
        errors.parameter("s", self.s, "+1 or -1", lambda s: (s == 1) | (s == -1))

    @classmethod
    def from_statistics(cls, statistics: Statistics) -> "GERF":
        """The better of OPRF's closed form (s = +1) and the root in one dimension (s = -1)."""
        return cls(*parameters.gerf(statistics))

    def log_values(
        self, x: Array, omega: Array, side: str, kernel: str
    ) -> tuple[Array, Array | None]:
        x, omega, re_a, im_a, s = promote(x, omega, jnp.real(self.A), jnp.imag(self.A), self.s)
        a = lax.complex(re_a, im_a)
        b = formulas.gerf_b(a, s) * lax.complex(s if side == "y" else jnp.ones_like(s), 0 * s)
        log_d = formulas.log_gerf_d(a, omega.shape[-1])
        squares, products = jnp.sum(omega**2, axis=-1), project(x, omega)
        own = formulas.gerf_c(s) + (0.5 if kernel == "softmax" else 0.0)
        log_abs = jnp.real(b) * products + (re_a * squares + jnp.real(log_d)) + row_norms(x, own)
        angle = jnp.imag(b) * products + (im_a * squares + jnp.imag(log_d))
        return log_abs, lax.complex(jnp.cos(angle), jnp.sin(angle))

    def gaussian_log_second_moment(self, x: Array, y: Array) -> Array:
        return self._moment(formulas.log_second_moment_gerf, x, y)

    def gaussian_log_variance(self, x: Array, y: Array) -> Array:
        return self._moment(formulas.log_variance_gerf, x, y)

    def _moment(self, formula, x: Array, y: Array) -> Array:
        x, y, s = promote(x, y, self.s)
        return formula(self.A, s, x.shape[-1], squared_norm(x, y, s), norms(x, y))

    def gaussian_log_gain(self, x: Array, y: Array) -> tuple[Array, Array]:
        (s,) = promote(self.s)
        both = zip(positive_log_gain(x, y), trigonometric_log_gain(x, y), strict=True)
        log_gain, sign = (jnp.where(s > 0, plus, minus) for plus, minus in both)
        return log_gain, sign
