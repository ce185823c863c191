"""Tests of crt.special against Arb (python-flint), which bounds its own error.

Every float argument is taken as an exact number, and Arb's precision is raised until its answer
is certain to 80 bits, so the reference adds nothing to the error that is compared with the bound.
"""

import dataclasses
import functools
import secrets
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import acb, arb, ctx

from crt import special

# The bounds that the docstring of crt.special states, in eps of the dtype.
VALUE_BOUND, FIRST_BOUND, SECOND_BOUND = 3, 8, 64
# Results below this many times the smallest normal float may be flushed to 0.
FLUSH = 1000
# Where the implementation changes its formula: both neighbours are always tested.
JUNCTIONS = (-1, -0.7, -0.3, 0.5, 0.75, np.log(2), 1, 1.5, 2, 5, 8)
DTYPES = ("float32", "float64")
# One length for all arguments, because JAX compiles anew for each shape.
LENGTH = 800


def bessel_ratio(t: arb) -> arb:
    return t.bessel_i(1) / t.bessel_i(0)


def bessel_ratio_slope(t: arb) -> arb:
    r = bessel_ratio(t)
    return 1 - r / t - r * r


def bessel_ratio_curvature(t: arb) -> arb:
    r, slope = bessel_ratio(t), bessel_ratio_slope(t)
    return r / t**2 - slope / t - 2 * r * slope


def log1p_ratio_slope(t: arb) -> arb:
    return (1 / (1 + t) - t.log1p() / t) / t


def expm1_ratio_slope(t: arb) -> arb:
    return (t.exp() - t.expm1() / t) / t


def expit(t: arb) -> arb:
    return 1 / (1 + (-t).exp())


def expit_slope(t: arb) -> arb:
    return expit(t) * expit(-t)


@dataclasses.dataclass(frozen=True)
class Case:
    """A function, its domain in each dtype, and Arb's value and first two derivatives."""

    low: dict[str, float]
    high: dict[str, float]
    value: Callable[[arb], arb]
    slope: Callable[[arb], arb]
    curvature: Callable[[arb], arb]
    crosses_zero: bool = False
    absolute_slope: bool = False


def both(value: float) -> dict[str, float]:
    return dict.fromkeys(DTYPES, value)


HUGE = {"float32": 1e30, "float64": 1e300}
LOG_MAX = {"float32": 88.0, "float64": 700.0}
MINUS_LOG_MAX = {dtype: -high for dtype, high in LOG_MAX.items()}

