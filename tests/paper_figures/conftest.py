"""A small result set for every test, and a place to store it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.paper_figures import sample


@pytest.fixture
def found() -> dict[str, Any]:
    """The numbers of a made-up run, to be changed and stored by `put`."""
    return sample.verification()


@pytest.fixture
def study() -> dict[str, Any]:
    """The numbers of a made-up variance study, to be changed and stored by `put_study`."""
    return sample.variance_study()


@pytest.fixture
def put_study(tmp_path: Path) -> Callable[[dict[str, Any]], Path]:
    """Store the numbers of a variance study in the same folder."""
    return lambda study: sample.store_study(tmp_path / "results", study)


@pytest.fixture
def words(found: dict[str, Any]) -> dict[str, Any]:
    """The same numbers without anything that is drawn as a figure, for tests of the text."""
    for check in found["checks"]:
        check["module"] = "exactness"
    return found


@pytest.fixture
def put(tmp_path: Path) -> Callable[[dict[str, Any]], Path]:
    """Store numbers in a folder of their own."""
    return lambda found: sample.store(tmp_path / "results", found)
