"""Kernel estimates from random features: entries, and the O(dML) operator.

Everything is summed in log space relative to maxima, never with an ε added: the result is the mean
of M feature products, exactly the estimator of the theorems, wherever float32 can hold it.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.typing import ArrayLike
from jaxtyping import Float, Real

from crt import errors, sweep
from crt.arrays import common_dtype, promote
from crt.kernels import KERNELS
from crt.mechanisms.base import Mechanism
from crt.sweep import Summary

CHUNK = 1024


def _promote(mechanism: Mechanism, *arrays: Array) -> tuple[Array, ...]:
    """The arrays in the common dtype of all of them and of the mechanism's parameters."""
    leaves = [jnp.real(leaf) for leaf in jax.tree.leaves(mechanism)]
    return promote(*arrays, *leaves)[: len(arrays)]


def checked(
    mechanism: Mechanism, omega: ArrayLike, kernel: str, chunk: int, **sets: ArrayLike
) -> list[Array]:
    """ω and the sets of points as arrays that fit each other and the mechanism."""
    if not isinstance(mechanism, Mechanism):
        raise ValueError(
            f"mechanism is {mechanism!r}; it must be a mechanism such as crt.OPRF.fit(x, y)."
        )
    errors.one_of("kernel", kernel, KERNELS)
    errors.whole("chunk", chunk)
    projections = errors.points("omega", omega, axes="(features, dim)")
    arrays = [errors.points(name, value) for name, value in sets.items()]
    for name, array in zip(sets, arrays, strict=True):
        errors.same_dim(name, array, "omega", projections)
    mechanism.check_one(projections.shape[-1])
    if len(arrays) == 2:
        errors.same_batch("x", arrays[0], "y", arrays[1])
    return [projections, *arrays]


def _checked_summary(mechanism: Mechanism, omega: Array, x: Array, summary: Summary) -> None:
    """Refuses a summary that is none, or of other features than those of x."""
    if not isinstance(summary, Summary):
        raise ValueError(
            f"summary is a {type(summary).__name__}; it must be what crt.summarise returns."
        )
    features = omega.shape[-2]
    rows = features * (2 if mechanism.complex_features else 1)
    given = summary.log_scale.shape[-1], summary.sums.shape[-2]
    if given != (features, rows):
        raise ValueError(
            f"summary has {given[0]} features in {given[1]} rows; for {type(mechanism).__name__} "
            f"and this omega it must have {features} in {rows}."
        )
    errors.same_batch("x", x, "summary", summary.sums)


def checked_values(c: ArrayLike, y: Array) -> Array:
    """c as an array with one row for each row of y."""
    values = errors.points("c", c, axes="(..., rows, columns)")
    if values.shape[-2] != y.shape[-2]:
        raise ValueError(
            f"c has {values.shape[-2]} rows and y has {y.shape[-2]}; there must be one row of c "
            "for each row of y."
        )
    errors.same_batch("c", values, "y", y)
    return values


def summarise(
    mechanism: Mechanism,
    omega: Real[ArrayLike, "m d"],
    y: Real[ArrayLike, "*batch l d"],
    c: Real[ArrayLike, "*batch l k"],
    *,
    kernel: str = "gaussian",
    chunk: int = CHUNK,
) -> Summary:
    """All that `read` needs of the points y and their values c, in O(Mk) memory. O(LM(d+k))."""
    projections, points = checked(mechanism, omega, kernel, chunk, y=y)
    values = checked_values(c, points)
    return sweep.summarise(
        mechanism, *_promote(mechanism, projections, points, values), kernel, chunk
    )


def read_scaled(
    mechanism: Mechanism,
    omega: Real[ArrayLike, "m d"],
    x: Real[ArrayLike, "*batch n d"],
    summary: Summary,
    *,
    kernel: str = "gaussian",
    chunk: int = CHUNK,
) -> tuple[Float[Array, "*batch n k"], Float[Array, "*batch n 1"]]:
    """Values v (n, k) and logarithms t (n, 1) with v·e^t ≈ K(x, y) @ c. O(nM(d+k)).

    Ratios of the k columns need v alone, and are right where e^t over- or underflows.
    """
    projections, points = checked(mechanism, omega, kernel, chunk, x=x)
    _checked_summary(mechanism, projections, points, summary)
    projections, points, *own = _promote(
        mechanism, projections, points, summary.log_scale, summary.sums
    )
    values, scale = sweep.read(mechanism, projections, points, Summary(*own), kernel, chunk)
    return values / projections.shape[-2], scale


def mean_over_features(
    scaled: tuple[Float[Array, "*batch n k"], Float[Array, "*batch n 1"]], axis_name: str
) -> tuple[Float[Array, "*batch n k"], Float[Array, "*batch n 1"]]:
    """What `read_scaled` gives for the features of all devices along a mapped axis together.

    Each device holds equally many rows of ω, with the summary of y by those rows.
    """
    values, log_scale = scaled
    top = lax.pmax(lax.stop_gradient(log_scale), axis_name)
    return lax.pmean(values * jnp.exp(log_scale - top), axis_name), top