CASES = {
    "sqrt": Case(
        both(0),
        HUGE,
        lambda t: t.sqrt(),
        lambda t: 1 / (2 * t.sqrt()),
        lambda t: -1 / (4 * t * t.sqrt()),
    ),
    "log": Case(both(0), HUGE, lambda t: t.log(), lambda t: 1 / t, lambda t: -1 / t**2),
    "log1p": Case(
        both(-1), HUGE, lambda t: t.log1p(), lambda t: 1 / (1 + t), lambda t: -1 / (1 + t) ** 2
    ),
    "log1p_ratio": Case(
        both(-1),
        HUGE,
        lambda t: t.log1p() / t,
        log1p_ratio_slope,
        lambda t: (-1 / (1 + t) ** 2 - 2 * log1p_ratio_slope(t)) / t,
    ),
    "log1p_gap": Case(
        both(-1), HUGE, lambda t: t - t.log1p(), lambda t: t / (1 + t), lambda t: 1 / (1 + t) ** 2
    ),
    "expm1_ratio": Case(
        MINUS_LOG_MAX,
        LOG_MAX,
        lambda t: t.expm1() / t,
        expm1_ratio_slope,
        lambda t: (t.exp() - 2 * expm1_ratio_slope(t)) / t,
    ),
    "log_expm1": Case(
        both(0),
        both(1e30),
        lambda t: t + (-(-t).expm1()).log(),
        lambda t: -1 / (-t).expm1(),
        lambda t: -(-t).exp() / (-t).expm1() ** 2,
        crosses_zero=True,
    ),
    "log_one_minus_exp": Case(
        both(0),
        LOG_MAX,
        lambda t: (-(-t).expm1()).log(),
        lambda t: 1 / t.expm1(),
        lambda t: -t.exp() / t.expm1() ** 2,
    ),
    "expm1": Case(
        MINUS_LOG_MAX, LOG_MAX, lambda t: t.expm1(), lambda t: t.exp(), lambda t: t.exp()
    ),
    "expit": Case(
        MINUS_LOG_MAX, LOG_MAX, expit, expit_slope, lambda t: expit_slope(t) * -(t / 2).tanh()
    ),
    "softplus": Case(MINUS_LOG_MAX, both(1e30), lambda t: t.exp().log1p(), expit, expit_slope),
    "log_cosh": Case(
        both(-1e4),
        both(1e4),
        lambda t: t.cosh().log(),
        lambda t: t.tanh(),
        lambda t: 1 / t.cosh() ** 2,
    ),
    "log_i0": Case(
        both(-1e8),
        both(1e8),
        lambda t: t.bessel_i(0).log(),
        bessel_ratio,
        bessel_ratio_slope,
    ),
    "log_i0e": Case(
        both(-1e8),
        both(1e8),
        lambda t: t.bessel_i(0).log() - t,
        lambda t: bessel_ratio(t) - 1,
        bessel_ratio_slope,
        absolute_slope=True,
    ),
    "log_i0_gap": Case(
        both(-1e8),
        both(1e8),
        lambda t: t * t / 4 - t.bessel_i(0).log(),
        lambda t: t / 2 - bessel_ratio(t),
        lambda t: arb(1) / 2 - bessel_ratio_slope(t),
    ),
    "bessel_ratio": Case(
        both(-1e8), both(1e8), bessel_ratio, bessel_ratio_slope, bessel_ratio_curvature
    ),
}

each_case = pytest.mark.parametrize("name", CASES)
each_dtype = pytest.mark.parametrize("dtype", DTYPES)


@pytest.fixture
def seed() -> int:
    return secrets.randbits(64)


def evaluate(name: str, t: np.ndarray) -> tuple[np.ndarray, ...]:
    """Returns f(t), f'(t), and f''(t) by reverse and by forward over reverse mode, in t's dtype."""
    with jax.enable_x64(t.dtype == np.float64):
        results = _compiled(name)(np.resize(t, LENGTH))
    assert all(result.dtype == t.dtype for result in results)
    return tuple(np.asarray(result)[: t.size] for result in results)


@functools.cache
def _compiled(name: str) -> Callable:
    function = getattr(special, name)
    first = jax.grad(function)
    return jax.jit(
        jax.vmap(lambda t: (function(t), first(t), jax.grad(first)(t), jax.jacfwd(first)(t)))
    )


