"""The minimum over complex A lies on the real axis, at the shipped value: branch and bound in Arb.

τ = 1 - 1/(1-4A) = p + iq maps the domain Re(1-8A) > 0 onto the unit disc. With z = ‖x+s·y‖² the
second moment of a GERF product is ½e^{-(s+1)n} times

    F = (1-|τ|²)^{-d/2}·exp(z(|1-τ| + s(1-p))/(1-|τ|²)) + Re (1-τ²)^{-d/2}·exp(2sz/(1+τ)).

F is even in q. On each cell of the half disc q ≥ 0, |τ| ≤ REACH one of three facts is shown: F is
above its value at the shipped A; F grows with q, so that no point of the cell is least; or the cell
stands on the axis and ∂²F/∂q² > 0, so that only points of the axis can be least. On the axis the
slope changes its sign at the shipped value alone. Beyond REACH the proof in notebook 11 speaks.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
import sympy as sp
from flint import arb, ctx

import crt
from crt import formulas, parameters
from crt.statistics import Statistics
from verification.checks import Outcome, Setting
from verification.comparison import Row, count, outcome
from verification.minima import minimum
from verification.reference import compile_arb
from verification.shipped import collect

EPS = float(np.finfo(np.float64).eps)
REACH = 0.9
CELLS = 200_000
"""Of one half disc; those left when this many were looked at are undecided."""
DIMS = (1, 2, 3, 8)
Box = tuple[arb, arb, arb, arb]
Fit = Callable[[Statistics], tuple[Any, Any]]


@functools.cache
def _compiled() -> Callable[..., list[arb]]:
    """log F₁, F/F₁, and ∂F/∂p, ∂F/∂q, ∂²F/∂q² over F₁, the first term, by p, q, d, z, s.

    Both terms may be huge and nearly cancel: their ratio e^{-gap}, which is at most 1, is formed
    before the exponential.
    """
    p, q, d, z, s = symbols = sp.symbols("p q d z s", real=True)
    left, right = (1 + p) ** 2 + q**2, (1 - p) ** 2 + q**2
    rest = 1 - p**2 - q**2
    first = -d / 2 * sp.log(rest) + z * (sp.sqrt(right) + s * (1 - p)) / rest
    second = -d / 4 * sp.log(left * right) + 2 * s * z * (1 + p) / left
    angle = -d / 2 * (sp.atan2(q, 1 + p) - sp.atan2(q, 1 - p)) - 2 * s * z * q / left
    ratio = sp.exp(second - first)
    whole = 1 + ratio * sp.cos(angle)

    def slope(value: sp.Expr, by: sp.Symbol) -> sp.Expr:
        """Of F₁·value, over F₁."""
        return sp.diff(value, by) + value * sp.diff(first, by)

    up = slope(whole, q)
    outputs = [first, whole, slope(whole, p), up, slope(up, q)]
    return compile_arb([str(name) for name in symbols], outputs, arb)


def log_moment(tau: float, d: arb, z: arb, s: arb) -> arb:
    """log F at a real τ."""
    first, whole, *_ = _compiled()(arb(tau), arb(0), d, z, s)
    return first + whole.log()


def _decided(values: list[arb], best: arb, low: arb) -> bool:
    """One of the three facts, on a cell whose lower edge is `low`."""
    if not all(value.is_finite() for value in values):
        return False
    first, whole, _, slope, bend = values
    if whole > 0 and first + whole.log() > best:
        return True
    return bool(slope > 0 if low > 0 else bend > 0)


def undecided(d: arb, z: arb, s: arb, best: arb) -> int:
    """Cells of the half disc on which nothing is shown."""
    values, reach = _compiled(), arb(REACH)
    todo: list[Box] = [(-reach, reach, arb(0), reach)]
    seen = 0
    while todo and seen < CELLS:
        a, b, c, e = todo.pop()
        nearest = 0 if a <= 0 <= b else min(abs(a), abs(b))
        if nearest**2 + c**2 > reach**2:
            continue
        seen += 1
        # A cell that leaves the unit disc is cut first.
        inside = max(abs(a), abs(b)) ** 2 + e**2 < 1
        if inside and _decided(values(a.union(b), c.union(e), d, z, s), best, c):
            continue
        if b - a >= e - c:
            middle = ((a + b) / 2).mid()
            todo += [(a, middle, c, e), (middle, b, c, e)]
        else:
            middle = ((c + e) / 2).mid()
            todo += [(a, b, c, middle), (a, b, middle, e)]
    return len(todo)


def on_disc(d: int, z: float, s: int, a: float) -> Iterator[Row]:
    """That the shipped A is the least one, for one sign."""
    label = f"d = {d}, z = {z:.3g}, s = {s:+d}"
    tau = -4 * a / (1 - 4 * a)
    before, ctx.prec = ctx.prec, 128
    try:
        given = arb(d), arb(z), arb(s)
        # A is right to 16 eps and τ' = -4(1-τ)², so τ to 64(1-τ)² of them; its own rounding is one.
        gap = 64 * EPS * (1 - tau) ** 2 + EPS
        slope = lambda p: _compiled()(p, arb(0), *given)[2]  # noqa: E731
        yield from minimum(f"real τ, {label}", slope, tau, gap, (-REACH, REACH))
        lost = undecided(*given, log_moment(tau, *given))
        yield Row(f"cells undecided, {label}", lost, 0.0, 0.0)
    finally:
        ctx.prec = before


def fitted_gerf(seen: Statistics) -> tuple[Any, Any]:
    """A and s of GERF as it is fitted."""
    mechanism = crt.GERF.from_statistics(seen)
    return mechanism.A, mechanism.s


def best_of_sign(seen: Statistics, s: int) -> float:
    """A of the other sign, by the shipped formulas."""
    z = seen.squared_norm(float(s))
    return float(formulas.a_star(z, seen.dim) if s > 0 else parameters.gerf_minus(z, seen.dim))


def _pair(rng: np.random.Generator, d: int) -> tuple[np.ndarray, np.ndarray]:
    """x and y with ‖x+y‖² and ‖x-y‖² between 0.3·d and d."""
    v, w = rng.normal(size=(2, d))
    v, w = (u * np.sqrt(d * rng.uniform(0.3, 1) / np.sum(u**2)) for u in (v, w))
    return (v + w) / 2, (v - w) / 2


def over_complex(setting: Setting, shipped: Fit = fitted_gerf) -> Outcome:
    """No complex A and no sign has a smaller second moment than the fitted ones."""
    rng, rows = np.random.default_rng(setting.seed), []
    with jax.enable_x64(True):
        for k in range(min(count(1, setting), 12)):
            x, y = _pair(rng, DIMS[(k + 1) % len(DIMS)])
            seen = collect(x[None], y[None], np.ones(1, bool), np.ones(1, bool))
            value, sign = (float(np.real(part)) for part in shipped(seen))
            found = {round(sign): value, -round(sign): best_of_sign(seen, -round(sign))}
            for s, a in found.items():
                rows += on_disc(len(x), float(seen.squared_norm(float(s))), s, a)
            rows.append(_signs(x, y, found, round(sign)))
    return outcome(rows, "cells of the complex domain")


def _signs(x: np.ndarray, y: np.ndarray, found: dict[int, float], chosen: int) -> Row:
    """The log second moment of the chosen sign beside the other's."""
    norms = float(np.sum(x**2 + y**2))
    logs = {}
    for s, a in found.items():
        z = float(np.sum((x + s * y) ** 2))
        log_f = log_moment(-4 * a / (1 - 4 * a), arb(len(x)), arb(z), arb(s))
        logs[s] = float(log_f) - (s + 1) * norms
    allowed = 64 * EPS * (len(x) + norms + max(map(abs, logs.values())))
    label = f"log second moment of s = {chosen:+d}, d = {len(x)}"
    return Row(label, logs[chosen], logs[-chosen], allowed, one_sided=True)