def unscale(
    values: Float[Array, "*batch n k"], log_scale: Float[Array, "*batch n 1"]
) -> Float[Array, "*batch n k"]:
    """values·exp(log_scale), 0 where the value is 0 even if the factor overflows."""
    return jnp.where(values == 0, 0, values * jnp.exp(log_scale))


def read(
    mechanism: Mechanism,
    omega: Real[ArrayLike, "m d"],
    x: Real[ArrayLike, "*batch n d"],
    summary: Summary,
    *,
    kernel: str = "gaussian",
    chunk: int = CHUNK,
) -> Float[Array, "*batch n k"]:
    """(n, k) ≈ K(x, y) @ c for the points x, from the summary of y and c. O(nM(d+k))."""
    scaled = read_scaled(mechanism, omega, x, summary, kernel=kernel, chunk=chunk)
    return unscale(*scaled).astype(errors.real("x", x).dtype)


def apply_kernel(
    mechanism: Mechanism,
    omega: Real[ArrayLike, "m d"],
    x: Real[ArrayLike, "*batch n d"],
    y: Real[ArrayLike, "*batch l d"],
    c: Real[ArrayLike, "*batch l k"],
    *,
    kernel: str = "gaussian",
    chunk: int = CHUNK,
) -> Float[Array, "*batch n k"]:
    """(n, k) ≈ K(x, y) @ c in O((n+l)M(d+k)) time, never an n × l array.

    eq-rfappr: features of y are summed against c, features of x read the sums. Beside its arguments
    and its result it holds O(chunk·M + Mk) numbers, and one scale for each row of x; its gradient
    also holds an O(Mk) summary for each chunk of y.
    """
    checked(mechanism, omega, kernel, chunk, x=x, y=y)
    summary = summarise(mechanism, omega, y, c, kernel=kernel, chunk=chunk)
    return read(mechanism, omega, x, summary, kernel=kernel, chunk=chunk)


@partial(jax.jit, static_argnames=("kernel",))
def _log_estimate(
    mechanism: Mechanism, omega: Array, x: Array, y: Array, kernel: str
) -> tuple[Array, Array]:
    if x.ndim > 2 or y.ndim > 2:
        batch = jnp.broadcast_shapes(x.shape[:-2], y.shape[:-2])
        x = jnp.broadcast_to(x, (*batch, *x.shape[-2:]))
        y = jnp.broadcast_to(y, (*batch, *y.shape[-2:]))
        return jax.vmap(lambda a, b: _log_estimate(mechanism, omega, a, b, kernel))(x, y)
    x_logs, x_phase = mechanism.log_values(x, omega, "x", kernel)
    y_logs, y_phase = mechanism.log_values(y, omega, "y", kernel)
    y_parts = sweep.parts(y_phase)

    @jax.checkpoint
    def row(each: tuple[Array, Array | None]) -> tuple[Array, Array]:
        logs, phase = each
        logs = logs + y_logs
        top = sweep.finite_max(logs, axis=-1)
        weights = jnp.exp(logs - top)
        pairs = zip(sweep.parts(sweep.conjugate(phase)), y_parts, strict=True)
        factors = [a * b for a, b in pairs if a is not None and b is not None]
        weights = weights * sum(factors[1:], factors[0]) if factors else weights
        return jnp.mean(weights, axis=-1), top[:, 0]

    block = max(1, 2**22 // y_logs.size)
    means, tops = lax.map(row, (x_logs, x_phase), batch_size=min(block, x.shape[0]))
    none = means == 0
    logs = jnp.log(jnp.where(none, 1, jnp.abs(means))) + tops
    return jnp.where(none, -jnp.inf, logs), jnp.sign(means)


def log_estimate_kernel(
    mechanism: Mechanism,
    omega: Real[ArrayLike, "m d"],
    x: Real[ArrayLike, "*batch n d"],
    y: Real[ArrayLike, "*batch l d"],
    *,
    kernel: str = "gaussian",
) -> tuple[Float[Array, "*batch n l"], Float[Array, "*batch n l"]]:
    """log|K̂(x_i, y_j)| and its sign, (n, l) each, also where K̂ over- or underflows. O(nlM)."""
    projections, points, others = checked(mechanism, omega, kernel, 1, x=x, y=y)
    return _log_estimate(mechanism, *_promote(mechanism, projections, points, others), kernel)


def estimate_kernel(
    mechanism: Mechanism,
    omega: Real[ArrayLike, "m d"],
    x: Real[ArrayLike, "*batch n d"],
    y: Real[ArrayLike, "*batch l d"],
    *,
    kernel: str = "gaussian",
) -> Float[Array, "*batch n l"]:
    """K̂(x_i, y_j) = mean over ω of Re f1(ω, x_i) f2(ω, y_j), (n, l). O(nlM).

    Each entry is summed on its own scale. To multiply with the matrix, use `apply_kernel`.
    """
    logs, sign = log_estimate_kernel(mechanism, omega, x, y, kernel=kernel)
    return (sign * jnp.exp(logs)).astype(common_dtype(errors.real("x", x), errors.real("y", y)))
