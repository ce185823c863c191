"""Outputs and gradients are finite in every dtype, for any norms up to 1e4 and any padding."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

import crt
from tests.crt.attention.setups import MECHANISMS, Setup

pytestmark = pytest.mark.filterwarnings("ignore:trigonometric features")

DTYPES = (jnp.float32, jnp.bfloat16, jnp.float16)
SHAPES = (
    Setup(queries=1, keys=1, dim=1, features=1, value_dim=1),
    Setup(queries=40, keys=40, dim=64, features=33, heads=2, key_heads=1),
    Setup(queries=17, keys=150, dim=5, features=64),
    Setup(queries=257, keys=257, dim=16, features=8, heads=1, key_heads=1, batch=2),
)
LARGE = (
    Setup(queries=2048, keys=2048, dim=256, features=1024, heads=1, key_heads=1),
    Setup(queries=32768, keys=32768, dim=4, features=16, heads=1, key_heads=1),
)


@functools.cache
def compiled(name: str, setup: Setup, dtype, is_causal: bool):
    """Outputs and gradients of one combination, compiled once for all its values."""
    attend = crt.FavorAttention(setup.features, name)

    @jax.jit
    def both(q: Array, k: Array, v: Array, mask: Array, rho: Array) -> tuple[Array, ...]:
        given = rho if name == "oprf" else None
        omega = setup.omega(attend)

        def call(q: Array, k: Array, v: Array) -> Array:
            return attend(q, k, v, omega, mask, is_causal, given)

        out, pull = jax.vjp(call, q, k, v)
        return out, *pull(jnp.ones_like(out))

    return lambda q, k, v, *rest: both(*(each.astype(dtype) for each in (q, k, v)), *rest)


def draw(setup: Setup, rng: np.random.Generator) -> tuple[Array, ...]:
    """Rows in random directions with norms up to 1e4, alike or spread over decades; a mask; ρ."""
    arrays = []
    for each, limit in zip(setup.arrays(int(rng.integers(2**31))), (1e4, 1e4, 1.0), strict=True):
        decades = rng.uniform(0, 4) * rng.random((*each.shape[:-1], 1))
        norms = limit * 10.0 ** -(rng.uniform(0, 4) + decades)
        rows = np.asarray(each, np.float64)
        # A little below the limit, so that no rounding of a half precision exceeds it.
        unit = rows / np.linalg.norm(rows, axis=-1, keepdims=True)
        arrays.append(jnp.asarray(0.99 * norms * unit, jnp.float32))
    shown = rng.random((setup.batch, setup.keys)) < rng.choice([0.0, 0.1, 0.9, 1.0])
    rho = 10.0 ** rng.uniform(-9, 0, (setup.batch, setup.heads))
    return (*arrays, jnp.asarray(shown), jnp.asarray(rho, jnp.float32))


def broken(name: str, setup: Setup, dtype, is_causal: bool, seeds: range) -> list[int]:
    """Seeds whose outputs or gradients are not finite, or whose masked outputs are not zero.

    Trigonometric denominators pass through zero, and their quotients leave every dtype: there only
    the shape of the trouble is asked, an infinity and no NaN in the output.
    """
    call, found = compiled(name, setup, dtype, is_causal), []
    for seed in seeds:
        values = draw(setup, np.random.default_rng(seed))
        out, *gradients = (np.asarray(each, np.float64) for each in call(*values))
        empty = ~np.asarray(values[3]).any(axis=1)
        fine = not np.isnan(out).any() and not out[empty].any()
        if name != "trig":
            fine = fine and all(np.isfinite(each).all() for each in (out, *gradients))
            fine = fine and (empty.all() or out.any())
        if not fine:
            found.append(seed)
    return found


COMBINATIONS = [
    (name, setup, dtype, is_causal)
    for name, setup, dtype, is_causal in itertools.product(
        MECHANISMS, SHAPES, DTYPES, (False, True)
    )
    if not is_causal or setup.queries == setup.keys
]


@pytest.mark.parametrize("index", range(0, len(COMBINATIONS), 23))
def test_a_slice(index: int) -> None:
    assert not broken(*COMBINATIONS[index], seeds=range(20))


@pytest.mark.slow
@pytest.mark.parametrize("index", range(len(COMBINATIONS)))
def test_all(index: int) -> None:
    assert not broken(*COMBINATIONS[index], seeds=range(100))


@pytest.mark.slow
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("setup", LARGE)
def test_large(setup: Setup, name: str, is_causal: bool) -> None:
    assert not broken(name, setup, jnp.bfloat16, is_causal, seeds=range(4))


def test_the_slow_run_is_as_large_as_stated() -> None:
    """At least 10,000 value cases over at least 60 combinations."""
    assert len(COMBINATIONS) >= 60 and 100 * len(COMBINATIONS) >= 10_000


def test_an_overflow_is_caught() -> None:
    """float16 cannot hold what float32 can: a check that never fails would not see it."""
    setup = SHAPES[1]
    q, k, v, mask, rho = draw(setup, np.random.default_rng(0))
    out, *_ = compiled("pos", setup, jnp.float16, False)(q, k, 1e30 * v, mask | True, rho)
    assert not np.isfinite(np.asarray(out, np.float64)).all()
