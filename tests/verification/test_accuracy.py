"""The accuracy check accepts what is shipped and refuses planted losses of digits."""

import secrets

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from crt import formulas
from derivations.domain import Real, Vector, Whole
from derivations.library import load_formulas
from verification.accuracy import DTYPES, Probe, measure
from verification.sampling import clip, sample

POINTS, STEPS = 60, 1


@pytest.fixture
def seed() -> int:
    return secrets.randbits(62)


@pytest.mark.slow  # `make verify` measures every formula as well
@pytest.mark.parametrize("name", load_formulas())
def test_a_slice_of_the_bound_holds(name: str, seed: int) -> None:
    for dtype in DTYPES:
        result = measure(name, dtype, POINTS, STEPS, seed)
        assert result.passed, f"{result} (seed {seed})"


def printed_rho_star(z, d):
    return (jnp.sqrt((2 * z + d) ** 2 + 8 * d * z) - 2 * z - d) / (4 * z)


def naive_log_variance_pos(z, n):
    return jnp.log(jnp.exp(2 * z - 2 * n) - jnp.exp(z - 2 * n))


def half_precision(function):
    def rounded(*args):
        return function(*args).astype(jnp.bfloat16).astype(args[0].dtype)

    return rounded


VARIANCE_TRIG = formulas.variance_trig
FAULTS = {
    "the printed form of rho_star cancels": ("rho_star", printed_rho_star),
    "a plain logarithm overflows": ("log_variance_pos", naive_log_variance_pos),
    "half precision": ("b_of_rho", half_precision(formulas.b_of_rho)),
    "a constant off by 1e-5": ("variance_trig", lambda z: 1.00001 * VARIANCE_TRIG(z)),
    "all zero": ("lambda_star", lambda stat, d: 0 * stat),
    "not a number": ("lambda_star", lambda stat, d: jnp.nan * stat),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_planted_losses_are_seen(
    fault: str, dtype: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, wrong = FAULTS[fault]
    monkeypatch.setattr(formulas, name, wrong)
    assert not measure(name, dtype, 200, STEPS, seed).passed


def test_the_hill_climb_makes_points_worse(seed: int) -> None:
    still = measure("variance_pos", "float32", 20, 0, seed)
    climbed = measure("variance_pos", "float32", 20, 25, seed)
    assert climbed.points > still.points
    assert climbed.worst > still.worst


def test_a_run_is_repeated_by_its_seed(seed: int) -> None:
    first, second = (measure("rho_star", "float32", 50, 2, seed) for _ in range(2))
    assert first == second


def test_complex_moments_are_compared_with_the_second_moment() -> None:
    probe = Probe("log_variance_gerf", "float64")
    real, almost = ([0.01, im, -1.0, 4.0, 0.5, 1.0] for im in (0.0, 1e-3))
    assert probe.scale(almost, []) > probe.scale(real, []) + 1


@pytest.mark.parametrize("dtype", DTYPES)
def test_samples_stay_in_their_range(dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    ranges = [Real(0, 1, open_low=True), Real(-3, 0.125, open_high=True), Real(0.1, 0.3)]
    for allowed in ranges:
        values = sample(allowed, (4000,), dtype, rng).astype("float64")
        low, high = float(allowed.low), float(allowed.high)
        assert np.all(values > low if allowed.open_low else values >= low)
        assert np.all(values < high if allowed.open_high else values <= high)
    whole = sample(Whole(1, 9), (500,), dtype, rng)
    assert set(whole.tolist()) == set(range(1, 10))
    moved = clip(np.array([[5.0, -5.0]], dtype), Vector(Real(-1, 1)))
    assert moved.tolist() == [[1.0, -1.0]]


def test_jax_runs_in_the_dtype_that_is_measured() -> None:
    for dtype in DTYPES:
        with jax.enable_x64(dtype == "float64"):
            probe = Probe("rho_star", dtype)
            columns = [np.ones(2, dtype), np.ones(2, dtype)]
        assert probe.compute(columns).dtype == dtype
