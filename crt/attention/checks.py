"""What `FavorAttention` accepts: every refusal is one sentence."""

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from crt import errors


def rows(name: str, value: ArrayLike) -> Array:
    """A real array (batch, length, heads, dim) with no empty axis."""
    array = errors.real(name, value)
    if array.ndim != 4 or 0 in array.shape:
        raise ValueError(
            f"{name} has shape {array.shape}; it must be (batch, length, heads, dim), "
            "each at least 1."
        )
    return array


def pair(query: ArrayLike, key: ArrayLike) -> tuple[Array, Array]:
    """Queries (B, T, N, H) and keys (B, S, K, H), K a divisor of N."""
    q, k = rows("query", query), rows("key", key)
    if q.shape[0] != k.shape[0] or q.shape[3] != k.shape[3] or q.shape[2] % k.shape[2]:
        raise ValueError(
            f"query has shape {q.shape} and key has {k.shape}; batch and dim must agree, and the "
            "number of key heads must divide the number of query heads."
        )
    return q, k


def values(value: ArrayLike, key: Array) -> Array:
    """Values (B, S, K, V) that belong to the keys."""
    v = rows("value", value)
    if v.shape[:3] != key.shape[:3]:
        raise ValueError(
            f"value has shape {v.shape} and key has {key.shape}; batch, length and heads must "
            "agree."
        )
    return v


def projections(omega: ArrayLike | None, mechanism: str, features: int, query: Array) -> Array:
    """ω (M, H) or (N, M, H) of the attention's own number of features, drawn for the heads' dim."""
    heads, dim = query.shape[2:]
    fitting = ((features, dim), (heads, features, dim))
    if omega is None:
        raise ValueError(f"omega is None; mechanism {mechanism!r} needs what `sample` returns.")
    array = errors.real("omega", omega)
    if array.shape not in fitting:
        raise ValueError(
            f"omega has shape {array.shape}; for {features} features and queries of shape "
            f"{query.shape} it must be {fitting[0]} or {fitting[1]}."
        )
    return array


def mask(
    name: str, value: ArrayLike | None, lengths: ArrayLike | None, lengths_name: str, like: Array
) -> Array | None:
    """The mask (B, L) that is true where both the given mask and the lengths (B,) say so."""
    batch, length = like.shape[:2]
    result = None
    if value is not None:
        result = jnp.asarray(value)
        if result.shape != (batch, length) or result.dtype != jnp.bool_:
            raise ValueError(
                f"{name} has shape {result.shape} and dtype {result.dtype}; it must be bool, "
                f"(batch, length) = {(batch, length)}, true where a position counts."
            )
    if lengths is None:
        return result
    counts = jnp.asarray(lengths)
    if counts.shape != (batch,) or not jnp.issubdtype(counts.dtype, jnp.integer):
        raise ValueError(
            f"{lengths_name} has shape {counts.shape} and dtype {counts.dtype}; it must hold one "
            f"integer for each of the {batch} batch elements."
        )
    within = jnp.arange(length) < counts[:, None]
    return within if result is None else result & within


def rho(value: ArrayLike, query: Array) -> Array:
    """ρ in (0, 1], a number, (N,) or (B, N), as (B, N)."""
    array = errors.real("rho", value)
    batch, heads = query.shape[0], query.shape[2]
    if array.shape not in ((), (heads,), (batch, heads)):
        raise ValueError(
            f"rho has shape {array.shape}; it must be a number, {(heads,)} or {(batch, heads)}."
        )
    errors.parameter("rho", array, "in (0, 1]", lambda rho: (rho > 0) & (rho <= 1))
    return jnp.broadcast_to(array, (batch, heads))


def scale(value: ArrayLike | None, dim: int) -> Array:
    """The positive factor of q·k, 1/√H unless given."""
    array = errors.real("scale", dim**-0.5 if value is None else value)
    if array.shape != ():
        raise ValueError(f"scale has shape {array.shape}; it must be one positive number.")
    errors.parameter("scale", array, "positive", lambda scale: scale > 0)
    return array


def refuse(bias: object, local_window_size: object, dropout_rate: object) -> None:
    """Refuses what needs the attention matrix, which never exists here."""
    if bias is not None:
        raise ValueError(
            "bias is given, but linear attention forms no attention matrix to add it to; it must "
            "be None."
        )
    if local_window_size is not None:
        raise ValueError(
            f"local_window_size is {local_window_size}, but linear attention forms no attention "
            "matrix to cut a window from; it must be None."
        )
    if dropout_rate != 0:
        raise ValueError(
            f"dropout_rate is {dropout_rate}, but linear attention forms no attention matrix to "
            "drop entries of; it must be 0."
        )
