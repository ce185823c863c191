"""Attention by its definition in float64, inputs for it, and how outputs are compared."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from crt import FavorAttention

MECHANISMS = ("oprf", "pos", "trig", "relu", "elu")

# The statement's bound for float32 at unit scale.
FLOAT32 = 1e-5


def error(actual: Any, expected: Any) -> float:
    """RMS of the difference over RMS of the expected values; all zeros have error 1."""
    actual, expected = (np.asarray(each, np.float64) for each in (actual, expected))
    assert actual.shape == expected.shape
    size = np.sqrt(np.mean(expected**2))
    assert size > 0
    return float(np.sqrt(np.mean((actual - expected) ** 2)) / size)


@dataclass(frozen=True)
class Setup:
    """Shapes, grouping and masking of one call."""

    batch: int = 1
    queries: int = 150
    keys: int = 150
    heads: int = 2
    key_heads: int = 2
    dim: int = 8
    value_dim: int = 8
    features: int = 40
    own_omega: bool = False
    padded: bool = False

    def arrays(self, seed: int, scale: float = 1.0) -> tuple[Array, Array, Array]:
        """Gaussian queries, keys and values in float32, the first two times `scale`."""
        rng = np.random.default_rng(seed)
        shapes = (
            (self.batch, self.queries, self.heads, self.dim),
            (self.batch, self.keys, self.key_heads, self.dim),
            (self.batch, self.keys, self.key_heads, self.value_dim),
        )
        q, k, v = (jnp.asarray(rng.normal(size=shape), jnp.float32) for shape in shapes)
        return scale * q, scale * k, v

    def mask(self) -> Array | None:
        """A third of the keys hidden at random, all of them in the last batch element."""
        if not self.padded:
            return None
        mask = np.random.default_rng(5).random((self.batch, self.keys)) < 0.67
        mask[-1] = False
        return jnp.asarray(mask)

    def omega(self, attend: FavorAttention) -> Array | None:
        """Projections, shared by the heads or one set for each."""
        return attend.sample(jax.random.key(3), self.dim, self.heads if self.own_omega else None)


def _features(name: str, x: Array, omega: Array | None, rho: Array | None) -> Array:
    """The features of x (B, N, L, H) as the definitions print them, every constant included."""
    if omega is None:
        return jnp.where(x > 0, x + 1, jnp.exp(jnp.minimum(x, 0)))
    dots = jnp.einsum("bnlh,nmh->bnlm", x, omega)
    half = jnp.sum(x**2, axis=-1, keepdims=True) / 2
    if name == "relu":
        return jnp.maximum(dots, 0) + 1e-3
    if name == "trig":
        return jnp.exp(half) * jnp.concatenate([jnp.cos(dots), jnp.sin(dots)], axis=-1)
    a = (1 - 1 / rho)[..., None, None] / 8 if rho is not None else jnp.zeros((1, 1, 1, 1), x.dtype)
    constant = (x.shape[-1] / 4) * jnp.log(1 - 4 * a) + a * jnp.sum(omega**2, axis=-1)[:, None]
    return jnp.exp(constant + jnp.sqrt(1 - 4 * a) * dots - half)


def definition(
    name: str,
    q: Array,
    k: Array,
    v: Array,
    omega: Array | None,
    mask: Array | None = None,
    is_causal: bool = False,
    rho: Array | None = None,
) -> Array:
    """Features, masked matrix, normalised: O(T·S·M), in the dtype of q, for ρ of shape (B, N)."""
    heads, root = q.shape[2], q.shape[-1] ** -0.25
    k, v = (jnp.repeat(each, heads // each.shape[2], axis=2) for each in (k, v))
    x, y = (root * jnp.swapaxes(each, 1, 2) for each in (q, k))
    if omega is not None:
        omega = jnp.broadcast_to(omega, (heads, *omega.shape[-2:]))
    one, other = _features(name, x, omega, rho), _features(name, y, omega, rho)
    matrix = jnp.einsum("bntm,bnsm->bnts", one, other)
    seen = jnp.ones(matrix.shape[-2:], bool)
    seen = jnp.tril(seen) if is_causal else seen
    seen = seen if mask is None else seen & mask[:, None, None, :]
    matrix = jnp.where(seen, matrix, 0)
    total = jnp.sum(matrix, axis=-1, keepdims=True)
    rows = matrix / jnp.where(total == 0, 1, total)
    return jnp.einsum("bnts,bsnv->btnv", rows, v)


def double(tree: Any) -> Any:
    """Every floating array of a tree in float64; only inside `jax.enable_x64`."""

    def convert(leaf: Array) -> Array:
        return leaf.astype(jnp.float64) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf

    return jax.tree.map(convert, tree)


def with_gradients(function: Any) -> Any:
    """The compiled function q, k, v ↦ output, and gradients of a sum of it with uneven weights."""

    def loss(q: Array, k: Array, v: Array) -> tuple[Array, Array]:
        out = function(q, k, v)
        weights = jnp.cos(jnp.arange(out.size, dtype=out.dtype)).reshape(out.shape)
        return jnp.sum(weights * out), out

    @jax.jit
    def both(q: Array, k: Array, v: Array) -> tuple[Array, ...]:
        gradients, out = jax.grad(loss, (0, 1, 2), has_aux=True)(q, k, v)
        return out, *gradients

    return both
