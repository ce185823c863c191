"""Faults of attention: the future, pads, maxima, groups, gradients, features, ρ."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from crt.attention import bidirectional, causal, favor, features, fit, forward
from crt.attention.blocks import hide
from crt.attention.state import State, finite
from verification.faults.fault import Fault, scaled, with_argument


def first_of_group(_: Any) -> Any:
    return lambda x, heads: x[:, :: x.shape[1] // heads]


def tiled(_: Any) -> Any:
    return lambda x, heads: jnp.tile(x, (1, heads // x.shape[1], 1, 1))


def over_queries(_: Any) -> Any:
    """The queries' maximum taken over the queries of a block in place of the features."""

    def answer(made: Any, q: Any, state: State) -> Any:
        log, factor = made.query(q, finite(state.log_scale))
        top = lax.stop_gradient(jnp.max(log, axis=-2, keepdims=True))
        columns = bidirectional.weigh(log - top, factor)
        return bidirectional.divide(columns @ state.sums)

    return answer


def with_epsilon(original: Any) -> Any:
    return lambda sums: original(sums.at[..., -1].add(1e-9))


def whole_blocks(original: Any) -> Any:
    return lambda step, carry, length, block: original(
        step, carry, max(length // block * block, 1), block
    )


def altered_query(change: Any) -> Any:
    """Exponential features whose query logarithms are changed."""
    return lambda original: (
        lambda self, x, *raised: (
            change(self, original(self, x, *raised)[0]),
            None,
        )
    )


def no_norms(original: Any) -> Any:
    def key(self: Any, x: Any, transposed: bool = False) -> Any:
        log, none = original(self, x, transposed)
        half = 0.5 * self.scale * jnp.sum(x**2, axis=-1)
        return log + jnp.expand_dims(half, -2 if transposed else -1), none

    return key


def unseen(original: Any) -> Any:
    """The mask of keys left out of the logarithms of features-first blocks."""
    return lambda log, mask, transposed=False: log if transposed else hide(log, mask)


def half(original: Any) -> Any:
    def weigh(*args: Any) -> Any:
        columns = original(*args)
        return columns.astype(jnp.bfloat16).astype(columns.dtype)

    return weigh


def first_head(original: Any) -> Any:
    def rho(*args: Any) -> Any:
        found = original(*args)
        return jnp.broadcast_to(found[:, :1], found.shape)

    return rho


def batch_mean(original: Any) -> Any:
    def rho(*args: Any) -> Any:
        found = original(*args)
        return jnp.broadcast_to(jnp.mean(found, axis=0), found.shape)

    return rho


def no_rise(original: Any) -> Any:
    def exact_matrix(*args: Any) -> Any:
        matrix, rise = original(*args)
        return matrix, jnp.zeros_like(rise)

    return exact_matrix


def larger(original: Any) -> Any:
    def exact_matrix(*args: Any) -> Any:
        matrix, rise = original(*args)
        return 1.01 * matrix, rise

    return exact_matrix


def wrong_root(original: Any) -> Any:
    """B = 1 in place of √(1-4A)."""

    def make(name: str, omega: Any, rho: Any, scale: Any, shape: Any) -> Any:
        made = original(name, omega, rho, scale, shape)
        if rho is None:
            return made
        plain = original("pos", omega, None, scale, shape)
        return features.Exponential(plain.weight, made.offset, scale)

    return make


ATTENTION = (
    Fault(
        "attention-leaked-future",
        "a query sees the key after its own",
        causal,
        "_seen",
        lambda _: lambda size: jnp.tril(jnp.ones((size, size), bool), 1),
    ),
    Fault(
        "attention-missed-own-key",
        "a query misses the key of its own position",
        causal,
        "_seen",
        lambda _: lambda size: jnp.tril(jnp.ones((size, size), bool), -1),
    ),
    Fault(
        "attention-chunk-scale",
        "the first scale made of the whole chunk, its future included",
        causal,
        "_first",
        lambda _: lambda log, mask: jnp.max(log, axis=-1),
    ),
    Fault(
        "attention-forgotten-past",
        "the state of earlier chunks is not carried on",
        causal,
        "extend",
        lambda _: lambda made, state, *rest: state,
    ),
    Fault(
        "attention-rise-ignored",
        "rows of the exact route left relative to another maximum than the past",
        causal,
        "_exact_matrix",
        no_rise,
    ),
    Fault(
        "attention-exact-percent",
        "pairs of the exact route too large by 1 %, the past beside them not",
        causal,
        "_exact_matrix",
        larger,
    ),
    Fault(
        "attention-causal-vjp-factor",
        "causal gradients too large by 0.01 %",
        causal,
        "gather",
        scaled(1.0001),
    ),
    Fault(
        "attention-pads-in-statistics",
        "padded positions counted in the fit of ρ",
        fit,
        "_moments",
        with_argument(1, lambda mask: None),
    ),
    Fault(
        "attention-pads-in-sums",
        "padded values multiplied by 0 in place of left out",
        bidirectional,
        "keep",
        lambda _: lambda x, mask: x,
    ),
    Fault(
        "attention-pads-seen",
        "padded keys attended to as keys of zeros",
        bidirectional,
        "hide",
        unseen,
    ),
    Fault(
        "attention-epsilon",
        "ε = 1e-6 added to every feature",
        bidirectional,
        "weigh",
        lambda f: lambda *args: f(*args) + 1e-6,
    ),
    Fault(
        "attention-denominator-epsilon",
        "ε = 1e-9 added to the denominator",
        bidirectional,
        "divide",
        with_epsilon,
    ),
    Fault(
        "attention-stale-maximum",
        "sums not brought to a new running maximum",
        State,
        "rescaled",
        lambda _: lambda self, log_scale: self.sums,
    ),
    Fault(
        "attention-wrong-axis",
        "the queries' maximum taken over queries in place of features",
        bidirectional,
        "answer",
        over_queries,
    ),
    Fault(
        "attention-no-maximum",
        "the keys' running maximum left out of the exponentials",
        bidirectional,
        "finite",
        lambda _: lambda log_scale: jnp.zeros_like(log_scale),
    ),
    Fault(
        "attention-vjp-factor",
        "gradients in keys and values too large by 0.01 %",
        bidirectional,
        "contribute",
        scaled(1.0001),
    ),
    Fault(
        "attention-query-vjp-factor",
        "gradients in queries too large by 0.01 %",
        bidirectional.read,
        "bwd",
        lambda f: lambda *args: jax.tree.map(lambda x: 1.0001 * x, f(*args)),
    ),
    Fault(
        "attention-lost-rest",
        "the block after the last full one left out",
        bidirectional,
        "sweep",
        whole_blocks,
    ),
    Fault(
        "attention-wrong-group",
        "key heads dealt out in turn in place of in groups",
        bidirectional,
        "repeat",
        tiled,
    ),
    Fault(
        "attention-unsummed-group",
        "a key head's gradient taken from one query head of its group",
        bidirectional,
        "gather",
        first_of_group,
    ),
    Fault(
        "attention-half-offset",
        "A‖ω‖² counted for one side only",
        features.Exponential,
        "query",
        altered_query(lambda self, log: log - self.offset[..., None, :] / 2),
    ),
    Fault(
        "attention-no-key-norm",
        "½‖k‖² left out of the keys' features",
        features.Exponential,
        "key",
        no_norms,
    ),
    Fault(
        "attention-scale-for-root",
        "queries and keys multiplied by the scale in place of its root",
        features,
        "make",
        with_argument(3, lambda scale: scale**2),
    ),
    Fault(
        "attention-one-root",
        "B = 1 in place of √(1-4A)",
        features,
        "make",
        wrong_root,
    ),
    Fault(
        "attention-one-wave",
        "sines left out of trigonometric features",
        features.Trigonometric,
        "factor",
        lambda f: lambda self, x: f(self, x).at[..., self.width // 2 :].set(0),
    ),
    Fault(
        "attention-no-relu-offset",
        "relu without its 1e-3",
        features.Relu,
        "factor",
        lambda f: lambda self, x: f(self, x) - features.RELU_OFFSET,
    ),
    Fault(
        "attention-elu-for-relu",
        "elu(x) + 1 below 0 replaced by 1",
        features.Elu,
        "query",
        lambda f: lambda self, x, *raised: (jnp.maximum(f(self, x, *raised)[0], 0), None),
    ),
    Fault(
        "attention-half-sums",
        "features rounded to bfloat16 before they are summed",
        bidirectional,
        "weigh",
        half,
    ),
    Fault(
        "attention-lost-square",
        "rows whose sums have no square in float32 are not brought down",
        causal,
        "_lowered",
        lambda _: lambda matrix: jnp.zeros_like(matrix[..., :1]),
    ),
    Fault(
        "attention-pads-in-gradients",
        "hidden queries are computed, and hidden afterwards",
        forward,
        "_counted",
        lambda _: lambda x, mask: x,
    ),
    Fault("attention-one-rho", "the first head's ρ for all heads", fit, "rho", first_head),
    Fault("attention-batch-rho", "one ρ for the whole batch", fit, "rho", batch_mean),
    Fault(
        "attention-rho-lane",
        "ρ of a long sequence misses the last round of rows",
        fit,
        "_dealt",
        with_argument(3, lambda length: length - fit.LANES),
    ),
    Fault(
        "attention-rho-rest",
        "ρ of a long sequence counts all rows as rounds of lanes, the last ones twice",
        fit,
        "_dealt",
        with_argument(3, lambda length: length + fit.LANES),
    ),
    Fault(
        "attention-rho-in-gradient",
        "gradients flow through a fitted ρ without being asked to",
        favor.lax,
        "stop_gradient",
        lambda _: lambda x: x,
    ),
)
