"""Mutants of the formulas are killed or shown equivalent; a blind judge would be noticed."""

import secrets

import pytest
from sympy import Piecewise, Rational, erf, nan

from derivations.arb import UnknownFunctionError
from derivations.library import load_formulas
from verification import mutants
from verification.mutants import Mutant, judge, judge_some, mutants_of

FORMULAS = load_formulas()


def test_mutants_of_a_share_are_killed_or_equivalent() -> None:
    seed = secrets.randbits(62)
    judged = judge_some(480, seed, seed % 24, 24)
    assert len(judged) == 20
    assert [j for j in judged if j.verdict == "survived"] == [], f"seed {seed}"
    assert sum(j.verdict == "killed" for j in judged) > 10


def test_the_shares_hold_every_formula_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutants, "mutants_of", lambda formula: [formula.name])
    monkeypatch.setattr(mutants, "judge", lambda mutant: mutant)
    shares = [judge_some(None, 0, part, 24) for part in range(24)]
    assert sorted(str(name) for share in shares for name in share) == sorted(FORMULAS)


def test_there_are_two_thousand_mutants_of_every_kind() -> None:
    every = [m for formula in FORMULAS.values() for m in mutants_of(formula)]
    assert len(every) >= 2000
    assert {m.formula.name for m in every} == set(FORMULAS)
    text = "\n".join(m.change for m in every)
    for kind in ("-> sum", "-> product", "-> -", "101/100", "inverse power", "scaled", "z -> "):
        assert kind in text, kind
    assert all((m.expr, m.lets) != (m.formula.expr, m.formula.lets) for m in every)


def test_an_equivalent_change_is_proved_and_a_fault_is_killed() -> None:
    formula = FORMULAS["variance_trig"]
    same = Mutant(formula, "square of the negative", (-formula.expr) * -1, formula.lets)
    other = Mutant(formula, "written out", formula.stated, ())
    fault = Mutant(formula, "1 %", formula.expr * Rational(101, 100), formula.lets)
    assert judge(same).verdict == "equivalent"
    assert judge(other).verdict == "equivalent"
    assert judge(fault).verdict == "killed"


def test_a_blind_judge_reports_survivors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutants, "disjoint", lambda *_: False)
    formula = FORMULAS["b_of_rho"]
    fault = Mutant(formula, "1 %", formula.expr * 2, formula.lets)
    assert judge(fault).verdict == "survived"


def test_a_mutant_without_a_value_is_killed() -> None:
    formula = FORMULAS["variance_trig"]
    (z,) = formula.args
    pole = Mutant(formula, "no branch applies", Piecewise((z, z < 0)), ())
    assert judge(pole).verdict == "killed"
    assert judge(Mutant(formula, "not a number", z + nan, ())).verdict == "killed"


def test_a_function_without_an_arb_rule_is_no_kill() -> None:
    formula = FORMULAS["variance_trig"]
    with pytest.raises(UnknownFunctionError):
        judge(Mutant(formula, "an unknown function", erf(formula.args[0]), ()))
