"""Input checks: one sentence that names the argument, what came and what is accepted.

Shapes, dtypes and names are checked always. Values (NaN, signs, ranges) are checked when they are
concrete; under `jit`, `vmap` and `grad` they are not known, and no check of them is made.
"""

from collections.abc import Callable, Iterable

import jax.numpy as jnp
import numpy as np
from jax import Array, ensure_compile_time_eval
from jax.core import Tracer
from jax.typing import ArrayLike, DTypeLike


class UnknownNameError(KeyError, ValueError):
    """A name that is not among the accepted ones."""

    def __str__(self) -> str:
        return str(self.args[0])


def is_concrete(value: object) -> bool:
    """Whether a value can be looked at: a number or an array, but no tracer.

    Of an array that is spread over processes each has a part alone, unless all have the whole.
    """
    if isinstance(value, int | float | complex | np.ndarray | np.generic):
        return True
    if not isinstance(value, Array) or isinstance(value, Tracer):
        return False
    return value.is_fully_addressable or value.is_fully_replicated


def one_of(name: str, value: str, accepted: Iterable[str]) -> None:
    """Refuses a value that is not among the accepted names."""
    if value not in (names := tuple(accepted)):
        listed = ", ".join(repr(each) for each in names)
        raise UnknownNameError(f"{name} is {value!r}; accepted are {listed}.")


def whole(name: str, value: int, least: int = 1) -> None:
    """Refuses anything but a Python (or NumPy) integer that is at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} is {value!r}; it must be an integer of at least {least}.")


def floating(name: str, dtype: DTypeLike | None) -> None:
    """Refuses a dtype that is not a real floating one of at least 32 bits; None is the default."""
    if dtype is None:
        return
    try:
        good = jnp.issubdtype(dtype, jnp.floating) and jnp.finfo(dtype).bits >= 32
    except TypeError:
        good = False
    if not good:
        given = getattr(dtype, "__name__", dtype)
        raise ValueError(f"{name} is {given}; it must be float32 or float64.")


def array_of(name: str, value: ArrayLike, kind: str) -> Array:
    """The value as an array; what JAX cannot hold is refused."""
    try:
        return jnp.asarray(value)
    except OverflowError:
        raise ValueError(
            f"{name} holds an integer too large for JAX; it must be an array of {kind}."
        ) from None
    except (TypeError, ValueError):
        what = "has dtype" if isinstance(value, np.ndarray) else "is a"
        given = value.dtype if isinstance(value, np.ndarray) else type(value).__name__
        raise ValueError(f"{name} {what} {given}; it must be an array of {kind}.") from None


def real(name: str, value: ArrayLike, *, finite: bool = True) -> Array:
    """The value as a real array; integers become floating point. Entries must be `finite`."""
    if isinstance(value, np.ndarray | np.generic) and np.issubdtype(value.dtype, np.integer):
        # JAX would cut 64 bits down to 32, and change the numbers.
        value = value.astype(np.float32)
    array = array_of(name, value, "real numbers")
    if jnp.issubdtype(array.dtype, jnp.integer) or array.dtype == jnp.bool_:
        array = array.astype(jnp.float32)
    if not jnp.issubdtype(array.dtype, jnp.floating):
        raise ValueError(f"{name} has dtype {array.dtype}; it must hold real numbers.")
    if finite:
        all_finite(name, array)
    return array


def all_finite(name: str, array: Array) -> None:
    """Refuses a concrete array that holds NaN or infinity."""
    if not is_concrete(array):
        return
    # A function that is traced may hold concrete arrays; they are looked at outside its trace.
    with ensure_compile_time_eval():
        finite = bool(jnp.isfinite(array).all())
    if not finite:
        raise ValueError(f"{name} holds NaN or infinity; every entry must be finite.")


def points(
    name: str,
    value: ArrayLike,
    *,
    axes: str = "(..., rows, dim)",
    empty: bool = False,
    finite: bool = True,
) -> Array:
    """A real array of points: rows and coordinates last, unless `axes` says there are no rows.

    No axis may have length 0, except for the rows where `empty` allows it.
    """
    array = real(name, value, finite=finite)
    least = axes.count(",") if axes.startswith("(...") else axes.count(",") + 1
    wrong = array.ndim < least if axes.startswith("(...") else array.ndim != least
    if wrong or array.shape[-1] < 1:
        raise ValueError(f"{name} has shape {array.shape}; it must be {axes}.")
    if 0 in array.shape and not empty:
        raise ValueError(f"{name} has shape {array.shape}; it must have at least one row.")
    return array


def same_dim(first: str, one: Array, second: str, other: Array) -> None:
    """Refuses two arrays whose last axes, the coordinates, differ in length."""
    if one.shape[-1] != other.shape[-1]:
        raise ValueError(
            f"{first} has {one.shape[-1]} coordinates and {second} has {other.shape[-1]}; "
            f"they must have the same number."
        )


def same_batch(first: str, one: Array, second: str, other: Array, *, own: int = 2) -> None:
    """Refuses two arrays whose leading axes, all but their `own` last ones, do not broadcast."""
    try:
        jnp.broadcast_shapes(one.shape[:-own], other.shape[:-own])
    except ValueError:
        raise ValueError(
            f"{first} has leading axes {one.shape[:-own]} and {second} has {other.shape[:-own]}; "
            "they must be equal or broadcast."
        ) from None


def parameter(
    name: str,
    value: object,
    accepted: str,
    inside: Callable[[np.ndarray], np.ndarray],
    *,
    kinds: tuple[type, ...] = (jnp.integer, jnp.floating),
) -> None:
    """Refuses a parameter that is no number and no array, or, where concrete, not `inside`."""
    if not is_concrete(value) and not isinstance(value, Array):
        raise ValueError(
            f"{name} is a {type(value).__name__}; it must be a number or an array, {accepted}."
        )
    dtype = value.dtype if isinstance(value, Array) else np.asarray(value).dtype
    if not any(jnp.issubdtype(dtype, kind) for kind in kinds):
        real = "" if jnp.number in kinds else "real "
        raise ValueError(f"{name} has dtype {dtype}; it must hold {real}numbers, {accepted}.")
    if is_concrete(value) and not np.all(inside(np.asarray(value))):
        raise ValueError(f"{name} is {value}; it must be {accepted}.")
