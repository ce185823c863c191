"""The how-to shows what was measured, and the habits that are measured are really there."""

import json
from pathlib import Path

import numpy as np
import pytest

from experiments.migration import study, textbook

ROOT = Path(__file__).resolve().parents[3]
SMALL = {"blocks": 2000, "length": 32, "seed": 0}


def test_the_table_of_the_how_to_is_that_of_the_results() -> None:
    numbers = json.loads((ROOT / "results" / "migration.laptop.json").read_text("utf-8"))
    text = (ROOT / "docs" / "migrating.md").read_text("utf-8")
    start, end = "<!-- table: results/migration.laptop.json -->\n", "\n<!-- end of table -->"
    assert text.split(start)[1].split(end)[0] == study.table(numbers)


@pytest.mark.parametrize("name", ["epsilon-4", "masks", "causality"])
def test_ours_is_right_where_theirs_is_not(name: str) -> None:
    point = study.POINTS[name]
    found = point.measure(SMALL | dict(point.more))
    assert found["ours"] <= 1e-5 < 1e-3 < found["theirs"]


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
