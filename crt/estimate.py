"""Kernel estimates from random features: entries, and the O(dML) operator.

Everything is summed in log space relative to maxima, never with an ε added: the result is the mean
of M feature products, exactly the estimator of the theorems, wherever float32 can hold it.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.typing import ArrayLike
from jaxtyping import Float, Int, Real

from crt import errors
from crt.arrays import common_dtype, promote
from crt.kernels import KERNELS
from crt.mechanisms.base import Mechanism
from crt.pytrees import pytree

CHUNK = 1024


def _finite_max(values: Array, axis: int) -> Array:
    """Maximum along an axis, 0 where everything is -∞, without a gradient."""
    return _or_zero(lax.stop_gradient(jnp.max(values, axis=axis, keepdims=True)))


def _parts(phase: Array | None) -> list[Array | None]:
    """Real columns of a phase: itself, or its real and imaginary part."""
    if phase is None or not jnp.iscomplexobj(phase):
        return [phase]
    return [jnp.real(phase), jnp.imag(phase)]


def _conjugate(phase: Array | None) -> Array | None:
    """Re(p·q) = Re p̄·Re q + Im p̄·Im q: one side of a product of phases enters conjugated."""
    return phase if phase is None else jnp.conj(phase)


def _weigh(weights: Array, phase: Array | None) -> Array:
    """Weights times phases as real columns, (…, L, M), or (…, L, 2M) for complex phases."""
    parts = [weights if part is None else weights * part for part in _parts(phase)]
    return parts[0] if len(parts) == 1 else jnp.concatenate(parts, axis=-1)


def _or_zero(log_scale: Array) -> Array:
    """The scale, 0 in place of -∞: exp(-∞ - 0) = 0, where exp(-∞ + ∞) is NaN."""
    return jnp.where(jnp.isfinite(log_scale), log_scale, 0)


@pytree
class Summary:
    """What the estimates need of the points y with values c: Σ_j f2(ω_m, y_j) c_j for every m.

    The sums (…, R, k) are relative to exp(log_scale) (…, M); R is M, or 2M for complex features
    (real parts, then imaginary parts). Summaries of parts of the data merge.
    """

    log_scale: Float[Array, "*batch m"]
    sums: Float[Array, "*batch r k"]

    def _rescaled(self, log_scale: Array) -> Array:
        repeat = self.sums.shape[-2] // self.log_scale.shape[-1]
        factor = jnp.exp(self.log_scale - _or_zero(log_scale))
        return self.sums * jnp.concatenate([factor] * repeat, axis=-1)[..., None]

    def merge(self, other: "Summary") -> "Summary":
        """The summary of both parts of the data together."""
        if not isinstance(other, Summary):
            raise ValueError(
                f"other is a {type(other).__name__}; it must be what crt.summarise returns."
            )
        if self._shape() != other._shape():
            raise ValueError(
                f"other has features, rows and columns {other._shape()} and this summary has "
                f"{self._shape()}; both must come from the same omega and equally many columns."
            )
        errors.same_batch("this summary", self.sums, "other", other.sums)
        arrays = promote(self.log_scale, self.sums, other.log_scale, other.sums)
        one, two = Summary(*arrays[:2]), Summary(*arrays[2:])
        top = jnp.maximum(one.log_scale, two.log_scale)
        return Summary(top, one._rescaled(top) + two._rescaled(top))

    def _shape(self) -> tuple[int, ...]:
        return (self.log_scale.shape[-1], *self.sums.shape[-2:])

    def all_reduce(self, axis_name: str) -> "Summary":
        """The summary of the rows of all devices along a mapped axis."""
        top = lax.pmax(lax.stop_gradient(self.log_scale), axis_name)
        return Summary(top, lax.psum(self._rescaled(top), axis_name))


def _starts(mechanism: Mechanism, rows: int, chunk: int) -> tuple[int, Array]:
    """Chunk length, and where each chunk's first new row lies; the last one may reach back.

    Signed features hold one more array at a time: three quarters of the rows make up for it.
    """
    most = max(1, 3 * chunk // 4) if mechanism.signed_features else chunk
    chunk = min(most, rows)
    return chunk, jnp.arange(0, rows, chunk)


def _varying(carry: Any, *sources: object) -> Any:
    """The carry with 0 added, a 0 that depends on the sources.

    Inside `shard_map` a scan must start from values that vary over the same devices as its result.
    """
    firsts = [jnp.real(leaf[(0,) * leaf.ndim]) for leaf in jax.tree.leaves(sources)]
    nothing = sum(jnp.where(first > 0, 0, 0) for first in firsts)
    return jax.tree.map(lambda leaf: leaf + jnp.asarray(nothing, leaf.dtype), carry)


def _slice(array: Array, start: Array, chunk: int) -> Array:
    return lax.dynamic_slice_in_dim(array, start, chunk, axis=-2)


@partial(jax.jit, static_argnames=("kernel", "chunk"))
def _summarise(
    mechanism: Mechanism, omega: Array, y: Array, c: Array, kernel: str, chunk: int
) -> Summary:
    rows, features = y.shape[-2], omega.shape[-2]
    chunk, starts = _starts(mechanism, rows, chunk)
    width = features * (2 if mechanism.complex_features else 1)
    batch = jnp.broadcast_shapes(y.shape[:-2], c.shape[:-2])
    empty = Summary(
        jnp.full((*y.shape[:-2], features), -jnp.inf, y.dtype),
        jnp.zeros((*batch, width, c.shape[-1]), y.dtype),
    )

    @jax.checkpoint
    def add(total: Summary, start: Array) -> Summary:
        first = jnp.minimum(start, rows - chunk)
        log_abs, phase = mechanism.log_values(_slice(y, first, chunk), omega, "y", kernel)
        new = (first + jnp.arange(chunk) >= start)[:, None]
        log_abs = jnp.where(new, log_abs, -jnp.inf)
        top = jnp.maximum(total.log_scale, lax.stop_gradient(jnp.max(log_abs, axis=-2)))
        columns = _weigh(jnp.exp(log_abs - _or_zero(top)[..., None, :]), phase)
        part = jnp.einsum(
            "...lr,...lk->...rk", columns, _slice(c, first, chunk), precision=lax.Precision.HIGHEST
        )
        return Summary(top, total._rescaled(top) + part)

    empty = _varying(empty, mechanism, omega, y, c)
    total, _ = lax.scan(lambda carry, start: (add(carry, start), None), empty, starts)
    return total


@partial(jax.jit, static_argnames=("kernel", "chunk"))
def _read(
    mechanism: Mechanism, omega: Array, x: Array, summary: Summary, kernel: str, chunk: int
) -> tuple[Array, Array]:
    """Sums over features relative to exp(scale), (…, n, k), and the scale (…, n, 1)."""
    rows = x.shape[-2]
    chunk, starts = _starts(mechanism, rows, chunk)
    batch = jnp.broadcast_shapes(x.shape[:-2], summary.sums.shape[:-2])
    values = jnp.zeros((*batch, rows, summary.sums.shape[-1]), x.dtype)
    scales = jnp.zeros((*batch, rows, 1), x.dtype)

    @jax.checkpoint
    def read(first: Array) -> tuple[Array, Array]:
        log_abs, phase = mechanism.log_values(_slice(x, first, chunk), omega, "x", kernel)
        shifted = log_abs + summary.log_scale[..., None, :]
        top = _finite_max(shifted, axis=-1)
        columns = _weigh(jnp.exp(shifted - top), _conjugate(phase))
        part = jnp.einsum(
            "...lr,...rk->...lk", columns, summary.sums, precision=lax.Precision.HIGHEST
        )
        return part, jnp.broadcast_to(top, (*batch, chunk, 1))

    def step(carry: tuple[Array, Array], start: Array) -> tuple[tuple[Array, Array], None]:
        first = jnp.minimum(start, rows - chunk)
        write = partial(lax.dynamic_update_slice_in_dim, start_index=first, axis=-2)
        part, top = read(first)
        return (write(carry[0], part), write(carry[1], top)), None

    carry = _varying((values, scales), mechanism, omega, x, summary)
    (values, scales), _ = lax.scan(step, carry, starts)
    return values, scales


def _promote(mechanism: Mechanism, *arrays: Array) -> tuple[Array, ...]:
    """The arrays in the common dtype of all of them and of the mechanism's parameters."""
    leaves = [jnp.real(leaf) for leaf in jax.tree.leaves(mechanism)]
    return promote(*arrays, *leaves)[: len(arrays)]


