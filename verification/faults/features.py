"""Faults of the feature maps."""

import math
from typing import Any

import jax.numpy as jnp

from crt import formulas
from crt.mechanisms import base, discrete, exponential, positive_shift, trigonometric
from verification.faults.fault import Fault, scaled, with_argument


def added_epsilon(original: Any) -> Any:
    def log_values(*args: Any) -> Any:
        log_abs, phase = original(*args)
        return jnp.log(jnp.exp(log_abs) + 1e-6), phase

    return log_values


def nothing(original: Any) -> Any:
    def log_features(*args: Any, **rest: Any) -> Any:
        log_abs, phase = original(*args, **rest)
        return jnp.full_like(log_abs, -jnp.inf), jnp.zeros_like(phase)

    return log_features


def larger(original: Any) -> Any:
    def log_features(*args: Any, **rest: Any) -> Any:
        log_abs, phase = original(*args, **rest)
        return log_abs + 0.5 * math.log(1.02), phase

    return log_features


def same_side(original: Any) -> Any:
    return lambda self, x, omega, side, kernel: original(self, x, omega, "x", kernel)


def no_signs(original: Any) -> Any:
    def log_signed_powers(*args: Any) -> Any:
        logs, signs = original(*args)
        return logs, jnp.abs(signs)

    return log_signed_powers


def zeros_ignored(original: Any) -> Any:
    return lambda x, omega, unit: original(jnp.where(x == 0, 1, x), omega, unit)


def no_factorials(_: Any) -> Any:
    return lambda p, omega: -0.5 * omega.shape[-1] * jnp.log(p) * jnp.ones_like(omega[..., 0])


def clamped_at_zero(_: Any) -> Any:
    return lambda x, low, eps: jnp.maximum(x, 0) + eps


FEATURES = (
    Fault("half-a", "a factor 2 dropped in A‖ω‖² of OPRF", formulas, "a_of_rho", scaled(0.5)),
    Fault(
        "b-root",
        "a factor 2 dropped under the root of B of OPRF",
        formulas,
        "b_of_rho",
        scaled(0.5**0.5),
    ),
    Fault(
        "d-exponent",
        "D = (1-4A)^{d/2} in place of d/4 in OPRF",
        formulas,
        "log_d_of_rho",
        scaled(2.0),
    ),
    Fault("gerf-b", "B of a GERF off by 1 %", formulas, "gerf_b", scaled(1.01)),
    Fault("gerf-c", "C = -(s+1)/4 in place of -(s+1)/2", formulas, "gerf_c", scaled(0.5)),
    Fault(
        "gerf-d-exponent",
        "D = (1-4A)^{d/2} in place of d/4 in a GERF",
        formulas,
        "log_gerf_d",
        scaled(2.0),
    ),
    Fault(
        "gerf-d-phase",
        "the phase of D turned around",
        formulas,
        "log_gerf_d",
        lambda f: lambda a, d: jnp.conj(f(a, d)),
    ),
    Fault(
        "gerf-same-side",
        "both sides of a GERF take the features of x",
        exponential.GERF,
        "log_values",
        same_side,
    ),
    Fault(
        "trig-same-side",
        "cos ω·(x+y): both sides take the features of x",
        trigonometric.TrigRF,
        "log_values",
        same_side,
    ),
    Fault(
        "c-half",
        "C = -½ in place of -1 in PosRF",
        exponential,
        "row_norms",
        with_argument(1, lambda c: c / 2),
    ),
    Fault(
        "trig-softmax",
        "the softmax kernel's factor e^{‖x‖²/2} dropped in TrigRF",
        trigonometric,
        "row_norms",
        scaled(0.0),
    ),
    Fault(
        "epsilon",
        "1e-6 added to every feature of PosRF",
        exponential.PosRF,
        "log_values",
        added_epsilon,
    ),
    Fault("two-percent", "every product 2 % too large", base.Mechanism, "log_features", larger),
    Fault("all-zero", "every feature is 0", base.Mechanism, "log_features", nothing),
    Fault(
        "no-poisson-constant",
        "e^{λd/2} dropped in Poisson features",
        discrete,
        "poisson_constant",
        scaled(0.0),
    ),
    Fault(
        "no-factorials",
        "√ω! dropped in geometric features",
        discrete,
        "geometric_constant",
        no_factorials,
    ),
    Fault(
        "no-signs", "the parity of negative powers ignored", discrete, "log_signed_powers", no_signs
    ),
    Fault(
        "zeros-ignored",
        "powers of a vanishing coordinate taken as 1",
        discrete,
        "log_signed_powers",
        zeros_ignored,
    ),
    Fault(
        "whole-unit",
        "p(ω)^{-1} in place of p(ω)^{-1/2} in PoisRF+ and GeomRF+",
        positive_shift,
        "log_powers",
        with_argument(2, lambda unit: 2 * unit),
    ),
    Fault(
        "clamped-at-zero",
        "max(x, 0) in place of max(x - shift, 0)",
        formulas,
        "positive_shift",
        clamped_at_zero,
    ),
)
