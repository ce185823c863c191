"""A certificate is issued for what is true and for nothing else, on each leg separately."""

from typing import Any

import pytest
from flint import acb
from sympy import Expr, S, cos, exp, sin

from derivations import certificate
from derivations.certificate import (
    POINTS,
    CertificateError,
    certify,
    issued,
    must_fail,
    points,
    refute,
    reject,
    verify,
)
from derivations.domain import Complex, Real, Vector, Whole
from derivations.symbols import A, d, l, x, z

WHERE = {z: Real(0, 3)}
ONE = S.One


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificate, "_issued", [])


def without_symbolic_leg(monkeypatch: pytest.MonkeyPatch, answer: bool) -> None:
    """Make the symbolic leg say the same of everything, so that Arb alone decides."""
    monkeypatch.setattr(certificate, "vanishes", lambda residual: answer)


def without_arb_leg(monkeypatch: pytest.MonkeyPatch, same: bool) -> None:
    """Make the Arb leg say the same of everything, so that algebra alone decides."""
    monkeypatch.setattr(certificate, "agree", lambda *_: same)
    monkeypatch.setattr(certificate, "disjoint", lambda *_: not same)


def test_an_identity_is_certified_and_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    certify("thm", "Pythagoras", sin(z) ** 2 + cos(z) ** 2, ONE, where=WHERE)
    assert issued() == [{"kind": "identity", "statement": "thm", "what": "Pythagoras"}]
    assert capsys.readouterr().out.startswith("CERTIFIED [thm] Pythagoras: ")


def test_the_symbolic_leg_alone_refuses_a_wrong_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    without_arb_leg(monkeypatch, same=True)
    with pytest.raises(CertificateError, match="two derivations differ symbolically"):
        certify("thm", "halves", exp(z), exp(z / 2), where=WHERE)
    assert issued() == []


@pytest.mark.parametrize("wrong", [exp(z / 2), exp(z) * (1 + S(10) ** -29)], ids=str)
def test_the_arb_leg_alone_refuses_a_wrong_identity(
    monkeypatch: pytest.MonkeyPatch, wrong: Expr
) -> None:
    without_symbolic_leg(monkeypatch, answer=True)
    with pytest.raises(CertificateError, match="thm: halves: Arb disagrees at z = "):
        certify("thm", "halves", exp(z), wrong, where=WHERE)
    assert issued() == []


def test_a_reference_that_disagrees_is_an_error() -> None:
    right: Any = {"where": WHERE, "reference": lambda at: certificate.enclose(exp(at[z]), {})}
    certify("thm", "exp", exp(z), exp(z), **right)
    wrong: Any = {"where": WHERE, "reference": lambda at: acb(1)}
    with pytest.raises(CertificateError, match="Arb disagrees"):
        certify("thm", "exp", exp(z), exp(z), **wrong)


def test_a_planted_error_is_rejected_and_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    reject("thm", "half lost", exp(z / 2), exp(z), where=WHERE)
    assert issued() == [{"kind": "planted", "statement": "thm", "what": "half lost"}]
    out = capsys.readouterr().out
    assert out.startswith("REJECTED [thm] planted error (half lost)")
    assert f"at {POINTS} of {POINTS} points" in out


def test_rejecting_what_is_right_fails_on_the_symbolic_leg(monkeypatch: pytest.MonkeyPatch) -> None:
    without_arb_leg(monkeypatch, same=False)
    with pytest.raises(CertificateError, match="symbolic leg accepts the planted error: none"):
        reject("thm", "none", exp(z), exp(2 * z) * exp(-z), where=WHERE)
    assert issued() == []


def test_rejecting_what_is_right_fails_on_the_arb_leg(monkeypatch: pytest.MonkeyPatch) -> None:
    without_symbolic_leg(monkeypatch, answer=False)
    with pytest.raises(CertificateError, match="Arb accepts the planted error: none"):
        reject("thm", "none", exp(z), exp(2 * z) * exp(-z), where=WHERE)
    assert issued() == []


def test_refuting_wants_a_difference() -> None:
    refute("thm", "printed", exp(z), exp(-z), {z: ONE})
    assert issued() == [{"kind": "refuted", "statement": "thm", "what": "printed"}]
    with pytest.raises(CertificateError, match="not refuted at z = 0"):
        refute("thm", "printed", exp(z), exp(-z), {z: S.Zero})
    with pytest.raises(CertificateError, match="not refuted"):
        refute("thm", "right", cos(z) ** 2, 1 - sin(z) ** 2, {z: ONE})
    assert len(issued()) == 1


def test_verify_takes_nothing_but_true() -> None:
    verify("thm", "fact", True)
    assert issued() == [{"kind": "fact", "statement": "thm", "what": "fact"}]
    for value in (False, None, 1, z > 0):
        with pytest.raises(CertificateError, match="thm: fact: does not hold"):
            verify("thm", "fact", value)  # type: ignore[arg-type]
    assert len(issued()) == 1


def test_must_fail_wants_a_failure() -> None:
    must_fail("thm", "false fact", lambda: verify("thm", "fact", False))
    assert issued() == [{"kind": "planted", "statement": "thm", "what": "false fact"}]
    with pytest.raises(CertificateError, match="the planted error was accepted: true fact"):
        must_fail("thm", "true fact", lambda: None)


def test_must_fail_lets_a_broken_check_through() -> None:
    """A check that crashes has not refused anything."""
    with pytest.raises(ZeroDivisionError):
        must_fail("thm", "crash", lambda: 1 / 0)
    assert issued() == []


def test_the_record_cannot_be_changed_from_outside() -> None:
    issued().append({"kind": "fact"})
    assert issued() == []


def test_points_depend_on_the_key_and_lie_in_the_domain() -> None:
    where = {
        x: Vector(Real(-2, 2)),
        A: Complex(Real(0, 1), Real(5, 6)),
        z: Real(0, 1),
        d: Whole(2, 4),
    }
    drawn: list[Any] = list(points("a", where))
    assert drawn == points("a", where)
    assert drawn != points("b", where)
    assert len(drawn) == POINTS
    for at in drawn:
        assert len(at[x]) == at[d] and 2 <= at[d] <= 4
        assert all(-2 < entry < 2 for entry in at[x])
        assert 0 < at[z] < 1
        assert 0 < at[A].as_real_imag()[0] < 1 and 5 < at[A].as_real_imag()[1] < 6


def test_a_dimension_is_drawn_for_vectors_only() -> None:
    assert all(d in at for at in points("a", {x: Vector(Real(0, 1))}))
    assert not any(d in at or l in at for at in points("a", WHERE))
