"""Statistics of a set of points in O(Ld), from which every optimal parameter is computed.

They know masks, and they merge: over chunks by `merge`, over devices by `all_reduce`.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.typing import ArrayLike
from jaxtyping import Bool, Float, Real

from crt import errors, formulas
from crt.arrays import promote
from crt.pytrees import pytree


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def _least(x: Array, axis_name: str) -> Array:
    """The least along a mapped axis; JAX's `pmin` has no derivative, so it is given."""
    return lax.pmin(x, axis_name)


@_least.defjvp
def _least_jvp(axis_name: str, primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    """Those that hold the least share its change, as in `jnp.min`."""
    (x,), (change,) = primals, tangents
    least = _least(x, axis_name)
    held = (x == least).astype(x.dtype)
    return least, lax.psum(held * change, axis_name) / lax.psum(held, axis_name)


@pytree
class Moments:
    """Of the rows of one set: the count, and per coordinate mean, variance, mean |x|, minimum.

    The variance is centred (divided by the count), so that no later use of it cancels. An empty
    set has count 0, minimum +∞ and zeros elsewhere, and is neutral under `merge`.
    """

    count: Float[Array, ""]
    mean: Float[Array, " d"]
    variance: Float[Array, " d"]
    absolute: Float[Array, " d"]
    low: Float[Array, " d"]

    @property
    def square(self) -> Float[Array, " d"]:
        """Mean of x_l²."""
        return self.variance + self.mean**2

    def merge(self, other: "Moments") -> "Moments":
        """The moments of both sets together."""
        count = self.count + other.count
        share = other.count / jnp.maximum(count, 1)
        apart = other.mean - self.mean
        return Moments(
            count,
            self.mean + share * apart,
            (1 - share) * self.variance + share * (other.variance + (1 - share) * apart**2),
            (1 - share) * self.absolute + share * other.absolute,
            jnp.minimum(self.low, other.low),
        )

    def all_reduce(self, axis_name: str) -> "Moments":
        """The moments of all sets along a mapped axis (`shard_map`, `vmap`) together."""
        count = lax.psum(self.count, axis_name)
        share = self.count / jnp.maximum(count, 1)
        mean = lax.psum(share * self.mean, axis_name)
        return Moments(
            count,
            mean,
            lax.psum(share * (self.variance + (self.mean - mean) ** 2), axis_name),
            lax.psum(share * self.absolute, axis_name),
            _least(self.low, axis_name),
        )

    def shift(self, low: Float[Array, " d"], eps: float) -> "Moments":
        """The moments of x - low + eps, where `low` is no larger than any coordinate."""
        mean = jnp.where(self.count > 0, self.mean - low + eps, 0)
        return Moments(self.count, mean, self.variance, mean, self.low - low + eps)


def _checked_mask(name: str, mask: ArrayLike, rows: Array) -> Bool[Array, " n"]:
    keep = jnp.asarray(mask)
    if keep.shape != rows.shape[:1] or keep.dtype != jnp.bool_:
        raise ValueError(
            f"{name} has shape {keep.shape} and dtype {keep.dtype}; it must hold one bool for each "
            f"of the {rows.shape[0]} rows."
        )
    return keep


def _kept(
    name: str, x: ArrayLike, mask_name: str, mask: ArrayLike | None
) -> tuple[Float[Array, "n d"], Bool[Array, " n"]]:
    """The rows, 0 where the mask is false, and the mask. Only kept rows must be finite."""
    rows = errors.points(name, x, axes="(rows, dim)", empty=True, finite=mask is None)
    if mask is None:
        return rows, jnp.ones(rows.shape[:1], bool)
    keep = _checked_mask(mask_name, mask, rows)
    # Before any sum: a NaN times a gradient of 0 is NaN.
    rows = jnp.where(keep[:, None], rows, 0)
    errors.all_finite(name, rows)
    return rows, keep


def moments(x: Real[ArrayLike, "n d"], mask: Bool[ArrayLike, " n"] | None = None) -> Moments:
    """Moments of the rows of x, of those where the mask is true if one is given. O(nd).

    There may be no rows: a device or a chunk may hold none of the data.
    """
    rows, keep = _kept("x", x, "mask", mask)
    (values,) = promote(rows)
    return _moments(values, keep)


def _moments(values: Float[Array, "n d"], keep: Bool[Array, " n"]) -> Moments:
    weight = keep[:, None]
    count = jnp.sum(keep, dtype=values.dtype)
    size = jnp.maximum(count, 1)
    mean = jnp.sum(values, axis=0, where=weight) / size
    variance = jnp.sum((values - mean) ** 2, axis=0, where=weight) / size
    absolute = jnp.sum(jnp.abs(values), axis=0, where=weight) / size
    low = jnp.min(values, axis=0, where=weight, initial=jnp.inf)
    return Moments(count, mean, variance, absolute, low)


@pytree
class Statistics:
    """Moments of the two sets between which a kernel is estimated."""

    x: Moments
    y: Moments

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        return self.x.mean.shape[-1]

    def merge(self, other: "Statistics") -> "Statistics":
        """The statistics of both parts together."""
        return Statistics(self.x.merge(other.x), self.y.merge(other.y))

    def all_reduce(self, axis_name: str) -> "Statistics":
        """The statistics of all parts along a mapped axis together."""
        return Statistics(self.x.all_reduce(axis_name), self.y.all_reduce(axis_name))

    def positive(self, low: Float[Array, " d"], eps: float) -> "Statistics":
        """The statistics of both sets after x ↦ x - low + eps."""
        return Statistics(self.x.shift(low, eps), self.y.shift(low, eps))

    def low(self) -> Float[Array, " d"]:
        """Least value of each coordinate over both sets; 0 where both are empty."""
        low = jnp.minimum(self.x.low, self.y.low)
        return jnp.where(jnp.isfinite(low), low, 0)

    def squared_norm(self, s: ArrayLike) -> Float[Array, ""]:
        """Mean over pairs of ‖x_i + s·y_j‖² (eq-gestat).

        Moving x by -m and y by s·m, m the mean of x, changes no norm and leaves sums of squares.
        """
        (sign,) = promote(s)
        apart = self.y.mean + sign.astype(self.y.mean.dtype) * self.x.mean
        spread = jnp.sum(self.y.variance + apart**2)
        return formulas.mean_squared_norm(
            jnp.sum(self.x.variance), spread, jnp.zeros_like(apart), apart, sign
        )

    def norms(self) -> Float[Array, ""]:
        """Mean over pairs of ‖x_i‖² + ‖y_j‖²."""
        return jnp.sum(self.x.square + self.y.square)

    def poisson(self) -> Float[Array, ""]:
        """Mean over pairs of Σ_l x_l² y_l² (eq-poisstat)."""
        return formulas.pois_statistic(self.x.square, self.y.square)

    def geometric(self) -> Float[Array, " d"]:
        """Mean over pairs of |x_l y_l|, per coordinate (eq-geomstat)."""
        return formulas.geom_statistic(self.x.absolute, self.y.absolute)


def collect(
    x: Real[ArrayLike, "n d"],
    y: Real[ArrayLike, "m d"],
    *,
    x_mask: Bool[ArrayLike, " n"] | None = None,
    y_mask: Bool[ArrayLike, " m"] | None = None,
) -> Statistics:
    """Statistics of x (n, d) and y (m, d); rows whose mask is false do not count. O((n+m)d)."""
    one, keep_x = _kept("x", x, "x_mask", x_mask)
    other, keep_y = _kept("y", y, "y_mask", y_mask)
    errors.same_dim("x", one, "y", other)
    one, other = promote(one, other)
    return Statistics(_moments(one, keep_x), _moments(other, keep_y))
