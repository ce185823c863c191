"""The eight tables of the UCI repository as raw typed columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.data.catalogue import FILES
from experiments.data.errors import DataError
from experiments.data.files import content
from experiments.data.origins import Origin, origin, stand_in
from experiments.data.sheets import SHEETS, Sheet


@dataclass(frozen=True, eq=False)
class Column:
    """One attribute: numbers (float64), or codes (int64) of `levels` in their documented order."""

    name: str
    values: np.ndarray
    levels: tuple[str, ...] = ()

    @property
    def categorical(self) -> bool:
        return bool(self.levels)


@dataclass(frozen=True, eq=False)
class Table:
    """Columns (n each), labels (n) as codes of `classes`, and the lines of the file.

    `lines` counts physical lines, an empty one included: the paper's numbers of training rows are
    ⌊0.9·(lines - 1)⌋.
    """

    origin: Origin
    columns: tuple[Column, ...]
    labels: np.ndarray
    classes: tuple[str, ...]
    lines: int

    def __len__(self) -> int:
        return len(self.labels)


def load_table(name: str, given: Origin | None = None) -> Table:
    """A table by its name in the paper. `given` is where it comes from, if that is known."""
    if name not in SHEETS:
        raise DataError(f"there is no table {name!r}; known are {', '.join(SHEETS)}")
    source = given or origin(name)
    if source.stand_in:
        return _stand_in(source)
    text = content(FILES[name][0]).decode("ascii")
    return parse(text, SHEETS[name], source)


def parse(text: str, sheet: Sheet, source: Origin) -> Table:
    """A table from its text: one row a line, fields apart by commas or blanks."""
    lines = text.splitlines()
    rows = [line.split(sheet.separator) for line in lines if line.strip()]
    wrong = [len(row) for row in rows if len(row) != sheet.width]
    if wrong or not rows:
        raise DataError(f"{source.name} has rows of {wrong[:1]} fields; {sheet.width} are expected")
    fields = list(zip(*rows, strict=True))[sheet.skip :]
    columns = [
        _column(name, column, levels)
        for (name, levels), column in zip(sheet.columns.items(), fields, strict=False)
    ]
    target = _column("class", fields[-1], sheet.classes)
    return Table(source, tuple(columns), target.values, target.levels, len(lines))


def _column(name: str, fields: Sequence[str], levels: tuple[str, ...]) -> Column:
    if not levels:
        return Column(name, np.array(fields, np.float64))
    codes: Mapping[str, int] = {level: code for code, level in enumerate(levels)}
    try:
        return Column(name, np.array([codes[field] for field in fields]), levels)
    except KeyError as error:
        raise DataError(f"column {name} holds {error}, which is none of {levels}") from error


def _stand_in(source: Origin) -> Table:
    loaded = stand_in(str(source.stand_in))
    names = [str(name) for name in loaded.feature_names]
    columns = [
        Column(name, np.asarray(values, np.float64))
        for name, values in zip(names, loaded.data.T, strict=True)
    ]
    classes = tuple(str(each) for each in loaded.target_names)
    labels = np.asarray(loaded.target, np.int64)
    return Table(source, tuple(columns), labels, classes, len(labels))
