"""Feature maps of attention: what queries and keys become, in log space.

A map gives a logarithm and, where features have signs, a factor; the feature is factor·exp(log).
Maps are pytrees and take unscaled blocks x (B, N, C, H); the kernel's argument is √scale·x. What is
common to all features of a query, and what is common to all keys in one feature, cancels in the
normalised output and is left out.
"""

from abc import ABC, abstractmethod

import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Float

from crt import formulas
from crt.pytrees import pytree

RELU_OFFSET = 1e-3


def _project(x: Array, weight: Array, transposed: bool = False) -> Array:
    """weight·x for every row and feature: (B, N, C, M), or (B, N, M, C) if transposed."""
    target = "bnmc" if transposed else "bncm"
    return jnp.einsum(f"bnch,bnmh->{target}", x, weight, precision=lax.Precision.HIGHEST)


def _half_norms(x: Array, scale: Array) -> Array:
    """½·scale·‖x‖², (B, N, C)."""
    return 0.5 * scale * jnp.sum(x**2, axis=-1)


def with_ones(x: Array) -> Array:
    """Rows (…, H) with a column of ones."""
    return jnp.concatenate([x, jnp.ones((*x.shape[:-1], 1), x.dtype)], axis=-1)


def _raise(log: Array, raised: Array | None) -> Array:
    """Logarithms (B, N, C, F), plus `raised` (B, N, F) where it is given."""
    return log if raised is None else log + raised[..., None, :]


class Positive(ABC):
    """Maps with positive features, each with its own logarithm and its own log scale."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of features."""

    @property
    def scales(self) -> int:
        """Number of log scales of a state: one for each feature."""
        return self.width

    @abstractmethod
    def query(self, x: Array, raised: Array | None = None) -> tuple[Array, None]:
        """log features of a block of queries, (B, N, C, M). O(CMH).

        With `raised` (B, N, M) it is added, and what all features have in common may be left out.
        """

    @abstractmethod
    def key(self, x: Array, transposed: bool = False) -> tuple[Array, None]:
        """log features of a block of keys, (B, N, C, M), or (B, N, M, C). O(CMH)."""


class Signed(ABC):
    """Maps whose logarithm is one number for each key; the rest is in the factor."""

    scales = 1

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of features."""

    @abstractmethod
    def factor(self, x: Array) -> Array:
        """Bounded or signed features (B, N, C, R). O(CRH)."""

    def log_weight(self, x: Array) -> Array:
        """Logarithm of the weight of each key, (B, N, C)."""
        return jnp.zeros_like(x[..., 0])

    def query(self, x: Array, raised: Array | None = None) -> tuple[Array, Array]:
        """log (B, N, C, 1), which is 0 or `raised` (B, N, 1), and factor (B, N, C, R)."""
        return _raise(jnp.zeros_like(x[..., :1]), raised), self.factor(x)

    def key(self, x: Array, transposed: bool = False) -> tuple[Array, Array]:
        """log (B, N, C, 1) and factor (B, N, C, R), or both with their last axes exchanged."""
        log, factor = self.log_weight(x)[..., None], self.factor(x)
        if transposed:
            return jnp.swapaxes(log, -1, -2), jnp.swapaxes(factor, -1, -2)
        return log, factor


@pytree
class Exponential(Positive):
    """exp(B ω·x + A‖ω‖² - ½‖x‖²): PosRF and OPRF for the softmax kernel (thm-gerf).

    `weight` is √scale·B·ω, and `offset` is 2A‖ω‖², the share of both sides, taken by the query.
    """

    weight: Float[Array, "b n m h"]
    offset: Float[Array, "b n m"]
    scale: Float[Array, ""]

    @property
    def width(self) -> int:
        """Number of features."""
        return self.weight.shape[-2]

    def query(self, x: Array, raised: Array | None = None) -> tuple[Array, None]:
        if raised is None:
            return _project(x, self.weight) + self.offset[..., None, :], None
        # One more column of the product spares two passes over (C, M) on a CPU. What it holds is
        # taken relative to its largest entry, which cancels, so that it costs no digits.
        own = self.offset + raised
        own = own - lax.stop_gradient(jnp.max(own, axis=-1, keepdims=True))
        weight = jnp.concatenate([self.weight, own[..., None]], axis=-1)
        return _project(with_ones(x), weight), None

    def key(self, x: Array, transposed: bool = False) -> tuple[Array, None]:
        own = jnp.expand_dims(_half_norms(x, self.scale), -2 if transposed else -1)
        return _project(x, self.weight, transposed) - own, None


@pytree
class Elu(Positive):
    """elu(x) + 1 of every coordinate, a baseline without projections; `root` is √scale."""

    root: Float[Array, " h"]

    @property
    def width(self) -> int:
        """Number of features: the coordinates."""
        return self.root.shape[-1]

    def query(self, x: Array, raised: Array | None = None) -> tuple[Array, None]:
        # elu(x) + 1 is 1 + x above 0 and e^x below.
        x = self.root * x
        return _raise(jnp.where(x > 0, jnp.log1p(jnp.maximum(x, 0)), x), raised), None

    def key(self, x: Array, transposed: bool = False) -> tuple[Array, None]:
        log, _ = self.query(x)
        return jnp.swapaxes(log, -1, -2) if transposed else log, None


@pytree
class Trigonometric(Signed):
    """exp(½‖x‖²)·(cos ω·x, sin ω·x): TrigRF for the softmax kernel; `weight` is √scale·ω."""

    weight: Float[Array, "b n m h"]
    scale: Float[Array, ""]

    @property
    def width(self) -> int:
        """Number of features, cosines and sines."""
        return 2 * self.weight.shape[-2]

    def factor(self, x: Array) -> Array:
        angle = _project(x, self.weight)
        return jnp.concatenate([jnp.cos(angle), jnp.sin(angle)], axis=-1)

    def log_weight(self, x: Array) -> Array:
        return _half_norms(x, self.scale)


@pytree
class Relu(Signed):
    """max(ω·x, 0) + 1e-3, a baseline that estimates no softmax; `weight` is √scale·ω."""

    weight: Float[Array, "b n m h"]

    @property
    def width(self) -> int:
        """Number of features."""
        return self.weight.shape[-2]

    def factor(self, x: Array) -> Array:
        return jnp.maximum(_project(x, self.weight), 0) + RELU_OFFSET


Map = Exponential | Elu | Trigonometric | Relu


def make(
    name: str, omega: Array | None, rho: Array | None, scale: Array, shape: tuple[int, int, int]
) -> Map:
    """The map of a mechanism for `shape` = (B, N, H); ω is (M, H) or (N, M, H), None for "elu".

    ρ (B, N) is that of "oprf", None for all others; scale is an array of the dtype of the sums.
    """
    *heads, dim = shape
    root = jnp.sqrt(scale)
    if omega is None:
        return Elu(jnp.broadcast_to(root, (dim,)))
    weight = jnp.broadcast_to(root * omega, (*heads, *omega.shape[-2:]))
    if name == "relu":
        return Relu(weight)
    if name == "trig":
        return Trigonometric(weight, scale)
    if rho is None:
        return Exponential(weight, jnp.zeros_like(weight[..., 0]), scale)
    weight = formulas.b_of_rho(rho)[..., None, None] * weight
    offset = 2 * formulas.a_of_rho(rho)[..., None] * jnp.sum(omega**2, axis=-1)
    return Exponential(weight, offset, scale)


def dtype_of(features: Map) -> jnp.dtype:
    """The dtype in which everything is accumulated: that of the map's arrays."""
    return (features.root if isinstance(features, Elu) else features.weight).dtype
