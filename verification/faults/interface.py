"""Faults of what users call beside the estimators: columns, devices, choice, calibration."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from crt import choice, estimate
from crt.attention import favor, fit, quadratic, report
from crt.integrations import feature_map, flax, sklearn
from verification.faults.attention import tiled
from verification.faults.fault import Fault, scaled, with_argument


def scaled_mean(original: Any) -> Any:
    def mean(*args: Any) -> Any:
        values, log_scale = original(*args)
        return 1.01 * values, log_scale

    return mean


def unscaled_mean(_: Any) -> Any:
    def mean(each: Any, axis_name: str) -> Any:
        values, log_scale = each
        return lax.pmean(values, axis_name), lax.pmax(log_scale, axis_name)

    return mean


def scaled_calibration(original: Any) -> Any:
    def calibrate(*args: Any, scale: Any, **rest: Any) -> Any:
        return original(*args, scale=1.01 * scale, **rest)

    return calibrate


def confused(original: Any) -> Any:
    def redraw(*args: Any, step: Any, layer: Any, **rest: Any) -> Any:
        return original(*args, step=step + layer, layer=0, **rest)

    return redraw


def one_head(original: Any) -> Any:
    def redraw(*args: Any, head: Any, **rest: Any) -> Any:
        return original(*args, head=jnp.zeros_like(head), **rest)

    return redraw


def first_mask(shown: Any) -> Any:
    return shown if shown.ndim == 2 else jnp.broadcast_to(shown[:, :1], shown.shape)


def longer_heads(original: Any) -> Any:
    """Projections of several heads too long by 0.5 %, their variance by 1 %."""

    def sample(self: Any, key: Any, head_dim: int, num_heads: Any = None, **rest: Any) -> Any:
        omega = original(self, key, head_dim, num_heads, **rest)
        return omega if num_heads is None else 1.005 * omega

    return sample


def first_batch(original: Any) -> Any:
    """A map over rows that goes through its first batch again and again."""

    def mapped(f: Any, rows: Any, *, batch_size: int | None = None) -> Any:
        found = original(f, rows, batch_size=batch_size)
        if batch_size is None:
            return found
        return jax.tree.map(lambda leaf: leaf[jnp.arange(leaf.shape[0]) % batch_size], found)

    return mapped


def first_block(original: Any) -> Any:
    return lambda step, carry, length, block: original(step, carry, min(length, block), block)


INTERFACE = (
    Fault("columns-scaled", "columns too large by 1 %", feature_map, "_columns", scaled(1.01)),
    Fault("waves-scaled", "waves too large by 1 %", feature_map, "_waves", scaled(1.01)),
    Fault(
        "shards-scaled",
        "the mean over devices too large by 1 %",
        estimate,
        "mean_over_features",
        scaled_mean,
    ),
    Fault(
        "shards-unscaled",
        "values of devices averaged without regard to their scales",
        estimate,
        "mean_over_features",
        unscaled_mean,
    ),
    Fault(
        "calibrate-scaled",
        "a scale too large by 1 % inside calibrate",
        favor.FavorAttention,
        "calibrate",
        scaled_calibration,
    ),
    Fault(
        "calibrate-first-element",
        "the first batch element's ρ for the whole batch",
        fit,
        "pooled",
        lambda _: lambda x, mask: (x, mask),
    ),
    Fault(
        "rows-wrong-group",
        "rows with key heads dealt out in turn in place of in groups",
        quadratic,
        "repeat",
        tiled,
    ),
    Fault(
        "redraw-sum",
        "projections that depend on step and layer through their sum",
        favor.FavorAttention,
        "redraw",
        confused,
    ),
    Fault(
        "redraw-one-head",
        "the first head's projections for all heads",
        favor.FavorAttention,
        "redraw",
        one_head,
    ),
    Fault(
        "report-percent",
        "a report's sums of squared errors too large by 2 %",
        report,
        "_head",
        lambda f: (
            lambda *args: (
                jax.tree.map(lambda x: 1.02 * x, f(*args))
                | {key: f(*args)[key] for key in ("kernel", "output")}
            )
        ),
    ),
    Fault(
        "report-no-gain",
        "a report that counts orthogonal projections as independent",
        report,
        "_head",
        with_argument(2, lambda orthogonal: False),
    ),
    Fault(
        "heads-percent",
        "projections of several heads with a variance too large by 1 %",
        favor.FavorAttention,
        "sample",
        longer_heads,
    ),
    Fault(
        "redraw-percent",
        "redrawn projections with a variance too large by 1 %",
        favor.FavorAttention,
        "redraw",
        lambda original: lambda *args, **rest: 1.005 * original(*args, **rest),
    ),
    Fault(
        "sklearn-gamma",
        "γ too large by 1 %",
        sklearn,
        "_width_of",
        scaled(1.01),
    ),
    Fault(
        "sklearn-lost-row",
        "the first row of the training data left out",
        sklearn,
        "summarise",
        lambda f: lambda made, omega, y, c: f(made, omega, y[1:], c[1:]),
    ),
    Fault(
        "sklearn-stretch",
        "points of columns stretched by 1 % too much",
        feature_map.FeatureMap,
        "_block",
        lambda f: lambda self, dtype: f(replace(self, stretch=1.01 * self.stretch), dtype),
    ),
    Fault(
        "flax-one-mask",
        "all heads of a Flax layer get the first one's mask",
        flax,
        "key_mask_of",
        lambda f: lambda *args: first_mask(f(*args)),
    ),
    Fault(
        "flax-one-draw",
        "all layers of a converted model share projections",
        flax.FavorAttention,
        "redraw",
        lambda f: lambda *args, layer, **rest: f(*args, layer=0, **rest),
    ),
    Fault(
        "flax-lost-rho",
        "converted layers fit ρ anew in every call",
        flax,
        "favor_attention_fn",
        lambda f: lambda attend, omega, rho=None, **rest: f(attend, omega, None, **rest),
    ),
    Fault(
        "flax-lost-mask",
        "padding of the example counted in ρ of a converted layer",
        flax,
        "_shared_mask",
        lambda f: lambda *args: jnp.ones_like(f(*args)),
    ),
    Fault(
        "blocks-estimate",
        "rows of an estimate after the first batch repeat it",
        estimate.lax,
        "map",
        first_batch,
    ),
    Fault(
        "blocks-columns",
        "sines of full blocks of rows too large by 1 %",
        feature_map,
        "_join",
        lambda f: (
            lambda cosine, sine, width: f(
                cosine, sine * (1 if cosine.shape[0] < feature_map.BLOCK // width else 1.01), width
            )
        ),
    ),
    Fault("blocks-fit", "ρ of the first block of tokens alone", fit, "sweep", first_block),
    Fault(
        "choice-weights",
        "pairs of a set's rows with themselves weighed like others",
        choice,
        "_weights",
        lambda f: lambda *args: np.ones_like(f(*args)),
    ),
)
