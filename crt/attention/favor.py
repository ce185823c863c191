"""`FavorAttention`: linear attention in the layout of `jax.nn.dot_product_attention`."""

import warnings
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.typing import ArrayLike, DTypeLike
from jaxtyping import Bool, Float, Int, PRNGKeyArray, Real, Shaped

from crt import errors, projections
from crt.arrays import promote
from crt.attention import checks, features, fit, forward, quadratic, report
from crt.attention.report import Report
from crt.attention.state import State, empty

MECHANISMS = ("oprf", "pos", "trig", "relu", "elu")
_NAMES = ("query", "key", "value")


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
        checks.flag("orthogonal", self.orthogonal)
        checks.flag("rho_gradient", self.rho_gradient)
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
        segment_ids: Int[ArrayLike, "b t"] | None = None,
        axis_name: str | None = None,
        bias: object = None,
        local_window_size: object = None,
        dropout_rate: float = 0.0,
    ) -> Float[Array, "b t n v"]:
        """Outputs (B, T, N, V) of queries (B, T, N, H) on keys (B, S, K, H), values (B, S, K, V).

        K must divide N (grouped queries). ω is what `sample` returned, which "elu" does not need;
        "relu" and "elu" too see √scale·q and √scale·k, scale 1/√H unless given. Positions where a
        mask is false, or that lie beyond the lengths, never count; a query with no key to look at,
        or masked itself, gives zeros.
        ρ, a number, (N,) or (B, N), is that of "oprf"; None fits it to each batch element and head,
        where no mask of the queries is given and T = S over the queries that `key_mask` shows.
        Under `is_causal` ρ must be given: a fit would look ahead. With `segment_ids`, the same for
        all tokens of a packed sequence, which stand together, a query sees its own sequence alone,
        and ρ must be given as well. `axis_name` is the mapped axis (`jax.shard_map`) along which
        every device holds a part of the length; `crt.attention.sharded` maps it. O((T+S)·M·(H+V)).
        """
        checks.refuse(bias, local_window_size, dropout_rate)
        checks.flag("is_causal", is_causal)
        self._warn_of_signs()
        q, k = checks.pair(query, key, finite=False)
        v = checks.values(value, k, finite=False)
        q_mask = checks.mask("query_mask", query_mask, query_seq_lengths, "query_seq_lengths", q)
        k_mask = checks.mask(
            "key_mask", key_mask, key_value_seq_lengths, "key_value_seq_lengths", k
        )
        checks.shown_finite(query=(q, q_mask), key=(k, k_mask), value=(v, k_mask))
        checks.same_length(q, k, "is_causal=True" if is_causal else None)
        segments = checks.segments(segment_ids, q, k, axis_name)
        alone = _refusal(is_causal, segments)
        made = self._features(q, k, omega, rho, scale, q_mask, k_mask, alone, axis_name)
        return forward.attend(
            made, q, k, v, q_mask, k_mask, segments, is_causal, self.block_size, axis_name
        )

    def calibrate(
        self,
        query: Real[ArrayLike, "b t n h"],
        key: Real[ArrayLike, "b s k h"],
        key_mask: Bool[ArrayLike, "b s"] | None = None,
        *,
        scale: Real[ArrayLike, ""] | None = None,
        query_mask: Bool[ArrayLike, "b t"] | None = None,
    ) -> Float[Array, " n"]:
        """ρ (N,) of each head, fitted to the pairs of the whole batch pooled. O(B·(T+S)·N·H).

        A gradient flows through it only with `rho_gradient`.
        """
        self._check_fitted("calibrate")
        q, k = checks.pair(query, key, finite=False)
        k_mask = checks.mask("key_mask", key_mask, None, "", k)
        q_mask = _query_mask(checks.mask("query_mask", query_mask, None, "", q), k_mask, q)
        checks.shown_finite(query=(q, q_mask), key=(k, k_mask))
        (one, one_mask), (other, other_mask) = fit.pooled(q, q_mask), fit.pooled(k, k_mask)
        found = fit.rho(one, other, one_mask, other_mask, checks.scale(scale, q.shape[-1]))[0]
        return found if self.rho_gradient else lax.stop_gradient(found)

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
        segment_ids: Int[ArrayLike, "b t"] | None = None,
    ) -> Float[Array, "b n t s"]:
        """The attention rows that a call implies, (B, N, T, S): each sums to 1, or is 0. O(TSM).

        Every entry is summed on its own, by another route than the call's: for looking and testing.
        """
        checks.flag("is_causal", is_causal)
        self._warn_of_signs()
        q, k = checks.pair(query, key, finite=False)
        k_mask = checks.mask("key_mask", key_mask, None, "", k)
        checks.shown_finite(query=(q, None), key=(k, k_mask))
        checks.same_length(q, k, "is_causal=True" if is_causal else None)
        segments = checks.segments(segment_ids, q, k, None)
        made = self._features(q, k, omega, rho, scale, None, k_mask, _refusal(is_causal, segments))
        return quadratic.rows(made, q, k, k_mask, segments, is_causal)

    def report(
        self,
        query: Real[ArrayLike, "b t n h"],
        key: Real[ArrayLike, "b s k h"],
        value: Real[ArrayLike, "b s k v"],
        omega: Real[ArrayLike, "*heads m h"] | None = None,
        *,
        rho: Real[ArrayLike, "*which"] | None = None,
        key_mask: Bool[ArrayLike, "b s"] | None = None,
        is_causal: bool = False,
        scale: Real[ArrayLike, ""] | None = None,
        rows: int = 64,
    ) -> Report:
        """Errors of kernel and output against exact softmax, predicted and, given ω, observed.

        On at most `rows` evenly spaced queries and keys of each batch element and head, in float64;
        under `is_causal` a query sees the keys up to its own position, in softmax and in the
        uniform average as well. ρ is that of `calibrate` unless given, a number or (N,).
        O(B·N·rows³). Not under `jit`.
        """
        if self.mechanism not in ("oprf", "pos", "trig"):
            raise ValueError(
                f"mechanism is {self.mechanism!r}, which estimates no softmax; report needs "
                "'oprf', 'pos' or 'trig'."
            )
        errors.whole("rows", rows)
        checks.flag("is_causal", is_causal)
        q, k = checks.pair(query, key)
        v = checks.values(value, k)
        checks.concrete(query=q, key=k, value=v)
        checks.same_length(q, k, "is_causal=True" if is_causal else None)
        k_mask = checks.mask("key_mask", key_mask, None, "", k)
        fitted = None
        if self.mechanism != "oprf":
            self._check_unfitted(rho)
        else:
            given = self.calibrate(q, k, k_mask, scale=scale) if rho is None else rho
            fitted = checks.rho(given, q[:1])[0]
        if omega is not None:
            omega = checks.projections(omega, self.mechanism, self.num_features, q)
        factor = checks.scale(scale, q.shape[-1])
        return report.make(
            self.mechanism,
            self.num_features,
            self.orthogonal,
            (q, k, v),
            factor,
            omega,
            fitted,
            k_mask,
            is_causal,
            rows,
        )

    def init_state(
        self,
        batch: int,
        num_heads: int,
        head_dim: int,
        value_dim: int | None = None,
        *,
        dtype: DTypeLike | None = None,
    ) -> State:
        """The state of no tokens: arrays of M·(V+1) and M numbers for each element and head.

        A pytree that stays of this size, whatever the number of tokens; it may be saved, and merged
        with states of other keys. V is H unless given.
        """
        value_dim = head_dim if value_dim is None else value_dim
        names = {"batch": batch, "num_heads": num_heads, "head_dim": head_dim}
        for name, value in (names | {"value_dim": value_dim}).items():
            errors.whole(name, value)
        errors.floating("dtype", dtype)
        width = {"elu": head_dim, "trig": 2 * self.num_features}.get(
            self.mechanism, self.num_features
        )
        scales = 1 if self.mechanism in ("trig", "relu") else width
        return empty(batch, num_heads, scales, width, value_dim + 1, dtype or jnp.float32)

    def prefill(
        self,
        query: Real[ArrayLike, "b t n h"],
        key: Real[ArrayLike, "b t k h"],
        value: Real[ArrayLike, "b t k v"],
        omega: Real[ArrayLike, "*heads m h"] | None,
        *,
        rho: Real[ArrayLike, "*which"] | None = None,
        key_mask: Bool[ArrayLike, "b t"] | None = None,
        scale: Real[ArrayLike, ""] | None = None,
        state: State | None = None,
    ) -> tuple[Float[Array, "b t n v"], State]:
        """Causal outputs (B, T, N, V) and the state after them, with which `step` goes on.

        Masked tokens leave no trace in the state. Given a `state`, the tokens follow those that it
        has seen. ρ is that of the whole sequence, later steps included. O(T·M·(H+V)).
        """
        self._warn_of_signs()
        q, k = checks.pair(query, key, finite=False)
        v = checks.values(value, k, finite=False)
        checks.same_length(q, k, "prefill")
        k_mask = checks.mask("key_mask", key_mask, None, "", k)
        checks.shown_finite(query=(q, None), key=(k, k_mask), value=(v, k_mask))
        made = self._features(q, k, omega, rho, scale, None, k_mask, "prefill")
        start = forward.no_keys(made, q, v)
        if state is not None:
            start = checks.state(state, start)
        return forward.go_on(made, start, q, k, v, k_mask)

    def step(
        self,
        state: State,
        query: Real[ArrayLike, "b *one n h"],
        key: Real[ArrayLike, "b *one k h"],
        value: Real[ArrayLike, "b *one k v"],
        omega: Real[ArrayLike, "*heads m h"] | None,
        *,
        rho: Real[ArrayLike, "*which"] | None = None,
        scale: Real[ArrayLike, ""] | None = None,
    ) -> tuple[Float[Array, "b *one n v"], State]:
        """Output of one more token, and the state with it: O(M·(H+V)), however many came before.

        The token is (B, N, H), or (B, 1, N, H); the output has the same axes.
        """
        self._warn_of_signs()
        tokens = [checks.token(n, x) for n, x in zip(_NAMES, (query, key, value), strict=True)]
        q, k = checks.pair(*tokens[:2])
        v = checks.values(tokens[2], k)
        made = self._features(q, k, omega, rho, scale, None, None, "step")
        held = checks.state(state, forward.no_keys(made, q, v))
        out, after = forward.step(made, held, q, k, v)
        return out if jnp.ndim(query) == 4 else out[:, 0], after

    def redraw(
        self,
        key: PRNGKeyArray | Shaped[Array, "..."],
        head_dim: int,
        *,
        step: Int[ArrayLike, ""],
        layer: Int[ArrayLike, ""],
        head: Int[ArrayLike, "*heads"],
        dtype: DTypeLike | None = None,
    ) -> Float[Array, "*heads m h"] | None:
        """Projections of one head, (M, H), or of heads (N,), (N, M, H), at a step and a layer.

        A pure function of one key and these numbers: the same at every call, on every device and
        after every restart, and independent for different numbers. They may be traced.
        """
        place = jax.random.fold_in(jax.random.fold_in(key, step), layer)
        if jnp.ndim(head) == 0:
            return self.sample(jax.random.fold_in(place, head), head_dim, dtype=dtype)
        keys = jax.vmap(lambda each: jax.random.fold_in(place, each))(jnp.asarray(head))
        if self.mechanism == "elu":
            return None
        return jax.vmap(lambda each: self.sample(each, head_dim, dtype=dtype))(keys)

    def _features(
        self,
        q: Array,
        k: Array,
        omega: ArrayLike | None,
        rho: ArrayLike | None,
        scale: ArrayLike | None,
        q_mask: Array | None,
        k_mask: Array | None,
        alone: str | None,
        axis_name: str | None = None,
    ) -> features.Map:
        """The map of this call, with a fitted ρ where "oprf" is given none.

        `alone` names what forbids a fit, which would look at tokens that a query must not see.
        """
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
        if alone is not None:
            raise ValueError(
                f"rho is None with {alone}, but a fit would look at tokens that a query must not "
                "see; pass what `calibrate` returned for earlier data."
            )
        counted = _query_mask(q_mask, k_mask, q)
        fitted = fit.rho(q, k, counted, k_mask, factor, axis_name).astype(dtype)
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


def _refusal(is_causal: bool, segments: Array | None) -> str | None:
    """What forbids a fitted ρ, if anything does."""
    if is_causal:
        return "is_causal=True"
    return None if segments is None else "segment_ids"


def _query_mask(q_mask: Array | None, k_mask: Array | None, q: Array) -> Array | None:
    """The queries a fit counts: as masked; for T = S without a mask, those the keys' mask shows."""
    if q_mask is None and k_mask is not None and k_mask.shape[1] == q.shape[1]:
        return k_mask
    return q_mask
