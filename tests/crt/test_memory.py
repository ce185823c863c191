"""Memory of the operator: a few chunks of features, never all pairs, never (rows, features, d)."""

import jax
import jax.numpy as jnp
import pytest

import crt
from tests.crt import cases

ROWS, FEATURES, DIM, CHUNK = 100_000, 256, cases.DIM, 1024


def lowered(name: str) -> jax.stages.Lowered:
    shapes = [(FEATURES, DIM), (ROWS, DIM), (ROWS, DIM), (ROWS, 2)]
    arrays = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    mechanism = cases.MECHANISMS[name]
    apply = jax.jit(lambda *arrays: crt.apply_kernel(mechanism, *arrays, chunk=CHUNK))
    return apply.lower(*arrays)


@pytest.mark.parametrize(
    "name", ["trig", "pos", "gerf, complex", "oprf", "pois", "geom", "pois+", "geom+", "optpois"]
)
def test_temporaries_are_a_few_chunks(name: str) -> None:
    itemsize = 8 if cases.MECHANISMS[name].complex_features else 4
    low = lowered(name)
    text = low.as_text()
    assert f"{ROWS}x{ROWS}" not in text and f"{FEATURES}x{DIM}xf32" in text
    assert f"x{FEATURES}x{DIM}xf32" not in text.replace(f"<{FEATURES}x{DIM}xf32", "")
    memory = low.compile().memory_analysis()
    assert memory and 0 < memory.temp_size_in_bytes <= 3 * CHUNK * FEATURES * itemsize
