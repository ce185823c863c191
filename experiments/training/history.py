"""The metrics of a run: one JSON object a line, nothing in it that a clock decides."""

import json
from pathlib import Path
from typing import Any

from experiments.training.errors import TrainingError
from verification import runs

Row = dict[str, Any]


class History:
    """Rows in memory, written as a whole with each checkpoint."""

    def __init__(self, path: Path):
        self.path = path
        self.rows: list[Row] = []

    def add(self, **row: Any) -> None:
        self.rows.append(row)

    def take_up(self, step: int) -> None:
        """The rows on disk up to a step, at which the run goes on."""
        try:
            found = [json.loads(line) for line in self.path.read_text("utf-8").splitlines()]
        except (OSError, ValueError) as error:
            raise TrainingError(
                f"{self.path} cannot be read, so the run cannot go on; remove its folder"
            ) from error
        self.rows = [row for row in found if row["step"] <= step]
        if step and (not self.rows or self.rows[-1]["step"] != step):
            raise TrainingError(f"{self.path} ends before step {step}; remove its folder")

    def write(self) -> None:
        """All rows, or none if the machine stops."""
        lines = (json.dumps(runs.plain(row), allow_nan=False) + "\n" for row in self.rows)
        runs.write_text(self.path, "".join(lines))
