"""What the units of the variance study compute, against direct computation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import crt
from experiments.data import Origin
from experiments.variance import errors, logs, methods, sensitivity
from experiments.variance.regimes import DIM, REGIMES, pairs

DIGITS = {"name": "mnist", "stand_in": "digits", "sha256": ""}


@pytest.mark.parametrize("regime", REGIMES)
def test_regimes_have_their_moments(regime: str) -> None:
    x, y = pairs(regime, 0.5, 600, 3, DIGITS)
    assert x.shape == y.shape == (600, DIM) and x.dtype == np.float32
    again = pairs(regime, 1.0, 600, 3, DIGITS)
    np.testing.assert_allclose(2 * x, again[0], rtol=1e-6)
    assert np.any(pairs(regime, 0.5, 600, 4, DIGITS)[0] != x)
    square = np.mean(np.sum(x.astype(float) ** 2, axis=1))
    # 600·64 normal squares: relative deviation (2/38400)^{1/2} = 0.0072; 0.06 is 8 of them.
    expected = {"normal": 16.0, "sphere": 0.25, "heterogen": 16.0}
    if regime in expected:
        assert square == pytest.approx(expected[regime], rel=0.06)
        shift = 0.5 if regime == "heterogen" else 0.0
        # 38400 entries of deviation at most 0.5: 8 deviations of their mean are 0.021.
        assert y.mean() == pytest.approx(shift, abs=0.021)
    else:
        assert x.min() >= 0 and x.max() <= 0.5


@pytest.mark.parametrize("mechanism", [crt.TrigRF(), crt.OPRF(0.6)])
def test_moments_are_those_of_all_pairs(mechanism: crt.Mechanism) -> None:
    draw = np.random.default_rng(0)
    x, y = draw.normal(size=(5, DIM)) / 8, draw.normal(size=(7, DIM)) / 8
    with jax.enable_x64(True):
        every = np.asarray(mechanism.log_variance(x[:, None], y[None]))
        mean, spread, log_mean = (float(each) for each in logs.moments(mechanism, x, y))
        small = logs.moments(mechanism, jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32))
    assert mean == pytest.approx(every.mean(), rel=1e-12)
    assert spread == pytest.approx(every.std(), rel=1e-9)
    assert log_mean == pytest.approx(np.log(np.mean(np.exp(every))), rel=1e-12)
    # Norms of size 1 rounded at 2^-24, 64 of them.
    assert float(small[0]) == pytest.approx(mean, abs=64 * 2.0**-24 * 4)


def test_orthogonal_ratio_is_that_of_the_estimators_variances() -> None:
    draw = np.random.default_rng(1)
    x, y = draw.normal(size=(3, DIM)) / 8, draw.normal(size=(4, DIM)) / 8
    mechanism = crt.OPRF(0.8)
    with jax.enable_x64(True):
        both = [
            np.asarray(mechanism.estimator_variance(x[:, None], y[None], DIM, orthogonal))
            for orthogonal in (True, False)
        ]
        found = float(logs.orthogonal_ratio(mechanism, x, y))
    assert found == pytest.approx(np.mean(np.log(both[0] / both[1])), rel=1e-9)
    assert found < -0.1


def test_real_features_count_twice() -> None:
    assert logs.halved(crt.TrigRF) == logs.halved(crt.GERF) == 0
    assert logs.halved(crt.OPRF) == logs.halved(crt.GeomRF) == pytest.approx(np.log(2))


def test_the_map_names_every_mechanism() -> None:
    found = methods.methods()
    assert [row["name"] for row in found] == list(crt.MECHANISMS)
    assert {row["name"] for row in found if row["known"] == "before"} == {"trig", "pos"}
    assert {row["values"] for row in found} == {"complex", "signed", "positive"}


CASES = {
    ("trig", "gerf"): (crt.TrigRF(), crt.GERF(0.0, -1.0)),
    ("pos", "oprf"): (crt.PosRF(), crt.OPRF(1.0)),
    ("oprf", "gerf"): (crt.OPRF(0.5), crt.GERF((1 - 1 / 0.5) / 8, 1.0)),
    ("pois", "optpois"): (crt.PoisRF(0.3), crt.OptPoisRF(np.full(3, 0.3))),
    ("pois", "pois+"): (crt.PoisRF(0.3), crt.PoisRFPlus(0.3, np.zeros(3))),
    ("geom", "geom+"): (crt.GeomRF(0.4), crt.GeomRFPlus(0.4, np.zeros(3))),
}


@pytest.mark.parametrize("case", methods.SPECIAL_CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_special_cases_have_the_same_second_moment(case: tuple[str, str, str]) -> None:
    """At positive points, where a shift by 0 changes nothing but the ε of the features."""
    special, general = CASES[case[0], case[1]]
    x, y = np.array([0.3, 0.7, 0.2]), np.array([0.5, 0.1, 0.4])
    with jax.enable_x64(True):
        one, other = (float(each.log_second_moment(x, y)) for each in (special, general))
    assert one == pytest.approx(other, abs=1e-6)


def test_points_have_mean_squared_length_one() -> None:
    for name in ("mnist", "banknote"):
        stand_in = "digits" if name == "mnist" else "breast_cancer"
        origin = vars(Origin(name, stand_in, ""))
        x = errors.points(name, 40, origin)
        assert len(x) == 40 and np.mean(np.sum(x.astype(float) ** 2, axis=1)) == pytest.approx(1)


def test_resizing_keeps_a_plain_image_and_differs_on_others() -> None:
    plain = np.full((2, 28, 28), 0.25)
    for way in list(sensitivity.RESIZED)[:3]:
        np.testing.assert_allclose(sensitivity.RESIZED[way](plain), 0.25, rtol=1e-14)
    image = np.random.default_rng(0).uniform(size=(1, 28, 28))
    ways = [resize(image) for resize in list(sensitivity.RESIZED.values())[:3]]
    assert all(each.shape == (1, 8, 8) for each in ways)
    # New centres lie at 1.75, 5.25, …: pixels 1, 5, …, or a quarter from 1 towards 2.
    assert ways[2][0, 0, 0] == image[0, 1, 1]
    mixed = np.array([0.75, 0.25])
    assert ways[1][0, 0, 0] == pytest.approx(mixed @ image[0, 1:3, 1:3] @ mixed)
