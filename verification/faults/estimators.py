"""Faults of the variances and of the O(dML) operator."""

import math
from typing import Any

import jax.numpy as jnp

from crt import estimate, sweep
from crt.mechanisms import base, exponential, trigonometric
from verification.faults.fault import Fault, with_argument


def larger(original: Any) -> Any:
    return lambda *args, **rest: original(*args, **rest) + math.log(1.3)


def no_gain(original: Any) -> Any:
    def gaussian_log_gain(*args: Any) -> Any:
        log_gain, sign = original(*args)
        return jnp.full_like(log_gain, -jnp.inf), sign

    return gaussian_log_gain


MOMENTS = (
    Fault(
        "thirty-percent", "every variance 30 % too large", base.Mechanism, "log_variance", larger
    ),
    Fault(
        "no-gain",
        "the gain of orthogonality left out of OPRF's variance",
        exponential.OPRF,
        "gaussian_log_gain",
        no_gain,
    ),
    Fault(
        "one-block-weight",
        "M(M-1)/M² pairs in one block, also for M > d",
        base,
        "orthogonal_weight",
        lambda _: lambda m, d: jnp.asarray((m - 1) / m),
    ),
    Fault(
        "softmax-moment",
        "the softmax kernel's factor left out of the variance",
        base,
        "_log_factor",
        lambda f: lambda x, y, kernel: f(x, y, "gaussian"),
    ),
    Fault(
        "variance-percent",
        "TrigRF's variance off by 20 %",
        trigonometric.TrigRF,
        "gaussian_log_variance",
        lambda f: lambda *a: f(*a) + 0.18,
    ),
)


def half_sums(original: Any) -> Any:
    def weigh(*args: Any) -> Any:
        columns = original(*args)
        return columns.astype(jnp.float16).astype(columns.dtype)

    return weigh


OPERATOR = (
    Fault(
        "wrong-axis",
        "the maximum taken over rows in place of features",
        sweep,
        "finite_max",
        lambda f: lambda values, axis: f(values, -2),
    ),
    Fault("half-sums", "features accumulated in float16", sweep, "weigh", half_sums),
    Fault(
        "no-conjugate",
        "Re p·Re q + Im p·Im q without the conjugate",
        sweep,
        "conjugate",
        lambda _: lambda phase: phase,
    ),
    Fault(
        "no-rescale",
        "sums added without regard to their scales",
        sweep.Summary,
        "_rescaled",
        lambda _: lambda self, log_scale: self.sums,
    ),
    Fault(
        "first-rows",
        "every chunk reads the first rows",
        sweep,
        "rows_from",
        with_argument(1, lambda start: 0 * start),
    ),
    Fault(
        "no-scale",
        "the result left relative to its scale",
        estimate,
        "unscale",
        lambda _: lambda values, log_scale: values,
    ),
)
