"""Tail bounds of the shipped formulas, beside tail probabilities that are computed exactly."""

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

import crt
from crt import formulas
from verification.checks import Outcome, Setting
from verification.comparison import Row, outcome
from verification.gains import points
from verification.pairs import PairRule, Product
from verification.sums import LOG_STEP, Oprf, Pos, log_chernoff, mean_below

Curve = Float[np.ndarray, " eps"]
FLOOR = 1e-9
"""Bounds below are not compared: the enclosures' rounding is at most 4e-12."""


@dataclass(frozen=True)
class Case:
    """M products at z = ‖x+y‖², n = ‖x‖²+‖y‖², errors ε, and repetitions at effort 1."""

    d: int
    z: float
    n: float
    draws: int
    eps: tuple[float, ...]
    repetitions: int = 4096

    @property
    def rho(self) -> float:
        """ρ* of this pair."""
        return float(formulas.rho_star(self.z, self.d))

    @property
    def kernel(self) -> float:
        """K."""
        return math.exp(self.z / 2 - self.n)

    @property
    def law(self) -> Oprf:
        """Of one OPRF product."""
        return Oprf(self.d, self.z, self.n, self.rho)

    @property
    def label(self) -> str:
        return f"d = {self.d}, z = {self.z:g}, n = {self.n:g}, M = {self.draws}"

    def levels(self, side: int) -> Curve:
        """K ± ε; nothing lies below 0."""
        return np.maximum(self.kernel + side * np.array(self.eps), 0)


NEAR = Case(1, 40.0, 20.0, 64, (0.25, 0.5, 0.75, 1.0, 1.25, 1.5), 2**15)
FAR = Case(2, 4000.0, 2000.0, 1024, (0.25, 0.5, 0.75, 1.0), 2**11)
"""The counterexamples to the printed bound: x = y with ‖x‖² = 10, ε = 1, and 1000, ε = ½."""
CASES = (
    Case(1, 2.0, 1.0, 1, (0.3, 0.6, 0.9)),
    Case(1, 2.0, 1.0, 2, (0.3, 0.6, 0.9)),
    Case(2, 2.0, 1.4, 4, (0.2, 0.4, 0.6)),
    Case(2, 4.0, 2.0, 16, (0.2, 0.4, 0.6, 0.8, 1.2)),
    Case(8, 3.0, 1.8, 32, (0.1, 0.2, 0.4, 0.6)),
    NEAR,
    FAR,
)


@jax.jit
def _log_bounds(
    eps: Array, draws: int, rho: float, d: int, z: float, n: float, kernel: float
) -> dict[str, dict[str, Array]]:
    sup = jnp.exp(formulas.log_supremum_oprf(rho, d, z, n))
    var = formulas.variance_oprf(rho, d, z, n)
    hoeffding = formulas.log_hoeffding(eps, draws, sup) - math.log(2)
    upper = {
        "hoeffding": hoeffding,
        "bernstein": formulas.log_bernstein_upper(eps, draws, var, sup, kernel),
        "bennett": -draws * formulas.bennett_rate(eps, var, sup - kernel),
    }
    lower = formulas.log_bernstein_lower(eps, draws, var, kernel)
    return {"upper": upper, "lower": {"bernstein": lower, "hoeffding": hoeffding}}


def _bounds(case: Case, side: str) -> dict[str, Curve]:
    given = case.draws, case.rho, case.d, case.z, case.n, case.kernel
    found = _log_bounds(np.array(case.eps), *given)[side]
    return {name: np.asarray(bound) for name, bound in found.items()}


def log_upper_bounds(case: Case) -> dict[str, Curve]:
    """Of P(K̂-K ≥ ε), one-sided, for independent and orthogonal draws alike."""
    return _bounds(case, "upper")


def log_lower_bounds(case: Case) -> dict[str, Curve]:
    """Of P(K̂ ≤ K-ε) for independent draws."""
    return _bounds(case, "lower")


