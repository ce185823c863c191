"""Integrals of mechanisms with Gaussian ω: TrigRF, PosRF, OPRF and GERF in 1 to 3 dimensions."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

import crt
from crt.kernels import KERNELS
from verification import rules
from verification.altered import Change
from verification.checks import Outcome, Setting
from verification.comparison import Row, count, outcome
from verification.integrals import Case, Points, gaussian_kernel, integrate, rows_of, sharp

QUICK_SIZES = ((2, 2), (2, 8))
SIZES = (*QUICK_SIZES, (1, 1), (3, 3), (2, 64), (3, 8))
"""Effective dimensions, and d. With fewer of them than d the last one is the rest's length."""


@dataclass(frozen=True)
class Member:
    """A mechanism and its place in the family: A and s."""

    name: str
    mechanism: Any
    A: complex
    s: float
    printed: Callable[[Case], Float[np.ndarray, " p"]] | None = None


def _points(rng: np.random.Generator, frame: np.ndarray, number: int) -> tuple[Points, Points]:
    """Pairs in the span of the frame, without its last row if that carries a length."""
    plane = frame if len(frame) == frame.shape[1] else frame[:-1]
    x, y = rng.uniform(-0.5, 0.5, (2, number, len(plane)))
    return x @ plane, y @ plane


def _gaussian_case(
    rng: np.random.Generator, member: Member, change: Change, rows: int, d: int, number: int
) -> Case:
    """A case in `rows` effective dimensions; the frame is random, so no axis is special."""
    frame = np.linalg.qr(rng.normal(size=(d, rows)))[0].T
    x, y = _points(rng, frame, number)
    far = float(np.max(np.linalg.norm(x, axis=1) + np.linalg.norm(y, axis=1)))
    a, b = member.A, np.sqrt((1 - 4 * member.A) * complex(member.s))
    alphas = (1 - 4 * a, 1 - 8 * a, complex(1 - 8 * a.real))
    widths = rules.Widths(alphas, 2 * abs(b.real) * far, 2 * abs(b.imag) * far)
    both = (rules.gaussian(frame, widths), rules.gaussian(frame, widths, finer=True))
    return Case(member.name, change(member.mechanism), x, y, both, member.printed)


def gaussian(
    members: Callable[[np.random.Generator], Iterable[Member]],
) -> Callable[[Setting, Change], Outcome]:
    """A check of mechanisms with Gaussian ω, drawn anew for every size."""

    def run(setting: Setting, change: Change) -> Outcome:
        rng, rows, nodes = np.random.default_rng(setting.seed), [], 0
        number = min(count(2, setting), 8)
        for effective, d in SIZES if setting.effort > 1 else QUICK_SIZES:
            for member in members(rng):
                case = _gaussian_case(rng, member, change, effective, d, number)
                nodes += sum(len(rule.omega) for rule in case.rules)
                for kernel in KERNELS if effective < 3 else ("gaussian",):
                    rows += rows_of(case, kernel)
        return outcome(sharp(rows), "trapezoidal sums in 1 to 3 dimensions", nodes)

    return run


def _trig_printed(case: Case) -> Float[np.ndarray, " p"]:
    return 0.5 * (1 - gaussian_kernel(case.x, case.y) ** 2) ** 2


def _pos_printed(case: Case) -> Float[np.ndarray, " p"]:
    return np.exp(4 * np.sum(case.x * case.y, axis=-1)) - gaussian_kernel(case.x, case.y) ** 2


def trigs(_: np.random.Generator) -> list[Member]:
    return [Member("TrigRF", crt.TrigRF(), 0j, -1.0, _trig_printed)]


def poss(_: np.random.Generator) -> list[Member]:
    return [Member("PosRF", crt.PosRF(), 0j, 1.0, _pos_printed)]


def oprfs(rng: np.random.Generator) -> list[Member]:
    rho = rng.uniform(0.3, 0.95)
    return [Member(f"OPRF(rho = {rho:.3f})", crt.OPRF(rho), complex((1 - 1 / rho) / 8), 1.0)]


def gerfs(rng: np.random.Generator) -> Iterator[Member]:
    """Real A on both sides of 0 and complex A, |arg(1-8A)| < 0.8, for both signs."""
    for s in (1.0, -1.0):
        real, turned = rng.uniform(-0.2, 0.04), rng.uniform(-0.2, 0.02)
        for a in (complex(real), complex(turned, rng.uniform(0.02, 0.1))):
            yield Member(f"GERF(A = {a:.3f}, s = {s:+.0f})", crt.GERF(a, s), a, s)


def infinite(setting: Setting, change: Change) -> Outcome:
    """Integrals of X² over [-R, R], d = 1, x = -y: finite for A < 1/8 alone; the mean stays K.

    There X²φ is a constant times exp((8A-1)ω²/2). Doubling R = 15 changes nothing below 1/8,
    doubles the integral at 1/8, and beyond adds at least log ½ + (5/8)(8A-1)R² to its logarithm,
    for [1.5R, 2R] alone has length R/2.
    """
    x, reach = np.random.default_rng(setting.seed).uniform(0.2, 0.8, (1, 1)), 15.0
    rows = []
    for a in (0.09, 0.125, 0.15, 0.175):
        # Beyond 1/8 the constructor refuses; a pytree is rebuilt without it.
        mechanism = jax.tree.unflatten(jax.tree.structure(crt.GERF(0.0, 1.0)), [a, 1.0])
        case = Case(f"A = {a}", change(mechanism), x, -x, (_even(reach), _even(2 * reach)))
        near, far = (integrate(case, rule, "gaussian") for rule in case.rules)
        mean, exact = near.values[0, 0], gaussian_kernel(x, -x)[0]
        rows.append(Row(f"mean, A = {a}", mean, exact, near.errors[0, 0]))
        growth = math.log(far.values[1, 0] / near.values[1, 0])
        allowed = sum(each.errors[1, 0] / each.values[1, 0] for each in (near, far))
        least = math.log(0.5) + 0.625 * (8 * a - 1) * reach**2
        if a > 0.125:
            rows.append(Row(f"growth, A = {a}", least, growth, allowed, one_sided=True))
        else:
            rows.append(Row(f"growth, A = {a}", growth, math.log(2) * (a == 0.125), allowed))
    return outcome(rows, "integrals over growing intervals", len(rows))


def _even(reach: float) -> rules.Rule:
    """Midpoints of cells of length 1/8 that fill [-reach, reach], with log weights of N(0, 1)."""
    nodes = np.arange(-reach, reach, 0.125) + 0.0625
    return rules.Rule(nodes[:, None], math.log(0.125) - rules.HALF_LOG_2PI - nodes**2 / 2)
