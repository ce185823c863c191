"""Ranges draw inside themselves, know their closed ends, and say what they are."""

import random

import pytest
from sympy import I, Integer, Rational

from derivations.domain import Complex, Range, Real, Sign, Vector, Whole

WIDE = Real(0, 10_000, open_low=True)


def drawn(allowed: Range, count: int = 400) -> list:
    rng = random.Random(0)
    return [allowed.sample(rng) for _ in range(count)]


def test_draws_are_exact_and_inside() -> None:
    for value in drawn(Real(-0.25, 0.125)):
        assert value.is_Rational
        assert Rational(-1, 4) < value < Rational(1, 8)
    assert {*drawn(Sign())} == {-1, 1}
    assert {*drawn(Whole(2, 4))} == {2, 3, 4}


def test_wide_ranges_are_drawn_at_every_magnitude() -> None:
    values = drawn(WIDE)
    assert min(values) < 1 and max(values) > 5000
    assert all(0 < value < 10_000 for value in values)


def test_small_dimensions_are_drawn_often() -> None:
    values = drawn(Whole(1, 4096))
    assert sum(int(value) <= 8 for value in values) > 100
    assert max(values) > 2048


@pytest.mark.parametrize(
    ("allowed", "corners"),
    [
        (Real(0, 0.1), [0, Rational(1, 10)]),
        (WIDE, [10_000]),
        (Real(0, 1, open_low=True, open_high=True), []),
        (Whole(1, 64), [1, 64]),
        (Sign(), [-1, 1]),
        (Vector(Real(-1, 1)), [-1, 1]),
        (Complex(Real(0, 1, open_high=True), Real(-1, 1)), [-I, Integer(0) + I]),
    ],
)
def test_corners_are_the_ends_that_belong(allowed: Range, corners: list) -> None:
    assert allowed.corners() == corners


@pytest.mark.parametrize(
    ("allowed", "text"),
    [
        (WIDE, "0 < a <= 10000"),
        (Real(0, 1, open_high=True), "0 <= a < 1"),
        (Whole(1, 64), "a = 1 ... 64"),
        (Sign(), "a = +1 or -1"),
        (Vector(Real(-1, 1)), "-1 <= a_l <= 1"),
        (Complex(Real(0, 1), Real(-1, 1)), "0 <= Re a <= 1, -1 <= Im a <= 1"),
    ],
)
def test_text(allowed: Range, text: str) -> None:
    assert allowed.text("a") == text
