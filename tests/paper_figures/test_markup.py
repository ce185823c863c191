import pytest

from paper_figures.bars import bar
from paper_figures.markup import element, figure_of, prose, table, text


def test_everything_is_escaped_but_markup() -> None:
    assert element("p", "<b>&", element("i", "x"), title='"') == (
        '<p title="&quot;">&lt;b&gt;&amp;<i>x</i></p>'
    )
    assert text(prose("a < b")) == "a &lt; b"
    assert "&lt;script&gt;" in table(["<script>"], [], "label")


@pytest.mark.parametrize(
    ("plain", "shown"),
    [
        ("e^(-z/2) and 10^{-4}", "e<sup>−z/2</sup> and 10<sup>−4</sup>"),
        ("Σ x_l²y_l², (d/2)_t", "Σ x<sub>l</sub>²y<sub>l</sub>², (d/2)<sub>t</sub>"),
        ("g_{x_m}", "g<sub>x<sub>m</sub></sub>"),
        ("exp(-½‖x-y‖²), 1-4A", "exp(−½‖x−y‖²), 1−4A"),
        ("P(|K̂-K| >= ε)", "P(|K̂−K| ≥ ε)"),
        ("a random-feature map, log_gerf_d, n_test", "a random-feature map, log_gerf_d, n_test"),
        ("x_l^2 < <i>", "x<sub>l</sub><sup>2</sup> &lt; &lt;i&gt;"),
    ],
)
def test_prose_sets_mathematics(plain: str, shown: str) -> None:
    assert prose(plain) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        (131072, "131\u202f072"),
        (-61.2215, "−61.22"),
        (1e-9, "10<sup>−9</sup>"),
        (1.25e-13, "1.25·10<sup>−13</sup>"),
        ("inf", "∞"),
        ("nan", "not a number"),
        (0.0, "0"),
    ],
)
def test_numbers_for_people(value: object, shown: str) -> None:
    assert figure_of(value) == shown


def at(**given: object) -> str:
    row = {"observed": 0.0, "predicted": 0.0, "allowed": 1.0, "detects": None, "passed": True}
    return str(bar(row | given) or "")


def test_a_bar_shows_where_the_observed_value_lies() -> None:
    assert 'cx="66.0"' in at() and "power" not in at()
    inside, power = at(observed=0.5), at(detects=2.0)
    assert 'class="seen"' in inside and inside != at(observed=-0.5)
    assert power.count('class="power"') == 2
    assert "missed" in at(observed=9.0, passed=False) and "path" in at(observed=9.0, passed=False)
    # A bound that holds with room to spare: its band is open to the left.
    assert 'x="6.0"' in at(observed=-5.0, allowed=0.0) and "missed" not in at(observed=-5.0)
    assert at(observed="nan") == ""
