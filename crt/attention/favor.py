"""`FavorAttention`: linear attention in the layout of `jax.nn.dot_product_attention`."""

import warnings
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.typing import ArrayLike, DTypeLike
from jaxtyping import Bool, Float, Int, PRNGKeyArray, Real, Shaped

from crt import errors, projections
from crt.arrays import promote
from crt.attention import bidirectional, causal, checks, features, fit, quadratic
from crt.attention.state import empty

MECHANISMS = ("oprf", "pos", "trig", "relu", "elu")
CHUNK = 128


@dataclass(frozen=True)
class FavorAttention:
    """softmax(scale·q·kᵀ)·v with the kernel estimated by M random features: O(L·M·d).

    FAVOR++ with mechanism "oprf", FAVOR+ with "pos", FAVOR with "trig"; "relu" and "elu" are
    baselines that estimate no softmax. The output is exactly Σ_j K̂(q, k_j) v_j / Σ_j K̂(q, k_j),
    with nothing added for stability: sums are kept relative to running maxima. Accumulation is in
    float32 at least; the output has the queries' dtype. The object holds settings alone, and may be
    a static argument of `jit`.

    Attributes:
        num_features: M. Without meaning for "elu", whose features are the coordinates.
        mechanism: "oprf", "pos", "trig", "relu" or "elu".
        orthogonal: whether `sample` draws rows that are orthogonal in blocks of d (Haar).
        rho_gradient: whether gradients flow through a ρ that is fitted in the call.
        block_size: rows whose features exist at one time; None fits them into a CPU's cache.
    """

    num_features: int = 256
    mechanism: str = "oprf"
    orthogonal: bool = True
    rho_gradient: bool = False
    block_size: int | None = None

    def __post_init__(self) -> None:
        errors.whole("num_features", self.num_features)
        errors.one_of("mechanism", self.mechanism, MECHANISMS)
        if self.block_size is not None:
            errors.whole("block_size", self.block_size)

    def sample(
        self,
        key: PRNGKeyArray | Shaped[Array, "..."],
        head_dim: int,
        num_heads: int | None = None,
        *,
        dtype: DTypeLike | None = None,
    ) -> Float[Array, "*heads m h"] | None:
        """Projections ω (M, H), shared by all heads, or (N, M, H); None for "elu". O(NMH²)."""
        errors.whole("head_dim", head_dim)
        draw = projections.orthogonal if self.orthogonal else projections.iid
        if self.mechanism == "elu":
            return None
        if num_heads is None:
            return draw(key, self.num_features, head_dim, dtype)
        errors.whole("num_heads", num_heads)
        keys = jax.random.split(key, num_heads)
        return jax.vmap(lambda each: draw(each, self.num_features, head_dim, dtype))(keys)

    def __call__(
        self,
        query: Real[ArrayLike, "b t n h"],
        key: Real[ArrayLike, "b s k h"],
        value: Real[ArrayLike, "b s k v"],
        omega: Real[ArrayLike, "*heads m h"] | None,
        key_mask: Bool[ArrayLike, "b s"] | None = None,
        is_causal: bool = False,
        rho: Real[ArrayLike, "*which"] | None = None,
        *,
        scale: Real[ArrayLike, ""] | None = None,
        query_mask: Bool[ArrayLike, "b t"] | None = None,
        query_seq_lengths: Int[ArrayLike, " b"] | None = None,
        key_value_seq_lengths: Int[ArrayLike, " b"] | None = None,
        bias: object = None,
        local_window_size: object = None,
        dropout_rate: float = 0.0,
    ) -> Float[Array, "b t n v"]:
        """Outputs (B, T, N, V) of queries (B, T, N, H) on keys (B, S, K, H), values (B, S, K, V).

        K must divide N (grouped queries). Positions where a mask is false, or that lie beyond the
        lengths, never count; a query with no key to look at, or masked itself, gives zeros.
        ρ, a number, (N,) or (B, N), is that of "oprf"; None fits it to each batch element and head,
        where no mask of the queries is given and T = S over the queries that `key_mask` shows.
        Under `is_causal` ρ must be given: a fit would look ahead. O((T+S)·M·(H+V)).
        """
        checks.refuse(bias, local_window_size, dropout_rate)
        self._warn_of_signs()
        q, k = checks.pair(query, key)
        v = checks.values(value, k)
        q_mask = checks.mask("query_mask", query_mask, query_seq_lengths, "query_seq_lengths", q)
        k_mask = checks.mask(
            "key_mask", key_mask, key_value_seq_lengths, "key_value_seq_lengths", k
        )
        if is_causal and q.shape[1] != k.shape[1]:
            raise ValueError(
                f"query has length {q.shape[1]} and key has {k.shape[1]}; with is_causal=True they "
                "must be equal."
            )
        made = self._features(q, k, omega, rho, scale, q_mask, k_mask, is_causal)
        return _attend(made, q, k, v, q_mask, k_mask, is_causal, self.block_size)

    def calibrate(
        self,
        query: Real[ArrayLike, "b t n h"],
        key: Real[ArrayLike, "b s k h"],
        key_mask: Bool[ArrayLike, "b s"] | None = None,
        *,
        scale: Real[ArrayLike, ""] | None = None,
        query_mask: Bool[ArrayLike, "b t"] | None = None,
    ) -> Float[Array, " n"]:
        """ρ (N,) of each head, fitted to the pairs of the whole batch pooled. O(B·(T+S)·N·H)."""
        self._check_fitted("calibrate")
        q, k = checks.pair(query, key)
        k_mask = checks.mask("key_mask", key_mask, None, "", k)
        q_mask = _query_mask(checks.mask("query_mask", query_mask, None, "", q), k_mask, q)
        (one, one_mask), (other, other_mask) = fit.pooled(q, q_mask), fit.pooled(k, k_mask)
        return fit.rho(one, other, one_mask, other_mask, checks.scale(scale, q.shape[-1]))[0]

    def rows(
        self,
        query: Real[ArrayLike, "b t n h"],
        key: Real[ArrayLike, "b s k h"],
        omega: Real[ArrayLike, "*heads m h"] | None,
        rho: Real[ArrayLike, "*which"] | None = None,
        key_mask: Bool[ArrayLike, "b s"] | None = None,
        is_causal: bool = False,
        *,
        scale: Real[ArrayLike, ""] | None = None,
    ) -> Float[Array, "b n t s"]:
        """The attention rows that a call implies, (B, N, T, S): each sums to 1, or is 0. O(TSM).

        Every entry is summed on its own, by another route than the call's: for looking and testing.
        """
        q, k = checks.pair(query, key)
        k_mask = checks.mask("key_mask", key_mask, None, "", k)
        made = self._features(q, k, omega, rho, scale, None, k_mask, is_causal)
        return quadratic.rows(made, q, k, k_mask, is_causal)

    def _features(
        self,
        q: Array,
        k: Array,
        omega: ArrayLike | None,
        rho: ArrayLike | None,
        scale: ArrayLike | None,
        q_mask: Array | None,
        k_mask: Array | None,
        is_causal: bool,
    ) -> features.Map:
        """The map of this call, with a fitted ρ where "oprf" is given none."""
        factor = checks.scale(scale, q.shape[-1])
        shape = (q.shape[0], q.shape[2], q.shape[3])
        if self.mechanism == "elu":
            self._check_unfitted(rho)
            return features.make("elu", None, None, promote(factor, q)[0], shape)
        drawn = checks.projections(omega, self.mechanism, self.num_features, q)
        dtype = promote(q, k, drawn, factor)[0].dtype
        drawn, factor = drawn.astype(dtype), factor.astype(dtype)
        if self.mechanism != "oprf":
            self._check_unfitted(rho)
            return features.make(self.mechanism, drawn, None, factor, shape)
        if rho is not None:
            given = checks.rho(rho, q).astype(dtype)
            return features.make("oprf", drawn, given, factor, shape)
        if is_causal:
            raise ValueError(
                "rho is None with is_causal=True, but a fit would look at later tokens; pass what "
                "`calibrate` returned for earlier data."
            )
        fitted = fit.rho(q, k, _query_mask(q_mask, k_mask, q), k_mask, factor).astype(dtype)
        fitted = fitted if self.rho_gradient else lax.stop_gradient(fitted)
        return features.make("oprf", drawn, fitted, factor, shape)

    def _check_unfitted(self, rho: ArrayLike | None) -> None:
        if rho is not None:
            raise ValueError(
                f"rho is given, but mechanism {self.mechanism!r} has no parameter; it must be None."
            )

    def _check_fitted(self, method: str) -> None:
        if self.mechanism != "oprf":
            raise ValueError(
                f"mechanism is {self.mechanism!r}, which has no parameter; {method} needs 'oprf'."
            )

    def _warn_of_signs(self) -> None:
        if self.mechanism == "trig":
            warnings.warn(
                "trigonometric features have signs, so a denominator of attention can be near 0 or "
                "negative; mechanisms 'oprf' and 'pos' keep it positive.",
                stacklevel=3,
            )


