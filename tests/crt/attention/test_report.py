"""Predicted errors of kernel and output are those that many draws show."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import crt
from crt.attention import Report
from tests.crt.attention.setups import Setup
from tests.crt.refusals import refuses

SETUP = Setup(batch=2, queries=12, keys=12, heads=2, key_heads=1, dim=4, features=64)
MASK = jnp.arange(12) < jnp.array([[9], [12]])
DRAWS = 100


@pytest.mark.parametrize(
    ("name", "scale", "is_causal"),
    [("oprf", 0.7, False), ("pos", 0.25, False), ("oprf", 0.5, True)],
)
def test_predictions_are_what_draws_show(name: str, scale: float, is_causal: bool) -> None:
    """The mean square over 100 independent draws, each head, against the variance.

    Squares of the error spread by about their own size, so their mean over draws by 10 %, and the
    error itself by half of that: 25 % is five standard deviations. The output's
    prediction is of first order; its relative error at M = 64 is of the order of the squared error.
    """
    attend = crt.FavorAttention(SETUP.features, name, orthogonal=False)
    # The tails of PosRF are heavy: at larger scales draws that are never seen make its variance.
    q, k, v = SETUP.arrays(1, scale)
    found, report = [], attend.report(q, k, v, key_mask=MASK, is_causal=is_causal)
    for key in jax.random.split(jax.random.key(4), DRAWS):
        seen = attend.report(
            q, k, v, attend.sample(key, SETUP.dim), key_mask=MASK, is_causal=is_causal
        )
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
    assert bad.verdict.endswith(f"loses to it in 2; it needs M ≥ {int(bad.needed.max())}.")
    # From there on the prediction is below the uniform average, and one before it is not.
    enough = int(bad.needed[0])
    assert crt.FavorAttention(enough).report(4 * q, 4 * k, v).wins[0]
    one_less = crt.FavorAttention(enough - 1, orthogonal=False).report(4 * q, 4 * k, v)
    assert not one_less.wins[0]


def test_trigonometric_features_have_no_predicted_output() -> None:
    q, k, v = SETUP.arrays(3, 0.3)
    report = crt.FavorAttention(64, "trig").report(q, k, v)
    assert np.isfinite(report.kernel_predicted).all() and np.isnan(report.output_predicted).all()
    assert not report.wins.any() and not report.loses.any()
    assert report.verdict == (
        "Whether trig with M = 64 is closer to softmax than a uniform average is not known, for "
        "its error is neither predicted nor observed."
    )


def plain(**given: np.ndarray) -> Report:
    both = np.array([0.5, 0.9])
    return Report("oprf", 16, both, both, np.array([0.8, 0.8]), **given)


@pytest.mark.parametrize(
    ("observed", "ending"),
    [
        ([0.5, 0.7], "average is in all 2 heads."),
        # 16·(0.9/0.8)² = 20.25, and 16·2² = 64 is not yet below.
        ([0.5, 0.9], "average is in 1 of 2 heads and loses to it in 1; it needs M ≥ 21."),
        ([1.6, 0.9], "average is in 0 of 2 heads and loses to it in 2; it needs M ≥ 65."),
        # Three digits of 16·(1000.4/0.8)² = 25,020,004.
        ([0.5, 1000.4], "loses to it in 1; it needs M ≥ 2.51e+07."),
        ([0.5, np.inf], "average is in 1 of 2 heads and loses to it in 1."),
        ([0.5, np.nan], "average is in 1 of 2 heads, which is not known of 1."),
        ([0.9, np.nan], "in 0 of 2 heads, which is not known of 1, and loses to it in 1; "
         "it needs M ≥ 21."),
    ],
)  # fmt: skip
def test_the_verdict_goes_by_one_error(observed: list[float], ending: str) -> None:
    """What is observed decides, on who wins and on how many features are needed alike."""
    report = plain(output_observed=np.array(observed))
    assert report.verdict.endswith(ending)
    np.testing.assert_array_equal(report.wins, report.needed <= report.num_features)


@pytest.mark.filterwarnings("ignore:trigonometric features")
@pytest.mark.parametrize("name", ["oprf", "trig"])
def test_a_causal_report_is_that_of_the_causal_call(name: str) -> None:
    attend = crt.FavorAttention(SETUP.features, name)
    q, k, v = SETUP.arrays(6, 0.5)
    # The first query of the first element sees no key at all.
    mask = MASK.at[0, 0].set(False)
    rho = attend.calibrate(q, k, mask) if name == "oprf" else None
    omega = attend.sample(jax.random.key(7), SETUP.dim)
    report = attend.report(q, k, v, omega, rho=rho, key_mask=mask, is_causal=True)
    rows = attend.rows(q, k, omega, rho, mask, is_causal=True)
    logits = np.einsum("btnh,bsh->bnts", q, k[:, :, 0]) / SETUP.dim**0.5
    seen = np.tril(np.broadcast_to(np.asarray(mask)[:, None, None], logits.shape))
    exact = np.where(seen, np.exp(logits), 0)
    flat = seen / np.maximum(seen.sum(-1, keepdims=True), 1)
    exact /= np.maximum(exact.sum(-1, keepdims=True), 1e-30)
    out, approximate, average = (
        np.einsum("bnts,bsv->nbtv", each, v[:, :, 0]) for each in (exact, rows, flat)
    )

    def relative(other: np.ndarray) -> np.ndarray:
        """RMS over RMS, for each head."""
        return np.sqrt(np.mean((other - out) ** 2, (1, 2, 3)) / np.mean(out**2, (1, 2, 3)))

    assert report.output_observed is not None
    np.testing.assert_allclose(report.output_observed, relative(approximate), rtol=1e-4)
    np.testing.assert_allclose(report.uniform, relative(average), rtol=1e-5)
    both = attend.report(q, k, v, omega, rho=rho, key_mask=mask)
    assert np.abs(both.uniform / report.uniform - 1).min() > 0.01


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
    "with is_causal=True they must be equal": lambda: ATTEND.report(Q[:, :5], K, V, is_causal=True),
    "rows is 0": lambda: ATTEND.report(Q, K, V, rows=0),
    "shows no key": lambda: ATTEND.report(Q, K, V, key_mask=jnp.zeros((2, 12), bool), rho=0.5),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_refusals_are_one_sentence(sentence: str, unchecked) -> None:
    refuses(REFUSED[sentence], sentence)
