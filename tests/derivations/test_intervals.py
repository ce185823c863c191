"""Branch and bound proves true inequalities on boxes, and says where and why it does not."""

import pytest
from flint import ctx
from sympy import Rational, Symbol, exp, log, symbols

from derivations import certificate
from derivations.certificate import CertificateError, issued
from derivations.intervals import prove_positive

u, v = symbols("u v", real=True)


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificate, "_issued", [])


def test_one_variable(capsys: pytest.CaptureFixture[str]) -> None:
    prove_positive("thm", "parabola", u**2 - u + 1, {u: (-5, 5)})
    assert issued() == [{"kind": "inequality", "statement": "thm", "what": "parabola"}]
    assert capsys.readouterr().out.startswith("CERTIFIED [thm] parabola: positive on u in [-5, 5]")


def test_two_variables() -> None:
    box = {u: (-1, 1), v: (Rational(-1, 3), 2)}
    prove_positive("thm", "valley", exp(u) + exp(v) - u - v - Rational(19, 10), box)
    with pytest.raises(CertificateError, match=r"fails at u = .*, v = "):
        prove_positive("thm", "valley", exp(u) + exp(v) - u - v - Rational(21, 10), box)
    assert len(issued()) == 1


def test_a_false_inequality_is_refuted_at_a_point() -> None:
    """Negative on an interval of length 0.02 only, which the search has to find."""
    with pytest.raises(CertificateError, match=r"thm: dip: fails at u = -?0\.\d+$"):
        prove_positive("thm", "dip", u**2 - Rational(1, 10_000), {u: (-3, 4)})
    assert issued() == []


def test_a_strict_inequality_with_equality_inside_stays_undecided() -> None:
    with pytest.raises(CertificateError, match=r"\d+ cells undecided, one near u = 0\.333"):
        prove_positive("thm", "touch", (u - Rational(1, 3)) ** 2, {u: (-1, 1)}, max_cells=50)
    assert issued() == []


def test_the_ends_belong_to_the_box() -> None:
    with pytest.raises(CertificateError, match="undecided, one near"):
        prove_positive("thm", "edge", u, {u: (0, 1)}, max_cells=50)


def test_a_pole_inside_is_not_passed_over() -> None:
    with pytest.raises(CertificateError, match="undecided"):
        prove_positive("thm", "pole", 1 / u**2, {u: (-1, 2)}, max_cells=50)


def test_a_value_that_is_not_real_is_not_positive() -> None:
    w = Symbol("w")
    with pytest.raises(CertificateError):
        prove_positive("thm", "no logarithm", log(w) + 10, {w: (-2, -1)}, max_cells=50)


def test_precision_is_restored_after_a_failure() -> None:
    before = ctx.prec
    with pytest.raises(CertificateError):
        prove_positive("thm", "false", -exp(u), {u: (0, 1)})
    assert ctx.prec == before