def _checked(
    mechanism: Mechanism, omega: ArrayLike, kernel: str, chunk: int, **sets: ArrayLike
) -> list[Array]:
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


def _values(c: ArrayLike, y: Array) -> Array:
    values = errors.points("c", c, axes="(..., rows, columns)")
    if values.shape[-2] != y.shape[-2]:
        raise ValueError(
            f"c has {values.shape[-2]} rows and y has {y.shape[-2]}; there must be one row of c "
            "for each row of y."
        )
    errors.same_batch("c", values, "y", y)
    return values


def _one_hot(labels: ArrayLike, num_classes: int, y: Array) -> Float[Array, "*batch l classes"]:
    errors.whole("num_classes", num_classes)
    classes = errors.array_of("labels", labels, "integers")
    if not jnp.issubdtype(classes.dtype, jnp.integer) or classes.shape[-1:] != y.shape[-2:-1]:
        raise ValueError(
            f"labels has dtype {classes.dtype} and shape {classes.shape}; it must hold one integer "
            f"for each of the {y.shape[-2]} rows of y."
        )
    if errors.is_concrete(classes):
        # In NumPy: a function that is traced may hold concrete labels.
        known = np.asarray(classes)
        if not ((known >= 0) & (known < num_classes)).all():
            raise ValueError(f"labels must lie in 0, ..., num_classes - 1 = {num_classes - 1}.")
    one_hot = jax.nn.one_hot(classes, num_classes)
    errors.same_batch("labels", one_hot, "y", y)
    return one_hot


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
    projections, points = _checked(mechanism, omega, kernel, chunk, y=y)
    values = _values(c, points)
    return _summarise(mechanism, *_promote(mechanism, projections, points, values), kernel, chunk)


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
    projections, points = _checked(mechanism, omega, kernel, chunk, x=x)
    _checked_summary(mechanism, projections, points, summary)
    projections, points, *own = _promote(
        mechanism, projections, points, summary.log_scale, summary.sums
    )
    values, scale = _read(mechanism, projections, points, Summary(*own), kernel, chunk)
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
    _checked(mechanism, omega, kernel, chunk, x=x, y=y)
    summary = summarise(mechanism, omega, y, c, kernel=kernel, chunk=chunk)
    return read(mechanism, omega, x, summary, kernel=kernel, chunk=chunk)


