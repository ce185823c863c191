"""Means and second moments of the shipped features, by deterministic integration in float64."""

import math
from collections.abc import Callable

from crt import formulas
from verification import altered, identities, surface
from verification.altered import Change, as_shipped
from verification.checks import Check, Outcome, Setting
from verification.count_moments import clamped, counts, geom, optpois, plus, pois, square_for_half
from verification.gaussian_moments import gaussian, gerfs, infinite, oprfs, poss, trigs

SMALL = 1e-9
"""Relative size of planted factors; tolerances are narrower, which every run asserts."""


def _check(
    name: str,
    claims: tuple[str, ...],
    summary: str,
    run: Callable[[Setting, Change], Outcome],
    **faults: Change,
) -> Check:
    """A check with the faults of every mechanism and its own."""
    faults |= {
        "features 1e-9 too large": altered.scaled(1 + SMALL),
        "second moment 1e-9 too large": altered.raised(SMALL),
    }
    planted = tuple(
        (fault.replace("_", " "), lambda setting, change=change: run(setting, change))
        for fault, change in faults.items()
    )
    shipped: Callable[[Setting], Outcome] = lambda setting: run(setting, as_shipped)  # noqa: E731
    return Check(f"quadrature-{name}", claims, "quadrature", summary, shipped, planted)


def checks() -> list[Check]:
    """Mean, second moment and variance of every mechanism, for both kernels."""
    clamp, unbiased = (
        counts(clamped(formulas.log_clamp_bias)),
        counts(clamped(square_for_half)),
    )
    return [
        _check(
            "trig",
            ("trig-var", "thm-gerf", "eq-sfm"),
            "TrigRF has mean K and variance ½(1-K²)²",
            gaussian(trigs),
            side_y_not_conjugated=altered.one_side,
            softmax_factor_lost=altered.one_kernel,
            variance_1e_minus_6_too_large=altered.widened(1e-6),
        ),
        _check(
            "pos",
            ("pos-var", "thm-gerf", "eq-sfm"),
            "PosRF has mean K and variance exp(4x·y) - K²",
            gaussian(poss),
            softmax_factor_lost=altered.one_kernel,
            omega_squared_left_in=altered.tilted(SMALL),
            variance_1e_minus_6_too_large=altered.widened(1e-6),
        ),
        _check(
            "oprf",
            ("thm-minvar", "thm-gerf"),
            "OPRF with any ρ has mean K and the shipped second moment",
            gaussian(oprfs),
            softmax_factor_lost=altered.one_kernel,
            A_off_by_1e_minus_9=altered.tilted(SMALL),
        ),
        _check(
            "gerf",
            ("thm-gerf", "thm-gerf-var", "gerf-roots"),
            "GERF with real or complex A and both signs has mean K and the shipped variance",
            gaussian(gerfs),
            sign_s_lost_on_side_y=altered.one_side,
            another_root_D=altered.turned(math.pi / 2),
            A_off_by_1e_minus_9=altered.tilted(SMALL),
        ),
        Check(
            "quadrature-infinite",
            ("gerf-infinite-variance",),
            "quadrature",
            "the second moment of a GERF diverges from A = 1/8 on, the mean stays K",
            lambda setting: infinite(setting, as_shipped),
            (
                ("A 10 % too small", lambda setting: infinite(setting, altered.tilted(-0.03))),
                ("D dropped", lambda setting: infinite(setting, altered.scaled(1.5))),
            ),
        ),
        _check(
            "pois",
            ("thm-pois", "eq-dirf"),
            "PoisRF has mean K and the variance of Theorem 3.4",
            counts(pois),
            signs_lost=altered.unsigned,
            softmax_factor_lost=altered.one_kernel,
        ),
        _check(
            "geom",
            ("thm-geom", "eq-dirf"),
            "GeomRF has mean K and the variance of Theorem 3.5",
            counts(geom),
            signs_lost=altered.unsigned,
            counts_from_1=altered.counted_from_1,
        ),
        _check(
            "optpois",
            ("opt-dirf", "eq-dirf"),
            "OptPoisRF has mean K and second moment as stated; 0 variance at its own pair",
            counts(optpois),
            signs_lost=altered.unsigned,
        ),
        _check(
            "plus",
            ("positivity", "eq-dirf"),
            "PoisRF+ and GeomRF+ have mean K and the second moment of shifted points",
            counts(plus),
            softmax_factor_lost=altered.one_kernel,
        ),
        Check(
            "quadrature-clamp",
            ("clamp-bias",),
            "quadrature",
            "a clamped point has the mean K times the stated factor",
            lambda setting: clamp(setting, as_shipped),
            (
                ("e² for e²/2", lambda setting: unbiased(setting, as_shipped)),
                (
                    "features 1e-9 too large",
                    lambda setting: clamp(setting, altered.scaled(1 + SMALL)),
                ),
            ),
        ),
        surface.check(),
        *identities.checks(),
    ]
