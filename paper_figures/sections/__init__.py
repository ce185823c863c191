"""The sections of the report, in the order of the page.

A section is a function of the results that gives its HTML, or None where its results are absent.
"""

from collections.abc import Callable
from dataclasses import dataclass

from paper_figures.markup import Markup
from paper_figures.results import Results
from paper_figures.sections import (
    checks,
    claims,
    environment,
    errata,
    faults,
    figures,
    formulas,
    overview,
    reproduction,
)


@dataclass(frozen=True)
class Section:
    """A part of the page: its anchor, its name in the navigation, and how it is made."""

    id: str
    name: str
    render: Callable[[Results], Markup | None]
    source: str = "verification.json"
    """What must be in the results folder for the section to have content."""


SECTIONS = (
    Section("overview", "Overview", overview.render),
    Section("reproduction", "Reproduction", reproduction.render, "variance.PRESET.json"),
    Section("figures", "Figures", figures.render, "series for plots in verification.json"),
    Section("claims", "Claims", claims.render),
    Section("errata", "Errata", errata.render),
    Section("checks", "Checks", checks.render),
    Section("faults", "Planted faults", faults.render, "a run of the standard or full budget"),
    Section("formulas", "Formulas", formulas.render),
    Section("environment", "Environment", environment.render, "verification.manifest.json"),
)
