"""Arb's values are right, narrow and comparable, or are refused."""

import pytest
from flint import acb, arb, ctx
from sympy import (
    Eq,
    Expr,
    I,
    Integer,
    Max,
    Min,
    Piecewise,
    Rational,
    S,
    Sum,
    Symbol,
    atan2,
    besseli,
    cos,
    erf,
    exp,
    hyper,
    log,
    pi,
    sin,
    sqrt,
)

from derivations.arb import (
    ArbError,
    Evaluator,
    UnknownFunctionError,
    agree,
    describe,
    disjoint,
    enclose,
)
from derivations.special import Expm1Ratio, Log1pRatio
from derivations.symbols import A, d, l, x, z

DIGITS = 30
SLIGHTLY_MORE = "1.0000000000000000000000000001"


def number(text: str) -> acb:
    """The decimal number `text`, exact to well beyond the digits compared."""
    before = ctx.prec
    try:
        ctx.prec = 300
        return acb(arb(text))
    finally:
        ctx.prec = before


# Known to 40 digits and more from tables, or exact.
KNOWN: dict[str, tuple[Expr, str]] = {
    "e": (exp(S.One), "2.7182818284590452353602874713526624977572"),
    "I0(2)": (besseli(0, S(2)), "2.2795853023360672674372044408115333532858"),
    "1F1(1; 2; 1) = e - 1": (
        hyper([1], [2], S.One),
        "1.7182818284590452353602874713526624977572",
    ),
    "0F1(; 1; 1) = I0(2)": (hyper([], [1], S.One), "2.2795853023360672674372044408115333532858"),
    "root": (sqrt(S(2)), "1.4142135623730950488016887242096980785697"),
    "reciprocal root": (1 / sqrt(S(2)), "0.70710678118654752440084436210484903928484"),
    "angle": (4 * atan2(S.One, S.One), "3.1415926535897932384626433832795028841972"),
    "largest and smallest": (Max(z, 2, 1) + Min(z, 5), "13"),
    "limit at 0": (Expm1Ratio(z - 8) + Log1pRatio(z - 8), "2"),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_values(name: str) -> None:
    expr, text = KNOWN[name]
    value = enclose(expr, {z: Integer(8)})
    assert agree(value, number(text), DIGITS)
    assert not agree(value, number(text) * number(SLIGHTLY_MORE), DIGITS)


def test_cancellation_costs_no_digits() -> None:
    tiny = Rational(1, 10**30)
    value = enclose(1 - cos(z), {z: tiny})
    assert agree(value, enclose(2 * sin(z / 2) ** 2, {z: tiny}), DIGITS)
    assert not agree(value, enclose(z**2 / 2 * (1 + Rational(1, 10**29)), {z: tiny}), DIGITS)


def test_an_exact_zero_in_disguise_is_a_ball_around_zero() -> None:
    value = enclose(sin(z) ** 2 + cos(z) ** 2 - 1, {z: Rational(1, 3)})
    assert value.contains(0)
    assert agree(value, acb(0), DIGITS)
    assert not agree(value, acb("1e-100"), DIGITS)


@pytest.mark.parametrize("exponent", [0, 200, 1000, 20_000])
def test_agreement_is_relative_at_every_size(exponent: int) -> None:
    value = enclose(exp(-z), {z: Integer(exponent)})
    assert agree(value, value, DIGITS)
    assert not agree(value, value * number(SLIGHTLY_MORE), DIGITS)
    assert not agree(value, acb(0), DIGITS)


def test_agreement_counts_the_whole_ball() -> None:
    wide = acb(arb(1, 1e-20))
    assert not agree(wide, acb(1), DIGITS)
    assert agree(wide, acb(1), 15)
    assert not agree(acb(1), acb(1, "1e-20"), DIGITS)


def test_disjoint_needs_certainty() -> None:
    assert disjoint(acb(1), acb("1.0000001"))
    assert not disjoint(acb(1), acb(arb("1.0000001", 1e-6)))
    assert disjoint(acb(1), acb(1, 1e-9))


def test_unknown_functions_are_refused_by_name() -> None:
    with pytest.raises(UnknownFunctionError, match=r"erf in erf\(z\)"):
        enclose(1 + erf(z), {z: S.One})


@pytest.mark.parametrize("expr", [log(z), 1 / z, 1 / sqrt(z)], ids=str)
def test_a_pole_is_refused(expr: Expr) -> None:
    with pytest.raises((ArbError, ZeroDivisionError)):
        enclose(expr, {z: S.Zero})


def test_sums_run_over_the_coordinates_of_the_point() -> None:
    point = {x: [Integer(2), Integer(3), Integer(5)], d: Integer(3)}
    assert enclose(Sum(x[l] ** 2, (l, 1, d)), point) == 38
    assert enclose(Sum(l * x[l], (l, 2, d)), point) == 21


def test_complex_points() -> None:
    assert agree(enclose(exp(A), {A: I * pi / 2}), acb(0, 1), DIGITS)


STEP = Piecewise((1, z < Rational(1, 4)), (2, Eq(z, Rational(1, 4))), (3, True))


@pytest.mark.parametrize(("at", "branch"), [(S.Zero, 1), (Rational(1, 4), 2), (S.Half, 3)])
def test_a_boundary_that_is_a_binary_fraction_is_decided(at: Expr, branch: int) -> None:
    assert enclose(STEP, {z: at}) == branch


def test_no_branch_is_chosen_by_rounding() -> None:
    third = Rational(1, 3)
    with pytest.raises(ArbError, match="cannot be decided"):
        Evaluator({z: third}).decide(z <= third)
    assert Evaluator({z: third}).decide(z <= third + Rational(1, 10**9))
    assert not Evaluator({z: third}).decide(z <= third - Rational(1, 10**9))


def test_a_piecewise_that_does_not_apply_is_refused() -> None:
    with pytest.raises(ArbError, match="no branch"):
        enclose(Piecewise((1, z < 2)), {z: Integer(3)})


def test_precision_is_restored() -> None:
    before = ctx.prec
    enclose(exp(z), {z: S.One}, digits=200)
    assert ctx.prec == before


def test_points_are_described() -> None:
    assert describe({z: Rational(1, 3), x: [S.One, S.Half], Symbol("w"): I}) == (
        "z = 0.333333, x = [1.00000, 0.500000], w = 1.0*I"
    )
