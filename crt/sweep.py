"""Chunks of points become a summary by their features, and a summary is read by other points.

The compiled half of `crt.estimate`, without input checks. Features enter as exp(log - maximum)
times a phase, and the maxima are kept beside the sums: nothing overflows and no ε is added.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Float

from crt import errors
from crt.arrays import promote
from crt.mechanisms.base import Mechanism
from crt.pytrees import pytree


def finite_max(values: Array, axis: int) -> Array:
    """Maximum along an axis, 0 where everything is -∞, without a gradient."""
    return or_zero(lax.stop_gradient(jnp.max(values, axis=axis, keepdims=True)))


def parts(phase: Array | None) -> list[Array | None]:
    """Real columns of a phase: itself, or its real and imaginary part."""
    if phase is None or not jnp.iscomplexobj(phase):
        return [phase]
    return [jnp.real(phase), jnp.imag(phase)]


def conjugate(phase: Array | None) -> Array | None:
    """Re(p·q) = Re p̄·Re q + Im p̄·Im q: one side of a product of phases enters conjugated."""
    return phase if phase is None else jnp.conj(phase)


def weigh(weights: Array, phase: Array | None) -> Array:
    """Weights times phases as real columns, (…, L, M), or (…, L, 2M) for complex phases."""
    columns = [weights if part is None else weights * part for part in parts(phase)]
    return columns[0] if len(columns) == 1 else jnp.concatenate(columns, axis=-1)


def or_zero(log_scale: Array) -> Array:
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
        factor = jnp.exp(self.log_scale - or_zero(log_scale))
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


def chunks_of(mechanism: Mechanism, rows: int, chunk: int) -> tuple[int, Array]:
    """Chunk length, and where each chunk's first new row lies; the last one may reach back.

    Signed features hold one more array at a time: three quarters of the rows make up for it.
    """
    most = max(1, 3 * chunk // 4) if mechanism.signed_features else chunk
    chunk = min(most, rows)
    return chunk, jnp.arange(0, rows, chunk)


def varying(carry: Any, *sources: object) -> Any:
    """The carry with 0 added, a 0 that depends on the sources.

    Inside `shard_map` a scan must start from values that vary over the same devices as its result.
    """
    firsts = [jnp.real(leaf[(0,) * leaf.ndim]) for leaf in jax.tree.leaves(sources)]
    nothing = sum(jnp.where(first > 0, 0, 0) for first in firsts)
    return jax.tree.map(lambda leaf: leaf + jnp.asarray(nothing, leaf.dtype), carry)


def rows_from(array: Array, start: Array, chunk: int) -> Array:
    return lax.dynamic_slice_in_dim(array, start, chunk, axis=-2)


@partial(jax.jit, static_argnames=("kernel", "chunk"))
def summarise(
    mechanism: Mechanism, omega: Array, y: Array, c: Array, kernel: str, chunk: int
) -> Summary:
    rows, features = y.shape[-2], omega.shape[-2]
    chunk, starts = chunks_of(mechanism, rows, chunk)
    width = features * (2 if mechanism.complex_features else 1)
    batch = jnp.broadcast_shapes(y.shape[:-2], c.shape[:-2])
    empty = Summary(
        jnp.full((*y.shape[:-2], features), -jnp.inf, y.dtype),
        jnp.zeros((*batch, width, c.shape[-1]), y.dtype),
    )

    @jax.checkpoint
    def add(total: Summary, start: Array) -> Summary:
        first = jnp.minimum(start, rows - chunk)
        log_abs, phase = mechanism.log_values(rows_from(y, first, chunk), omega, "y", kernel)
        new = (first + jnp.arange(chunk) >= start)[:, None]
        log_abs = jnp.where(new, log_abs, -jnp.inf)
        top = jnp.maximum(total.log_scale, lax.stop_gradient(jnp.max(log_abs, axis=-2)))
        columns = weigh(jnp.exp(log_abs - or_zero(top)[..., None, :]), phase)
        part = jnp.einsum(
            "...lr,...lk->...rk",
            columns,
            rows_from(c, first, chunk),
            precision=lax.Precision.HIGHEST,
        )
        return Summary(top, total._rescaled(top) + part)

    empty = varying(empty, mechanism, omega, y, c)
    total, _ = lax.scan(lambda carry, start: (add(carry, start), None), empty, starts)
    return total


@partial(jax.jit, static_argnames=("kernel", "chunk"))
def read(
    mechanism: Mechanism, omega: Array, x: Array, summary: Summary, kernel: str, chunk: int
) -> tuple[Array, Array]:
    """Sums over features relative to exp(scale), (…, n, k), and the scale (…, n, 1)."""
    rows = x.shape[-2]
    chunk, starts = chunks_of(mechanism, rows, chunk)
    batch = jnp.broadcast_shapes(x.shape[:-2], summary.sums.shape[:-2])
    values = jnp.zeros((*batch, rows, summary.sums.shape[-1]), x.dtype)
    scales = jnp.zeros((*batch, rows, 1), x.dtype)

    @jax.checkpoint
    def part_of(first: Array) -> tuple[Array, Array]:
        log_abs, phase = mechanism.log_values(rows_from(x, first, chunk), omega, "x", kernel)
        shifted = log_abs + summary.log_scale[..., None, :]
        top = finite_max(shifted, axis=-1)
        columns = weigh(jnp.exp(shifted - top), conjugate(phase))
        part = jnp.einsum(
            "...lr,...rk->...lk", columns, summary.sums, precision=lax.Precision.HIGHEST
        )
        return part, jnp.broadcast_to(top, (*batch, chunk, 1))

    def step(carry: tuple[Array, Array], start: Array) -> tuple[tuple[Array, Array], None]:
        first = jnp.minimum(start, rows - chunk)
        write = partial(lax.dynamic_update_slice_in_dim, start_index=first, axis=-2)
        part, top = part_of(first)
        return (write(carry[0], part), write(carry[1], top)), None

    carry = varying((values, scales), mechanism, omega, x, summary)
    (values, scales), _ = lax.scan(step, carry, starts)
    return values, scales