def _query_mask(q_mask: Array | None, k_mask: Array | None, q: Array) -> Array | None:
    """The queries a fit counts: as masked; for T = S without a mask, those the keys' mask shows."""
    if q_mask is None and k_mask is not None and k_mask.shape[1] == q.shape[1]:
        return k_mask
    return q_mask


def _block(heads: int, width: int) -> int:
    """Rows of a block: 2^18 features of all heads (1 MB), in steps of 64 between 64 and 1024."""
    return min(max(2**18 // (heads * width) // 64, 1), 16) * 64


def _pad(x: Array, length: int) -> Array:
    """x with zeros appended along axis 1 to the length."""
    return jnp.pad(x, [(0, length - n if axis == 1 else 0) for axis, n in enumerate(x.shape)])


@partial(jax.jit, static_argnames=("is_causal", "block"))
def _attend(
    made: features.Map,
    q: Array,
    k: Array,
    v: Array,
    q_mask: Array | None,
    k_mask: Array | None,
    is_causal: bool,
    block: int | None,
) -> Array:
    if is_causal:
        out = _attend_causal(made, q, k, v, k_mask)
    else:
        heads = q.shape[2]
        block = block or _block(q.shape[0] * heads, made.width)
        state = bidirectional.summarise(made, k, v, k_mask, heads, block)
        out = bidirectional.read(made, q, state, block)
    return out if q_mask is None else jnp.where(q_mask[:, :, None, None], out, 0)


def _attend_causal(made: features.Map, q: Array, k: Array, v: Array, k_mask: Array | None) -> Array:
    """Whole groups of chunks: the sequence is padded to them, and the pads are masked."""
    length = q.shape[1]
    chunk = min(CHUNK, length)
    chunks = -(-length // chunk)
    group = min(-(-made.width // chunk), chunks)
    whole = -(-chunks // group) * group * chunk
    if whole != length:
        shown = jnp.ones(k.shape[:2], bool) if k_mask is None else k_mask
        q, k, v, k_mask = (_pad(each, whole) for each in (q, k, v, shown))
    batch, _, heads, _ = q.shape
    none = empty(batch, heads, made.scales, made.width, v.shape[-1] + 1, features.dtype_of(made))
    return causal.attend(made, none, q, k, v, k_mask, chunk, group)[0][:, :length]