def log_orthogonal_lower_bounds(case: Case) -> dict[str, Curve]:
    """The same for orthogonal draws: Cantelli, and where blocks are full Bernstein over blocks."""
    x, y = points(case.d, case.z, case.n)
    mechanism, eps = crt.OPRF(case.rho), np.array(case.eps)
    var = mechanism.estimator_variance(x, y, case.draws, orthogonal=True)
    bounds = {"cantelli": np.asarray(formulas.log_cantelli(eps, var))}
    if case.draws % case.d == 0:
        block = mechanism.estimator_variance(x, y, case.d, orthogonal=True)
        number = case.draws // case.d
        bounds["blocks"] = np.asarray(formulas.log_bernstein_lower(eps, number, block, case.kernel))
    return bounds


def log_printed(case: Case) -> Curve:
    """Of P(|K̂-K| ≥ ε) as the paper prints it: log 2 - (Mε²/2)·exp(n/(2A))."""
    shrink = math.exp(case.n / (2 * float(formulas.a_of_rho(case.rho))))
    return math.log(2) - case.draws * np.array(case.eps) ** 2 / 2 * shrink


@functools.cache
def _legendre(law: Oprf, draws: int, levels: tuple[float, ...]) -> Curve:
    top = math.exp(law.log_supremum)
    return np.array([draws * log_chernoff(law.tail, top, min(level, top)) for level in levels])


def log_legendre(case: Case) -> Curve:
    """-M·L(K+ε)."""
    return _legendre(case.law, case.draws, tuple(case.levels(+1)))


@functools.cache
def exact(case: Case, law: Oprf | Pos) -> dict[str, tuple[Curve, Curve]]:
    """Enclosures of P(K̂-K ≥ ε) and P(K̂ ≤ K-ε) for independent draws."""
    low, high = mean_below(law.tail, case.draws, np.concatenate([case.levels(+1), case.levels(-1)]))
    size = len(case.eps)
    return {"upper": (1 - high[:size], 1 - low[:size]), "lower": (low[size:], high[size:])}


def bound_rows(case: Case, name: str, bound: Curve, probability: Curve) -> Iterator[Row]:
    """The probability's upper end must not exceed the bound, in logarithms."""
    for eps, log_bound, top in zip(case.eps, bound, probability, strict=True):
        if top > 0 and log_bound > math.log(FLOOR):
            label = f"{name}, {case.label}, ε = {eps:g}"
            yield Row(label, math.log(top), float(log_bound), 0.0, one_sided=True)


def _rows(case: Case) -> Iterator[Row]:
    tails = exact(case, case.law)
    (_, upper), (_, lower) = tails["upper"], tails["lower"]
    both = log_upper_bounds(case)["hoeffding"] + math.log(2)
    yield from bound_rows(case, "two-sided Hoeffding", both, upper + lower)
    for name, bound in log_upper_bounds(case).items():
        yield from bound_rows(case, f"upper tail, {name}", bound, upper)
    for name, bound in log_lower_bounds(case).items():
        yield from bound_rows(case, f"lower tail, {name}", bound, lower)
    yield from bound_rows(case, "upper tail, Legendre", log_legendre(case), upper)


def _legendre_rows(case: Case) -> Iterator[Row]:
    """L at a level rounded by e^{LOG_STEP} is at least Bennett's rate there, which is positive."""
    law = case.law
    var = formulas.variance_oprf(case.rho, case.d, case.z, case.n)
    excess = case.levels(+1) * math.exp(-LOG_STEP) - case.kernel
    rates = formulas.bennett_rate(excess, var, math.exp(law.log_supremum))
    for eps, found, rate in zip(case.eps, log_legendre(case), np.asarray(rates), strict=True):
        label = f"Legendre beside Bennett, {case.label}, ε = {eps:g}"
        yield Row(label, found / case.draws, -float(rate), 0.0, one_sided=True)


