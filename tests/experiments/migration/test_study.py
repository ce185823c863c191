"""The how-to shows what was measured, and the habits that are measured are really there."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.migration import study, textbook
from experiments.migration.operations import multiplications

ROOT = Path(__file__).resolve().parents[3]
SMALL = {"blocks": 2000, "length": 32, "seed": 0}


def test_the_table_of_the_how_to_is_that_of_the_results() -> None:
    numbers = json.loads((ROOT / "results" / "migration.laptop.json").read_text("utf-8"))
    text = (ROOT / "docs" / "migrating.md").read_text("utf-8")
    start, end = "<!-- table: results/migration.laptop.json -->\n", "\n<!-- end of table -->"
    assert text.split(start)[1].split(end)[0] == study.table(numbers)


def test_the_results_are_from_where_the_method_is_of_use() -> None:
    numbers = json.loads((ROOT / "results" / "migration.laptop.json").read_text("utf-8"))
    (row,) = (row for row in numbers["rows"] if row["point"] == "mechanism")
    assert row["ours"] < row["uniform"]
    compared = [row["point"] for row in numbers["rows"] if "uniform" in row]
    assert compared == ["mechanism", "epsilon-error", "renormalisation"]
    assert [row["point"] for row in numbers["rows"]] == list(study.POINTS)


def measured(name: str) -> dict[str, float]:
    point = study.POINTS[name]
    return point.measure(SMALL | dict(point.more))


@pytest.mark.parametrize("name", ["epsilon-4", "masks", "causality", "redraw"])
def test_ours_is_right_where_theirs_is_not(name: str) -> None:
    found = measured(name)
    assert found["ours"] <= 1e-5 < 1e-3 < found["theirs"]


def test_errors_against_softmax_share_all_but_one_habit() -> None:
    """FAVOR+ without additions is the same number in every row, and so is the uniform average."""
    pos, epsilon, bare = map(measured, ("mechanism", "epsilon-error", "renormalisation"))
    assert pos["theirs"] == epsilon["ours"] == bare["ours"]
    assert pos["uniform"] == epsilon["uniform"] == bare["uniform"]
    tokens = study.tokens(SMALL)
    plain = study.against_softmax(tokens, textbook=tokens.textbook())
    assert abs(plain["textbook"] / pos["theirs"] - 1) < 1e-4


def test_a_step_does_not_grow_and_the_call_does() -> None:
    at = {n: study.decoding({"seed": 0, "tokens": n}) for n in (128, 512)}
    assert at[128]["ours"] == at[512]["ours"]
    assert at[512]["theirs"] > 3 * at[128]["theirs"]


def test_multiplications_count_the_steps_of_a_scan() -> None:
    square = jnp.ones((5, 3))
    assert multiplications(jax.jit(lambda x: x @ x.T), square) == 5 * 3 * 5
    loop = jax.jit(lambda x: jax.lax.map(lambda row: square @ row, x))
    assert multiplications(loop, jnp.ones((7, 3))) == 7 * 15
    with pytest.raises(ValueError, match="loop"):
        multiplications(
            lambda x: jax.lax.while_loop(lambda y: y[0, 0] < 9, lambda y: y + 1, x), square
        )


def test_signs_are_all_that_the_libraries_change() -> None:
    """From sign-corrected directions a QR gives back the signs that it gave at first."""
    normal = np.random.default_rng(3).standard_normal((4, 6, 6))
    raw, r = np.linalg.qr(normal)
    right = raw * np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None, :]
    lengths = np.arange(1.0, 7.0)[:, None]
    omega = lengths * np.swapaxes(right, 1, 2)
    np.testing.assert_allclose(
        textbook.raw_signs(omega), lengths * np.swapaxes(raw, 1, 2), atol=1e-12
    )


def test_the_signs_of_qr_matter() -> None:
    found = study.raw_qr(SMALL)
    assert abs(found["theirs"]) > 0.1
    # The mean of 32,000 values of variance e - 1, before any gain of orthogonality.
    assert abs(found["ours"]) < 5 * (np.e - 1) ** 0.5 / 32_000**0.5


def test_textbook_attention_is_the_quotient_of_features() -> None:
    draw = np.random.default_rng(1)
    q, k, v = draw.standard_normal((3, 6, 4))
    omega = draw.standard_normal((5, 4))
    one, other = (
        np.exp(x / 2**0.5 @ omega.T - np.sum((x / 2**0.5) ** 2, axis=1, keepdims=True) / 2)
        for x in (q, k)
    )
    matrix = one @ other.T
    expected = matrix @ v / matrix.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(textbook.attend(q, k, v, omega), expected, rtol=1e-12)
