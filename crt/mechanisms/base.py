"""What every mechanism offers; a family supplies its features and the moments of one product."""

from abc import ABC, abstractmethod
from typing import ClassVar, TypeVar

import jax.numpy as jnp
from jax import Array, lax
from jax.typing import ArrayLike, DTypeLike
from jaxtyping import Bool, Float, Inexact, Num, PRNGKeyArray, Real, Shaped

from crt import errors
from crt.arrays import promote
from crt.formulas import orthogonal_weight
from crt.kernels import KERNELS
from crt.statistics import Statistics, collect

SIDES = ("x", "y")

Kind = TypeVar("Kind", bound="Mechanism")


class Mechanism(ABC):
    """Random features f1(ω, x), f2(ω, y) whose product has mean K(x, y), Gaussian or softmax.

    Subclasses are pytrees of their parameters, numbers except for `vectors`, which have one entry
    per coordinate; a batch of mechanisms (parameters with leading axes) is used under `vmap`.
    Features are positive, `signed_features` or `complex_features`. Value checks (NaN, ranges) are
    made on concrete input; under `jit` only shapes, dtypes and names are checked.
    """

    name: ClassVar[str]
    discrete: ClassVar[bool] = False
    complex_features: ClassVar[bool] = False
    signed_features: ClassVar[bool] = False
    vectors: ClassVar[tuple[str, ...]] = ()

    # What a family supplies.

    @classmethod
    @abstractmethod
    def from_statistics(cls: type[Kind], statistics: Statistics) -> Kind:
        """The mechanism with the parameters that are optimal for data of these statistics."""

    @abstractmethod
    def draw(self, key: Array, num_features: int, dim: int, orthogonal: bool, dtype) -> Array:
        """Projections ω (M, d)."""

    @abstractmethod
    def log_values(
        self, x: Array, omega: Array, side: str, kernel: str
    ) -> tuple[Array, Array | None]:
        """log|f| and the phase, None where it is 1 everywhere."""

    @abstractmethod
    def gaussian_log_second_moment(self, x: Array, y: Array) -> Array:
        """log E X² for the Gaussian kernel."""

    @abstractmethod
    def gaussian_log_variance(self, x: Array, y: Array) -> Array:
        """log Var X for the Gaussian kernel."""

    def gaussian_log_gain(self, x: Array, y: Array) -> tuple[Array, Array]:
        """log|G| and the sign of G = K² - E X_i X_j, two projections of one orthogonal block.

        Supplied by the families that have orthogonal projections.
        """
        raise self._not_orthogonal()

    # What users call.

    @classmethod
    def fit(
        cls: type[Kind],
        x: Real[ArrayLike, "n d"],
        y: Real[ArrayLike, "m d"],
        *,
        x_mask: Bool[ArrayLike, " n"] | None = None,
        y_mask: Bool[ArrayLike, " m"] | None = None,
    ) -> Kind:
        """The mechanism with the parameters optimal between x (n, d) and y (m, d). O((n+m)d).

        Works under `jit`, and under `vmap` over heads; rows whose mask is false do not count, even
        if they hold NaN. Where the masks leave no row, the parameters are those of data that are
        all zero.
        """
        errors.points("x", x, axes="(rows, dim)", finite=x_mask is None)
        errors.points("y", y, axes="(rows, dim)", finite=y_mask is None)
        return cls.from_statistics(collect(x, y, x_mask=x_mask, y_mask=y_mask))

    def sample(
        self,
        key: PRNGKeyArray | Shaped[Array, "..."],
        num_features: int,
        dim: int,
        orthogonal: bool = False,
        *,
        dtype: DTypeLike | None = None,
    ) -> Float[Array, "{num_features} {dim}"]:
        """Projections ω (M, d): independent rows, or orthogonal within blocks of d (Haar).

        `dtype` is float32 or float64, by default JAX's own: in fewer bits counts are not whole.
        """
        errors.whole("num_features", num_features)
        errors.whole("dim", dim)
        errors.floating("dtype", dtype)
        self.check_one(dim)
        if orthogonal and self.discrete:
            raise self._not_orthogonal()
        return self.draw(key, num_features, dim, orthogonal, dtype)

    def log_features(
        self,
        x: Real[ArrayLike, "*batch l d"],
        omega: Real[ArrayLike, "m d"],
        side: str = "x",
        *,
        kernel: str = "gaussian",
    ) -> tuple[Float[Array, "*batch l m"], Inexact[Array, "*batch l m"]]:
        """log|f(ω, x)| and the phase f/|f|, both (…, L, M): a sign, or a complex unit.

        A feature that vanishes has -∞ and either sign. float32 at least. O(LMd).
        """
        rows, projections = promote(*self._checked(x, omega, side, kernel))
        log_abs, phase = self.log_values(rows, projections, side, kernel)
        return log_abs, jnp.ones_like(log_abs) if phase is None else phase

    def features(
        self,
        x: Real[ArrayLike, "*batch l d"],
        omega: Real[ArrayLike, "m d"],
        side: str = "x",
        *,
        kernel: str = "gaussian",
    ) -> Num[Array, "*batch l m"]:
        """f1(ω, x) for side "x", f2(ω, y) for side "y": (…, L, M), no 1/√M inside. O(LMd).

        Real features have x's dtype. They may overflow or underflow; `log_features` do not.
        """
        rows, omega = self._checked(x, omega, side, kernel)
        points, projections = promote(rows, omega)
        log_abs, phase = self.log_values(points, projections, side, kernel)
        size = jnp.exp(log_abs)
        if phase is None:
            return size.astype(rows.dtype)
        if not self.complex_features:
            return _scaled(size, phase).astype(rows.dtype)
        return lax.complex(_scaled(size, jnp.real(phase)), _scaled(size, jnp.imag(phase)))

    def log_second_moment(
        self,
        x: Real[ArrayLike, "*x d"],
        y: Real[ArrayLike, "*y d"],
        *,
        kernel: str = "gaussian",
    ) -> Float[Array, "..."]:
        """log E X² of one product X = Re f1(ω, x) f2(ω, y), elementwise in leading axes."""
        one, other = self._pair(x, y, kernel)
        return self.gaussian_log_second_moment(one, other) + _log_factor(one, other, kernel)

    def log_variance(
        self,
        x: Real[ArrayLike, "*x d"],
        y: Real[ArrayLike, "*y d"],
        *,
        kernel: str = "gaussian",
    ) -> Float[Array, "..."]:
        """log Var X of one product, elementwise in leading axes; -∞ where the variance is 0."""
        one, other = self._pair(x, y, kernel)
        return self.gaussian_log_variance(one, other) + _log_factor(one, other, kernel)

    def variance(
        self,
        x: Real[ArrayLike, "*x d"],
        y: Real[ArrayLike, "*y d"],
        *,
        kernel: str = "gaussian",
    ) -> Float[Array, "..."]:
        """Var X of one product, elementwise in leading axes."""
        return _exp_or_zero(self.log_variance(x, y, kernel=kernel))

    def estimator_variance(
        self,
        x: Real[ArrayLike, "*x d"],
        y: Real[ArrayLike, "*y d"],
        num_features: int,
        orthogonal: bool = False,
        *,
        kernel: str = "gaussian",
    ) -> Float[Array, "..."]:
        """Variance of the mean of M products, exact: Var X/M, less the gain where orthogonal.

        With orthogonal projections (ortho-exact) Var X/M - w·G, w the share of pairs that lie in
        one block. Never negative.
        """
        errors.whole("num_features", num_features)
        each = self.log_variance(x, y, kernel=kernel)
        independent = each - jnp.log(jnp.asarray(num_features, each.dtype))
        if not orthogonal:
            return _exp_or_zero(independent)
        log_gain, sign = self.log_orthogonal_gain(x, y, kernel=kernel)
        weight = orthogonal_weight(num_features, jnp.shape(x)[-1]).astype(each.dtype)
        # Relative to the larger term, so that neither overflows before they are subtracted.
        top = lax.stop_gradient(jnp.where(jnp.isfinite(independent), independent, 0))
        rest = _exp_or_zero(independent - top) - weight * sign * _exp_or_zero(log_gain - top)
        return jnp.where(rest > 0, rest * jnp.exp(top), 0)

    def log_orthogonal_gain(
        self,
        x: Real[ArrayLike, "*x d"],
        y: Real[ArrayLike, "*y d"],
        *,
        kernel: str = "gaussian",
    ) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """log|G| and the sign of G = K² - E X_i X_j, for two rows ω_i, ω_j of one orthogonal block.

        What an orthogonal pair takes off the variance (ortho-exact), elementwise in leading axes.
        """
        one, other = self._pair(x, y, kernel)
        log_gain, sign = self.gaussian_log_gain(one, other)
        return log_gain + _log_factor(one, other, kernel), sign

    # Checks.

    def _checked(
        self, x: ArrayLike, omega: ArrayLike, side: str, kernel: str
    ) -> tuple[Array, Array]:
        errors.one_of("side", side, SIDES)
        errors.one_of("kernel", kernel, KERNELS)
        rows = errors.points("x", x)
        projections = errors.points("omega", omega, axes="(features, dim)")
        errors.same_dim("x", rows, "omega", projections)
        self.check_one(rows.shape[-1])
        return rows, projections

    def _pair(self, x: ArrayLike, y: ArrayLike, kernel: str) -> tuple[Array, Array]:
        errors.one_of("kernel", kernel, KERNELS)
        one = errors.points("x", x, axes="(..., dim)")
        other = errors.points("y", y, axes="(..., dim)")
        errors.same_dim("x", one, "y", other)
        errors.same_batch("x", one, "y", other, own=1)
        self.check_dim(one.shape[-1])
        one, other = promote(one, other)
        return one, other

    def _not_orthogonal(self) -> ValueError:
        return ValueError(
            f"orthogonal is True, but {type(self).__name__} draws whole numbers, which have no "
            "orthogonal version; it must be False for discrete mechanisms."
        )

    def check_dim(self, dim: int) -> None:
        """Refuses data whose number of coordinates the parameters do not fit."""
        for name in self.vectors:
            shape = jnp.shape(getattr(self, name))
            if shape[-1:] != (dim,):
                raise ValueError(
                    f"{name} has shape {shape} and the data have {dim} coordinates; {name} must "
                    "have one entry per coordinate."
                )

    def check_one(self, dim: int) -> None:
        """Refuses parameters with leading axes, which no single set of features belongs to."""
        self.check_dim(dim)
        for name, value in vars(self).items():
            if jnp.ndim(value) != (name in self.vectors):
                raise ValueError(
                    f"{name} has shape {jnp.shape(value)}; it must be "
                    f"{(dim,) if name in self.vectors else 'one number'}, and a batch of "
                    "mechanisms is used under jax.vmap."
                )


def _scaled(size: Array, part: Array) -> Array:
    """size·part, 0 where part is 0 even if the size overflowed."""
    return jnp.where(part == 0, 0, size * part)


def norms(x: Array, y: Array) -> Float[Array, "..."]:
    """n = ‖x‖² + ‖y‖²."""
    return jnp.sum(x**2, axis=-1) + jnp.sum(y**2, axis=-1)


def squared_norm(x: Array, y: Array, s: ArrayLike) -> Float[Array, "..."]:
    """z = ‖x + s·y‖²."""
    return jnp.sum((x + s * y) ** 2, axis=-1)


def _log_factor(x: Array, y: Array, kernel: str) -> Float[Array, "..."]:
    """Log of the square of K_softmax/K_gaussian = exp((‖x‖²+‖y‖²)/2) (eq-sfm)."""
    total = norms(x, y)
    return total if kernel == "softmax" else jnp.zeros_like(total)


def _exp_or_zero(log_value: Float[Array, "..."]) -> Float[Array, "..."]:
    """exp, with derivative 0 where the value is 0: a variance is least there."""
    none = log_value == -jnp.inf
    return jnp.where(none, 0, jnp.exp(jnp.where(none, 0, log_value)))
