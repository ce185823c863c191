"""Optimal parameters of the shipped code, certified in Arb: the slope changes sign right there.

Each parameter minimises a log second moment whose slope is enclosed in ball arithmetic at exact
data. Just below the shipped value it must be negative and just above positive, and on the rest of
the domain, cut into boxes, it must keep that sign: then the minimum is unique and the shipped value
is it, up to the gap. A gap is what rounding the statistics and the last Newton step can cause.
"""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
from flint import arb

import crt
from crt import formulas, parameters, statistics
from crt.statistics import Statistics
from verification import utility
from verification.checks import Check, Outcome, Setting
from verification.comparison import Row, count, outcome
from verification.complex_minima import fitted_gerf, over_complex
from verification.count_optima import chance, fitted_chance, fitted_rate, fitted_rates, rates
from verification.faults import planted
from verification.minima import Slope, Vector, draw, minimum, slope_of, squared

EPS = float(np.finfo(np.float64).eps)


def fitted_rho(seen: Statistics) -> Any:
    """ρ of OPRF as it is fitted."""
    return crt.OPRF.from_statistics(seen).rho


def rho(setting: Setting, shipped: Callable[..., Any] = fitted_rho) -> Outcome:
    """ρ* of OPRF. z has 4(2+d) roundings at most, ρ* depends on it to the power -1 … 0."""
    rng, rows = np.random.default_rng(setting.seed), []
    with jax.enable_x64(True):
        for k in range(min(count(2, setting), 20)):
            x, y, seen = draw(rng, k)
            d, value = len(x), float(shipped(seen))
            fixed = {"d": d, "z": squared(x, y, 1), "n": 0}
            slope = slope_of("log_second_moment_oprf", "rho", fixed)
            gap = 4 * (d + 8) * EPS * value
            rows += minimum(f"rho, d = {d}", slope, value, gap, (value / 100, 4.0))
            rows.append(Row("A is negative", float(formulas.a_of_rho(value)), 0.0, 0.0, True))
        rows += _limits(shipped)
    return outcome(rows, "slopes of the log second moment in Arb")


def _limits(shipped: Callable[..., Any]) -> list[Row]:
    """d = 1: ρ* = 1 - 4z + O(z²) as z → 0, and 2z·ρ* = 1 + O(1/z) as z → ∞."""
    rows = []
    for size in (1e-6, 1e6):
        z = 4 * size**2
        value = float(shipped(statistics.collect(np.array([[size]]), np.array([[size]]))))
        if z < 1:
            rows.append(Row("limit z → 0", value, 1 - 4 * z, 8 * EPS + 64 * z**2))
        else:
            rows.append(Row("limit z → ∞", 2 * z * value, 1.0, 8 * EPS + 2 / z))
    return rows


def _gerf_slope(z: arb, d: int) -> Slope:
    """Slope of the log second moment, s = -1, A real: that in t = 1/(1-8A), of the same sign."""
    inner = _slope_in_t(z, d)
    return lambda a: inner(1 / (1 - 8 * a))


def _slope_in_t(z: arb, d: int) -> Slope:
    """From ℓ = (d/2)·log((1+t)²/(4t)) + log(1 + e^{-z(1+t)})."""
    return lambda t: arb(d) * (t - 1) / (2 * t * (t + 1)) - z / (1 + (z * (1 + t)).exp())


def gerf_minus(setting: Setting, shipped: Callable[..., Any] = parameters.gerf_minus) -> Outcome:
    """A* of GERF, s = -1. The root t > 1 is known to about 80 eps, A = (1-1/t)/8 to 10 eps."""
    rng, rows = np.random.default_rng(setting.seed), []
    with jax.enable_x64(True):
        for k in range(min(count(2, setting), 20)):
            x, y, seen = draw(rng, k)
            value = float(shipped(seen.squared_norm(-1.0), len(x)))
            slope = _gerf_slope(squared(x, y, -1), len(x))
            rows += minimum(f"A, d = {len(x)}", slope, value, 16 * EPS, (-1.0, 0.12))
    return outcome(rows, "slopes of the log second moment in Arb")


_log_second_moment = jax.jit(formulas.log_second_moment_gerf)


def _moment(a: np.ndarray, s: float, d: int, x: Vector, y: Vector) -> np.ndarray:
    z, n = np.sum((x + s * y) ** 2), np.sum(x**2 + y**2)
    return np.asarray(_log_second_moment(a, s, float(d), z, n))


def _disc(number: int) -> np.ndarray:
    """A on a polar grid of τ = 1 - 1/(1-4A), which maps Re(1-8A) > 0 onto the unit disc."""
    radius = np.linspace(0, 0.995, number)[:, None]
    tau = (radius * np.exp(1j * np.linspace(0, np.pi, number))).ravel()
    return (1 - 1 / (1 - tau)) / 4


def gerf(setting: Setting, shipped: Callable[..., Any] = fitted_gerf) -> Outcome:
    """No A on a grid of the complex domain, and none found downhill from there, is better.

    The search halves its step from 0.1 to below 1e-5 around the best point of each sign. Values
    are right to 16·eps·(|log moment| + d); half the domain suffices, for conjugate A are equal.
    """
    rng, rows = np.random.default_rng(setting.seed), []
    with jax.enable_x64(True):
        for k in range(min(count(1, setting), 20)):
            x, y = draw(rng, k)[:2]
            # Near x the sign -1 is the better one, near -x the sign +1; elsewhere it depends.
            y = y if k else x + 0.3 * y
            for other in (y, -y):
                rows += _against_search(x, other, shipped)
    return outcome(rows, "log second moment at the shipped A and s, and the least one found")


