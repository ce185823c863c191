"""Data for the tests: the real sets where a folder is named, or none at all."""

import os
from collections.abc import Iterator

import jax
import pytest

from experiments.data import files, origins


@pytest.fixture
def real_data() -> None:
    """The data themselves; skipped where no folder is named."""
    if not os.environ.get("CRT_DATA"):
        pytest.skip("CRT_DATA names no folder of data")


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path) -> Iterator[None]:
    """No folder of data, no cache and no network."""
    monkeypatch.delenv("CRT_DATA", raising=False)
    monkeypatch.setattr(files, "CHECKOUT", tmp_path / "nowhere")
    monkeypatch.setattr(files.pooch, "os_cache", lambda name: tmp_path / "cache")
    monkeypatch.setattr(files, "reachable", lambda: frozenset())
    origins.origin.cache_clear()
    yield
    origins.origin.cache_clear()


@pytest.fixture
def usual_promotion() -> Iterator[None]:
    """Optax mixes dtypes on purpose: the suite's strict promotion ends where it is used."""
    with jax.numpy_dtype_promotion("standard"):
        yield
