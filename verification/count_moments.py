"""Sums of mechanisms with counts for ω: PoisRF, GeomRF, OptPoisRF and the shifted ones."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jaxtyping import Float
from scipy.special import i0

import crt
from crt.kernels import KERNELS
from verification import rules
from verification.altered import Change
from verification.checks import Outcome, Setting
from verification.comparison import count, outcome
from verification.integrals import Case, Points, gaussian_kernel, rows_of, sharp

COUNTS = 48
"""Largest count per coordinate: beyond it each term of a series is below half of the last."""
Build = Callable[[np.random.Generator, Points, Points], Case]


def counts(build: Build) -> Callable[[Setting, Change], Outcome]:
    """A check of discrete mechanisms in d = 2, 1, coordinates up to 0.7, one of them 0."""

    def run(setting: Setting, change: Change) -> Outcome:
        rng, rows, nodes = np.random.default_rng(setting.seed), [], 0
        for _ in range(min(count(2, setting), 20)):
            for d in (2, 1) if setting.effort > 1 else (2,):
                x, y = rng.uniform(-0.7, 0.7, (2, 4, d))
                x[0, 0] = 0.0
                case = build(rng, x, y)
                case = replace(case, mechanism=change(case.mechanism))
                nodes += len(case.rules[0].omega)
                for kernel in KERNELS:
                    rows += rows_of(case, kernel)
        return outcome(sharp(rows), "sums over counts in 1 and 2 coordinates", nodes)

    return run


def pois(rng: np.random.Generator, x: Points, y: Points) -> Case:
    lam, d = rng.uniform(0.3, 2), x.shape[1]

    def printed(case: Case) -> Float[np.ndarray, " p"]:
        n = np.sum(case.x**2 + case.y**2, axis=-1)
        log_moment = lam * d + np.sum(case.x**2 * case.y**2, axis=-1) / lam - n
        return np.exp(log_moment) - gaussian_kernel(case.x, case.y) ** 2

    rule = rules.poisson(np.full(d, lam), COUNTS)
    return Case(f"PoisRF({lam:.3f})", crt.PoisRF(lam), x, y, (rule,), printed)


def geom(rng: np.random.Generator, x: Points, y: Points) -> Case:
    p, d = rng.uniform(0.2, 0.9), x.shape[1]

    def printed(case: Case) -> Float[np.ndarray, " p"]:
        n = np.sum(case.x**2 + case.y**2, axis=-1)
        bessel = np.prod(i0(2 * np.abs(case.x * case.y) / math.sqrt(1 - p)), axis=-1)
        return p**-d * np.exp(-n) * bessel - gaussian_kernel(case.x, case.y) ** 2

    rule = rules.geometric(p, d, COUNTS)
    return Case(f"GeomRF({p:.3f})", crt.GeomRF(p), x, y, (rule,), printed)


def optpois(rng: np.random.Generator, x: Points, y: Points) -> Case:
    """Any rates, or those of the last pair, both of whose points are made positive: variance 0."""
    rates = rng.uniform(0.3, 2, x.shape[1])
    if rng.random() < 0.5:
        x, y = np.abs(x) + 0.01, np.abs(y)
        rates = x[-1] * y[-1] + 0.05
        y[-1] = rates / x[-1]
    return Case("OptPoisRF", crt.OptPoisRF(rates), x, y, (rules.poisson(rates, COUNTS),))


def plus(rng: np.random.Generator, x: Points, y: Points) -> Case:
    """PoisRF+ or GeomRF+ with the shift at the least coordinates."""
    shift, d = np.minimum(x.min(0), y.min(0)), x.shape[1]
    if rng.random() < 0.5:
        lam = rng.uniform(0.5, 2)
        rule = rules.poisson(np.full(d, lam), COUNTS)
        return Case(f"PoisRF+({lam:.3f})", crt.PoisRFPlus(lam, shift), x, y, (rule,))
    p = rng.uniform(0.2, 0.9)
    rule = rules.geometric(p, d, COUNTS)
    return Case(f"GeomRF+({p:.3f})", crt.GeomRFPlus(p, shift), x, y, (rule,))


def clamped(bias: Callable[..., Any]) -> Build:
    """The points x moved below the shift in every coordinate or in some."""

    def build(rng: np.random.Generator, x: Points, y: Points) -> Case:
        case = plus(rng, x, y)
        below = x - rng.uniform(0, 0.5, x.shape)
        with jax.enable_x64(True):
            log_bias = np.asarray(bias(below, y, case.mechanism.shift))
        return replace(case, x=below, log_bias=log_bias)

    return build


def square_for_half(x: Points, y: Points, low: np.ndarray) -> Float[np.ndarray, " p"]:
    e = np.maximum(low - x, 0)
    return np.sum(e * (y - x) - e**2, axis=-1)
