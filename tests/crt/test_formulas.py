"""Every generated formula: any kind of number in, broadcasting, jit, vmap, finite gradients.

How accurate the numbers are is the business of `python -m verification --only formulas`.
"""

import secrets
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from crt import formulas
from derivations.domain import Complex, Sign, Vector
from derivations.library import load_formulas
from verification.accuracy import FACTOR, Probe
from verification.sampling import sample

LIBRARY = load_formulas()
POINTS, DIMENSION = 64, 3
each_formula = pytest.mark.parametrize("name", LIBRARY)
each_dtype = pytest.mark.parametrize("dtype", ["float32", "float64"])


@pytest.fixture
def seed() -> int:
    return secrets.randbits(63)


def draw(name: str, dtype: str, seed: int) -> list[np.ndarray]:
    """Random points of the declared domain, its ends among them: one array per argument."""
    rng = np.random.default_rng(seed)
    columns = []
    for allowed in LIBRARY[name].domain.values():
        size = (POINTS, DIMENSION) if isinstance(allowed, Vector) else (POINTS,)
        column = sample(allowed, size, dtype, rng)
        is_complex = isinstance(allowed, Complex)
        columns.append(column[..., 0] + 1j * column[..., 1] if is_complex else column)
    return columns


def called(name: str) -> Callable[..., jax.Array]:
    return getattr(formulas, name)


def test_nothing_is_tested_that_is_not_shipped() -> None:
    shipped = {
        k for k, v in vars(formulas).items() if getattr(v, "__module__", "") == "crt.formulas"
    }
    assert shipped == set(LIBRARY)


@each_dtype
@each_formula
def test_numbers_are_finite_and_keep_shape_and_dtype(name: str, dtype: str, seed: int) -> None:
    columns = draw(name, dtype, seed)
    with jax.enable_x64(dtype == "float64"):
        eager = called(name)(*columns)
        compiled = jax.jit(called(name))(*columns)
        mapped = jax.vmap(called(name))(*map(jnp.asarray, columns))
    shape = (POINTS, DIMENSION) if LIBRARY[name].vector_valued else (POINTS,)
    for result in (eager, compiled, mapped):
        assert result.shape == shape
        assert jnp.finfo(result.dtype).dtype == dtype
        assert np.all(np.isfinite(result)), f"seed {seed}"


@each_formula
def test_python_numbers_and_arrays_broadcast(name: str, seed: int) -> None:
    columns = draw(name, "float32", seed)
    whole = np.asarray(called(name)(*columns))
    ranges = list(LIBRARY[name].domain.values())
    first = [
        column[0] if isinstance(allowed, Vector) else column[0].item()
        for allowed, column in zip(ranges, columns, strict=True)
    ]
    alone = np.asarray(called(name)(*first))
    assert alone.dtype == whole.dtype
    assert alone.shape == whole.shape[1:]
    # One argument as an array beside Python numbers gives one result per entry.
    mixed = called(name)(columns[0], *first[1:])
    assert mixed.shape == whole.shape
    # Each of the two may be off by the certified bound, so they differ by twice that at most.
    probe = Probe(name, "float32")
    rows = [column[:1] for column in columns]
    parts = [
        np.stack([np.real(row), np.imag(row)], axis=-1) if np.iscomplexobj(row) else row
        for row in rows
    ]
    gap = np.max(np.abs(np.asarray(mixed)[:1] - alone))
    assert gap <= 2 * FACTOR * probe.eps * float(probe.scale(*probe.point(parts, 0)).upper())


@each_dtype
@each_formula
def test_gradients_are_finite_wherever_the_function_is(name: str, dtype: str, seed: int) -> None:
    columns = draw(name, dtype, seed)
    ranges = list(LIBRARY[name].domain.values())
    moving = tuple(i for i, r in enumerate(ranges) if not isinstance(r, Sign))
    if not moving:
        return

    def size(*args: jax.Array) -> jax.Array:
        result = called(name)(*args)
        return jnp.sum(jnp.real(result) + jnp.imag(result))

    with jax.enable_x64(dtype == "float64"):
        values = called(name)(*columns)
        slopes = jax.jit(jax.vmap(jax.grad(size, argnums=moving)))(*map(jnp.asarray, columns))
    assert np.all(np.isfinite(values))
    for slope in slopes:
        assert np.all(np.isfinite(slope)), f"seed {seed}"


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("log_variance_oprf", (1.0, 4.0, 0.0, 1.0)),
        ("log_variance_pos", (0.0, 1.0)),
        ("log_variance_trig", (0.0,)),
        ("log_variance_gerf", (0.0, 1.0, 4.0, 0.0, 1.0)),
        ("log_variance_gerf", (0.0, -1.0, 4.0, 0.0, 1.0)),
        ("log_variance_pois", (np.ones(3), np.ones(3), 1.0)),
    ],
)
def test_no_variance_means_minus_infinity_and_no_nan(name: str, args: tuple) -> None:
    args = tuple(jnp.asarray(arg, jnp.float32) for arg in args)
    assert called(name)(*args) == -jnp.inf
    for slope in jax.grad(called(name), argnums=tuple(range(len(args))))(*args):
        assert not np.any(np.isnan(slope))


def test_rates_of_vanishing_coordinates_have_no_nan_gradient() -> None:
    still = jnp.zeros(3, jnp.float32)
    for moved in (
        lambda x: formulas.lambda_star(jnp.sum(x**2), 3.0),
        lambda x: formulas.rates_star(x**2, x**2).sum(),
    ):
        assert np.array_equal(jax.grad(moved)(still), still)


def test_half_precision_is_computed_in_float32() -> None:
    for dtype in (jnp.bfloat16, jnp.float16):
        result = formulas.rho_star(jnp.asarray(100, dtype), jnp.asarray(64, dtype))
        assert result.dtype == jnp.float32
        assert result == formulas.rho_star(100.0, 64.0)
