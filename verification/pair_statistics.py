"""Statistics of the shipped code, which cost O(Ld), against sums over all pairs in fractions."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import jax
import numpy as np
from jaxtyping import Bool, Float

from crt import statistics
from verification import shipped
from verification.checks import Check, Outcome, Setting
from verification.comparison import Row, count, outcome
from verification.faults import planted

EPS = float(np.finfo(np.float64).eps)
Matrix = Float[np.ndarray, "n d"]
Mask = Bool[np.ndarray, " n"]
Exact = Sequence[Sequence[Fraction]]
Collect = Callable[..., statistics.Statistics]


def _pairs_mean(
    x: Exact, y: Exact, summand: Callable[[Fraction, Fraction], Fraction]
) -> list[Fraction]:
    """Per coordinate the mean over all pairs, in rational arithmetic."""
    total = [Fraction(0)] * len(x[0])
    for row in x:
        for other in y:
            total = [t + summand(a, b) for t, a, b in zip(total, row, other, strict=True)]
    return [t / (len(x) * len(y)) for t in total]


def _dyadic(rng: np.random.Generator, rows: int, d: int) -> Matrix:
    """Multiples of 2⁻¹⁰ around a mean per coordinate: exact as floats and as fractions."""
    return (rng.integers(-3000, 3000, (rows, d)) + rng.integers(-4000, 4000, d)) / 1024


def _fractions(x: Matrix, mask: Mask) -> Exact:
    return [[Fraction(value) for value in row] for row in x[mask].tolist()]


def _merged(x: Matrix, y: Matrix, x_mask: Mask, y_mask: Mask) -> statistics.Statistics:
    """Statistics collected whole and in two parts that are merged, alternately by size."""
    if len(x) % 2:
        return shipped.collect(x, y, x_mask, y_mask)
    i, j = len(x) // 3, len(y) // 3
    one = shipped.collect(x[:i], y[:j], x_mask[:i], y_mask[:j])
    other = shipped.collect(x[i:], y[j:], x_mask[i:], y_mask[j:])
    return one.merge(other)


def _reduced(x: Matrix, y: Matrix, x_mask: Mask, y_mask: Mask) -> statistics.Statistics:
    """Statistics of two halves of equal size, joined along a mapped axis."""
    halves = (a.reshape(2, -1, *a.shape[1:]) for a in (x, y, x_mask, y_mask))

    def half(x: Any, y: Any, x_mask: Any, y_mask: Any) -> statistics.Statistics:
        return shipped.collect(x, y, x_mask, y_mask).all_reduce("parts")

    whole = jax.jit(jax.vmap(half, axis_name="parts"))(*halves)
    return jax.tree.map(lambda leaf: leaf[0], whole)


def pair_statistics(setting: Setting, collect: Collect = _merged) -> Outcome:
    """O(Ld) statistics against sums over all pairs in rational arithmetic, with masks and merges.

    Each is a mean of n + m numbers per coordinate, squared or multiplied, summed over d: the error
    is at most 4(n + m + d)·eps times the same mean with absolute values inside.
    """
    rng, rows = np.random.default_rng(setting.seed), []
    with jax.enable_x64(True):
        for k in range(count(4, setting)):
            # Up to effort 1 of one shape, which is compiled once.
            n, m, d = 6 + k % 2, 8, int(rng.integers(1, 5)) if k > 3 else 3
            x, y = _dyadic(rng, n, d), _dyadic(rng, m, d)
            masks = rng.random(n) < 0.7, rng.random(m) < 0.7
            masks[0][:2], masks[1][:2] = (True, False), (False, True)
            seen = (collect if k else _reduced if collect is _merged else collect)(x, y, *masks)
            rows += _rows(seen, _fractions(x, masks[0]), _fractions(y, masks[1]), n + m + d)
    return outcome(rows, "statistics against all pairs in rational arithmetic")


def _rows(seen: statistics.Statistics, x: Exact, y: Exact, terms: int) -> list[Row]:
    rows = []

    def compare(label: str, got: Any, exact: Fraction, size: Fraction) -> None:
        rows.append(Row(label, float(got), float(exact), 4 * terms * EPS * float(size)))

    size = sum(_pairs_mean(x, y, lambda a, b: (abs(a) + abs(b)) ** 2), Fraction(0))
    for s in (1, -1):
        exact = sum(_pairs_mean(x, y, lambda a, b, s=s: (a + s * b) ** 2), Fraction(0))
        compare(f"mean of ‖x {s:+d}·y‖²", seen.squared_norm(float(s)), exact, size)
    exact = sum(_pairs_mean(x, y, lambda a, b: a**2 + b**2), Fraction(0))
    compare("mean of ‖x‖² + ‖y‖²", seen.norms(), exact, exact)
    exact = sum(_pairs_mean(x, y, lambda a, b: (a * b) ** 2), Fraction(0))
    compare("mean of Σ x²y²", seen.poisson(), exact, exact)
    for got, exact in zip(
        seen.geometric(), _pairs_mean(x, y, lambda a, b: abs(a * b)), strict=True
    ):
        compare("mean of |xy|", got, exact, exact)
    lows = [min(column) for column in zip(*x, *y, strict=True)]
    for got, exact in zip(seen.low(), lows, strict=True):
        compare("least coordinate", got, exact, Fraction(0))
    return rows


def _unbiased(x: Matrix, y: Matrix, x_mask: Mask, y_mask: Mask) -> statistics.Statistics:
    """Variances divided by n - 1."""
    found = shipped.collect(x, y, x_mask, y_mask)
    moments = (
        statistics.Moments(m.count, m.mean, m.variance * m.count / (m.count - 1), m.absolute, m.low)
        for m in (found.x, found.y)
    )
    return statistics.Statistics(*moments)


def _unweighed(x: Matrix, y: Matrix, x_mask: Mask, y_mask: Mask) -> statistics.Statistics:
    """Parts of unequal size averaged with equal weights."""
    parts = [shipped.collect(x[i], y, x_mask[i], y_mask) for i in (slice(2), slice(2, None))]
    return jax.tree.map(lambda a, b: (a + b) / 2, *parts)


def _signed(x: Matrix, y: Matrix, x_mask: Mask, y_mask: Mask) -> statistics.Statistics:
    """Absolute values lost."""
    found = shipped.collect(x, y, x_mask, y_mask)
    moments = (
        statistics.Moments(m.count, m.mean, m.variance, m.mean, m.low) for m in (found.x, found.y)
    )
    return statistics.Statistics(*moments)


def checks() -> list[Check]:
    """The one check of this module."""
    catalogue = ("padded-rows", "merge-means", "sign-ignored", "centred-squares")
    catalogue += ("geometric-statistic", "low-of-x")
    return [
        Check(
            "pair-statistics",
            ("eq-gestat", "eq-poisstat", "eq-geomstat"),
            "certificate",
            "means over pairs from O(Ld) statistics equal the sums over all pairs",
            lambda setting: pair_statistics(setting),
            (
                ("variance over n - 1", lambda setting: pair_statistics(setting, _unbiased)),
                ("parts merged unweighed", lambda setting: pair_statistics(setting, _unweighed)),
                ("absolute values lost", lambda setting: pair_statistics(setting, _signed)),
                *planted(pair_statistics, *catalogue),
            ),
        )
    ]
