"""stable-oprf and stable-dirf: the shipped forms keep their digits where the stated ones lose them.

The points run from 0 to far beyond the domain in powers of eps, and sit near the optimum, where the
terms of the statement cancel. The bound is that of every formula's accuracy, a small multiple of
what rounding the inputs alone would cause; `crt.special` states its own. The forms of the statement
are the planted faults.
"""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb, ctx

from crt import formulas, special
from verification.accuracy import DTYPES, Columns, Probe
from verification.checks import Check, Outcome, Setting
from verification.comparison import Row, count, outcome
from verification.faults.fault import Fault

POINTS = 24
PRECISION = 512
"""Bits in which log I0 is enclosed: its value at t = eps² is eps⁴/4."""
SPECIAL = 3
"""`crt.special` promises 3·eps·|f|."""


def powers(
    low: float, high: float, dtype: str, setting: Setting, rng: np.random.Generator
) -> np.ndarray:
    """Numbers from eps^low to eps^high, with random digits."""
    sizes = np.linspace(low, high, count(POINTS, setting)) + rng.uniform(-0.02, 0.02)
    return float(np.finfo(dtype).eps) ** sizes * rng.uniform(1, 2, len(sizes))


def _of_z(dtype: str, setting: Setting, rng: np.random.Generator) -> Columns:
    """z and d with z/d from eps² to eps^-1.5: (2z+d)² does not overflow yet."""
    d = rng.choice([1, 3, 64, 4096], count(POINTS, setting))
    return [powers(2, -1.5, dtype, setting, rng) * d, d]


def _of_rho(dtype: str, setting: Setting, rng: np.random.Generator) -> Columns:
    """ρ, d, z and n ≥ z/2, with ρ near ρ* (at most 1)."""
    z, d = _of_z(dtype, setting, rng)
    best = 2 * d / (2 * z + d + np.sqrt((2 * z + d) ** 2 + 8 * d * z))
    rho = np.minimum(best * rng.uniform(0.9, 1.1, len(z)), 1.0)
    return [rho, d, z, z * rng.uniform(0.5, 2, len(z))]


def _of_rate(dtype: str, setting: Setting, rng: np.random.Generator) -> Columns:
    """x, y (one coordinate) and λ apart from xy by shares from eps^½ to 1."""
    product = powers(1.5, -0.5, dtype, setting, rng)
    apart = powers(0.5, 0, dtype, setting, rng)
    x = np.sqrt(product) * rng.uniform(0.5, 2, len(product))
    return [x[:, None], (product / x)[:, None], product * (1 + rng.permutation(apart))]


