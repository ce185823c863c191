"""The results folder: files of numbers, read once, and sentences for those that are unusable."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


PRESETS = ("paper", "laptop", "smoke")
"""From the most to the least telling: the first that is there is shown."""
EXPERIMENTS = ("variance", "classification", "vision", "vision-plan")
"""Experiments with a section of their own, in the order of the paper."""


@dataclass(frozen=True)
class Run:
    """What an experiment found with one preset, and how."""

    name: str
    preset: str
    numbers: Row
    manifest: Row
    timing: Row

    @property
    def stand_ins(self) -> dict[str, str]:
        """Data sets that could not be had, and what took their place."""
        data = self.numbers.get("data") or {}
        return {name: each["stand_in"] for name, each in data.items() if each.get("stand_in")}

    def title(self, name: str) -> str:
        """What stands over a data set's panel: its name, and first that of what stands in."""
        return f"{self.stand_ins[name]} for {name}" if name in self.stand_ins else name

    @property
    def verdicts(self) -> Sequence[Row]:
        """The paper's values beside ours; those that a clock decided come last."""
        return [row for part in (self.numbers, self.timing) for row in part.get("verdicts") or []]

    @property
    def resumed(self) -> bool:
        """Whether earlier runs had finished a part; also if the manifest does not say."""
        return self.manifest.get("resumed") != 0


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

    none = Run("", "", {}, {}, {})
    """An experiment that was not run."""

    def experiment(self, name: str) -> Run | None:
        """What an experiment found, of the paper's preset if that was run; None if none was."""
        for preset in PRESETS:
            numbers = self.file(f"{name}.{preset}.json")
            if numbers is not None:
                parts = (
                    self.file(f"{name}.{preset}.{part}.json") for part in ("manifest", "timing")
                )
                return Run(name, preset, numbers, *(part or {} for part in parts))
        return None

    @property
    def runs(self) -> list[Run]:
        """Every experiment that was run."""
        return [found for name in EXPERIMENTS if (found := self.experiment(name))]

    def verdicts(self, claim: str) -> list[str]:
        """The verdicts of all experiments on a claim."""
        return [
            row["verdict"]
            for run in self.runs
            for row in run.verdicts
            if row["claim"] == claim and row["verdict"]
        ]

    def status(self, claim: Row) -> str:
        """A claim's status: of one that only an experiment answers, what the experiments found."""
        # A claim without a notebook is an experiment's: verification knows whether it was run.
        found = self.verdicts(claim["id"]) if claim["notebook"] is None else []
        if not found:
            return claim["status"]
        # What our numbers cannot tell counts only where they tell nothing else.
        told = set(found) - {"not decided"} or {"not decided"}
        return told.pop() if len(told) == 1 else "partly reproduced"

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
