"""Optimal parameters of the discrete mechanisms, certified in Arb: λ*, the λ_l, and p."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import jax
import numpy as np
from flint import acb, arb

import crt
from crt import parameters, statistics
from crt.statistics import Statistics
from verification.checks import Outcome, Setting
from verification.comparison import Row, count, outcome
from verification.minima import Slope, draw, exact_sum, minimum

EPS = float(np.finfo(np.float64).eps)


def fitted_rate(seen: Statistics) -> Any:
    """λ of PoisRF as it is fitted."""
    return crt.PoisRF.from_statistics(seen).rate


def fitted_rates(seen: Statistics) -> Any:
    """λ_l of OptPoisRF as it is fitted."""
    return crt.OptPoisRF.from_statistics(seen).rates


def fitted_chance(seen: Statistics) -> Any:
    """p of GeomRF as it is fitted."""
    return crt.GeomRF.from_statistics(seen).p


def rates(
    setting: Setting,
    rate: Callable[..., Any] = fitted_rate,
    many: Callable[..., Any] = fitted_rates,
) -> Outcome:
    """λ* of PoisRF and λ_l of OptPoisRF: slopes d - Σx²y²/λ² and 1 - x_l²y_l²/λ_l².

    The statistics have 4(2+d) roundings at most, halved by the square root.
    """
    rng, rows = np.random.default_rng(setting.seed), []
    with jax.enable_x64(True):
        for k in range(min(count(2, setting), 40)):
            x, y, seen = draw(rng, k)
            d, lam = len(x), float(rate(seen))
            products = [
                (Fraction(a) * Fraction(b)) ** 2
                for a, b in zip(x.tolist(), y.tolist(), strict=True)
            ]
            total, gap = exact_sum(products), 4 * (d + 8) * EPS
            rows += minimum(
                f"PoisRF, d = {d}",
                lambda t, d=d, p=total: d - p / t**2,
                lam,
                gap * lam,
                (lam / 100, 100 * lam),
            )
            each = np.asarray(many(seen))
            top = int(np.argmax(each))
            own = exact_sum([products[top]])
            rows += minimum(
                f"OptPoisRF, d = {d}",
                lambda t, p=own: 1 - p / t**2,
                float(each[top]),
                gap * float(each[top]),
                (float(each[top]) / 100, 100 * float(each[top])),
            )
        rows += _no_rate(rate)
    return outcome(rows, "slopes of the log second moment in Arb")


def _no_rate(rate: Callable[..., Any]) -> list[Row]:
    """With Σx²y² = 0 the slope is d everywhere: no optimum; the shipped rate is its floor."""
    seen = statistics.collect(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]))
    floor = parameters.LEAST_RATE
    return [Row("rate where Σx²y² = 0", float(rate(seen)) / floor, 1.0, EPS)]


def chance(setting: Setting, shipped: Callable[..., Any] = fitted_chance) -> Outcome:
    """p of GeomRF, by the slope in q = (1-p)^{-1/2}: Σ 2r·I1/I0(2qr) - 2d/(q(q²-1)).

    The last term has condition (3q²-1)/(q²-1) ≥ 3 in q, so that Newton's rounding moves q by 40 eps
    at most, relatively, and p by 80·eps; p itself is rounded.
    """
    rng, rows = np.random.default_rng(setting.seed), []
    with jax.enable_x64(True):
        for _ in range(min(count(2, setting), 40)):
            d = int(rng.choice([1, 2, 3, 8]))
            r = rng.uniform(0.05, 2, d)
            # With y = (1, …, 1) the statistic |x_l y_l| is r_l, without rounding.
            value = float(shipped(statistics.collect(r[None], np.ones((1, d)))))
            slope = _geom_slope([arb(v) for v in r.tolist()])
            rows += minimum(f"p, d = {d}", slope, value, 96 * EPS, (1e-3, 1 - 1e-3))
    return outcome(rows, "slopes of the log second moment in Arb")


def _geom_slope(r: list[arb]) -> Slope:
    def ratio(t: arb) -> arb:
        """I1/I0, increasing: the ends of a ball suffice."""
        ends = [_bessel_ratio(arb(end)) for end in (t.lower(), t.upper())]
        return ends[0].union(ends[1])

    def slope(p: arb) -> arb:
        q = 1 / (1 - p).sqrt()
        pull = sum((2 * v * ratio(2 * q * v) for v in r), arb(0))
        return pull - 2 * len(r) / (q * (q**2 - 1))

    return slope


def _bessel_ratio(t: arb) -> arb:
    return (acb(t).bessel_i(1) / acb(t).bessel_i(0)).real
