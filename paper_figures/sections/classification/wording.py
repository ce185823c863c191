"""Numbers and lists as the parts of a sentence."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from paper_figures.results import Row, number

SMALL = 0.05
"""A spread that is printed as "< 0.05" is stored as this."""


def num(value: object, digits: int = 1) -> str:
    """A number with so many decimals and a true minus; an absent one is a dash."""
    size = number(value)
    return "–" if math.isnan(size) else f"{size:.{digits}f}".replace("-", "−")


def percent(share: float) -> str:
    # Rounded first: 77.5 % must not hang on the last bit of a mean.
    return f"{num(round(100 * share, 6), 0)} %"


def chance(value: object, name: str = "p") -> str:
    """A probability by name: p = 0.31; one below a thousandth is p < 0.001."""
    size = number(value)
    return f"{name} < 0.001" if 0 < size < 1e-3 else f"{name} = {size:.2g}"


def listed(items: Iterable[str], none: str = "none") -> str:
    """a; a and b; a, b and c."""
    *first, last = list(items) or [none]
    return f"{', '.join(first)} and {last}" if first else last


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def sets(numbers: Row) -> list[str]:
    """The sets in the paper's order, as far as they were run; files have sorted keys."""
    rows = [*(numbers.get("accuracy") or []), *(numbers.get("readings") or [])]
    return list(dict.fromkeys(each["set"] for each in rows))


def cells(numbers: Row) -> dict[str, dict[str, Row]]:
    """The rows of the study's own tables by set and method."""
    found: dict[str, dict[str, Row]] = {}
    for each in numbers.get("accuracy") or []:
        found.setdefault(each["set"], {})[each["method"]] = each
    return found


def inside(own: Row, printed: float) -> bool | None:
    """Whether a value lies where one more split of ours would with 95 %; None with one split."""
    reach = number(own["prediction"])
    return None if math.isnan(reach) else abs(number(own["accuracy"]) - printed) <= reach


def predicted(own: Row) -> str:
    """The accuracy ± where one more split of ours would lie with 95 %."""
    reach = number(own["prediction"])
    return num(own["accuracy"]) + ("" if math.isnan(reach) else f" ± {num(reach)}")


def ordered(values: Mapping[str, Any]) -> list[str]:
    """Names from the largest value to the smallest."""
    return sorted(values, key=lambda name: -number(values[name]))
