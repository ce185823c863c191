"""Temporary memory of compiled calls; of the kernel operator against a few chunks of features."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import crt
from crt.estimate import CHUNK
from verification.runs import RunError

CHUNKS = 3


def temporary_bytes(call: Callable[..., Any], *arguments: Any) -> int:
    """What XLA reserves beside inputs and output of a compiled call."""
    analysis = jax.jit(call).lower(*arguments).compile().memory_analysis()
    if analysis is None:
        raise RunError("XLA has no memory analysis on this platform")
    return analysis.temp_size_in_bytes


def _operator_bytes(
    mechanism: crt.Mechanism, rows: int, dim: int, num_features: int, outputs: int
) -> int:
    """Of `apply_kernel` at rows × rows, float32."""
    x, omega, c = (
        jax.ShapeDtypeStruct(shape, jnp.float32)
        for shape in ((rows, dim), (num_features, dim), (rows, outputs))
    )
    return temporary_bytes(crt.apply_kernel, mechanism, omega, x, x, c)


def operator_memory(
    name: str, rows: int = 100_000, dim: int = 64, num_features: int = 512, outputs: int = 8
) -> dict[str, Any]:
    """Bytes of a mechanism's operator, and 3·chunk·M·itemsize; a complex feature has 8 bytes."""
    few = np.random.default_rng(0).standard_normal((32, dim), dtype=np.float32) / np.sqrt(dim)
    mechanism = crt.MECHANISMS[name].fit(few, few)
    itemsize = 8 if mechanism.complex_features else 4
    return {
        "bytes": _operator_bytes(mechanism, rows, dim, num_features, outputs),
        "limit": CHUNKS * CHUNK * num_features * itemsize,
        "kernel_matrix": rows * rows * 4,
    }
