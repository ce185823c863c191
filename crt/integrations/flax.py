"""FAVOR++ in Flax: an `attention_fn` for `flax.nnx.MultiHeadAttention`, and a converter of models.

    layer = nnx.MultiHeadAttention(8, 512, attention_fn=favor_attention_fn(attend, omega), …)
    done = convert(model, attend, key, run=lambda model: model(tokens))

A Flax mask says for every query and key whether they meet. Linear attention has no matrix to mask:
only masks that are the same for all queries, of padded keys, have a meaning here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array
from jax.typing import ArrayLike

from crt import errors
from crt.attention import FavorAttention, Report, checks

Model = TypeVar("Model", bound=nnx.Module)


def key_mask_of(mask: Array, query: Array, key: Array, padding_mask: bool) -> Array:
    """The mask of keys that a Flax mask stands for: (B, S), or (B, N, S) if it has N > 1 heads.

    The Flax mask is (B, 1 or N, 1 or T, S). Of several queries, a key counts that any of them sees;
    where the caller has not promised a padding mask, a mask with a row for each query is refused.
    """
    batch, length, heads, _ = query.shape
    shape = jnp.shape(mask)
    wanted = (batch, 1), (1, heads), (1, length), (key.shape[1],)
    if len(shape) != 4 or any(n not in kinds for n, kinds in zip(shape, wanted, strict=True)):
        raise ValueError(
            f"mask has shape {shape}; it must be (batch, 1, 1, keys), here "
            f"{(batch, 1, 1, key.shape[1])}, or have a row for each of the {heads} heads or "
            f"{length} queries."
        )
    if shape[2] > 1 and not padding_mask:
        raise ValueError(
            f"mask has shape {shape}, a row for each query, which linear attention cannot apply; "
            "pass is_causal=True for a causal one, and favor_attention_fn(padding_mask=True) for "
            "one that only hides padded keys."
        )
    shown = jnp.any(jnp.asarray(mask, bool), axis=2)
    shown = jnp.broadcast_to(shown, (batch, *shown.shape[1:]))
    return shown if shape[1] > 1 else shown[:, 0]


def _by_head(
    attend: FavorAttention,
    q: Array,
    k: Array,
    v: Array,
    omega: ArrayLike | None,
    shown: Array,
    is_causal: bool,
    rho: ArrayLike | None,
) -> Array:
    """The call for keys that count for each head on its own, `shown` (B, N, S): (B, T, N, V)."""
    q, k = checks.pair(q, k)
    heads = q.shape[2]
    k, v = (jnp.repeat(x, heads // k.shape[2], axis=2) for x in (k, checks.values(v, k)))
    if attend.mechanism != "elu":
        drawn = checks.projections(omega, attend.mechanism, attend.num_features, q)
        omega = jnp.broadcast_to(drawn, (heads, *drawn.shape[-2:]))
    if rho is not None:
        rho = checks.rho(rho, q)

    def one(q, k, v, omega, shown, rho):
        q, k, v = (x[:, :, None] for x in (q, k, v))
        rho = None if rho is None else rho[:, None]
        return attend(q, k, v, omega, shown, is_causal, rho)[:, :, 0]

    axes = (2, 2, 2, None if omega is None else 0, 1, None if rho is None else 1)
    return jax.vmap(one, axes, out_axes=2)(q, k, v, omega, shown, rho)


def favor_attention_fn(
    attend: FavorAttention,
    omega: ArrayLike | None,
    rho: ArrayLike | None = None,
    *,
    padding_mask: bool = False,
) -> Callable[..., Array]:
    """An `attention_fn` for `flax.nnx.MultiHeadAttention` that runs in time linear in the length.

    Args:
        attend: mechanism and number of features.
        omega: its projections, from `attend.sample`; None for "elu".
        rho: that of "oprf", from `attend.calibrate`; None fits it in each bidirectional call.
        padding_mask: the caller's promise that a mask with a row for each query hides padded keys
            alone, as `nnx.make_attention_mask` of a padding makes it.

    Causal attention is asked for by `is_causal=True` in the layer's call, and needs ρ. Decoding
    with the layer's cache is right, needs ρ, and costs O(cache) for each token, where `attend.step`
    costs O(1); a single query with a mask is taken for it, unless `padding_mask` says that it looks
    at padded keys. Heads may have masks of their own. Active dropout is refused.
    """
    checks.settings(attend, FavorAttention)

    def attention_fn(
        query: Array,
        key: Array,
        value: Array,
        mask: Array | None = None,
        *,
        bias: Array | None = None,
        dropout_rng: Array | None = None,
        dropout_rate: float = 0.0,
        broadcast_dropout: bool = True,
        deterministic: bool = False,
        dtype: Any = None,
        precision: Any = None,
        module: nnx.Module | None = None,
        is_causal: bool = False,
        **others: Any,
    ) -> Array:
        if module is not None:
            raise ValueError(
                "sow_weights is True, but linear attention forms no attention matrix to sow; it "
                "must be False."
            )
        if others:
            raise ValueError(f"{', '.join(others)} is not known to favor_attention_fn.")
        lead = query.shape[:-3]
        q, k, v = (x.reshape(-1, *x.shape[-3:]) for x in (query, key, value))
        if dtype is not None:
            q, k, v = (x.astype(dtype) for x in (q, k, v))
        checks.refuse(bias, None, 0.0 if deterministic else dropout_rate)
        shown = None
        if mask is not None:
            flat = mask.reshape(-1, *mask.shape[-3:])
            shown = key_mask_of(flat, q, k, padding_mask)
            if attend.mechanism == "oprf" and rho is None and not padding_mask:
                _refuse_decoding(q, k)
        if shown is None or shown.ndim == 2:
            out = attend(q, k, v, omega, shown, is_causal, rho)
        else:
            out = _by_head(attend, q, k, v, omega, shown, is_causal, rho)
        return out.reshape(*lead, *out.shape[1:])

    return attention_fn


def _refuse_decoding(q: Array, k: Array) -> None:
    """Refuses a single query on masked keys, as a layer with a cache calls for every token."""
    if q.shape[1] == 1 < k.shape[1]:
        raise ValueError(
            f"rho is None with one query and a mask of {k.shape[1]} keys, as in decoding, which "
            "needs one ρ for all tokens; pass what `calibrate` returned for earlier data, or "
            "padding_mask=True if the mask hides padded keys."
        )


@dataclass(frozen=True, eq=False)
class Conversion:
    """A model with FAVOR++ in place of softmax; ρ and the report of each layer by its path."""

    model: Any
    rho: Mapping[str, Array]
    reports: Mapping[str, Report]


def attention_layers(model: nnx.Module) -> dict[str, nnx.MultiHeadAttention]:
    """Every attention layer of a module tree by its path, such as "layers/0/attention"."""
    return {
        "/".join(map(str, path)): node
        for path, node in nnx.iter_modules(model)
        if isinstance(node, nnx.MultiHeadAttention)
    }


def convert(
    model: Model,
    attend: FavorAttention,
    key: Array,
    *,
    run: Callable[[Model], Any] | None = None,
    padding_mask: bool = False,
) -> Conversion:
    """A copy of the model whose attention layers all use `attend`; weights are shared, untouched.

    Every layer gets projections of its own from the key, one set for each head. `run`, if given,
    calls the model on example data with exact softmax, outside `jit`; from the queries and keys of
    its last call each layer gets a ρ, and a report on those projections, causal if the call was.
    Without it ρ is fitted in every call.
    """
    checks.settings(attend, FavorAttention)
    found = attention_layers(model)
    if not found:
        raise ValueError(
            f"model is a {type(model).__name__} without any flax.nnx.MultiHeadAttention to convert."
        )
    seen = {} if run is None else _recorded(model, run)
    converted = nnx.clone(model)
    rho, reports = {}, {}
    for number, (path, layer) in enumerate(attention_layers(converted).items()):
        heads = jnp.arange(layer.num_heads)
        omega = attend.redraw(key, layer.head_dim, step=0, layer=number, head=heads)
        if path in seen:
            q, k, v, mask, is_causal = seen[path]
            shown = None if mask is None else _shared_mask(path, mask, q, k, padding_mask)
            if attend.mechanism == "oprf":
                rho[path] = attend.calibrate(q, k, shown)
            if attend.mechanism in ("oprf", "pos", "trig"):
                given = rho.get(path)
                reports[path] = attend.report(
                    q, k, v, omega, rho=given, key_mask=shown, is_causal=is_causal
                )
        layer.attention_fn = favor_attention_fn(
            attend, omega, rho.get(path), padding_mask=padding_mask
        )
    return Conversion(converted, rho, reports)


def _shared_mask(path: str, mask: Array, q: Array, k: Array, padding_mask: bool) -> Array:
    """The mask (B, S) of the keys, which all heads of the example must share: ρ is fitted to it."""
    shown = key_mask_of(mask, q, k, padding_mask)
    if shown.ndim == 2:
        return shown
    if not bool(jnp.all(shown == shown[:, :1])):
        raise ValueError(
            f"run calls {path!r} with a mask that differs between heads, but ρ and the report are "
            "made from one mask for all of them; it must hide the same keys from every head."
        )
    return shown[:, 0]


Seen = tuple[Array, Array, Array, Array | None, bool]


def _recorded(model: Model, run: Callable[[Model], Any]) -> dict[str, Seen]:
    """Queries, keys, values, mask and causality of each layer's last call, the model as it is."""
    listening = nnx.clone(model)
    seen: dict[str, Seen] = {}

    def listen(path: str, exact: Callable[..., Array]) -> Callable[..., Array]:
        def attention_fn(query: Array, key: Array, value: Array, **rest: Any) -> Array:
            q, k, v = (x.reshape(-1, *x.shape[-3:]) for x in (query, key, value))
            mask = rest.get("mask")
            flat = mask if mask is None else mask.reshape(-1, *mask.shape[-3:])
            seen[path] = q, k, v, flat, rest.get("is_causal", False)
            return exact(query, key, value, **rest)

        return attention_fn

    for path, layer in attention_layers(listening).items():
        layer.attention_fn = listen(path, layer.attention_fn)
    run(listening)
    traced = [path for path, arrays in seen.items() if not errors.is_concrete(arrays[0])]
    if traced:
        raise ValueError(
            f"run calls the model under jit, which hides the values of {traced[0]!r}; call it "
            "without."
        )
    return seen
