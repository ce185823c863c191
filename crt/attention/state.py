"""What attention keeps of the keys and values it has seen."""

import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Float

from crt.pytrees import pytree


def finite(log_scale: Array) -> Array:
    """The scale, 0 in place of -∞: exp(-∞ - 0) = 0, where exp(-∞ + ∞) is NaN."""
    return jnp.where(log_scale == -jnp.inf, 0, log_scale)


@pytree
class State:
    """Σ_j f(k_j)·(v_j, 1) for every feature, relative to exp(log_scale): O(M·d), any length.

    `log_scale` holds the largest logarithm of each feature (F = R), or of all of them (F = 1).
    The last column of the sums belongs to the denominator. States of parts of the keys merge.
    """

    log_scale: Float[Array, "b n f"]
    sums: Float[Array, "b n r k"]

    def rescaled(self, log_scale: Array) -> Array:
        """The sums relative to exp(log_scale)."""
        return self.sums * jnp.exp(self.log_scale - finite(log_scale))[..., None]

    def where(self, kept: Array) -> "State":
        """The state of the batch elements (B,) that are kept, that of no keys for all others."""
        return State(
            jnp.where(kept[:, None, None], self.log_scale, -jnp.inf),
            jnp.where(kept[:, None, None, None], self.sums, 0),
        )

    def merge(self, other: "State") -> "State":
        """The state of both parts of the keys together."""
        top = jnp.maximum(self.log_scale, other.log_scale)
        return State(top, self.rescaled(top) + other.rescaled(top))

    def all_reduce(self, axis_name: str) -> "State":
        """The state of the keys of all devices along a mapped axis."""
        top = lax.pmax(lax.stop_gradient(self.log_scale), axis_name)
        return State(top, lax.psum(self.rescaled(top), axis_name))

    def before(self, axis_name: str) -> "State":
        """The state of the keys of all earlier devices along a mapped axis: an exclusive prefix."""
        every = lax.all_gather(self, axis_name)
        earlier = jnp.arange(every.sums.shape[0]) < lax.axis_index(axis_name)
        logs = jnp.where(earlier[:, None, None, None], every.log_scale, -jnp.inf)
        top = lax.stop_gradient(jnp.max(logs, axis=0))
        return State(top, jnp.sum(every.sums * jnp.exp(logs - finite(top))[..., None], axis=0))


def empty(batch: int, heads: int, scales: int, width: int, columns: int, dtype) -> State:
    """The state of no keys."""
    return State(
        jnp.full((batch, heads, scales), -jnp.inf, dtype),
        jnp.zeros((batch, heads, width, columns), dtype),
    )


def divide(sums: Array) -> Array:
    """Numerators over the denominator in the last column; 0 where the denominator is 0."""
    denominator = sums[..., -1:]
    none = denominator == 0
    return jnp.where(none, 0, sums[..., :-1] / jnp.where(none, 1, denominator))
