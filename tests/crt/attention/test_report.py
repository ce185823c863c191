"""Predicted errors of kernel and output are those that many draws show."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import crt
from crt.attention import Report
from tests.crt.attention.setups import Setup

SETUP = Setup(batch=2, queries=12, keys=12, heads=2, key_heads=1, dim=4, features=64)
MASK = jnp.arange(12) < jnp.array([[9], [12]])
DRAWS = 100


@pytest.mark.parametrize(("name", "scale"), [("oprf", 0.7), ("pos", 0.25)])
def test_predictions_are_what_draws_show(name: str, scale: float) -> None:
    """The mean square over 100 independent draws, each head, against the variance.

    Squares of the error spread by about their own size, so their mean over draws by 10 %, and the
    error itself by half of that: 25 % is five standard deviations. The output's
    prediction is of first order; its relative error at M = 64 is of the order of the squared error.
    """
    attend = crt.FavorAttention(SETUP.features, name, orthogonal=False)
    # The tails of PosRF are heavy: at larger scales draws that are never seen make its variance.
    q, k, v = SETUP.arrays(1, scale)
    found, report = [], attend.report(q, k, v, key_mask=MASK)
    for key in jax.random.split(jax.random.key(4), DRAWS):
        seen = attend.report(q, k, v, attend.sample(key, SETUP.dim), key_mask=MASK)
        found.append((seen.kernel_observed, seen.output_observed))
    kernel, output = np.sqrt(np.mean(np.square(found), axis=0))
    assert np.abs(kernel / report.kernel_predicted - 1).max() < 0.25
    assert np.abs(output / report.output_predicted - 1).max() < 0.25
    # Twice the features would be told apart: that takes 29 % off the error.
    assert np.abs(2**0.5 * kernel / report.kernel_predicted - 1).min() > 0.05


def test_the_verdict_names_what_is_needed() -> None:
    q, k, v = SETUP.arrays(2, 0.5)
    good = crt.FavorAttention(512).report(q, k, v)
    assert good.wins.all() and good.kernel_observed is None
    assert good.verdict.endswith("in all 2 heads.")
    bad = crt.FavorAttention(2).report(4 * q, 4 * k, v)
    assert not bad.wins.any()
    assert bad.verdict.endswith(f"loses to it in 2; it needs M ≥ {bad.needed.max():.3g}.")
    # From there on the prediction is below the uniform average, and one before it is not.
    enough = int(bad.needed[0])
    assert crt.FavorAttention(enough).report(4 * q, 4 * k, v).wins[0]
    one_less = crt.FavorAttention(enough - 1, orthogonal=False).report(4 * q, 4 * k, v)
    assert not one_less.wins[0]


def test_trigonometric_features_have_no_predicted_output() -> None:
    q, k, v = SETUP.arrays(3, 0.3)
    report = crt.FavorAttention(64, "trig").report(q, k, v)
    assert np.isfinite(report.kernel_predicted).all() and np.isnan(report.output_predicted).all()
    assert report.verdict.endswith("loses to it in 2.")


def plain(**given: np.ndarray) -> Report:
    both = np.array([0.5, 0.9])
    return Report("oprf", 16, both, both, np.array([0.8, 0.8]), np.array([7.0, 21.0]), **given)


def test_the_plot_shows_every_series() -> None:
    axis = plain(output_observed=np.array([0.4, 1.0])).plot()
    labels = [text.get_text() for text in axis.get_legend().get_texts()]
    series = {"output, predicted", "output, observed", "kernel, predicted"}
    assert set(labels) == series | {"uniform average"}
    assert len(axis.patches) == 6
    assert plain().plot(axis) is axis


def test_a_plot_without_matplotlib_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        plain().plot()


Q, K, V = SETUP.arrays(5)
ATTEND = crt.FavorAttention(8)
REFUSED = {
    "report needs": lambda: crt.FavorAttention(8, "relu").report(Q, K, V),
    "query is traced": lambda: jax.jit(lambda q: ATTEND.report(q, K, V).uniform)(Q),
    r"rho has shape \(2, 2\)": lambda: ATTEND.report(Q, K, V, rho=jnp.full((2, 2), 0.5)),
    "rows is 0": lambda: ATTEND.report(Q, K, V, rows=0),
    "shows no key": lambda: ATTEND.report(Q, K, V, key_mask=jnp.zeros((2, 12), bool), rho=0.5),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_refusals_are_one_sentence(sentence: str, unchecked) -> None:
    with pytest.raises(ValueError, match=sentence) as caught:
        REFUSED[sentence]()
    said = str(caught.value)
    assert said.endswith(".") and ". " not in said and "\n" not in said
