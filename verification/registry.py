"""All checks by their identifiers, gathered from the modules that define them."""

import functools
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module

from verification.checks import Check

MODULES = (
    "certificates",
    "quadrature",
    "exactness",
    "stability",
    "regression",
    "optimality",
    "montecarlo",
    "orthogonality",
    "tails",
    "uniform",
    "attention",
    "streaming",
    "interface",
    "scikit",
    "layers",
    "sizes",
)


@functools.cache
def load_checks() -> Mapping[str, Check]:
    """Every check of the shipped code; identifiers are unique."""
    found: dict[str, Check] = {}
    for module in MODULES:
        for check in import_module(f"verification.{module}").checks():
            if check.id in found:
                raise LookupError(f"two checks are called {check.id!r}")
            found[check.id] = replace(check, module=module)
    return found
