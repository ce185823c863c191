"""The checks of the stable forms see digits lost at either end of the range."""

import secrets
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import pytest

from crt import formulas, special
from verification import stability
from verification.checks import Setting
from verification.faults.fault import Fault

CHECKS = {check.id: check for check in stability.checks()}
ENDS: dict[str, tuple[str, Any, str, Callable[..., Any]]] = {
    "rho_star, z → 0": ("stable-oprf", formulas, "rho_star", lambda z, d: z < d),
    "rho_star, z ≫ d": ("stable-oprf", formulas, "rho_star", lambda z, d: z > d),
    "a_star, z → 0": ("stable-oprf", formulas, "a_star", lambda z, d: z < d),
    "utility, z → 0": ("stable-oprf", formulas, "utility", lambda z, d: z < d),
    "utility, z ≫ d": ("stable-oprf", formulas, "utility", lambda z, d: z > d),
    "log_variance_oprf, z → 0": (
        *("stable-oprf", formulas, "log_variance_oprf"),
        lambda rho, d, z, n: z < d,
    ),
    "log_variance_oprf, z ≫ d": (
        *("stable-oprf", formulas, "log_variance_oprf"),
        lambda rho, d, z, n: z > d,
    ),
    "log_variance_pois, xy → 0": (
        *("stable-dirf", formulas, "log_variance_pois"),
        lambda x, y, lam: lam < 1,
    ),
    "log_variance_geom, near the optimum": (
        *("stable-dirf", formulas, "log_variance_geom"),
        lambda x, y, p: x[..., 0] * y[..., 0] < 1,
    ),
    "log_variance_geom, xy ≫ 1": (
        *("stable-dirf", formulas, "log_variance_geom"),
        lambda x, y, p: x[..., 0] * y[..., 0] > 1,
    ),
    "log_i0, t → 0": ("stable-dirf", special, "log_i0", lambda t: t < 1),
    "log_i0, t → ∞": ("stable-dirf", special, "log_i0", lambda t: t > 1),
}


@pytest.mark.slow  # the whole stated forms are planted faults, which test_checks.py runs
@pytest.mark.parametrize("end", ENDS)
def test_the_stated_forms_are_refused_at_either_end(end: str) -> None:
    check, target, name, where = ENDS[end]

    def change(original: Callable[..., Any]) -> Callable[..., Any]:
        def form(*args: Any) -> Any:
            return jnp.where(where(*args), stability.STATED[name](*args), original(*args))

        return form

    with Fault(name, "the stated form at one end", target, name, change).active():
        assert not CHECKS[check].run(Setting(secrets.randbits(62), 1e-12)).passed


def test_every_form_has_its_planted_statement() -> None:
    planted = {name for check in CHECKS.values() for name, _ in check.planted}
    assert planted == {f"{name} as stated" for name in stability.STATED}
