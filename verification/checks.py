"""A check: what it claims, how it is run, and the planted faults that it must notice."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["certificate", "quadrature", "montecarlo", "inequality"]


@dataclass(frozen=True)
class Setting:
    """How a check is run: its seed, its share of the false-alarm budget, and its effort.

    `effort` multiplies the number of samples or points; 1 is the quick budget.
    """

    seed: int
    false_alarm: float
    effort: float = 1.0


@dataclass(frozen=True)
class Outcome:
    """What a check saw. It passed if |observed - predicted| stayed within `allowed`.

    For one-sided checks `observed` must not exceed `predicted`. `detects` is the smallest error
    found with power 0.999 in the units of `predicted`, without randomness what is allowed or None,
    and `samples` counts draws or points. Both are computed, not simulated. `data` holds small
    series for plots, as plain JSON.
    """

    passed: bool
    observed: float
    predicted: float
    allowed: float
    samples: int
    detects: float | None = None
    note: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Check:
    """One check of the shipped code, attached to the claims it supports.

    `planted` holds faults by name: the same check run on code with that fault, which must fail.
    The quick budget leaves out checks that are not `quick`: others like them support their claims.
    """

    id: str
    claims: tuple[str, ...]
    kind: Kind
    summary: str
    run: Callable[[Setting], Outcome]
    planted: tuple[tuple[str, Callable[[Setting], Outcome]], ...] = ()
    quick: bool = True
    module: str = ""
    """The module that offers the check; the registry fills it in."""
