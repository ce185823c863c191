"""The map of random-feature methods (Figure 1, left), read off the registry, and its utility."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

import crt
from crt.formulas import utility

EXISTING = ("trig", "pos")
"""Known before the paper."""
BEYOND = ("optpois",)
"""Not in the paper."""
SPECIAL_CASES = (
    ("trig", "gerf", "A = 0, s = −1"),
    ("pos", "oprf", "ρ = 1"),
    ("oprf", "gerf", "A real, s = +1"),
    ("pois", "optpois", "equal rates"),
    ("pois", "pois+", "shift 0"),
    ("geom", "geom+", "shift 0"),
)
"""The first is the second with these parameters; a test compares their features."""
DIMENSIONS = (4, 16, 64, 256)
LONGEST = 100.0


def methods() -> list[dict[str, Any]]:
    """Every registered mechanism: name, class, kind of features, and when it became known."""
    return [
        {
            "name": name,
            "title": cls.__name__.replace("Plus", "+"),
            "discrete": cls.discrete,
            "values": "complex" if cls.complex_features
            else "signed" if cls.signed_features
            else "positive",
            "known": "before" if name in EXISTING else "beyond" if name in BEYOND else "paper",
        }
        for name, cls in crt.MECHANISMS.items()
    ]  # fmt: skip


def curves(points: int = 101) -> dict[str, Any]:
    """The utility, log(Var OPRF/Var PosRF), by z = ‖x+y‖² for several d (Figure 1, right)."""
    # At z = 0 both variances vanish.
    z = np.linspace(LONGEST / (points - 1), LONGEST, points - 1)
    with jax.enable_x64(True):
        lines = {str(d): np.asarray(utility(z, d)).tolist() for d in DIMENSIONS}
    return {"z": z.tolist(), "utility": lines}


def unit(config: Mapping[str, Any]) -> dict[str, Any]:
    """A unit: the map and the curves."""
    return {
        "methods": methods(),
        "special_cases": [list(case) for case in SPECIAL_CASES],
        "curves": curves(),
    }
