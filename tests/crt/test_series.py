"""Tests of crt.series against Arb (python-flint), which bounds its own error.

Every float argument is taken as an exact number, and Arb's precision is raised until its answer
is certain to 80 bits.
"""

import dataclasses
import functools
import secrets
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import arb, ctx

from crt import series, special

DTYPES = ("float32", "float64")
DIMENSIONS = (*range(1, 9), 16, 64, 256, 1024, 4096)
# The bounds that crt.series states, in eps of the dtype.
SLOPE_BOUND = 8
# One length for all arguments, because JAX compiles anew for each shape.
LENGTH = 192
# Step of the central differences in d, whose error is of the order of its square.
STEP = arb(2) ** -120


def deficit(z: arb, d: arb) -> arb:
    return 1 - (-z).exp() * (z / 2).hypgeom_1f1(d, d / 2)


def deficit_slope(z: arb, d: arb) -> arb:
    after, before = (z / 2).hypgeom_1f1(d + 1, d / 2 + 1), (z / 2).hypgeom_1f1(d, d / 2)
    return (-z).exp() * (before - after)


def trig(z: arb, d: arb) -> arb:
    return (-z).exp() - (-z / 2).hypgeom_1f1(d, d / 2)


def trig_slope(z: arb, d: arb) -> arb:
    return (-z / 2).hypgeom_1f1(d + 1, d / 2 + 1) - (-z).exp()


def log_deficit(z: arb, d: arb) -> arb:
    return deficit(z, d).log()


def log_deficit_slope(z: arb, d: arb) -> arb:
    return deficit_slope(z, d) / deficit(z, d)


@dataclasses.dataclass(frozen=True)
class Case:
    """Arb's value and z-slope, and the scales that the errors are compared with.

    `scale` takes |f|; `slope_scale` takes |f|, |z f_z| and |d f_d|. Where `weighted`, the slopes
    are z f_z and d f_d, otherwise f_z and f_d.
    """

    value: Callable[[arb, arb], arb]
    slope: Callable[[arb, arb], arb]
    bound: int
    scale: Callable[[arb], arb]
    slope_scale: Callable[[arb, arb, arb], arb]
    weighted: bool = True


CASES = {
    "orthogonal_deficit": Case(
        deficit, deficit_slope, 3, lambda f: f, lambda f, in_z, in_d: f + in_z + in_d
    ),
    "log_orthogonal_deficit": Case(
        log_deficit, log_deficit_slope, 3, lambda f: 1 + f, lambda f, in_z, in_d: 1 + f
    ),
    "orthogonal_trig": Case(
        trig, trig_slope, 2, lambda f: arb(1), lambda f, in_z, in_d: arb(1), weighted=False
    ),
}

each_case = pytest.mark.parametrize("name", CASES)
each_dtype = pytest.mark.parametrize("dtype", DTYPES)


@pytest.fixture
def seed() -> int:
    return secrets.randbits(64)


def certain(function: Callable[[arb, arb], arb], z: arb, d: arb) -> arb:
    """Returns `function(z, d)` certain to 80 bits, or so small that it is 0 to any sum here."""
    precision = 256
    while True:
        with ctx.workprec(precision):
            value = function(z, d)
        if value.is_finite() and (value.rel_accuracy_bits() >= 80 or abs(value) < arb("1e-40")):
            return value
        precision *= 2
        assert precision < 100_000, f"Arb cannot evaluate the reference at {z}, {d}"


def in_dimension(function: Callable[[arb, arb], arb]) -> Callable[[arb, arb], arb]:
    """The derivative in d, by central differences with a step that Arb's precision outruns."""
    return lambda z, d: (function(z, d + STEP) - function(z, d - STEP)) / (2 * STEP)


