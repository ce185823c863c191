"""No pass keeps features of the whole sequence: temporaries grow with L·d at most."""

import jax
import jax.numpy as jnp
import pytest
from jax import Array

import crt

HEADS, DIM, FEATURES = 4, 64, 256
FLOAT = 4


def temporaries(length: int, is_causal: bool, gradients: bool, dtype=jnp.float32) -> int:
    """Bytes of temporary memory of a compiled call, by XLA's own count."""
    attend = crt.FavorAttention(FEATURES, "pos")
    rows = jax.ShapeDtypeStruct((1, length, HEADS, DIM), dtype)
    omega = jax.ShapeDtypeStruct((FEATURES, DIM), jnp.float32)

    def call(q: Array, k: Array, v: Array, omega: Array) -> Array:
        return attend(q, k, v, omega, is_causal=is_causal)

    def slope(*arrays: Array) -> tuple[Array, ...]:
        return jax.grad(lambda *a: jnp.sum(call(*a) ** 2), (0, 1, 2))(*arrays)

    function = jax.jit(slope if gradients else call)
    analysis = function.lower(rows, rows, rows, omega).compile().memory_analysis()
    assert analysis is not None
    return analysis.temp_size_in_bytes


@pytest.mark.parametrize("is_causal", [False, True])
def test_forward(is_causal: bool) -> None:
    """At L = 16384 below the features of one side, M/d = 4 times the input, by a factor of 4."""
    features = FLOAT * 16384 * HEADS * FEATURES
    assert temporaries(16384, is_causal, gradients=False) < 0.25 * features


@pytest.mark.parametrize("is_causal", [False, True])
def test_backward(is_causal: bool) -> None:
    """Each further token costs at most six rows of d + 1: q, k, v, output, their cotangents.

    Kept features would cost 2·M/d = 8 rows more, kept states of every token M rows.
    """
    short, long = (temporaries(length, is_causal, gradients=True) for length in (4096, 16384))
    row = FLOAT * HEADS * (DIM + 1)
    assert long - short <= 6 * row * (16384 - 4096)


@pytest.mark.parametrize("is_causal", [False, True])
def test_bfloat16_is_never_widened_as_a_whole(is_causal: bool) -> None:
    """Each further token costs less than two rows of float32: q, k and v as their bits make 1½.

    Widened they would make 3. What a compiler widens it widens in every round of a loop: O(L²).
    """
    short, long = (temporaries(length, is_causal, False, jnp.bfloat16) for length in (16384, 65536))
    assert long - short < 2 * FLOAT * HEADS * DIM * (65536 - 16384)
