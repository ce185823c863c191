"""A formula is certified only if it is well formed, finite, and equal to its definition."""

import dataclasses
from typing import Any

import pytest
from sympy import Symbol, erf, exp, log, sqrt

from derivations import certificate, formula
from derivations.certificate import CertificateError, issued
from derivations.domain import Real, Vector, Whole
from derivations.formula import Formula, FormulaError, check_formulas, is_checked
from derivations.special import Expm1, Log1p
from derivations.symbols import d, l, n, s, x, z

UNIT = Real(0, 1)
u, w = Symbol("u", positive=True), Symbol("w", positive=True)


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificate, "_issued", [])
    monkeypatch.setattr(formula, "_checked", [])


def made(expr: Any, domain: Any = None, **more: Any) -> Formula:
    """A formula named `probe` of the arguments in `domain`."""
    domain = {z: UNIT} if domain is None else domain
    return Formula("probe", "thm", "A probe.", tuple(domain), domain, expr=expr, **more)


STABLE = made(-Expm1(-z), definition=1 - exp(-z))


def test_a_right_formula_is_certified(capsys: pytest.CaptureFixture[str]) -> None:
    check_formulas([STABLE])
    assert issued() == [{"kind": "formula", "statement": "thm", "what": "probe"}]
    assert capsys.readouterr().out.startswith("FORMULA probe [thm]: ")


@pytest.mark.parametrize("wrong", [Expm1(-z), -Expm1(z), -Expm1(-2 * z)], ids=str)
def test_a_mutated_stable_form_is_refused(wrong: Any) -> None:
    with pytest.raises(CertificateError, match="formula probe: the printed form is not"):
        check_formulas([STABLE.mutated(wrong)])
    assert issued() == []


def test_a_mutant_of_a_formula_without_separate_definition_is_refused() -> None:
    plain = made(exp(z))
    check_formulas([plain])
    with pytest.raises(CertificateError, match="formula probe: the printed form is not"):
        check_formulas([plain.mutated(exp(-z))])


def test_arb_refuses_a_mutated_form_on_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formula, "vanishes", lambda residual: True)
    with pytest.raises(CertificateError, match="formula probe: Arb disagrees at z = "):
        check_formulas([STABLE.mutated(-Expm1(-z) * (1 + z / 10**29))])


def test_checked_means_this_very_formula() -> None:
    check_formulas([STABLE])
    assert is_checked(STABLE)
    assert is_checked(dataclasses.replace(STABLE))
    assert not is_checked(STABLE.mutated(Expm1(-z)))
    assert not is_checked(dataclasses.replace(STABLE, domain={z: Real(0, 2)}))


LEMMAS = {
    "lets": ((w, sqrt(1 + z)),),
    "definition_lets": ((u, 1 + z),),
    "definition": log(u),
}


def test_lemmas_are_themselves_checked() -> None:
    check_formulas([made(2 * log(w), lemmas={u: w**2}, **LEMMAS)])
    with pytest.raises(CertificateError, match="printed form"):
        check_formulas([made(3 * log(w), lemmas={u: w**3}, **LEMMAS)])
    with pytest.raises(CertificateError, match="printed form"):
        check_formulas([made(3 * log(w), lemmas={u: w**2}, **LEMMAS)])


@pytest.mark.parametrize(
    ("expr", "domain", "corner"),
    [
        (1 / z, {z: UNIT}, "z = 0"),
        (log(1 - z), {z: UNIT}, "z = 1"),
        (log(z) + n, {n: UNIT, z: UNIT}, "n = 0, z = 0"),
        (1 / (d - 64), {d: Whole(1, 64)}, "d = 64"),
        (1 / x[l], {x: Vector(UNIT)}, r"x = \[0\]"),
    ],
    ids=["reciprocal", "logarithm", "second argument", "dimension", "vector"],
)
def test_a_singular_corner_of_the_domain_is_refused(expr: Any, domain: Any, corner: str) -> None:
    sentence = f"^formula probe is not finite at {corner}.*, inside its declared domain$"
    with pytest.raises(FormulaError, match=sentence):
        check_formulas([made(expr, domain)])


def test_an_open_end_may_be_singular() -> None:
    check_formulas([made(log(z), {z: Real(0, 1, open_low=True)})])


def test_a_function_that_arb_does_not_know_is_named() -> None:
    with pytest.raises(FormulaError, match=r"^formula probe: no Arb rule for erf in erf\(z\)$"):
        check_formulas([made(erf(z))])


@pytest.mark.parametrize(
    ("expr", "names"),
    [(z + n, "n"), (s * z * n, "n, s"), (z * d, "d"), (x[l] * z, "l, x")],
    ids=str,
)
def test_unknown_names_are_listed(expr: Any, names: str) -> None:
    with pytest.raises(FormulaError, match=f"^formula probe: unknown names {names}$"):
        made(expr)


def test_intermediate_names_are_known_and_substituted() -> None:
    nested = made(exp(w), lets=((u, 1 + z), (w, u**2)))
    assert nested.full == exp((1 + z) ** 2)
    with pytest.raises(FormulaError, match="unknown names u"):
        made(exp(w), lets=((w, u**2), (u, 1 + z)))


@pytest.mark.parametrize("args", [(), (z, n)], ids=str)
def test_arguments_and_domain_must_match(args: tuple[Any, ...]) -> None:
    with pytest.raises(FormulaError, match="formula probe: its arguments and its domain differ"):
        Formula("probe", "thm", "A probe.", args, {z: UNIT}, expr=exp(z))


def test_vector_formulas_are_certified() -> None:
    vector = {x: Vector(Real(-1, 1)), z: UNIT}
    check_formulas([made(Log1p(x[l] ** 2 * z), vector, definition=log(1 + z * x[l] ** 2))])
    with pytest.raises(CertificateError, match="printed form"):
        check_formulas([made(Log1p(x[l] ** 2), vector, definition=log(1 + z * x[l] ** 2))])


def test_one_name_for_two_things_is_refused() -> None:
    with pytest.raises(FormulaError, match="two things"):
        made(u, lets=((u, z),), definition=u, definition_lets=((u, z + 1),))