def points(case: Case, dtype: str, seed: int, number: int) -> np.ndarray:
    """Returns 4 `number` points inside the open domain: log-spaced, uniform, at junctions."""
    rng = np.random.default_rng(seed)
    low, high = case.low[dtype], case.high[dtype]
    # Below this, each of the functions is its leading term to far more than 80 bits.
    small = {"float32": 1e-34, "float64": 1e-60}[dtype]
    spread = np.exp(rng.uniform(np.log(small), np.log(high), number))
    near = rng.uniform(max(low, -10), min(high, 10), 2 * number)
    edge = -1 + np.exp(rng.uniform(np.log(1e-7), 0, number // 4))
    junctions = np.concatenate([JUNCTIONS, np.negative(JUNCTIONS)]).astype(dtype)
    sides = [np.nextafter(junctions, np.asarray(to, dtype)) for to in (-np.inf, np.inf)]
    every = np.concatenate([spread, -spread, near, edge, junctions, *sides]).astype(dtype)
    inside = np.unique(every[(every > low) & (every < high) & (every != 0)])
    return np.resize(rng.permutation(inside), 4 * number)


def reference(function: Callable, t: arb | acb) -> arb | acb:
    """Returns `function(t)` certain to 80 bits, or so small that it is 0 to any float."""
    precision = 128
    while True:
        with ctx.workprec(precision):
            value = function(t)
        if value.rel_accuracy_bits() >= 80 or abs(value) < arb("1e-400"):
            return value
        precision *= 2
        assert precision < 100_000, f"Arb cannot evaluate the reference at {t}"


def errors(computed: np.ndarray, t: np.ndarray, exact: Callable, scale: Callable) -> np.ndarray:
    """Returns |computed - exact(t)| / scale(t, exact(t)) in eps, with flushed results accepted.

    The last axis of `computed` runs over the points t; the result keeps the largest of the others.
    """
    info = np.finfo(np.real(computed).dtype)
    flush, eps = FLUSH * float(info.tiny), float(info.eps)
    number = acb if np.iscomplexobj(t) else arb
    result = np.zeros(t.shape)
    for k, argument in enumerate(number(*_parts(point)) for point in t):
        value = reference(exact, argument)
        unit = scale(argument, value) * eps
        for y in np.unique(computed[..., k]):
            if not np.isfinite(y):
                result[k] = np.inf
            elif abs(value) > flush or abs(y) > flush:
                result[k] = max(result[k], float(abs(number(*_parts(y)) - value) / unit))
    return result


def _parts(number: complex) -> tuple[float, ...]:
    parts = (number.real, number.imag) if np.iscomplexobj(number) else (number.real,)
    return tuple(float(part) for part in parts)


def size(_: arb | acb, value: arb | acb) -> arb:
    return abs(value)


def check(error: np.ndarray, t: np.ndarray, bound: float, seed: int) -> None:
    """Fails unless every error (in eps) is within the bound."""
    worst = np.argmax(error)
    assert error[worst] <= bound, f"{error[worst]} eps at {t[worst]!r} (seed {seed})"


def scale_of(case: Case) -> Callable:
    """Returns the scale of the error: |f|, or |f| + |t f'| for a function that crosses 0."""
    if case.crosses_zero:
        return lambda t, value: abs(value) + abs(t * case.slope(t))
    return size


@each_dtype
@each_case
def test_value(name: str, dtype: str, seed: int) -> None:
    case = CASES[name]
    t = points(case, dtype, seed, LENGTH // 4)
    with jax.enable_x64(dtype == "float64"):
        eager = np.asarray(getattr(special, name)(jnp.asarray(t)))
    assert eager.dtype == dtype
    computed = np.stack([eager, evaluate(name, t)[0]])
    check(errors(computed, t, case.value, scale_of(case)), t, VALUE_BOUND, seed)


@each_dtype
@each_case
def test_first_and_second_derivative(name: str, dtype: str, seed: int) -> None:
    case = CASES[name]
    t = points(case, dtype, seed, LENGTH // 8)
    _, first, *second = evaluate(name, t)
    slope_scale = (lambda *_: arb(1)) if case.absolute_slope else size
    check(errors(first, t, case.slope, slope_scale), t, FIRST_BOUND, seed)
    # Away from poles and zeros the second derivative neither overflows nor underflows.
    tame = (np.abs(t) > 1e-3) & (t > -0.999) & (np.abs(t) < 1e3)
    error = errors(np.stack(second)[:, tame], t[tame], case.curvature, size)
    check(error, t[tame], SECOND_BOUND, seed)


@each_dtype
def test_complex_log1p(dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    number = 300
    angle = rng.choice([-1, 1], number) * np.exp(rng.uniform(-15, np.log(np.pi), number))
    spread = np.exp(rng.uniform(-30, 30, (2, number))) * rng.choice([-1, 1], (2, number))
    near = rng.uniform(-2, 2, (2, number))
    z = np.concatenate(
        [spread[0] + 1j * spread[1], near[0] + 1j * near[1], np.exp(1j * angle) - 1, spread[0] - 1]
    ).astype(np.result_type(dtype, np.complex64))
    z = z[z != -1]
    with jax.enable_x64(dtype == "float64"):
        computed = np.asarray(jax.jit(special.log1p)(z))
        slope = np.asarray(jax.jit(jax.vmap(jax.grad(special.log1p, holomorphic=True)))(z))
    assert computed.dtype == z.dtype
    check(errors(computed, z, lambda z: (1 + z).log(), size), z, VALUE_BOUND, seed)
    check(errors(slope, z, lambda z: 1 / (1 + z), size), z, FIRST_BOUND, seed)


PLANTED = {
    "root of a rounded number": (
        "sqrt",
        lambda t: jnp.sqrt(t.astype("float32").astype("float64")),
        2,
        3,
    ),
    "rounded argument": ("log", lambda t: jnp.log(t.astype("float32").astype("float64")), 2, 3),
    # JAX's own function is wrong there in float64 (if this is repaired, drop the plant).
    "jnp.log1p": ("log1p", jnp.log1p, -0.42, -0.40),
    "rounded 1 + t": ("log1p", lambda t: jnp.log(1 + t), 1e-9, 1e-3),
    "difference of logarithm": ("log1p_gap", lambda t: t - special.log1p(t), 1e-3, 0.1),
    "quotient of log": ("log1p_ratio", lambda t: jnp.log(1 + t) / t, 1e-3, 0.1),
    "quotient of exp": ("expm1_ratio", lambda t: (jnp.exp(t) - 1) / t, 1e-3, 0.1),
    "one minus": ("expm1", lambda t: jnp.exp(t) - 1, 1e-3, 0.1),
    "half of tanh": ("expit", lambda t: 0.5 + 0.5 * jnp.tanh(t / 2), -30, -20),
    "difference of log_i0": ("log_i0e", lambda t: special.log_i0(t) - t, 1e3, 1e4),
    "cancelling softplus": ("softplus", lambda t: t + jnp.log1p(jnp.exp(-t)), -30, -10),
    "overflow": ("log_expm1", lambda t: jnp.log(jnp.expm1(t)), 750, 800),
    "rounded exp": ("log_expm1", lambda t: jnp.log(jnp.exp(t) - 1), 1e-6, 1e-3),
    "log of 1": ("log_one_minus_exp", lambda t: jnp.log(-jnp.expm1(-t)), 5, 15),
    "log of cosh": ("log_cosh", lambda t: jnp.log(jnp.cosh(t)), 1e-3, 0.1),
    "log of i0": ("log_i0", lambda t: jnp.log(jax.scipy.special.i0(t)), 1e-3, 0.1),
    "difference of i0": ("log_i0_gap", lambda t: t * t / 4 - special.log_i0(t), 0.01, 0.1),
    "quotient of i1e": (
        "bessel_ratio",
        lambda t: jax.scipy.special.i1e(t) / jax.scipy.special.i0e(t) * (1 + 6 * _eps(t)),
        1e-3,
        1,
    ),
}


def _eps(t: jax.Array) -> float:
    return float(jnp.finfo(t.dtype).eps)


@pytest.mark.parametrize("plant", PLANTED)
def test_check_rejects_planted_error(plant: str, seed: int) -> None:
    name, wrong, low, high = PLANTED[plant]
    case = CASES[name]
    t = np.random.default_rng(seed).uniform(low, high, 200)
    with jax.enable_x64(True):
        error = errors(np.asarray(wrong(jnp.asarray(t))), t, case.value, scale_of(case))
        right = np.asarray(getattr(special, name)(jnp.asarray(t)))
    with pytest.raises(AssertionError, match=f"seed {seed}"):
        check(error, t, VALUE_BOUND, seed)
    check(errors(right, t, case.value, scale_of(case)), t, VALUE_BOUND, seed)


@each_dtype
def test_check_rejects_cancelling_bessel_slope(dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    t = rng.uniform(20, 100, 200).astype(dtype)
    with jax.enable_x64(dtype == "float64"):
        r = special.bessel_ratio(jnp.asarray(t))
        error = errors(np.asarray(1 - r / t - r * r), t, bessel_ratio_slope, size)
    with pytest.raises(AssertionError, match=f"seed {seed}"):
        check(error, t, FIRST_BOUND, seed)


INF = float("inf")
# Argument, value, first derivative: at ends of the domain, poles, removable points and far away.
ENDS = {
    "sqrt": [(0, 0, 0), (4, 2, 0.25), (INF, INF, 0)],
    "log": [(0, -INF, 0), (1, 0, 1), (INF, INF, 0)],
    "log1p": [(-1, -INF, 0), (0, 0, 1), (INF, INF, 0)],
    "log1p_ratio": [(-1, INF, 0), (0, 1, -0.5), (INF, 0, 0)],
    "log1p_gap": [(-1, INF, 0), (0, 0, 0), (INF, INF, 1)],
    "expm1_ratio": [(-INF, 0, 0), (-1e30, 1e-30, 0), (0, 1, 0.5)],
    "log_expm1": [(0, -INF, 0), (1e30, 1e30, 1), (INF, INF, 1)],
    "log_one_minus_exp": [(0, -INF, 0), (1e30, 0, 0), (INF, 0, 0)],
    "log_cosh": [(-1e30, 1e30, -1), (0, 0, 0), (INF, INF, 1)],
    "log_i0": [(-1e30, 1e30, -1), (0, 0, 0), (INF, INF, 1)],
    "log_i0_gap": [(-INF, INF, -INF), (0, 0, 0), (2e18, 1e36, 1e18)],
    "expm1": [(-INF, -1, 0), (0, 0, 1), (INF, INF, INF)],
    "softplus": [(-INF, 0, 0), (0, 0.6931471805599453, 0.5), (INF, INF, 1)],
    "expit": [(-INF, 0, 0), (0, 0.5, 0.25), (INF, 1, 0)],
    "log_i0e": [(-1e30, 2e30, -2), (0, 0, -1), (1e30, -35.45771492811536, -5e-31)],
    "bessel_ratio": [(-1e30, -1, 0), (0, 0, 0.5), (INF, 1, 0)],
}


@each_dtype
@each_case
def test_ends_of_domain(name: str, dtype: str) -> None:
    t, value, slope = np.transpose(ENDS[name]).astype(dtype)
    computed, first, *second = evaluate(name, t)
    # The value is within 3 eps; the decimal argument and the decimal answer are rounded once each.
    tolerance = 4 * float(np.finfo(dtype).eps)
    np.testing.assert_allclose(computed, value, rtol=tolerance)
    # A slope of order 1/t^2 at t = 1e30 is 0 for our purpose.
    np.testing.assert_allclose(first, slope, rtol=tolerance, atol=1e-59)
    assert not np.any(np.isnan(second))


POLES = [
    (name, t)
    for name, ends in ENDS.items()
    for t, value, _ in ends
    if np.isfinite(t) and np.isinf(value)
]


@pytest.mark.parametrize(("name", "pole"), POLES)
def test_chain_rule_at_pole(name: str, pole: float) -> None:
    # s^2 does not move at s = 0, so the chain rule multiplies the slope at the pole by 0.
    moved = jax.grad(lambda s: getattr(special, name)(pole + s * s))
    assert jax.jit(moved)(jnp.float32(0)) == 0


@each_dtype
@each_case
def test_derivatives_finite_on_closed_domain(name: str, dtype: str, seed: int) -> None:
    case, info = CASES[name], np.finfo(dtype)
    low, high = np.asarray([case.low[dtype], case.high[dtype]], dtype)
    extreme = np.array([0, info.tiny, info.smallest_subnormal, info.tiny * 4], dtype)
    t = np.concatenate([[low, high], extreme, -extreme, points(case, dtype, seed, 100)])
    t = t[(t >= low) & (t <= high)]
    value, first, *second = evaluate(name, t)
    assert not np.any(np.isnan(value)), f"seed {seed}"
    assert np.all(np.isfinite(first)), f"{t[~np.isfinite(first)]} (seed {seed})"
    assert not np.any(np.isnan(second)), f"seed {seed}"


@each_dtype
@each_case
def test_outside_domain_and_nan(name: str, dtype: str) -> None:
    low = CASES[name].low[dtype]
    outside = [low - 0.5, low - 10] if low in (-1, 0) else []
    value, first, *_ = evaluate(name, np.array([np.nan, *outside], dtype))
    assert np.all(np.isnan(value))
    assert np.isnan(first[0])


@each_case
def test_dtype_and_shape_are_kept_under_strict_promotion(name: str) -> None:
    function = getattr(special, name)
    with jax.enable_x64(True), jax.numpy_dtype_promotion("strict"):
        for dtype in DTYPES:
            t = jax.ShapeDtypeStruct((2, 3), jnp.dtype(dtype))
            derivative = jax.grad(lambda t: function(t).sum())
            for f in (function, jax.jit(function), jax.vmap(function), derivative):
                result = jax.eval_shape(f, t)
                assert result.dtype == t.dtype and result.shape == t.shape
            for result in jax.eval_shape(lambda t, d=derivative: jax.jvp(d, (t,), (t,)), t):
                assert result.dtype == t.dtype and result.shape == t.shape


@each_case
def test_python_and_numpy_arguments(name: str) -> None:
    function = getattr(special, name)
    expected = function(jnp.float32(2))
    for t in (2.0, np.float32(2), np.float64(2), np.array(2.0)):
        assert function(t) == expected
        assert function(t).dtype == jnp.float32
    assert jax.grad(function)(2.0) == jax.grad(function)(jnp.float32(2))


def test_complex_log1p_at_pole() -> None:
    pole = jnp.complex64(-1)
    assert special.log1p(pole).real == -jnp.inf
    assert jax.grad(special.log1p, holomorphic=True)(pole) == 0
    with jax.numpy_dtype_promotion("strict"):
        assert special.log1p(jnp.complex64(1j)).dtype == jnp.complex64


@each_dtype
def test_log_mean_exp(dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = np.exp(rng.uniform(-30, 3, (3, 400)))
    h, g, theta = (np.array([[1], [-1], [1]]) * size).astype(dtype)
    theta = np.minimum(theta, np.sqrt(h)).astype(dtype)  # so that the mean stays above 1
    with jax.enable_x64(dtype == "float64"):
        computed = np.asarray(jax.jit(special.log_mean_exp)(h, g, theta))
        slopes = jax.vmap(jax.grad(special.log_mean_exp, argnums=(0, 1, 2)))(h, g, theta)
    assert computed.dtype == dtype
    assert all(np.all(np.isfinite(slope)) for slope in slopes)
    eps = float(np.finfo(dtype).eps)
    with ctx.workprec(400):
        for k, found in enumerate(computed):
            a, b, c = (arb(float(v[k])) for v in (h, g, theta))
            truth = a + (((-b / 2).exp() + (b / 2).exp() * c.cos()) / 2).log()
            # The terms of the sum: h, g²/8 and θ²/4 at first, h and g/2 in the large.
            scale = a + min(b * b, -b) + c * c
            assert abs(truth - arb(float(found))) <= VALUE_BOUND * eps * scale, f"seed {seed}"
