"""What `FavorAttention` accepts: every refusal is one sentence."""

from numbers import Real

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from crt import errors
from crt.attention.segments import runs
from crt.attention.state import State


def rows(name: str, value: ArrayLike, *, finite: bool = True) -> Array:
    """A real array (batch, length, heads, dim) with no empty axis."""
    array = errors.real(name, value, finite=finite)
    if array.ndim != 4 or 0 in array.shape:
        raise ValueError(
            f"{name} has shape {array.shape}; it must be (batch, length, heads, dim), "
            "each at least 1."
        )
    return array


def pair(query: ArrayLike, key: ArrayLike, *, finite: bool = True) -> tuple[Array, Array]:
    """Queries (B, T, N, H) and keys (B, S, K, H), K a divisor of N."""
    q, k = rows("query", query, finite=finite), rows("key", key, finite=finite)
    if q.shape[0] != k.shape[0] or q.shape[3] != k.shape[3] or q.shape[2] % k.shape[2]:
        raise ValueError(
            f"query has shape {q.shape} and key has {k.shape}; batch and dim must agree, and the "
            "number of key heads must divide the number of query heads."
        )
    return q, k


def values(value: ArrayLike, key: Array, *, finite: bool = True) -> Array:
    """Values (B, S, K, V) that belong to the keys."""
    v = rows("value", value, finite=finite)
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
        result = errors.array_of(name, value, "booleans")
        if result.shape != (batch, length) or result.dtype != jnp.bool_:
            raise ValueError(
                f"{name} has shape {result.shape} and dtype {result.dtype}; it must be bool, "
                f"(batch, length) = {(batch, length)}, true where a position counts."
            )
    if lengths is None:
        return result
    counts = errors.array_of(lengths_name, lengths, "integers")
    if counts.shape != (batch,) or not jnp.issubdtype(counts.dtype, jnp.integer):
        raise ValueError(
            f"{lengths_name} has shape {counts.shape} and dtype {counts.dtype}; it must hold one "
            f"integer for each of the {batch} batch elements."
        )
    if errors.is_concrete(counts) and not ((counts >= 0) & (counts <= length)).all():
        raise ValueError(f"{lengths_name} is {counts}; every entry must lie in 0, …, {length}.")
    within = jnp.arange(length) < counts[:, None]
    return within if result is None else result & within


def shown_finite(**given: tuple[Array, Array | None]) -> None:
    """Refuses NaN and infinity in arrays (B, L, …) where their masks (B, L) are true."""
    for name, (array, shown) in given.items():
        if shown is None:
            errors.all_finite(name, array)
        elif errors.is_concrete(array) and errors.is_concrete(shown):
            with jax.ensure_compile_time_eval():
                good = jnp.isfinite(array).all(axis=(2, 3)) | ~shown
                errors.all_finite(name, jnp.where(good, 0.0, jnp.nan))


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


def same_length(query: Array, key: Array, why: str | None) -> None:
    """Refuses T ≠ S where there is a reason why they must be equal."""
    if why is not None and query.shape[1] != key.shape[1]:
        raise ValueError(
            f"query has length {query.shape[1]} and key has {key.shape[1]}; with {why} they must "
            "be equal."
        )


def segments(
    value: ArrayLike | None, query: Array, key: Array, axis_name: str | None
) -> Array | None:
    """Segment ids (B, T) as numbers 0, 1, … in order; T = S, and each segment stands together."""
    if value is None:
        return None
    ids = errors.array_of("segment_ids", value, "integers")
    if ids.shape != query.shape[:2] or not jnp.issubdtype(ids.dtype, jnp.integer):
        raise ValueError(
            f"segment_ids has shape {ids.shape} and dtype {ids.dtype}; it must hold integers, "
            f"(batch, length) = {query.shape[:2]}."
        )
    same_length(query, key, "segment_ids")
    if axis_name is not None:
        raise ValueError(
            f"segment_ids is given with axis_name {axis_name!r}, but packed sequences are not "
            "spread over devices by their length; spread the batch or the heads."
        )
    found = runs(ids)
    if errors.is_concrete(ids) and not _together(np.asarray(ids)):
        raise ValueError(
            "segment_ids returns to an id after another one; the tokens of a segment must stand "
            "together."
        )
    return found


def _together(ids: np.ndarray) -> bool:
    """Whether every row (B, L) has as many runs of equal ids as it has ids."""
    changes = np.sum(ids[:, 1:] != ids[:, :-1], axis=1)
    kinds = np.array([np.unique(row).size for row in ids])
    return bool((changes + 1 == kinds).all())


def concrete(**arrays: Array) -> None:
    """Refuses traced arrays, whose values cannot be looked at."""
    for name, array in arrays.items():
        if not errors.is_concrete(array):
            raise ValueError(f"{name} is traced; report looks at values and does not run in jit.")


def settings(value: object, kind: type) -> None:
    """Refuses anything but a `FavorAttention`, which is the `kind`."""
    if not isinstance(value, kind):
        raise ValueError(
            f"attend is a {type(value).__name__}; it must be a FavorAttention, such as "
            "FavorAttention(num_features=256)."
        )


def token(name: str, value: ArrayLike) -> Array:
    """One token (B, N, H), or (B, 1, N, H), as the latter."""
    array = errors.real(name, value)
    if array.ndim == 3:
        return array[:, None]
    if array.ndim != 4 or array.shape[1] != 1:
        raise ValueError(
            f"{name} has shape {array.shape}; a step takes one token, (batch, heads, dim) or "
            "(batch, 1, heads, dim)."
        )
    return array


def state(value: State, like: State) -> State:
    """A state of the shapes that this call makes, in its dtype."""
    if not isinstance(value, State):
        raise ValueError(
            f"state is a {type(value).__name__}; it must be what `init_state`, `prefill` or `step` "
            "returned."
        )
    # Not the leaves of the tree: a State made by hand may hold None, which is none.
    shapes, wanted = ([np.shape(leaf) for leaf in (s.log_scale, s.sums)] for s in (value, like))
    if shapes != wanted:
        raise ValueError(
            f"state has scales and sums of shapes {shapes[0]} and {shapes[1]}; these queries and "
            f"values and {like.sums.shape[2]} features need {wanted[0]} and {wanted[1]}."
        )
    return jax.tree.map(lambda leaf, other: jnp.asarray(leaf, other.dtype), value, like)


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
    # An array, or a traced number, has no truth value to ask for.
    if not isinstance(dropout_rate, Real) or dropout_rate != 0:
        raise ValueError(
            f"dropout_rate is {dropout_rate}, but linear attention forms no attention matrix to "
            "drop entries of; it must be 0."
        )


def flag(name: str, value: object) -> None:
    """Refuses anything but True and False: a text such as "no" would count as true."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is {value!r}; it must be True or False.")
