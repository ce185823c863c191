"""The identities beneath every expectation: integrals beside their closed forms.

Integrands are entire with Gaussian decay, or smooth on a finite range: sums over a line and SciPy's
adaptive rule reach nearly all digits. Closed forms are those that notebook 01 states.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
from scipy.integrate import quad
from scipy.special import hyp0f1, hyp1f1, poch

from verification.checks import Check, Outcome, Setting
from verification.comparison import Row, outcome

LINE = np.linspace(-40.0, 40.0, 8001)
STEP = LINE[1] - LINE[0]
ALLOWED = 1e-11
"""Relative error of the integrals."""
PLANTED = 1e-9

Pair = tuple[str, complex, complex]
"""A label, the integral, and the closed form."""


def _integral(f: Callable[[float], float], low: float, high: float) -> float:
    return quad(f, low, high, epsabs=0.0, epsrel=1e-13, limit=400)[0]


def complex_gaussian(rng: np.random.Generator) -> Iterator[Pair]:
    """∫ exp(-α(ω-β)²/2) dω = √(2π/α) for Re α > 0, whatever the complex β."""
    for re, im, x, y in rng.uniform((0.5, -2, -1, -1), (3, 2, 1, 1), size=(6, 4)):
        alpha, beta = complex(re, im), complex(x, y)
        total = STEP * np.sum(np.exp(-alpha / 2 * (LINE - beta) ** 2))
        yield f"α = {alpha:.3g}, β = {beta:.3g}", total, np.sqrt(2 * np.pi / alpha)


def gaussian_mean(rng: np.random.Generator) -> Iterator[Pair]:
    """E exp(aω² + bω) = (1-2a)^{-1/2} exp(b²/(2-4a)) for Re(1-2a) > 0."""
    for re, im, x, y in rng.uniform((-1, -1, -1, -1), (0.3, 1, 1, 1), size=(6, 4)):
        a, b = complex(re, im), complex(x, y)
        logs = a * LINE**2 + b * LINE - LINE**2 / 2
        exact = np.exp(b**2 / (2 - 4 * a)) / np.sqrt(1 - 2 * a)
        total = STEP * np.sum(np.exp(logs)) / math.sqrt(2 * math.pi)
        yield f"a = {a:.3g}, b = {b:.3g}", total, exact


def chi_square_moments(rng: np.random.Generator) -> Iterator[Pair]:
    """E‖ω‖^{2t} = 2^t (d/2)_t for ω ~ N(0, I_d)."""
    for d, t in ((1, 3), (2, 1), (3, 4), (8, 2), (8, 5)):
        found = _integral(lambda r, d=d, t=t: r ** (2 * t) * _length(r, d), 0, d**0.5 + 14)
        yield f"d = {d}, t = {t}", found, 2**t * poch(d / 2, t)


def _length(r: float, d: int) -> float:
    """Density of ‖ω‖ at r: 2^{1-d/2} r^{d-1} e^{-r²/2} / Γ(d/2)."""
    return 2 ** (1 - d / 2) * r ** (d - 1) * math.exp(-(r**2) / 2) / math.gamma(d / 2)


def sphere_average(rng: np.random.Generator) -> Iterator[Pair]:
    """E e^{r u·v}, ‖v‖ = 1, over directions u is 0F1(; d/2; r²/4): u·v = cos θ."""
    for d, r in zip((2, 3, 4, 8), rng.uniform(0.2, 4, size=4), strict=True):

        def weight(angle: float, d: int = d) -> float:
            return math.sin(angle) ** (d - 2)

        def wave(angle: float, r: float = float(r), d: int = d) -> float:
            return math.exp(r * math.cos(angle)) * math.sin(angle) ** (d - 2)

        found = _integral(wave, 0, math.pi) / _integral(weight, 0, math.pi)
        yield f"d = {d}, r = {r:.3g}", found, hyp0f1(d / 2, r**2 / 4)


def length_average(rng: np.random.Generator) -> Iterator[Pair]:
    """The mean of 0F1(; d/2; cR²/4) over R² ~ χ²_m is 1F1(m/2; d/2; c/2)."""
    for (d, m), c in zip(((2, 1), (3, 6), (8, 8)), rng.uniform(0.1, 2, size=3), strict=True):

        def term(r: float, d: int = d, m: int = m, c: float = float(c)) -> float:
            return float(hyp0f1(d / 2, c * r**2 / 4)) * _length(r, m)

        found = _integral(term, 0, m**0.5 + 16)
        yield f"d = {d}, m = {m}, c = {c:.3g}", found, hyp1f1(m / 2, d / 2, c / 2)


IDENTITIES: Mapping[str, Callable[[np.random.Generator], Iterator[Pair]]] = {
    "eq-cgauss": complex_gaussian,
    "gaussian-mean": gaussian_mean,
    "chi-square-moments": chi_square_moments,
    "sphere-average": sphere_average,
    "sphere-length-average": length_average,
}


def run(name: str, setting: Setting, size: float = 1.0) -> Outcome:
    """|integral/closed form - 1| at points of the seed; the closed form counts `size` times."""
    rng = np.random.default_rng(setting.seed)
    rows = [
        Row(label, abs(complex(found) / (size * complex(exact)) - 1), 0.0, ALLOWED)
        for label, found, exact in IDENTITIES[name](rng)
    ]
    return outcome(rows, "integrals beside closed forms")


def checks() -> list[Check]:
    """One check per identity."""
    fault = f"closed form {PLANTED:g} too large"
    made = []
    for name, pairs in IDENTITIES.items():
        look = partial(run, name)
        planted = ((fault, partial(run, name, size=1 + PLANTED)),)
        summary = (pairs.__doc__ or "").strip().rstrip(".")
        made.append(Check(f"identity-{name}", (name,), "quadrature", summary, look, planted))
    return made
