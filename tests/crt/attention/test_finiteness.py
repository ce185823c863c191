"""Outputs and gradients are finite in every dtype, for any norms up to 1e4 and any padding.

"fitted" is "oprf" with ρ fitted in the call, projections of its own for each head, and any scale.
"""

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
# Norms of values. A gradient is about their product with a query or key of 1e4.
LARGEST = {jnp.float32: 1e20, jnp.bfloat16: 1e20, jnp.float16: 1.0}
SEEDS = 64
SHAPES = (
    Setup(queries=1, keys=1, dim=1, features=1, value_dim=1),
    Setup(queries=40, keys=40, dim=64, features=33, heads=2, key_heads=1),
    Setup(queries=17, keys=150, dim=5, features=64),
    Setup(queries=257, keys=257, dim=16, features=8, heads=1, key_heads=1, batch=2),
    Setup(queries=140, keys=140, dim=1, features=8),
    Setup(queries=140, keys=140, dim=8, features=1),
    Setup(queries=1, keys=40, dim=8, features=16),
)
LARGE = (
    Setup(queries=2048, keys=2048, dim=256, features=1024, heads=1, key_heads=1),
    Setup(queries=32768, keys=32768, dim=4, features=16, heads=1, key_heads=1),
)


LARGE_MODES = [
    *itertools.product(MECHANISMS, (False, True)),
    ("fitted", False),
]
LARGE_SEEDS = 3


@functools.cache
def compiled(name: str, setup: Setup, dtype, is_causal: bool):
    """Outputs and gradients of one combination, compiled once for all its values."""
    fitted = name == "fitted"
    attend = crt.FavorAttention(setup.features, "oprf" if fitted else name)

    @jax.jit
    def both(
        q: Array, k: Array, v: Array, mask: Array, rho: Array, scale: Array, seed: Array
    ) -> tuple[Array, ...]:
        given = rho if name == "oprf" else None
        factor = scale if fitted else None
        heads = setup.heads if fitted else None
        omega = attend.sample(jax.random.key(seed), setup.dim, heads)

        def call(q: Array, k: Array, v: Array) -> Array:
            return attend(q, k, v, omega, mask, is_causal, given, scale=factor)

        out, pull = jax.vjp(call, q, k, v)
        return out, *pull(jnp.ones_like(out))

    return lambda q, k, v, *rest: both(*(each.astype(dtype) for each in (q, k, v)), *rest)


def draw(setup: Setup, dtype, rng: np.random.Generator) -> tuple[Array, ...]:
    """Rows in random directions with norms up to 1e4, alike or spread over decades.

    And a mask, now and then of no key, ρ, a scale of at most 1, and a seed of the projections.
    """
    arrays, limits = [], (1e4, 1e4, LARGEST[dtype])
    for each, limit in zip(setup.arrays(int(rng.integers(2**31))), limits, strict=True):
        decades = rng.uniform(0, 4) * rng.random((*each.shape[:-1], 1))
        norms = limit * 10.0 ** -(rng.uniform(0, 4) + decades)
        rows = np.asarray(each, np.float64)
        # A little below the limit, so that no rounding of a half precision exceeds it.
        unit = rows / np.linalg.norm(rows, axis=-1, keepdims=True)
        arrays.append(jnp.asarray(0.99 * norms * unit, jnp.float32))
    share = rng.choice([0.0, 0.1, 0.9, 1.0], (setup.batch, 1), p=[0.05, 0.15, 0.4, 0.4])
    shown = rng.random((setup.batch, setup.keys)) < share
    rho = 10.0 ** rng.uniform(-9, 0, (setup.batch, setup.heads))
    scale = jnp.asarray(10.0 ** rng.uniform(-4, 0), jnp.float32)
    seed = jnp.asarray(rng.integers(2**31), jnp.int32)
    return (*arrays, jnp.asarray(shown), jnp.asarray(rho, jnp.float32), scale, seed)


def broken(name: str, setup: Setup, dtype, is_causal: bool, seeds: range) -> list[int]:
    """Seeds whose outputs or gradients are not finite, or whose masked outputs are not zero.

    Trigonometric denominators pass through zero, and their quotients leave every dtype: there only
    the shape of the trouble is asked, an infinity and no NaN in the output.
    """
    call, found = compiled(name, setup, dtype, is_causal), []
    for seed in seeds:
        values = draw(setup, dtype, np.random.default_rng(seed))
        out, *gradients = (np.asarray(each, np.float64) for each in call(*values))
        empty = ~np.asarray(values[3]).any(axis=1)
        fine = not np.isnan(out).any() and not out[empty].any()
        if name != "trig":
            fine = fine and all(np.isfinite(each).all() for each in (out, *gradients))
            # Shown values have a share in some output, and so a gradient.
            fine = fine and (empty.all() or (out.any() and gradients[2].any()))
        if not fine:
            found.append(seed)
    return found


