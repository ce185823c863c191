"""Formulas read back from the committed notebooks are the ones the notebooks defined."""

from pathlib import Path

import pytest
from sympy import IndexedBase, Piecewise, Sum, Symbol

from derivations import library
from derivations.domain import Complex, Real, Sign, Vector, Whole
from derivations.formula import Formula
from derivations.library import LibraryError, describe, load_formulas, restore
from derivations.printer import print_formula
from derivations.special import Expm1, Log1p
from derivations.symbols import A, d, l, s, z


def probe() -> Formula:
    rates, c = IndexedBase("rates", positive=True), Symbol("c", real=True)
    ranges = {
        A: Complex(Real(-1, 0.125, open_high=True), Real(-1, 1)),
        s: Sign(),
        z: Real(0, 4),
        d: Whole(1, 3),
        rates: Vector(Real(0.1, 2)),
    }
    branches = Piecewise((c, s > 0), (Log1p(z), True))
    total = Sum(rates[l] + c, (l, 1, d))
    return Formula(
        "probe",
        "thm",
        "A probe.",
        tuple(ranges),
        ranges,
        expr=branches + total,
        definition=branches + total + z - z,
        lets=((c, Expm1(z)),),
        change={z: z + 1},
    )


def test_a_formula_survives_the_round_trip() -> None:
    assert restore(describe(probe())) == probe()


def test_a_changed_description_gives_another_formula() -> None:
    changed = describe(probe()) | {"expr": "Integer(1)"}
    assert restore(changed) != probe()


def test_a_notebook_that_was_never_run_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(library, "sources", lambda: [tmp_path / "01_new.py"])
    with pytest.raises(LibraryError, match="01_new was never run"):
        library.load_handovers.__wrapped__()


def test_the_library_holds_what_was_generated() -> None:
    generated = Path(__file__).parents[2].joinpath("crt", "formulas.py").read_text("utf-8")
    formulas = load_formulas()
    assert [f"def {name}(" in generated for name in formulas] == [True] * len(formulas)
    assert generated.count("\ndef ") == len(formulas)
    assert print_formula(formulas["gerf_c"], "x").count("(1 / 2)")
