"""The variances of TrigRF, PosRF and OPRF over the plane of ‖x+y‖² and ‖x-y‖²."""

from typing import Any

import jax
import numpy as np
from jaxtyping import Float

import crt
from crt import formulas
from verification.checks import Check, Outcome, Setting
from verification.comparison import Row, outcome
from verification.faults import planted
from verification.moments import ExponentialProduct
from verification.pairs import Product

PLUS = MINUS = np.linspace(0.5, 12.0, 24)
"""‖x+y‖² and ‖x-y‖² of the grid."""
DIMS = (2, 64)
DIGITS = 6
"""Decimals of the logarithms that are kept for the figure."""
Grid = Float[np.ndarray, "plus minus"]


def optimal_rho(z: Grid, d: int) -> Grid:
    """The positive root of thm-minvar's quadratic, written out here."""
    return 2 * d / (2 * z + d + np.sqrt((2 * z + d) ** 2 + 8 * d * z))


def grid(d: int) -> tuple[np.ndarray, np.ndarray]:
    """x and y (24, 24, d) with x+y along one axis and x-y along another."""
    plus, minus = np.sqrt(np.meshgrid(PLUS, MINUS, indexing="ij"))
    x = np.zeros((*plus.shape, d))
    x[..., 0], x[..., 1] = plus / 2, minus / 2
    return x, x * np.where(np.arange(d) == 1, -1.0, 1.0)


def shipped(name: str, d: int) -> Grid:
    """Log variance of one product over the grid, by the shipped code."""
    x, y = grid(d)
    z = np.broadcast_to(PLUS[:, None], x.shape[:2])
    kinds = {"TrigRF": crt.TrigRF, "PosRF": crt.PosRF}
    mechanism: Any = kinds[name]() if name in kinds else crt.OPRF(formulas.rho_star(z, d))
    return np.asarray(mechanism.log_variance(x, y))


def rows_of(name: str, d: int, logs: Grid) -> list[Row]:
    """Every node beside Gaussian integrals: E X² - K², each rounded like one product."""
    s, rows = (-1 if name == "TrigRF" else 1), []
    amplitudes = (1 - 1 / optimal_rho(PLUS, d)) / 8 if name == "OPRF" else np.zeros_like(PLUS)
    for i, j in np.ndindex(logs.shape):
        plus, minus = float(PLUS[i]), float(MINUS[j])
        given = (float(amplitudes[i]), s, d, plus if s > 0 else minus, (plus + minus) / 2)
        law = ExponentialProduct(*given)
        second = law.joint(2)
        label = f"variance of {name}, d = {d}, ‖x+y‖² = {plus:g}, ‖x-y‖² = {minus:g}"
        exact, allowed = second - law.joint(1) ** 2, 2 * Product(*given).rounding() * second
        rows.append(Row(label, float(np.exp(logs[i, j])), exact, allowed))
    return rows


def surface(setting: Setting) -> Outcome:
    """Shipped log variances over the grid beside Gaussian integrals; OPRF is never above PosRF.

    `data["surface"]` holds for the figure `plus` and `minus` (the grid), `log kernel` (by minus)
    and `log variance`: by name a list over plus of lists over minus.
    """
    cases = [("TrigRF", 2), ("PosRF", 2), *(("OPRF", d) for d in DIMS)]
    with jax.enable_x64(True):
        found = {(name, d): shipped(name, d) for name, d in cases}
    rows = [row for (name, d), logs in found.items() for row in rows_of(name, d, logs)]
    plain = found["PosRF", 2]
    for d in DIMS:
        excess = float(np.max(found["OPRF", d] - plain))
        rows.append(Row(f"OPRF over PosRF, d = {d}", excess, 0.0, 0.0, one_sided=True))
    names = {key: key[0] if key[0] != "OPRF" else f"OPRF, d = {key[1]}" for key in found}
    data = {
        "plus": PLUS.tolist(),
        "minus": MINUS.tolist(),
        "log kernel": (-MINUS / 2).tolist(),
        "log variance": {
            names[key]: np.round(logs, DIGITS).tolist() for key, logs in found.items()
        },
    }
    return outcome(rows, "variances over a grid", surface=data)


def check() -> Check:
    """The one check of this module."""
    return Check(
        "variance-surface",
        ("trig-var", "pos-var", "thm-minvar", "fig-utility"),
        "quadrature",
        "variances of TrigRF, PosRF and OPRF over ‖x+y‖² and ‖x-y‖², and OPRF is least of two",
        surface,
        planted(surface, "variance-percent", "thirty-percent", "rho-half-z"),
    )