def regress(
    mechanism: Mechanism,
    omega: Real[ArrayLike, "m d"],
    x: Real[ArrayLike, "*batch n d"],
    y: Real[ArrayLike, "*batch l d"],
    c: Real[ArrayLike, "*batch l k"],
    *,
    kernel: str = "gaussian",
    chunk: int = CHUNK,
) -> Float[Array, "*batch n k"]:
    """Nadaraya–Watson regression: Σ_j K̂(x_i, y_j) c_j / Σ_j K̂(x_i, y_j), (n, k). O((n+l)M(d+k)).

    With positive features (pos, oprf, pois+, geom+) a weighted mean of the c_j. Others may have
    negative weights, and a denominator near 0; where it is exactly 0 the plain mean is returned.
    """
    projections, points, others = _checked(mechanism, omega, kernel, chunk, x=x, y=y)
    values = _values(c, others)
    ones = jnp.ones((*values.shape[:-1], 1), values.dtype)
    both = jnp.concatenate([values, ones], axis=-1)
    summary = summarise(mechanism, projections, others, both, kernel=kernel, chunk=chunk)
    sums, _ = read_scaled(mechanism, projections, points, summary, kernel=kernel, chunk=chunk)
    numerator, denominator = sums[..., :-1], sums[..., -1:]
    empty = denominator == 0
    plain = jnp.mean(values, axis=-2, keepdims=True).astype(sums.dtype)
    ratio = numerator / jnp.where(empty, 1, denominator)
    return jnp.where(empty, plain, ratio).astype(points.dtype)


def classify(
    mechanism: Mechanism,
    omega: Real[ArrayLike, "m d"],
    x: Real[ArrayLike, "*batch n d"],
    y: Real[ArrayLike, "*batch l d"],
    labels: Int[ArrayLike, "*batch l"],
    num_classes: int,
    *,
    kernel: str = "gaussian",
    chunk: int = CHUNK,
) -> Int[Array, "*batch n"]:
    """Nadaraya–Watson classification: the class with the largest Σ_{j in class} K̂(x_i, y_j), (n,).

    The common denominator is left out, so no positivity is needed. O((n+l)M(d+classes)).
    """
    projections, points, others = _checked(mechanism, omega, kernel, chunk, x=x, y=y)
    one_hot = _one_hot(labels, num_classes, others)
    summary = summarise(mechanism, projections, others, one_hot, kernel=kernel, chunk=chunk)
    scores, _ = read_scaled(mechanism, projections, points, summary, kernel=kernel, chunk=chunk)
    return jnp.argmax(scores, axis=-1)


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
    y_parts = _parts(y_phase)

    @jax.checkpoint
    def row(each: tuple[Array, Array | None]) -> tuple[Array, Array]:
        logs, phase = each
        logs = logs + y_logs
        top = _finite_max(logs, axis=-1)
        weights = jnp.exp(logs - top)
        pairs = zip(_parts(_conjugate(phase)), y_parts, strict=True)
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
    projections, points, others = _checked(mechanism, omega, kernel, 1, x=x, y=y)
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
