"""How the files of the tables are written: columns, the levels of categories, classes.

Levels are in the order of the repository's own description, from which an ordinal encoding is
read. Where a file spells a level otherwise than its description (vhigh for v-high), the file wins.
"""

from collections.abc import Mapping
from dataclasses import dataclass

NUMBER: tuple[str, ...] = ()
"""A column without levels holds numbers."""


@dataclass(frozen=True)
class Sheet:
    """Columns by name with their levels, classes, separator (None: blanks), fields to skip."""

    columns: Mapping[str, tuple[str, ...]]
    classes: tuple[str, ...]
    separator: str | None = ","
    skip: int = 0

    @property
    def width(self) -> int:
        """Fields in a row."""
        return self.skip + len(self.columns) + 1


def _numbers(*names: str) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(names, NUMBER)


def _range(first: int, last: int) -> tuple[str, ...]:
    return tuple(map(str, range(first, last + 1)))


BINARY = _range(0, 1)
GRADES = _range(1, 4)
PRICES = ("vhigh", "high", "med", "low")
DEPTHS = (
    *("draw", "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
    *("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen"),
)

SHEETS: Mapping[str, Sheet] = {
    "abalone": Sheet(
        {"sex": ("M", "F", "I")}
        | _numbers("length", "diameter", "height", "whole", "shucked", "viscera", "shell"),
        # Rings; nobody has 28 of them.
        (*_range(1, 27), "29"),
    ),
    "banknote": Sheet(_numbers("variance", "skewness", "curtosis", "entropy"), BINARY),
    "car": Sheet(
        {
            "buying": PRICES,
            "maint": PRICES,
            "doors": ("2", "3", "4", "5more"),
            "persons": ("2", "4", "more"),
            "lug_boot": ("small", "med", "big"),
            "safety": ("low", "med", "high"),
        },
        ("unacc", "acc", "good", "vgood"),
    ),
    "yeast": Sheet(
        _numbers("mcg", "gvh", "alm", "mit", "erl", "pox", "vac", "nuc"),
        ("CYT", "NUC", "MIT", "ME3", "ME2", "ME1", "EXC", "VAC", "POX", "ERL"),
        separator=None,
        skip=1,
    ),
    "cmc": Sheet(
        {
            "age": NUMBER,
            "education": GRADES,
            "husband's education": GRADES,
            "children": NUMBER,
            "religion": BINARY,
            "working": BINARY,
            "husband's occupation": GRADES,
            "standard of living": GRADES,
            "media exposure": BINARY,
        },
        ("1", "2", "3"),
    ),
    "nursery": Sheet(
        {
            "parents": ("usual", "pretentious", "great_pret"),
            "has_nurs": ("proper", "less_proper", "improper", "critical", "very_crit"),
            "form": ("complete", "completed", "incomplete", "foster"),
            "children": ("1", "2", "3", "more"),
            "housing": ("convenient", "less_conv", "critical"),
            "finance": ("convenient", "inconv"),
            "social": ("nonprob", "slightly_prob", "problematic"),
            "health": ("recommended", "priority", "not_recom"),
        },
        ("not_recom", "recommend", "very_recom", "priority", "spec_prior"),
    ),
    "wifi": Sheet(_numbers(*(f"signal {k}" for k in range(1, 8))), GRADES, separator=None),
    "chess": Sheet(
        {
            "white king file": ("a", "b", "c", "d"),
            "white king rank": NUMBER,
            "white rook file": tuple("abcdefgh"),
            "white rook rank": NUMBER,
            "black king file": tuple("abcdefgh"),
            "black king rank": NUMBER,
        },
        DEPTHS,
    ),
}
