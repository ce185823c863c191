"""Faults of what users call beside the estimators: columns, devices, choice, calibration."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from crt import estimate
from crt.attention import favor, fit, quadratic, report
from crt.integrations import feature_map
from verification.faults.attention import tiled
from verification.faults.fault import Fault, scaled


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
)
