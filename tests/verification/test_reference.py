"""Arb's value and sensitivity of a formula, against closed forms and against planted errors."""

import math

import pytest
from flint import arb
from sympy import Symbol, exp, log

from derivations.domain import Complex, Real, Vector
from derivations.formula import Formula
from derivations.library import load_formulas
from derivations.special import Expm1
from derivations.symbols import A, x, y, z
from verification.reference import Reference, reference_of

UNIT = Real(0, 1)


def made(expr, **more) -> Formula:
    domain = more.pop("domain", {z: UNIT})
    return Formula("probe", "thm", "A probe.", tuple(domain), domain, expr=expr, **more)


def close(ball, number: float) -> bool:
    return bool(abs(ball - number) < arb(1e-14) * (1 + abs(number)))


def test_the_value_comes_from_the_definition() -> None:
    wrong = made(Expm1(z), definition=exp(z) - 2)
    assert close(Reference(wrong).value([0.5]), math.exp(0.5) - 2)


def test_where_the_definition_is_undefined_the_printed_form_decides() -> None:
    assert Reference(made(z + 1, definition=z / z + z)).value([0.0]) == 1


def test_cancellation_costs_precision_not_digits() -> None:
    tiny = Reference(made(Expm1(z), definition=exp(z) - 1)).value([1e-200])
    assert tiny.rel_accuracy_bits() >= 70


def test_sensitivity_of_scalars_and_vectors() -> None:
    assert close(Reference(made(z**3)).sensitivity([0.5]), 3 * 0.125)
    kernel = Reference(load_formulas()["log_softmax_kernel"])
    assert close(kernel.sensitivity([], [[1.0, -2.0], [3.0, 0.5]]), 2 * (3 + 1))


def test_sensitivity_of_a_complex_parameter_counts_both_parts() -> None:
    allowed = {A: Complex(Real(-1, 0.1), Real(-1, 1))}
    value = Reference(made(log(1 - 4 * A), domain=allowed)).sensitivity([0.05, 0.02])
    size = abs(4 / (1 - 4 * (0.05 + 0.02j)))
    assert close(value, size * 0.07)


def test_vector_valued_formulas_are_seen_at_one_coordinate() -> None:
    both = {x: Vector(UNIT), y: Vector(UNIT)}
    from derivations.symbols import l

    product = Reference(made(x[l] * y[l], domain=both))
    assert product.value([3.0, 0.25]) == 0.75


def test_unknown_functions_are_refused() -> None:
    from sympy import erf

    with pytest.raises(TypeError, match="erf"):
        Reference(made(erf(z)))


def test_every_formula_has_a_reference() -> None:
    for name in load_formulas():
        assert reference_of(name).formula.name == name


def test_names_with_equal_text_are_one_argument() -> None:
    other = Symbol("z", positive=True)
    assert Reference(made(other**2, domain={other: UNIT})).value([3.0]) == 9
