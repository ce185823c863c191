"""Input checks: one sentence that names the argument, what came and what is accepted.

Shapes, dtypes and names are checked always. Values (NaN, signs, ranges) are checked when they are
concrete; under `jit`, `vmap` and `grad` they are not known, and no check of them is made.
"""

from collections.abc import Callable, Iterable

import jax.numpy as jnp
import numpy as np
from jax import Array, ensure_compile_time_eval
from jax.core import Tracer
from jax.typing import ArrayLike


class UnknownNameError(KeyError, ValueError):
    """A name that is not among the accepted ones."""

    def __str__(self) -> str:
        return str(self.args[0])


def is_concrete(value: object) -> bool:
    """Whether a value can be looked at: a number or an array, but no tracer."""
    return isinstance(value, int | float | complex | np.ndarray | np.generic) or (
        isinstance(value, Array) and not isinstance(value, Tracer)
    )


def one_of(name: str, value: str, accepted: Iterable[str]) -> None:
    """Refuses a value that is not among the accepted names."""
    if value not in (names := tuple(accepted)):
        listed = ", ".join(repr(each) for each in names)
        raise UnknownNameError(f"{name} is {value!r}; accepted are {listed}.")


def whole(name: str, value: int, least: int = 1) -> None:
    """Refuses anything but a Python (or NumPy) integer that is at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} is {value!r}; it must be an integer of at least {least}.")


def real(name: str, value: ArrayLike) -> Array:
    """The value as a real array with finite entries; integers become floating point."""
    try:
        array = jnp.asarray(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} is a {type(value).__name__}; it must be an array of real numbers."
        ) from None
    if jnp.issubdtype(array.dtype, jnp.integer) or array.dtype == jnp.bool_:
        array = array.astype(jnp.float32)
    if not jnp.issubdtype(array.dtype, jnp.floating):
        raise ValueError(f"{name} has dtype {array.dtype}; it must hold real numbers.")
    if is_concrete(array) and not _all_finite(array):
        raise ValueError(f"{name} holds NaN or infinity; every entry must be finite.")
    return array


def _all_finite(array: Array) -> bool:
    # A function that is traced may hold concrete arrays; they are looked at outside its trace.
    with ensure_compile_time_eval():
        return bool(jnp.isfinite(array).all())


def points(
    name: str, value: ArrayLike, *, axes: str = "(..., rows, dim)", empty: bool = False
) -> Array:
    """A real array of points: rows and coordinates last, unless `axes` says there are no rows.

    No axis may have length 0, except for the rows where `empty` allows it.
    """
    array = real(name, value)
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


def same_batch(first: str, one: Array, second: str, other: Array) -> None:
    """Refuses two arrays whose leading axes, all but the last two, do not broadcast."""
    try:
        jnp.broadcast_shapes(one.shape[:-2], other.shape[:-2])
    except ValueError:
        raise ValueError(
            f"{first} has leading axes {one.shape[:-2]} and {second} has {other.shape[:-2]}; "
            "they must be equal or broadcast."
        ) from None


def parameter(
    name: str, value: object, accepted: str, inside: Callable[[np.ndarray], np.ndarray]
) -> None:
    """Refuses a parameter that is no number and no array, or, where concrete, not `inside`."""
    if not is_concrete(value) and not isinstance(value, Array):
        raise ValueError(f"{name} is a {type(value).__name__}; it must be {accepted}.")
    if is_concrete(value) and not np.all(inside(np.asarray(value))):
        raise ValueError(f"{name} is {value}; it must be {accepted}.")
