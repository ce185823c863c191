"""float32 against float64 of the same draw, within the bounds the numerics promise."""

import hypothesis
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import gammaln

import crt

EPS = np.finfo("f4").eps
FEATURES = 32


def scene(name: str, d: int, radius: float, seed: int):
    """Float32 data of norms up to `radius`, a fitted mechanism, and its projections."""
    draw = np.random.default_rng(seed)
    x, y = draw.normal(size=(2, 5, d))
    lengths = radius * draw.uniform(0.1, 1, size=(2, 5, 1))
    x, y = (
        jnp.asarray(length * points / np.linalg.norm(points, axis=-1, keepdims=True), "f4")
        for length, points in zip(lengths, (x, y), strict=True)
    )
    mechanism = crt.MECHANISMS[name].fit(x, y)
    return mechanism, mechanism.sample(jax.random.key(seed), FEATURES, d), x, y


def widened(*trees):
    return [jax.tree.map(lambda leaf: np.asarray(leaf, "f8"), each) for each in trees]


def terms(mechanism, omega, x, y, kernel: str = "gaussian"):
    """log|f1·f2| and cosines of the phases, (n, l, M), in float64, of one draw."""
    with jax.enable_x64(True):
        wide, omega, x, y = widened(mechanism, omega, x, y)
        x_logs, x_phase = map(np.asarray, wide.log_features(x, omega, "x", kernel=kernel))
        y_logs, y_phase = map(np.asarray, wide.log_features(y, omega, "y", kernel=kernel))
    return x_logs[:, None] + y_logs, np.real(x_phase[:, None] * y_phase)


def both(mechanism, omega, x, y, kernel: str = "gaussian"):
    """log|K̂|, sign and log of the mean |f1·f2|, in float64, of one draw."""
    with jax.enable_x64(True):
        wide = widened(mechanism, omega, x, y)
        logs, sign = (np.asarray(each) for each in crt.log_estimate_kernel(*wide, kernel=kernel))
    each, _ = terms(mechanism, omega, x, y, kernel)
    return logs, sign, np.logaddexp.reduce(each, axis=-1) - np.log(FEATURES)


@pytest.mark.parametrize("kernel", crt.kernels.KERNELS)
@pytest.mark.parametrize("d", [2, 64])
@pytest.mark.parametrize("name", crt.MECHANISMS)
def test_points_in_the_unit_ball(name: str, d: int, kernel: str) -> None:
    mechanism, omega, x, y = scene(name, d, 1.0, d)
    logs, sign, sizes = both(mechanism, omega, x, y, kernel)
    single = np.asarray(crt.estimate_kernel(mechanism, omega, x, y, kernel=kernel), "f8")
    bound = 1e-5 * np.exp(sizes)
    assert (abs(single - sign * np.exp(logs)) <= bound).all() and (abs(single) > bound).any()
    ones = jnp.ones((5, 1))
    values = np.asarray(crt.apply_kernel(mechanism, omega, x, y, ones, kernel=kernel), "f8")[:, 0]
    assert (abs(values - (sign * np.exp(logs)).sum(1)) <= bound.sum(1)).all()


