"""Where a data set comes from in this run: its files, or a stand-in; found out once."""

import functools
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sklearn import datasets

from experiments.data.catalogue import FILES
from experiments.data.errors import DataError, Unreachable
from experiments.data.files import content

NAMES = tuple(FILES)

STAND_INS: Mapping[str, str] = {
    "abalone": "digits",
    "banknote": "breast_cancer",
    "car": "wine",
    "yeast": "iris",
    "cmc": "wine",
    "nursery": "digits",
    "wifi": "wine",
    "chess": "digits",
    "mnist": "digits",
    "fashion_mnist": "digits",
}
"""The set of scikit-learn that takes the place of one that cannot be had: real data all the same,
nearest in the kind of columns and the number of classes."""


@dataclass(frozen=True)
class Origin:
    """A data set, the stand-in that takes its place if one does, and the hash of its contents."""

    name: str
    stand_in: str | None
    sha256: str


def stand_in_line(origins: Iterable[Origin]) -> str:
    """The one line about stand-ins that a reader must see."""
    named = [f"{each.stand_in} for {each.name}" for each in origins if each.stand_in]
    return f"No download is possible: scikit-learn's own sets stand in, {', '.join(named)}."


def stand_in(name: str) -> Any:
    """A set that scikit-learn brings along: data, target and their names."""
    return getattr(datasets, f"load_{name}")()


@functools.cache
def origin(name: str) -> Origin:
    """Where a set comes from. Files are looked for, downloaded and compared with their checksum."""
    if name not in FILES:
        raise DataError(f"there is no data set {name!r}; known are {', '.join(NAMES)}")
    total = hashlib.sha256()
    try:
        for file in FILES[name]:
            content(file)
            total.update(file.sha256.encode())
    except Unreachable:
        other = stand_in(STAND_INS[name])
        seen = hashlib.sha256(other.data.tobytes() + other.target.tobytes())
        return Origin(name, STAND_INS[name], seen.hexdigest())
    return Origin(name, None, total.hexdigest())