def _against_search(x: Vector, y: Vector, shipped: Callable[..., Any]) -> Iterator[Row]:
    """The shipped log second moment beside the least one found, for both signs."""
    d, seen = len(x), statistics.collect(x[None], y[None])
    a, s = (float(np.real(value)) for value in shipped(seen))
    best = float(_moment(np.array([a + 0j]), s, d, x, y)[0])
    allowed = 16 * EPS * (1 + abs(best) + d + float(seen.norms()))
    for sign in (1.0, -1.0):
        found = _downhill(sign, d, x, y)
        yield Row(f"d = {d}, s = {sign:+.0f}", best, found, allowed, one_sided=True)


def _downhill(s: float, d: int, x: Vector, y: Vector) -> float:
    """The least log second moment seen on the grid and by a search from its best point."""
    grid = _disc(48)
    values = _moment(grid, s, d, x, y)
    at, least, step = grid[np.nanargmin(values)], float(np.nanmin(values)), 0.1 / d
    moves = np.exp(2j * np.pi * np.arange(16) / 16)
    while step > 1e-5 / d:
        near = at + step * moves
        values = np.where(near.real < 0.1249, _moment(near, s, d, x, y), np.inf)
        if np.min(values) < least:
            at, least = near[np.argmin(values)], float(np.min(values))
        else:
            step /= 2
    return least


def _certified(
    name: str,
    claims: tuple[str, ...],
    summary: str,
    run: Callable[[Setting], Outcome],
    *catalogue: str,
    **own: Callable[[Setting], Outcome],
) -> Check:
    """A check with faults of the catalogue and its own."""
    faults = tuple((fault.replace("_", " "), faulty) for fault, faulty in own.items())
    faults += planted(run, *catalogue)
    return Check(f"optimal-{name}", claims, "inequality", summary, run, faults)


def checks() -> list[Check]:
    """The optimal parameters of every mechanism, and the utility."""
    off = 1 + 1e-10
    return [
        _certified(
            "rho",
            ("thm-minvar", "minvar-sign", "plug-in-optima"),
            "ρ* is the only minimum of OPRF's variance; limits, A < 0",
            lambda setting: rho(setting),
            "rho-half-z",
            rho_off_by_1e_minus_10=lambda s: rho(s, lambda seen: off * fitted_rho(seen)),
            difference_for_sum=lambda s: rho(
                s, lambda seen: formulas.rho_star(seen.squared_norm(-1.0), seen.dim)
            ),
        ),
        _certified(
            "gerf-minus",
            ("gerf-real-optimum", "gerf-optimum-minus"),
            "A* of s = -1 is the only minimum on the real axis",
            lambda setting: gerf_minus(setting),
            "root-not-found",
            A_off_by_1e_minus_12=lambda s: gerf_minus(
                s, lambda z, d: parameters.gerf_minus(z, d) + 1e-12
            ),
            TrigRF=lambda s: gerf_minus(s, lambda z, d: 0.0 * z),
        ),
        _certified(
            "gerf",
            ("gerf-optimum", "gerf-optimum-plus", "gerf-optimum-minus"),
            "a search up to the edge of the domain finds no complex A and no sign that is better",
            lambda setting: gerf(setting),
            "a-dropped-factor",
            "root-not-found",
            sign_reversed=lambda s: gerf(s, _reversed),
            A_off_by_1e_minus_3=lambda s: gerf(
                s, lambda seen: (fitted_gerf(seen)[0] - 1e-3, fitted_gerf(seen)[1])
            ),
        ),
        _certified(
            "gerf-complex",
            ("gerf-optimum", "gerf-optimum-plus", "gerf-optimum-minus"),
            "no complex A and no sign is better than the shipped ones, cell by cell",
            lambda setting: over_complex(setting),
            "a-dropped-factor",
            "root-not-found",
            sign_reversed=lambda s: over_complex(s, _reversed),
            A_off_by_1e_minus_12=lambda s: over_complex(
                s, lambda seen: (fitted_gerf(seen)[0] + 1e-12, fitted_gerf(seen)[1])
            ),
        ),
        _certified(
            "rates",
            ("thm-pois", "opt-dirf", "pois-rate-zero", "plug-in-optima"),
            "λ* of PoisRF and λ_l of OptPoisRF are the only minima",
            lambda setting: rates(setting),
            "rate-without-d",
            "rates-squared",
            rate_off_by_1e_minus_10=lambda s: rates(s, lambda seen: off * fitted_rate(seen)),
            no_floor=lambda s: rates(
                s, lambda seen: formulas.lambda_star(seen.poisson(), seen.dim)
            ),
            rates_doubled=lambda s: rates(s, many=lambda seen: 2 * fitted_rates(seen)),
        ),
        _certified(
            "chance",
            ("geom-optimum", "geom-cites-poisvar"),
            "p of GeomRF is the only minimum",
            lambda setting: chance(setting),
            "chance-swapped",
            "root-not-found",
            p_off_by_1e_minus_12=lambda s: chance(s, lambda seen: fitted_chance(seen) + 1e-12),
            half_of_r=lambda s: chance(s, lambda seen: parameters.chance(seen.geometric() / 2)),
        ),
        utility.check(),
    ]


def _reversed(seen: Statistics) -> tuple[Any, Any]:
    """The other sign, with its own optimum."""
    _, s = fitted_gerf(seen)
    if s < 0:
        return formulas.a_star(seen.squared_norm(1.0), seen.dim), 1.0
    return parameters.gerf_minus(seen.squared_norm(-1.0), seen.dim), -1.0
