"""fig-utility: the log variance ratio of OPRF and PosRF, a function of (z, d) alone."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from flint import arb

import crt
from crt import formulas
from verification.checks import Check, Outcome, Setting
from verification.comparison import Row, outcome
from verification.minima import undecided

EPS = float(np.finfo(np.float64).eps)


def utility(setting: Setting, shipped: Callable[..., Any] = formulas.utility) -> Outcome:
    """fig-utility: decreasing in z (boxes), a function of (z, d) alone, -61.22 at d = 64, z = 100.

    The ratio of the shipped variances at random pairs of one z must be the utility: logarithms of
    size T = |log variance| with (8 + d)·eps·(1 + T) of rounding each.
    """
    rng, rows = np.random.default_rng(setting.seed), []
    with jax.enable_x64(True):
        for d in (1, 8, 64):
            z = float(rng.uniform(0.5, 20))
            for share in rng.uniform(-1, 1, 2):
                v, w = rng.normal(size=(2, d))
                v *= (z / np.sum(v**2)) ** 0.5
                x, y = 0.5 * v + share * w, 0.5 * v - share * w
                best = crt.OPRF(formulas.rho_star(z, d)).log_variance(x, y)
                plain = crt.PosRF().log_variance(x, y)
                size = 1 + abs(float(best)) + abs(float(plain)) + z * (1 + np.sum(x**2 + y**2))
                label = f"log ratio of variances, d = {d}, z = {z:.3f}"
                value = float(shipped(z, d))
                rows.append(Row(label, float(best - plain), value, 2 * (8 + d) * EPS * float(size)))
            rows.append(_decreasing(d))
        rows.append(Row("d = 64, z = 100", float(shipped(100.0, 64)), -61.22, 0.005))
    return outcome(rows, "utility of OPRF over PosRF")


def _decreasing(d: int) -> Row:
    """Boxes of 0.1 ≤ z ≤ 100 where the utility's slope is not shown negative.

    μ = log(e^δ-1) - log(e^z-1) with δ' = ρ* (ρ* is optimal), so μ' < 0 iff
    ρ*(1-e^{-z}) < 1-e^{-δ}. In z, ρ* falls while δ and 1-e^{-z} grow: a box's ends bound both.
    """

    def margin(z: arb) -> arb:
        low, high = arb(z.lower()), arb(z.upper())
        best = 2 * d / (2 * low + d + ((2 * low + d) ** 2 + 8 * d * low).sqrt())
        delta = arb(d) / 2 * ((1 + best) ** 2 / (4 * best)).log() + best * low
        return (1 - (-delta).exp()) - best * (1 - (-high).exp())

    lost = undecided(margin, arb(0.1), arb(100), 1)
    return Row(f"boxes where the utility may grow, d = {d}", lost, 0.0, 0.0)


def check() -> Check:
    """The one check of this module."""
    return Check(
        "optimal-utility",
        ("fig-utility",),
        "inequality",
        "the log variance ratio is a function of (z, d) alone and falls in z",
        lambda setting: utility(setting),
        (
            (
                "utility off by 1e-9",
                lambda s: utility(s, lambda z, d: formulas.utility(z, d) * (1 + 1e-9)),
            ),
            ("z halved", lambda s: utility(s, lambda z, d: formulas.utility(z / 2, d))),
        ),
    )