def points(dtype: str, seed: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns `number` pairs: all scales of z, where the functions bend, where formulas change."""
    rng = np.random.default_rng(seed)
    wide = np.exp(rng.uniform(np.log(1e-6), np.log(1e4), number))
    d = rng.choice([*DIMENSIONS], number).astype(float)
    other = rng.random(number) < 0.5
    d[other] = np.floor(np.exp(rng.uniform(0, np.log(4097), other.sum())))
    bend = np.sqrt(d) * np.exp(rng.uniform(np.log(0.1), np.log(10), number))
    z = np.where(rng.random(number) < 0.4, bend, wide)
    junction = rng.choice([np.nextafter(200.0, 0), 200.0, np.nextafter(200.0, 201)], number)
    z = np.where((d < 10) & (rng.random(number) < 0.1), junction, z)
    return np.clip(z, 1e-6, 1e4).astype(dtype), d.astype(dtype)


@functools.cache
def compiled(name: str) -> Callable:
    function = getattr(series, name)
    slopes = jax.grad(function, (0, 1))
    return jax.jit(jax.vmap(lambda z, d: (function(z, d), *slopes(z, d))))


def evaluate(name: str, z: np.ndarray, d: np.ndarray) -> list[np.ndarray]:
    """Returns f, f_z and f_d in the arguments' dtype."""
    with jax.enable_x64(z.dtype == np.float64):
        results = compiled(name)(np.resize(z, LENGTH), np.resize(d, LENGTH))
    assert all(result.dtype == z.dtype for result in results)
    return [np.asarray(result)[: z.size] for result in results]


def distance(computed: np.floating, exact: arb, scale: arb) -> float:
    """Returns |computed - exact| in eps of the scale."""
    eps = float(np.finfo(computed.dtype).eps)
    return float(abs(arb(float(computed)) - exact) / (scale * eps))


def check(error: list[float], z: np.ndarray, d: np.ndarray, bound: float, seed: int) -> None:
    """Fails unless every error (in eps) is within the bound."""
    worst = int(np.argmax(np.nan_to_num(error, nan=np.inf)))
    place = f"z = {z[worst]!r}, d = {d[worst]!r} (seed {seed})"
    assert error[worst] <= bound, f"{error[worst]} eps at {place}"


def value_errors(case: Case, computed: np.ndarray, z: np.ndarray, d: np.ndarray) -> list[float]:
    errors = []
    for got, *at in zip(computed, z, d, strict=True):
        exact = certain(case.value, *(arb(float(x)) for x in at))
        errors.append(distance(got, exact, case.scale(abs(exact))))
    return errors


def slope_errors(case: Case, computed: list[np.ndarray], z: np.ndarray, d: np.ndarray) -> list:
    """Returns the larger of the two slopes' errors at each point."""
    errors = []
    for in_z, in_d, *at in zip(*computed, z, d, strict=True):
        place = [arb(float(x)) for x in at]
        exact = [certain(f, *place) for f in (case.slope, in_dimension(case.value))]
        sizes = [abs(x * slope) for x, slope in zip(place, exact, strict=True)]
        scale = case.slope_scale(abs(certain(case.value, *place)), *sizes)
        units = [scale / x if case.weighted else scale for x in place]
        pairs = zip((in_z, in_d), exact, units, strict=True)
        errors.append(max(distance(got, right, unit) for got, right, unit in pairs))
    return errors


@each_dtype
@each_case
def test_value(name: str, dtype: str, seed: int) -> None:
    case = CASES[name]
    z, d = points(dtype, seed, LENGTH)
    computed = evaluate(name, z, d)[0]
    check(value_errors(case, computed, z, d), z, d, case.bound, seed)
    with jax.enable_x64(dtype == "float64"):
        eager = np.asarray(getattr(series, name)(jnp.asarray(z), jnp.asarray(d)))
    assert eager.dtype == dtype
    check(value_errors(case, eager[:40], z[:40], d[:40]), z, d, case.bound, seed)


@each_dtype
@each_case
def test_derivatives(name: str, dtype: str, seed: int) -> None:
    z, d = points(dtype, seed, LENGTH // 4)
    _, *slopes = evaluate(name, z, d)
    check(slope_errors(CASES[name], slopes, z, d), z, d, SLOPE_BOUND, seed)


def confluent(d: jax.Array, x: jax.Array) -> jax.Array:
    """Returns 1F1(d; d/2; x) by its series, for small x."""
    total = jnp.ones_like(x)
    for k in reversed(range(20)):
        total = 1 + (d + k) / (d / 2 + k) * x / (k + 1) * total
    return total


PLANTED = {
    "difference of equals": (
        "orthogonal_deficit",
        lambda z, d: 1 - jnp.exp(-z) * confluent(d, z / 2),
    ),
    "dimension off by one": (
        "orthogonal_deficit",
        lambda z, d: series.orthogonal_deficit(z, d + 1),
    ),
    "six eps too much": (
        "orthogonal_deficit",
        lambda z, d: series.orthogonal_deficit(z, d) * (1 + 6 * jnp.finfo(z.dtype).eps),
    ),
    "logarithm of a rounded difference": (
        "log_orthogonal_deficit",
        lambda z, d: jnp.log(1 - jnp.exp(-z) * confluent(d, z / 2)),
    ),
    "exponential forgotten": (
        "orthogonal_trig",
        lambda z, d: series.orthogonal_trig(z, d) - jnp.exp(-z),
    ),
    "four eps too much": (
        "orthogonal_trig",
        lambda z, d: series.orthogonal_trig(z, d) + 4 * jnp.finfo(z.dtype).eps,
    ),
}


@pytest.mark.parametrize("plant", PLANTED)
def test_check_rejects_planted_error(plant: str, seed: int) -> None:
    name, wrong = PLANTED[plant]
    case = CASES[name]
    rng = np.random.default_rng(seed)
    z, d = rng.uniform(0.01, 0.2, 40), rng.choice([2.0, 3.0, 8.0, 64.0], 40)
    with jax.enable_x64(True):
        computed = np.asarray(wrong(jnp.asarray(z), jnp.asarray(d)))
    with pytest.raises(AssertionError, match=f"seed {seed}"):
        check(value_errors(case, computed, z, d), z, d, case.bound, seed)


@pytest.mark.parametrize("fault", [(1 + 1e-6, 1), (1, 1 + 1e-6), (1, -1)])
@each_case
def test_check_rejects_wrong_slopes(name: str, fault: tuple[float, float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    z, d = rng.uniform(0.5, 3, 20), rng.choice([2.0, 3.0, 8.0], 20)
    _, *slopes = evaluate(name, z, d)
    wrong = [slope * factor for slope, factor in zip(slopes, fault, strict=True)]
    with pytest.raises(AssertionError, match=f"seed {seed}"):
        check(slope_errors(CASES[name], wrong, z, d), z, d, SLOPE_BOUND, seed)


@each_dtype
@each_case
def test_no_nan_and_finite_slopes_on_the_closed_domain(name: str, dtype: str) -> None:
    info = np.finfo(dtype)
    ends = [0, info.smallest_subnormal, info.tiny, 1e-30, 1e-12, 1, 200, 1e4, 1e30, np.inf]
    z, d = (grid.ravel() for grid in np.meshgrid(ends, [1, 2, 3, 9.5, 10, 64, 4096]))
    value, in_z, in_d = evaluate(name, z.astype(dtype), d.astype(dtype))
    assert not np.any(np.isnan(value))
    # Where z^2 underflows the logarithm is still right; its slope 2/z may overflow.
    tiny = (z > 0) & (z < 1e-35) & (name == "log_orthogonal_deficit")
    assert np.all(np.isfinite(in_z) | tiny)
    assert np.all(np.isfinite(in_d))
    at_zero = -np.inf if name == "log_orthogonal_deficit" else 0
    assert np.all(value[z == 0] == at_zero)
    assert np.all(in_z[z == 0] == 0)
    limit = {"orthogonal_deficit": 1}.get(name, 0)
    assert np.all(np.abs(value[z == np.inf] - limit) <= float(info.eps))


@each_case
def test_nan_stays_where_it_is(name: str) -> None:
    z = np.array([5.0, np.nan, -1.0, 700.0, 3.0, 3.0], np.float32)
    d = np.array([3.0, 3.0, 3.0, 4096.0, 0.0, np.nan], np.float32)
    nan = np.array([False, True, True, False, True, True])
    for mixed, alone in zip(evaluate(name, z, d), evaluate(name, z[~nan], d[~nan]), strict=True):
        assert np.array_equal(np.isnan(mixed), nan)
        np.testing.assert_array_equal(mixed[~nan], alone)


@each_case
def test_tiny_z_keeps_its_digits(name: str) -> None:
    z = np.array([1e-12, 1e-9, 1e-7])
    with jax.enable_x64(True):
        value = np.asarray(getattr(series, name)(z, 6.0))
    exact = z**2 / 16 * (1 - (0.8 if name == "orthogonal_trig" else 0.2) * z)
    exact = np.log(exact) if name == "log_orthogonal_deficit" else exact
    np.testing.assert_allclose(value, exact, rtol=1e-13)


@each_case
def test_second_derivatives_in_forward_over_reverse_mode(name: str) -> None:
    z, d, h = 3.0, 5.0, 1e-4
    with jax.enable_x64(True):
        second = jax.jit(jax.hessian(getattr(series, name), (0, 1)))(z, d)
    places = np.array([[z + h, z - h, z, z], [d, d, d + h, d - h]])
    for row, slope in zip(second, evaluate(name, *places)[1:], strict=True):
        numeric = [(slope[0] - slope[1]) / (2 * h), (slope[2] - slope[3]) / (2 * h)]
        np.testing.assert_allclose(row, numeric, rtol=1e-5)


@each_case
def test_dtype_and_shape_under_strict_promotion(name: str) -> None:
    function = getattr(series, name)
    with jax.enable_x64(True), jax.numpy_dtype_promotion("strict"):
        for dtype in DTYPES:
            z = jax.ShapeDtypeStruct((2, 3), jnp.dtype(dtype))
            d = jax.ShapeDtypeStruct((3,), jnp.dtype(dtype))
            slopes = jax.grad(lambda z, d: function(z, d).sum(), (0, 1))
            assert jax.eval_shape(function, z, d) == z
            assert jax.eval_shape(slopes, z, d) == (z, d)
            rows = jax.vmap(function, (0, None))
            assert jax.eval_shape(rows, z, d) == z
            assert jax.eval_shape(jax.jit(function), z, 4) == z


@each_case
def test_python_and_numpy_arguments(name: str) -> None:
    function = getattr(series, name)
    expected = function(jnp.float32(2), jnp.float32(4))
    for z in (2, 2.0, np.float32(2), np.array(2.0, np.float32)):
        assert function(z, 4) == expected
        assert function(z, 4).dtype == jnp.float32
    assert jax.grad(function)(2.0, 4) == jax.grad(function)(jnp.float32(2), 4.0)
    assert function(jnp.zeros((0,)), 4).shape == (0,)


def test_the_routines_are_those_of_crt_special() -> None:
    assert all(getattr(special, name) is getattr(series, name) for name in CASES)