def exponential_sizes(mechanism, omega: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Summed sizes of the terms of log|f|, and of its angle, (L, M)."""
    a = {"oprf": lambda: (1 - 1 / mechanism.rho) / 8, "gerf": lambda: mechanism.A}
    a = complex(a.get(mechanism.name, lambda: 0.0)())
    s = float(getattr(mechanism, "s", -1 if mechanism.name == "trig" else 1))
    b = np.sqrt(1 - 4 * a) * (1 if s > 0 else 1j)
    products, squares = abs(x) @ abs(omega).T, np.sum(omega**2, -1)
    own = (s + 1) / 2 * np.sum(x**2, -1, keepdims=True)
    constant = len(x.T) / 4 * abs(np.log(1 - 4 * a))
    return abs(b.real) * products + abs(a) * squares + own + constant, abs(b.imag) * products


def discrete_sizes(mechanism, omega: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Summed sizes of the terms of log|f|, (L, M), and no angle: signs are exact.

    ω_l stands for the rounding of x - shift, which a logarithm turns into an absolute one.
    """
    if mechanism.name.endswith("+"):
        x = np.maximum(x - mechanism.shift, 0) + 1e-8
    parameter = mechanism.parameter()
    if mechanism.name.startswith("geom"):
        log_unit = np.log1p(-parameter)
        rest = 0.5 * gammaln(omega + 1).sum(-1) + x.shape[1] / 2 * abs(np.log(parameter))
    else:
        log_unit = np.log(parameter)
        rest = 0.5 * np.sum(np.broadcast_to(parameter, x.shape[1:]))
    per_count = abs(np.log(abs(x))) + 0.5 * abs(log_unit) + 1
    sizes = per_count @ omega.T + rest + 0.5 * np.sum(x**2, -1, keepdims=True)
    return sizes, np.zeros_like(sizes)


def at_most_the_largest(value, logs, slack, cosines, turn) -> np.ndarray:
    """Whether sign·e^log is at most Σ e^{logs ± slack}·(cosines + turn)/M, everything in logs."""
    log_value, sign = value
    highest = cosines + turn
    with np.errstate(divide="ignore"):
        edges = logs + np.sign(highest) * slack + np.log(abs(highest)) - np.log(FEATURES)
    plus = np.logaddexp.reduce(np.where(highest > 0, edges, -np.inf), -1)
    minus = np.logaddexp.reduce(np.where(highest < 0, edges, -np.inf), -1)
    plus = np.logaddexp(plus, np.where(sign < 0, log_value, -np.inf))
    return plus >= np.logaddexp(minus, np.where(sign > 0, log_value, -np.inf))


def enclosed(value, logs, slack, cosines, turn) -> np.ndarray:
    """Whether a value lies between the least and the largest sum that the rounding allows."""
    mirrored = (value[0], -value[1])
    return at_most_the_largest(value, logs, slack, cosines, turn) & at_most_the_largest(
        mirrored, logs, slack, -cosines, turn
    )


@pytest.mark.parametrize("radius", [30.0, 1e4])
@pytest.mark.parametrize("name", crt.MECHANISMS)
def test_far_points_are_summed_from_terms_that_are_right(name: str, radius: float) -> None:
    """Interval arithmetic with the rounding of every term, as `cases.features` counts it.

    A term is off by at most (d + 9)·eps times the summed sizes of its logarithm and of its angle.
    The sum of M terms, exp and log add M + 9 roundings, those of the logarithm relative to it.
    """
    mechanism, omega, x, y = scene(name, 3, radius, 1)
    wide, *arrays = widened(mechanism, omega, x, y)
    sizes = discrete_sizes if mechanism.discrete else exponential_sizes
    pairs = zip(*(sizes(wide, arrays[0], points) for points in arrays[1:]), strict=True)
    slack, turn = ((3 + 9) * EPS * (1 + one[:, None] + other) for one, other in pairs)
    logs, cosines = terms(mechanism, omega, x, y)
    value = [np.asarray(each, "f8") for each in crt.log_estimate_kernel(mechanism, omega, x, y)]
    slack = slack + (FEATURES + 9) * EPS * (1 + abs(logs))
    given = logs, slack, cosines, turn * mechanism.complex_features
    assert enclosed(value, *given).all()
    zero, flipped = (np.full_like(value[0], -np.inf), value[1]), (value[0], -value[1])
    moved = (value[0] + 2 * slack.max() + np.log(2), value[1])
    for planted in (zero, flipped, moved):
        assert not enclosed(planted, *given).all()


@pytest.mark.parametrize("radius", [30.0, 1e4])
@pytest.mark.parametrize("name", crt.MECHANISMS)
def test_far_points(name: str, radius: float) -> None:
    """Positive features: the log of each estimate. Others: at most the mean of |f1·f2|."""
    mechanism, omega, x, y = scene(name, 3, radius, 1)
    logs, _, sizes = both(mechanism, omega, x, y)
    single, single_sign = (
        np.asarray(each, "f8") for each in crt.log_estimate_kernel(mechanism, omega, x, y)
    )
    squares = [np.sum(np.asarray(each, "f8") ** 2, -1) for each in (x, y, omega)]
    bound = 16 * EPS * (1 + squares[0][:, None] + squares[1] + squares[2].max())
    assert not np.isnan(single).any() and not np.isnan(single_sign).any()
    assert (single_sign != 0).any()
    if mechanism.complex_features or mechanism.signed_features:
        assert (single <= sizes + bound).all()
    else:
        assert (abs(single - logs) <= bound).all()


def narrow_sums(mechanism, omega, x, y, c):
    """The operator with features and sums rounded to bfloat16 after every step."""
    fx, fy = (mechanism.features(each, omega, side) for each, side in ((x, "x"), (y, "y")))

    def add(total, row):
        return total + row[0][:, None] * row[1], None

    empty = jnp.zeros((omega.shape[0], c.shape[1]), c.dtype)
    sums, _ = jax.lax.scan(add, empty, (fy, c))
    return fx @ sums / omega.shape[0]


@pytest.mark.parametrize("name", crt.MECHANISMS)
def test_half_precision_is_summed_in_float32(name: str) -> None:
    """The result of the same rounded inputs in float32, rounded once more: by 2⁻⁹ at most."""
    draw = np.random.default_rng(3)
    x, y = (jnp.asarray(draw.uniform(0, 0.5, size=(n, 3)), jnp.bfloat16) for n in (5, 700))
    c = jnp.asarray(draw.uniform(0.5, 1, size=(700, 1)), jnp.bfloat16)
    mechanism = crt.MECHANISMS[name].fit(x, y)
    omega = mechanism.sample(jax.random.key(0), FEATURES, 3)
    x_wide, y_wide, c_wide = (each.astype(jnp.float32) for each in (x, y, c))
    wide = np.asarray(crt.apply_kernel(mechanism, omega, x_wide, y_wide, c_wide))
    half = crt.apply_kernel(mechanism, omega, x, y, c)
    assert half.dtype == jnp.bfloat16 and (wide != 0).all()
    assert (abs(np.asarray(half, "f4") - wide) <= 2.0**-8 * abs(wide)).all()
    if not mechanism.complex_features:
        planted = np.asarray(narrow_sums(mechanism, omega, x, y, c), "f4")
        assert (abs(planted - wide) > 2.0**-8 * abs(wide)).all()
    entries = np.asarray(crt.estimate_kernel(mechanism, omega, x, y), "f4")
    exact = np.asarray(crt.estimate_kernel(mechanism, omega, x_wide, y_wide))
    assert (abs(entries - exact) <= 2.0**-8 * abs(exact)).all()


@hypothesis.given(
    scale=st.floats(-6, 4).map(lambda power: 10.0**power),
    seed=st.integers(0, 2**16),
    zeros=st.booleans(),
)
@hypothesis.settings(max_examples=15)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_never_nan(dtype: str, scale: float, seed: int, zeros: bool) -> None:
    draw = np.random.default_rng(seed)
    x, y = (scale * draw.uniform(-1, 1, size=(4, 2)) for _ in range(2))
    if zeros:
        x[:2], y[0] = 0, 0
    x, y = jnp.asarray(x, dtype), jnp.asarray(y, dtype)
    for value in everything(x, y):
        assert not np.isnan(np.asarray(value, "f4")).any()


@jax.jit
def everything(x, y):
    """Entries, logs, operator and regression of a real, a signed and a complex mechanism."""
    results = []
    for name in ("oprf", "geom", "gerf", "pois+"):
        mechanism = crt.MECHANISMS[name].fit(x, y)
        omega = mechanism.sample(jax.random.key(0), 8, 2)
        results += [*crt.log_estimate_kernel(mechanism, omega, x, y)]
        results += [crt.regress(mechanism, omega, x, y, y)]
    return results
