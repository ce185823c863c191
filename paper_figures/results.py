"""The results folder: files of numbers, read once, and sentences for those that are unusable."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]

VERIFICATION: Mapping[str, tuple[str, ...]] = {
    "claims": ("id", "paper", "text", "kind", "status", "notebook", "formulas", "checks"),
    "checks": ("id", "claims", "kind", "summary", "passed", "ok", "observed", "predicted"),
    "formulas": ("name", "dtype", "points", "worst", "at", "ok"),
    "errata": ("id", "place", "printed", "why", "right", "evidence", "notebook"),
}
"""The lists of verification.json, with the keys that each of their entries must have."""


class ResultsError(Exception):
    """Results cannot be read or written; the message is one sentence."""


class Results:
    """A folder of results. Absent files are None; damaged ones raise `ResultsError`."""

    def __init__(self, folder: Path, page: Path | None = None):
        """`page` is the folder of the page, for its relative links; by default the same one."""
        if not folder.is_dir():
            raise ResultsError(f"there is no folder {folder}; python -m verification makes one")
        self.folder, self.page = folder, page or folder
        self._read: dict[str, Any] = {}

    def file(self, name: str) -> dict[str, Any] | None:
        """The JSON object in a file of the folder, None if there is no such file."""
        if name not in self._read:
            self._read[name] = _load(self.folder / name)
        return self._read[name]

    @property
    def verification(self) -> dict[str, Any] | None:
        """What the last run of `python -m verification` found."""
        name = "verification.json"
        found = self.file(name)
        for key, needed in VERIFICATION.items() if found is not None else ():
            _require(self.folder / name, key, (found or {}).get(key), needed)
        return found

    def checks(self, *modules: str) -> Sequence[Row]:
        """The checks that were run, those of the named modules alone if any is named."""
        rows = (self.verification or {}).get("checks", [])
        return [row for row in rows if not modules or row.get("module") in modules]


def _load(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ResultsError(f"{path} cannot be read: {reason(error)}") from error
    except ValueError as error:
        raise ResultsError(f"{path} is not JSON; the command that wrote it repairs it") from error
    if not isinstance(found, dict):
        raise ResultsError(f"{path} holds no JSON object but a {type(found).__name__}")
    return found


def _require(path: Path, key: str, rows: Any, needed: Sequence[str]) -> None:
    """Every entry of a list has the keys that are read without asking."""
    if not (isinstance(rows, list) and all(isinstance(row, dict) for row in rows)):
        raise ResultsError(f"{path} has no list {key!r}; python -m verification writes it anew")
    for row in rows:
        for missing in [name for name in needed if name not in row]:
            raise ResultsError(f"{path}: an entry of {key!r} has no {missing!r}")


def reason(error: OSError) -> str:
    """Why the system refused, in its own words."""
    return (error.strerror or str(error)).lower()


def number(value: Any) -> float:
    """A number of a result file: those that are not finite are stored by name, absent is NaN."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return float(value) if value in ("inf", "-inf", "nan") else math.nan


def numbers(values: Any) -> list[float]:
    """A series of a result file; anything but a list is an empty one."""
    return [number(value) for value in values] if isinstance(values, list) else []
