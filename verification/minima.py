"""Minima certified in Arb: a slope that changes its sign right where it should and nowhere else."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp
from flint import acb, arb, ctx, fmpq
from jaxtyping import Float

from crt import statistics
from derivations.arb import Evaluator
from derivations.library import load_formulas
from verification.comparison import Row

CELLS = 4096
Slope = Callable[[arb], arb]
Vector = Float[np.ndarray, " d"]


def undecided(slope: Slope, low: arb, high: arb, sign: int) -> int:
    """Boxes of [low, high] on which the slope is not shown to have the sign; bisected first."""
    todo, seen = [(low, high)], 0
    while todo and seen < CELLS:
        a, b = todo.pop()
        seen += 1
        value = slope(a.union(b))
        if not (value.is_finite() and bool(value * sign > 0)):
            middle = ((a + b) / 2).mid()
            todo += [(a, middle), (middle, b)]
    return len(todo)


def minimum(
    label: str, slope: Slope, at: float, gap: float, domain: tuple[float, float]
) -> list[Row]:
    """The slope is negative up to at - gap and positive from at + gap on, over the whole domain."""
    before, ctx.prec = ctx.prec, 128
    try:
        below, above = (arb(at) + sign * arb(gap) for sign in (-1, 1))
        lost = undecided(slope, arb(domain[0]), below.mid(), -1)
        lost += undecided(slope, above.mid(), arb(domain[1]), 1)
        ends = [float(slope(end.mid())) for end in (below, above)]
    finally:
        ctx.prec = before
    return [
        Row(f"{label}: slope just below", ends[0], 0.0, 0.0, one_sided=True),
        Row(f"{label}: minus the slope just above", -ends[1], 0.0, 0.0, one_sided=True),
        Row(f"{label}: boxes undecided", lost, 0.0, 0.0),
    ]


def exact_sum(values: list[Fraction]) -> arb:
    """Σ values, enclosed once at the end."""
    total = sum(values, Fraction(0))
    return arb(fmpq(total.numerator, total.denominator))


def squared(x: Vector, y: Vector, s: int) -> arb:
    """‖x + s·y‖² exactly."""
    pairs = zip(x.tolist(), y.tolist(), strict=True)
    return exact_sum([(Fraction(a) + s * Fraction(b)) ** 2 for a, b in pairs])


def draw(rng: np.random.Generator, turn: int) -> tuple[Vector, Vector, statistics.Statistics]:
    """A pair in d = 1 … 64 coordinates, d > 1 on the first turn, and its statistics."""
    d = int(rng.choice([1, 2, 3, 8, 64] if turn else [2, 3, 8]))
    x, y = rng.normal(size=(2, d)) * rng.choice([0.1, 0.5, 1.0])
    return x, y, statistics.collect(x[None], y[None])


def slope_of(name: str, by: str, at: dict[str, Any]) -> Slope:
    """The derivative of a formula's definition by one argument, the others fixed."""
    formula = load_formulas()[name]
    symbols = {str(symbol): symbol for symbol in formula.args}
    slope = sp.diff(formula.stated, symbols[by])
    fixed = {symbols[key]: acb(value) for key, value in at.items()}
    return lambda t: Evaluator({**fixed, symbols[by]: acb(t)})(slope).real