def pos_rows() -> Iterator[Row]:
    """The lower tail of PosRF, whose products are not bounded."""
    for case in CASES[1:5]:
        var = formulas.variance_pos(case.z, case.n)
        bound = formulas.log_bernstein_lower(np.array(case.eps), case.draws, var, case.kernel)
        lower = exact(case, Pos(case.z, case.n))["lower"][1]
        yield from bound_rows(case, "lower tail of PosRF", np.asarray(bound), lower)


def by_convolution(setting: Setting) -> Outcome:
    """No corrected bound is exceeded, by enclosures of the exact probabilities."""
    with jax.enable_x64(True):
        rows = [row for case in CASES for row in _rows(case)]
        # The law of X beside its formulas: where ε is tiny against K the rounding hides it.
        rows += [row for case in CASES for row in _legendre_rows(case)]
        rows += list(pos_rows())
    return outcome(rows, "exact tails in logarithms")


def supremum(setting: Setting) -> Outcome:
    """The shipped features reach exp(log_supremum_oprf) at ω = c, and nowhere exceed it."""
    rng, rows = np.random.default_rng(setting.seed), []
    with jax.enable_x64(True):
        for case in CASES:
            law = case.law
            x, y = points(case.d, case.z, case.n)
            best = law.centre * (x + y) / math.sqrt(case.z)
            around = best + rng.normal(size=(200, case.d)) * rng.uniform(0, 3, size=(200, 1))
            omega = np.concatenate([best[None], around])
            mechanism = crt.OPRF(case.rho)
            logs = [mechanism.log_features(p[None], omega, s)[0] for p, s in ((x, "x"), (y, "y"))]
            values = np.asarray(logs[0] + logs[1])[0]
            shipped = float(formulas.log_supremum_oprf(case.rho, case.d, case.z, case.n))
            # Summands of log X are at most 4n + d·log B² in size; six of them are rounded.
            allowed = (
                6 * float(np.finfo(float).eps) * (4 * case.n + case.d * math.log(1 / case.rho))
            )
            rows.append(Row(f"at the centre, {case.label}", float(values[0]), shipped, allowed))
            top = float(np.max(values[1:]))
            rows.append(Row(f"elsewhere, {case.label}", top, shipped, allowed, one_sided=True))
    return outcome(rows, "log of the largest product")


def comparison(setting: Setting, direction: int = 1) -> Outcome:
    """E e^{θ(X_1+X_2)}, orthogonal less independent: negative at θ = 1, positive at θ = -10.

    d = 2, z = 4, n = 2, optimal A. Six known digits must come out as well. `direction` -1 expects
    the comparison the other way round.
    """
    rows = []
    with jax.enable_x64(True):
        product = Product(float(formulas.a_star(4.0, 2)), 1, 2, 4.0, 2.0)
    known = {-10: (0.187882, 0.187800), 1: None}
    for theta, digits in known.items():

        def g(r: np.ndarray, c: np.ndarray, theta: int = theta) -> np.ndarray:
            return np.exp(theta * np.exp(np.real(product.log_value(r, c))))[None]

        values = []
        for rule in (PairRule(1, 480, 400, 480), PairRule(1, 720, 600, 720)):
            ends = (0.0, 12.0)
            values.append((rule.pair(g, 2, ends)[0], rule.single(g, 2, ends)[0] ** 2))
        (coarse, fine), sign = values, direction if theta < 0 else -direction
        error = sum(abs(a - b) for a, b in zip(coarse, fine, strict=True)) + 1e-13 * fine[0]
        gap = sign * (fine[0] - fine[1])
        rows.append(Row(f"sign at θ = {theta}", -gap, -error, 0.0, one_sided=True))
        for name, value, shown in zip(
            ("orthogonal", "independent"), fine, digits or (), strict=False
        ):
            rows.append(Row(f"{name} at θ = {theta}", value, shown, 5.01e-7))
    return outcome(rows, "moment generating functions of two draws")
