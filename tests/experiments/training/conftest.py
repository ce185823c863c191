"""Optax mixes dtypes on purpose, so the suite's strict promotion ends here."""

from collections.abc import Iterator

import jax
import pytest


@pytest.fixture(autouse=True)
def usual_promotion() -> Iterator[None]:
    with jax.numpy_dtype_promotion("standard"):
        yield