def _of_chance(dtype: str, setting: Setting, rng: np.random.Generator) -> Columns:
    """x, y and p with 1-p near xy, where the excess is of second order, and xy up to 10⁴."""
    rest = np.geomspace(1e-4, 0.5, count(POINTS, setting)) * rng.uniform(1, 1.5)
    product = rest * (1 + rng.choice([0.0, 0.01, -0.01], len(rest)))
    product[:: len(rest) // 4] = rng.uniform(1e3, 1e4, len(product[:: len(rest) // 4]))
    x = np.sqrt(product)
    return [x[:, None], x[:, None], 1 - rest]


Points = Callable[[str, Setting, np.random.Generator], Columns]
OPRF: Mapping[str, Points] = {
    "rho_star": _of_z,
    "a_star": _of_z,
    "utility": _of_z,
    "log_variance_oprf": _of_rho,
}
DIRF: Mapping[str, Points] = {"log_variance_pois": _of_rate, "log_variance_geom": _of_chance}


def _rows(points: Mapping[str, Points], setting: Setting) -> list[Row]:
    """Each formula's worst error in units of its bound, in both dtypes."""
    rows = []
    for name, draw in points.items():
        for dtype in DTYPES:
            probe = Probe(name, dtype)
            rng = np.random.default_rng([setting.seed, *name.encode()])
            columns = [column.astype(dtype) for column in draw(dtype, setting, rng)]
            ratios = probe.ratios(columns)
            at = int(np.argmax(ratios))
            label = f"{name} {dtype}, {probe.describe(columns, at)}"
            rows.append(Row(label, float(ratios[at]), 0.0, 1.0))
    return rows


def _log_i0(dtype: str, setting: Setting) -> Row:
    """log I0 from t = eps², where I0 rounds to 1, to eps^-2, where it overflows."""
    rng = np.random.default_rng(setting.seed)
    t = powers(2, -2, dtype, setting, rng).astype(dtype)
    with jax.enable_x64(dtype == "float64"):
        computed = np.asarray(special.log_i0(t))
    before, ctx.prec = ctx.prec, PRECISION
    try:
        exact = [arb(each).bessel_i(arb(0), scaled=True).log() + each for each in t.tolist()]
        allowed = SPECIAL * float(np.finfo(dtype).eps)
        pairs = zip(computed.tolist(), exact, strict=True)
        ratios = [float(abs(arb(each) - value) / (allowed * value)) for each, value in pairs]
    finally:
        ctx.prec = before
    at = int(np.argmax(np.nan_to_num(ratios, nan=np.inf)))
    return Row(f"log_i0 {dtype}, t = {t[at]:.9g}", ratios[at], 0.0, 1.0)


def _judged(rows: list[Row], setting: Setting) -> Outcome:
    points = len(rows) * count(POINTS, setting)
    return outcome(rows, "errors in units of their bounds", points)


def oprf(setting: Setting) -> Outcome:
    """ρ*, A*, log(second moment/K²) of OPRF and the utility."""
    return _judged(_rows(OPRF, setting), setting)


def dirf(setting: Setting) -> Outcome:
    """log(second moment/K²) of PoisRF and GeomRF, and log I0."""
    rows = [*_rows(DIRF, setting), *(_log_i0(dtype, setting) for dtype in DTYPES)]
    return _judged(rows, setting)


def _log_moment_oprf(rho: Any, d: Any, z: Any, n: Any) -> Any:
    return d * jnp.log((1 + rho) / (2 * jnp.sqrt(rho))) + (1 + rho) * z - 2 * n


def _log_moment_pois(x: Any, y: Any, lam: Any) -> Any:
    rate = lam[..., None]
    return jnp.sum(rate + (x * y) ** 2 / rate - x**2 - y**2, axis=-1)


def _log_moment_geom(x: Any, y: Any, p: Any) -> Any:
    chance = p[..., None]
    bessel = jax.scipy.special.i0(2 * jnp.abs(x * y) / jnp.sqrt(1 - chance))
    return jnp.sum(-jnp.log(chance) + jnp.log(bessel) - x**2 - y**2, axis=-1)


def _log_excess(log_moment: Any, log_square: Any) -> Any:
    """log(second moment - K²), of which the first two are given: the statement's own form."""
    return log_square + jnp.log(jnp.exp(log_moment - log_square) - 1)


def _stated_discrete(log_moment: Callable[..., Any]) -> Callable[..., Any]:
    def form(x: Any, y: Any, parameter: Any) -> Any:
        return _log_excess(log_moment(x, y, parameter), -jnp.sum((x - y) ** 2, axis=-1))

    return form


def _stated_utility(z: Any, d: Any) -> Any:
    rho = formulas.rho_star(z, d)
    delta = _log_moment_oprf(rho, d, z, 0) - z
    return jnp.log(jnp.exp(delta) - 1) - jnp.log(jnp.exp(z) - 1)


STATED: Mapping[str, Callable[..., Any]] = {
    "rho_star": lambda z, d: (jnp.sqrt((2 * z + d) ** 2 + 8 * d * z) - 2 * z - d) / (4 * z),
    "a_star": lambda z, d: (1 - 1 / formulas.rho_star(z, d)) / 8,
    "utility": _stated_utility,
    "log_variance_oprf": lambda rho, d, z, n: _log_excess(
        _log_moment_oprf(rho, d, z, n), z - 2 * n
    ),
    "log_variance_pois": _stated_discrete(_log_moment_pois),
    "log_variance_geom": _stated_discrete(_log_moment_geom),
    "log_i0": lambda t: jnp.log(jax.scipy.special.i0(t)),
}
"""The forms of the statements; A* from the stable ρ*."""


def _as_stated(
    run: Callable[[Setting], Outcome], *names: str
) -> tuple[tuple[str, Callable[[Setting], Outcome]], ...]:
    """The check on code that computes one of the names as it is stated."""

    def faulty(name: str) -> Callable[[Setting], Outcome]:
        target = special if name == "log_i0" else formulas
        fault = Fault(name, "the stated form", target, name, lambda _: STATED[name])

        def with_fault(setting: Setting) -> Outcome:
            with fault.active():
                return run(setting)

        return with_fault

    return tuple((f"{name} as stated", faulty(name)) for name in names)


def checks() -> list[Check]:
    """One check for each of the two claims."""
    return [
        Check(
            "stable-oprf",
            ("stable-oprf",),
            "certificate",
            "ρ*, A*, the variance and the utility of OPRF keep their digits from z = 0 to z ≫ d",
            oprf,
            _as_stated(oprf, *OPRF),
        ),
        Check(
            "stable-dirf",
            ("stable-dirf",),
            "certificate",
            "variances of PoisRF and GeomRF near the optimum, and log I0, keep their digits",
            dirf,
            _as_stated(dirf, *DIRF, "log_i0"),
        ),
    ]