COMBINATIONS = [
    (name, setup, dtype, is_causal)
    for name, setup, dtype, is_causal in itertools.product(
        (*MECHANISMS, "fitted"), SHAPES, DTYPES, (False, True)
    )
    if not is_causal or (setup.queries == setup.keys and name != "fitted")
]


SLICE = range(5, len(COMBINATIONS), 20)


@pytest.mark.parametrize("index", SLICE)
def test_a_slice(index: int) -> None:
    assert not broken(*COMBINATIONS[index], seeds=range(20))


def test_the_slice_has_both_modes_every_dtype_and_shape() -> None:
    chosen = (COMBINATIONS[index] for index in SLICE)
    names, setups, dtypes, modes = (set(each) for each in zip(*chosen, strict=True))
    assert dtypes == set(DTYPES) and modes == {False, True} and setups == set(SHAPES)
    assert len(names) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("index", range(len(COMBINATIONS)))
def test_all(index: int) -> None:
    assert not broken(*COMBINATIONS[index], seeds=range(SEEDS))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "is_causal"), LARGE_MODES)
@pytest.mark.parametrize("setup", LARGE)
def test_large(setup: Setup, name: str, is_causal: bool, dtype) -> None:
    assert not broken(name, setup, dtype, is_causal, seeds=range(LARGE_SEEDS))


def test_the_slow_run_is_as_large_as_stated() -> None:
    """At least 10,000 value cases over at least 60 combinations, at most 100 with L > 4096.

    Those with trigonometric features, of which less is asked, do not count.
    """
    asked = [each for each in COMBINATIONS if each[0] != "trig"]
    assert len(asked) >= 60 and SEEDS * len(asked) >= 10_000
    longest = sum(setup.queries > 4096 for setup in LARGE)
    assert longest and longest * len(LARGE_MODES) * len(DTYPES) * LARGE_SEEDS <= 100


@pytest.mark.parametrize("size", [1e4, 1e10])
def test_a_fitted_rho_is_positive_for_data_of_any_size(size: float) -> None:
    """Beyond 1e9 the square of ‖q+k‖² leaves float32: ρ stays a parameter that a call takes."""
    setup = Setup(queries=8, keys=8, dim=4, features=8)
    q, k, v = setup.arrays(0, size)
    attend = crt.FavorAttention(setup.features)
    rho = attend.calibrate(q, k)
    assert (rho > 0).all()
    assert np.isfinite(attend(q, k, v, setup.omega(attend))).all()
    assert np.isfinite(attend(q, k, v, setup.omega(attend), None, True, rho)).all()


@pytest.mark.parametrize("is_causal", [False, True])
def test_a_concrete_nan_is_refused_where_it_counts_alone(is_causal: bool) -> None:
    setup = Setup(queries=8, keys=8, dim=4, features=8, batch=2)
    q, k, v = setup.arrays(0)
    attend, shown = crt.FavorAttention(setup.features), jnp.arange(8) < jnp.array([[5], [8]])
    a, b, c = (jnp.where(shown[:, :, None, None], each, jnp.nan) for each in (q, k, v))
    omega, rho = setup.omega(attend), attend.calibrate(q, k, shown)
    assert (attend.calibrate(a, b, shown) == rho).all()
    out = attend(a, b, c, omega, shown, is_causal, rho, query_mask=shown)
    assert (out == attend(q, k, v, omega, shown, is_causal, rho, query_mask=shown)).all()

    def squares(q: Array, k: Array, v: Array) -> Array:
        return jnp.sum(attend(q, k, v, omega, shown, is_causal, rho, query_mask=shown) ** 2)

    gradients = jax.jit(jax.grad(squares, (0, 1, 2)))
    for one, other in zip(gradients(a, b, c), gradients(q, k, v), strict=True):
        assert (one == other).all() and one.any()
    with pytest.raises(ValueError, match="query holds NaN or infinity"):
        attend(a, b, c, omega, shown, is_causal, rho)
    with pytest.raises(ValueError, match="key holds NaN or infinity"):
        attend(q, b, v, omega, None, is_causal, rho)


def test_an_overflow_is_caught() -> None:
    """float16 cannot hold what float32 can: a check that never fails would not see it."""
    setup = SHAPES[1]
    q, k, v, mask, *rest = draw(setup, jnp.float16, np.random.default_rng(0))
    out, *_ = compiled("pos", setup, jnp.float16, False)(q, k, 1e30 * v, mask | True, *rest)
    assert not np.isfinite(np.asarray(out, np.float64)).all()
