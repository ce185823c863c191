"""Theorem 4.3, corrected: the largest error over a ball with the formula's number of draws."""

import math
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

import crt
from crt import formulas, kernels
from verification import rates, uniform_printed
from verification.balls import best_ball, largest_errors, nested_errors, stretched
from verification.checks import Check, Outcome, Setting
from verification.comparison import count
from verification.faults import planted
from verification.statistics import MISS, clopper_pearson
from verification.sums import critical_count
from verification.tails import faulty_share, one_sided
from verification.uniform_printed import COARSE, DELTA, REPETITIONS, seed_of

POINTS = ((2, 1.0, 1.0), (1, 1.0, 1.0), (1, 1.0, 0.5))
"""d, R and ε at which the formula's M is tried, the second alone at the quick budget."""
SUFFICIENT = 200
"""Repetitions at effort 1. From effort 3 on P ≤ δ is shown if none errs by ε: (1-δ)^600 < 1e-13."""
FINE = 80
"""Nodes per axis that measure a supremum."""
COUNTS = (8, 128, 2048)
"""Numbers of draws for the slope: what finite M allows falls like 1/log of their range."""


def sufficient(setting: Setting, shift: float = 0.0) -> Outcome:
    """With the formula's M, rounded up, sup|error| ≥ ε has probability at most δ = 0.05.

    The note gives the exact upper limit of P at the level of the check. A planted error is one of
    the sampler: now and then ω is ten times too long.
    """
    outcomes, level = [], setting.false_alarm / len(POINTS)
    repetitions = count(SUFFICIENT, setting)
    with jax.enable_x64(True):
        for d, R, eps in POINTS if setting.effort > 1 else POINTS[1:2]:
            ball = best_ball(d, R)
            needed = float(formulas.features_for_uniform(eps, R, d, DELTA, ball.alpha))
            seed = seed_of(setting, d, R, eps)
            faulty = faulty_share(repetitions, DELTA, level, shift)
            low, high = largest_errors(ball, math.ceil(needed), repetitions, seed, COARSE, faulty)
            # A repetition counts against the theorem unless the enclosure excludes it.
            seen = int(np.sum(high >= eps))
            top = clopper_pearson(seen, repetitions, 2 * level)[1]
            note = f"d = {d}, R = {R:g}, ε = {eps:g}, M = {math.ceil(needed)} (the formula's "
            note += f"{needed:.2f}, rounded up): P ≤ {top:.3g} "
            note += f"{'≤ δ shown' if top <= DELTA else 'shown'}, 95 % of the suprema are below a "
            note += f"number from {np.quantile(low, 0.95):.3g} (largest error on a grid) "
            note += f"to {np.quantile(high, 0.95):.3g} (what the grid cannot exclude)"
            outcomes.append(one_sided(seen, repetitions, DELTA, level, note))
            assert np.all(low <= high)
    chosen = max(outcomes, key=lambda o: o.observed)
    notes = "; ".join(o.note for o in outcomes)
    return replace(chosen, note=notes, samples=sum(o.samples for o in outcomes))


def median_interval(
    low: np.ndarray, high: np.ndarray, false_alarm: float
) -> tuple[float, float, float]:
    """Exact interval of the median from order statistics, and the middle of the sample."""
    size = len(low)
    rank = size - critical_count(size, 0.5, false_alarm / 2)  # P(Bin(n, ½) ≤ rank) ≤ level/2
    ends = float(np.sort(low)[max(rank, 0)]), float(np.sort(high)[min(size - 1 - rank, size - 1)])
    return ends[0], ends[1], float(np.median((low + high) / 2))


