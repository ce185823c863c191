"""Settings of the whole suite: CPU, checked shapes, strict dtypes."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

from collections.abc import Iterator
from contextlib import ExitStack

import hypothesis
import jax
import jaxtyping
import pytest

from verification.workers import shared_programs

# Before anything imports crt, so that its annotated shapes and types are checked at each call.
jaxtyping.install_import_hook("crt", "beartype.beartype")
jax.config.update("jax_numpy_dtype_promotion", "strict")

# For the processes that this one starts: the workers of the suite, and the commands they run.
_PROGRAMS = ExitStack()
_PROGRAMS.enter_context(shared_programs())

# Compilation makes a first call slow, so no example has a deadline.
hypothesis.settings.register_profile("unhurried", deadline=None, print_blob=True)
hypothesis.settings.load_profile("unhurried")


def pytest_unconfigure() -> None:
    _PROGRAMS.close()


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Without the shape checks of the suite, which would answer before the product's own."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
