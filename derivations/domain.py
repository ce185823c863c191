"""Ranges of arguments: what a formula accepts, and where random points are drawn from."""

import random
from dataclasses import dataclass
from typing import Literal

from sympy import Expr, I, Integer, Rational


@dataclass(frozen=True)
class Real:
    """Numbers `low … high`; an open end is excluded."""

    low: float | Rational
    high: float | Rational
    open_low: bool = False
    open_high: bool = False
    kind: Literal["real"] = "real"

    def sample(self, rng: random.Random) -> Expr:
        """A rational inside the range; in wide ranges of every magnitude, from 0 or the low end."""
        low, high = Rational(str(self.low)), Rational(str(self.high))
        fraction = Rational(rng.randint(1, 10_006), 10_007)
        if high - low > 50:
            fraction = fraction * Rational(1, 10) ** rng.randint(0, 8)
            if low < 0 < high:
                return rng.choice((low, high)) * fraction
        return low + (high - low) * fraction

    def corners(self) -> list[Expr]:
        """The ends that belong to the range."""
        ends = [(self.low, self.open_low), (self.high, self.open_high)]
        return [Rational(str(value)) for value, is_open in ends if not is_open]

    def text(self, name: str) -> str:
        return f"{self.low} {'<' if self.open_low else '<='} {name} " + (
            f"{'<' if self.open_high else '<='} {self.high}"
        )


@dataclass(frozen=True)
class Whole:
    """Whole numbers `low … high`."""

    low: int
    high: int
    kind: Literal["real"] = "real"

    def sample(self, rng: random.Random) -> Expr:
        """Half of the draws are at most 8, so that small dimensions are seen often."""
        high = min(self.high, 8) if rng.random() < 0.5 else self.high
        return Integer(rng.randint(self.low, max(self.low, high)))

    def corners(self) -> list[Expr]:
        return [Integer(self.low), Integer(self.high)]

    def text(self, name: str) -> str:
        return f"{name} = {self.low} ... {self.high}"


@dataclass(frozen=True)
class Sign:
    """+1 or -1."""

    kind: Literal["real"] = "real"

    def sample(self, rng: random.Random) -> Expr:
        return Integer(rng.choice((-1, 1)))

    def corners(self) -> list[Expr]:
        return [Integer(-1), Integer(1)]

    def text(self, name: str) -> str:
        return f"{name} = +1 or -1"


@dataclass(frozen=True)
class Complex:
    """Complex numbers with real and imaginary part in given ranges."""

    real: Real
    imag: Real
    kind: Literal["complex"] = "complex"

    def sample(self, rng: random.Random) -> Expr:
        return self.real.sample(rng) + I * self.imag.sample(rng)

    def corners(self) -> list[Expr]:
        return [re + I * im for re in self.real.corners() for im in self.imag.corners()]

    def text(self, name: str) -> str:
        return f"{self.real.text(f'Re {name}')}, {self.imag.text(f'Im {name}')}"


@dataclass(frozen=True)
class Vector:
    """Vectors with every coordinate in `entry`; the last axis holds up to `limit` coordinates."""

    entry: Real
    limit: int = 64
    kind: Literal["vector"] = "vector"

    def sample(self, rng: random.Random) -> Expr:
        """One coordinate; a point draws d of them."""
        return self.entry.sample(rng)

    def corners(self) -> list[Expr]:
        return self.entry.corners()

    def text(self, name: str) -> str:
        return self.entry.text(f"{name}_l") + (f", d <= {self.limit}" if self.limit < 64 else "")


Range = Real | Whole | Sign | Complex | Vector