def slope(setting: Setting, shift: float = 0.0) -> Outcome:
    """The supremum falls like M^{-1/2}: d = 1, R = 1, M from 8 to 2048, the same draws in all.

    Catoni's intervals of M·E sup² at the ends of that range give one of the slope of the root mean
    square. Beside them stands what finite M allows, by the constants of `rates`. An error is
    detected if it exceeds both by as much as the estimate strays but for MISS.
    """
    repetitions, span = count(2 * REPETITIONS, setting), 2 * math.log(COUNTS[-1] / COUNTS[0])
    ball, level = best_ball(1, 1.0), setting.false_alarm
    with jax.enable_x64(True):
        low, high = nested_errors(ball, COUNTS, repetitions, seed_of(setting, "slope"), FINE)

    def ends(false_alarm: float) -> tuple[float, float]:
        """An interval of the slope."""
        (a, b), (c, d) = (
            rates.interval(ball, COUNTS[k], low[:, k], high[:, k], false_alarm / 2) for k in (0, -1)
        )
        least = math.log(c / b) / span if c > 0 else -math.inf
        return least - 0.5, (math.log(d / a) / span if a > 0 else math.inf) - 0.5

    (below, above), near = ends(level), ends(2 * MISS)
    least, most = rates.constants(ball)
    granted, observed = math.log(most / least) / span, (near[0] + near[1]) / 2
    detects = max(above - near[0], near[1] - below) + granted
    predicted = -0.5 + shift * detects
    allowed = (above - observed if observed < predicted else observed - below) + granted
    passed = abs(observed - predicted) <= allowed
    series = [
        [
            draws,
            *median_interval(low[:, k], high[:, k], level),
            float(np.quantile(high[:, k], 0.95)),
        ]
        for k, draws in enumerate(COUNTS)
    ]
    data = {"columns": ["M", "median from", "median to", "median", "95 %"], "suprema": series}
    note = f"root mean square of {repetitions} suprema; finite M allows {granted:.3f} of it"
    return Outcome(passed, observed, predicted, allowed, repetitions, detects, note, data)


def fixed_pairs(setting: Setting, shift: float = 0.0) -> Outcome:
    """L² given pairs, L = 6, d = 2, R = 1, ε = 1: the formula's M suffices."""
    d, rows, eps = 2, 6, 1.0
    with jax.enable_x64(True):
        ball = best_ball(d, 1.0)
        log_sup = formulas.log_uniform_supremum(ball.R, d, ball.alpha)
        needed = math.ceil(float(formulas.features_for_pairs(eps, rows, DELTA, log_sup)))
        angles = jnp.arange(rows, dtype=jnp.float64)
        x = ball.r0 * jnp.stack([jnp.cos(angles), jnp.sin(angles)], -1)
        y = ball.r0 * jnp.stack([jnp.cos(angles / 2), jnp.sin(angles / 2)], -1)
        truth = kernels.softmax(x, y)

        def one(key: Array) -> Array:
            omega = ball.mechanism.sample(key, needed, d, dtype=jnp.float64)
            omega = stretched(key, omega, faulty_share(repetitions, DELTA, level, shift))
            found = crt.estimate_kernel(ball.mechanism, omega, x, y, kernel="softmax")
            return jnp.max(jnp.abs(found - truth))

        repetitions, level = count(4 * REPETITIONS, setting), setting.false_alarm
        keys = jax.random.split(jax.random.key(setting.seed), repetitions)
        errors = np.asarray(jax.jit(lambda k: lax.map(one, k, batch_size=64))(keys))
    note = f"M = {needed}: 95 % of the largest errors are below {np.quantile(errors, 0.95):.3g}"
    return one_sided(int(np.sum(errors >= eps)), len(errors), DELTA, level, note)


def checks() -> list[Check]:
    """All checks of this module."""
    right = ("thm-uniform-corrected",)
    return [
        Check(
            "uniform-sufficient",
            right,
            "montecarlo",
            "the formula's M keeps the largest error over the ball below ε",
            sufficient,
            (
                ("twice the detectable error", lambda s: sufficient(s, 2.0)),
                *planted(sufficient, "hundredth-of-m"),
            ),
        ),
        Check(
            "uniform-slope",
            right,
            "montecarlo",
            "the largest error falls like M^{-1/2}",
            slope,
            (
                ("twice the detectable error", lambda s: slope(s, 2.0)),
                *planted(slope, "repeated-rows"),
            ),
            quick=False,
        ),
        *uniform_printed.checks(),
        Check(
            "uniform-fixed-pairs",
            ("fixed-pairs",),
            "montecarlo",
            "the formula's M suffices for given pairs",
            fixed_pairs,
            (
                ("twice the detectable error", lambda s: fixed_pairs(s, 2.0)),
                *planted(fixed_pairs, "fiftieth-of-m"),
            ),
        ),
    ]
