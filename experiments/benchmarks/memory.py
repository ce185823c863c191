"""Temporary memory of the compiled kernel operator, against a few chunks of features."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import crt
from crt.estimate import CHUNK

CHUNKS = 3


def temporary_bytes(
    mechanism: crt.Mechanism, rows: int, dim: int, num_features: int, outputs: int
) -> int:
    """What XLA reserves beside inputs and output for `apply_kernel` at rows × rows, float32."""
    x, omega, c = (
        jax.ShapeDtypeStruct(shape, jnp.float32)
        for shape in ((rows, dim), (num_features, dim), (rows, outputs))
    )
    compiled = jax.jit(crt.apply_kernel).lower(mechanism, omega, x, x, c).compile()
    analysis = compiled.memory_analysis()
    if analysis is None:
        raise NotImplementedError("XLA has no memory analysis on this platform.")
    return analysis.temp_size_in_bytes


def operator_memory(
    name: str, rows: int = 100_000, dim: int = 64, num_features: int = 512, outputs: int = 8
) -> dict[str, Any]:
    """Bytes of a mechanism's operator, and 3·chunk·M·itemsize; a complex feature has 8 bytes."""
    few = np.random.default_rng(0).standard_normal((32, dim), dtype=np.float32) / np.sqrt(dim)
    mechanism = crt.MECHANISMS[name].fit(few, few)
    itemsize = 8 if mechanism.complex_features else 4
    return {
        "bytes": temporary_bytes(mechanism, rows, dim, num_features, outputs),
        "limit": CHUNKS * CHUNK * num_features * itemsize,
        "kernel_matrix": rows * rows * 4,
    }
