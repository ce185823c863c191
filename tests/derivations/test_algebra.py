"""Exact zeros are found, and nothing else passes for one."""

import pytest
from sympy import (
    Abs,
    Expr,
    I,
    Rational,
    Sum,
    Symbol,
    arg,
    atan2,
    cos,
    exp,
    im,
    log,
    pi,
    re,
    sin,
    sqrt,
)

from derivations.algebra import positive_by_coefficients, power_sums, vanishes
from derivations.special import Expm1, Log1p, LogCosh
from derivations.symbols import A, d, l, n, s, x, y, z


def total(term: Expr, first: object = 1, last: object = d) -> Expr:
    """The sum of a term over coordinates, all of them unless told otherwise."""
    return Sum(term, (l, first, last))


ZEROS = {
    "polarisation": total((x[l] + y[l]) ** 2 - x[l] ** 2 - y[l] ** 2) - 2 * total(x[l] * y[l]),
    "a constant summed": total(3) - 3 * d,
    "a factor drawn out": total(z * x[l]) - z * total(x[l]),
    "logarithm of a product": log(z * n) - log(z) - log(n),
    "both signs": (1 + s) * (1 - s),
    "modulus by parts": Abs(1 - 8 * A) ** 2 - (1 - 8 * re(A)) ** 2 - 64 * im(A) ** 2,
    "stand-ins unfolded": Log1p(Expm1(z)) - z,
    "angle of a square": 2 * arg(1 - 8 * A)
    - arg(1 - 8 * A)
    - atan2(-8 * im(A) * (1 - 8 * re(A)), (1 - 8 * re(A)) ** 2),
    "half angles": 2 * cos(z / 2) ** 2 - 1 - cos(z),
}

# Each of these is 0 somewhere, or under a looser reading, but not everywhere.
OTHERS = {
    "one coordinate less": total(x[l]) - total(x[l], first=2),
    "another dimension": total(x[l]) - total(x[l], last=d - 1),
    "the coordinate itself drawn out": total(l * x[l]) - l * total(x[l]),
    "two sums multiplied": total(x[l]) ** 2 - total(x[l] ** 2),
    "imaginary part of a complex sum": im(total(exp(I * x[l]))),
    "angle of a square in the left half-plane": 2 * arg(1 - 8 * A)
    - atan2(-16 * im(A) * (1 - 8 * re(A)), (1 - 8 * re(A)) ** 2 - 64 * im(A) ** 2),
    "a turn": 2 * pi * I,
    "logarithm of a complex square": log(A**2) - 2 * log(A),
    "root of a complex square": sqrt(A**2) - A,
    "one sign only": 1 - s,
    "modulus of a real part": Abs(1 - 8 * A) - (1 - 8 * re(A)),
    "tiny": Rational(1, 10**40),
    "stand-in without its constant": LogCosh(z) - log(exp(z) + exp(-z)),
    "sine for cosine": 2 * sin(z / 2) ** 2 - 1 - cos(z),
}


@pytest.mark.parametrize("name", ZEROS)
def test_a_zero_vanishes(name: str) -> None:
    assert vanishes(ZEROS[name])


@pytest.mark.parametrize("name", OTHERS)
def test_anything_else_does_not_vanish(name: str) -> None:
    assert not vanishes(OTHERS[name])


def test_power_sums_are_linear_and_know_their_monomials() -> None:
    expanded = power_sums(total((x[l] + 2) ** 2))
    square, plain = power_sums(total(x[l] ** 2)), power_sums(total(x[l]))
    assert square != plain
    assert expanded == square + 4 * plain + 4 * d


def test_positive_by_coefficients() -> None:
    u, v = Symbol("u"), Symbol("v")
    assert positive_by_coefficients((u**2 + 3 * v) / (1 + u), u, v)
    assert positive_by_coefficients((-u - v) / (-1 - v), u, v)
    assert not positive_by_coefficients((u**2 - u + 1) / (1 + u), u, v)
    assert not positive_by_coefficients((u + v) / (-1 - v), u, v)
