"""Rows of deterministic checks: numbers side by side, each with a tolerance of its own."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from verification.checks import Outcome, Setting

SHOWN = 12


@dataclass(frozen=True)
class Row:
    """One comparison: |observed - predicted| ≤ allowed, or only observed - predicted ≤ allowed."""

    label: str
    observed: float
    predicted: float
    allowed: float
    one_sided: bool = False

    @property
    def strain(self) -> float:
        """The error in units of what is allowed; infinite where a number is not finite."""
        error = self.observed - self.predicted
        if not (math.isfinite(error) and math.isfinite(self.allowed)):
            return math.inf
        error = max(error, 0.0) if self.one_sided else abs(error)
        if error == 0:
            return 0.0
        return error / self.allowed if self.allowed > 0 else math.inf


def outcome(rows: Sequence[Row], note: str, samples: int | None = None, **data: Any) -> Outcome:
    """The worst row speaks for all; the check passes if every row does. No row is no proof."""
    if not rows:
        return Outcome(False, math.nan, math.nan, 0.0, 0, note="nothing was compared")
    ranked = sorted(rows, key=lambda row: row.strain, reverse=True)
    worst = ranked[0]
    return Outcome(
        worst.strain <= 1,
        worst.observed,
        worst.predicted,
        worst.allowed,
        samples or len(rows),
        worst.allowed,
        f"{note}; worst of {len(rows)}: {worst.label}, at {worst.strain:.2g} of what is allowed",
        {"rows": [asdict(row) for row in ranked[:SHOWN]], **data},
    )


def count(base: int, setting: Setting) -> int:
    """Number of points at a given effort."""
    return max(1, math.ceil(base * setting.effort))
