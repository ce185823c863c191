"""Rigorous values of SymPy expressions: Arb balls (python-flint) at exact points.

The evaluator knows a closed list of functions and refuses the rest; precision is raised until the
ball is as narrow as asked, so cancellation costs time, never digits.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import sympy as sp
from flint import acb, arb, ctx, fmpq
from sympy import Expr
from sympy.tensor.indexed import Indexed, IndexedBase

from derivations.special import Special
from derivations.symbols import d as dimension

Value = Expr | list[Expr]
Point = Mapping[Any, Value]


class ArbError(ValueError):
    """An expression that cannot be evaluated rigorously at a point."""


class UnknownFunctionError(ArbError):
    """An expression with a function outside the evaluator's list."""


def _power(node: Any, at: "Evaluator") -> acb:
    base, exponent = node.args
    if exponent == sp.S.Half:
        return at(base).sqrt()
    if exponent == -sp.S.Half:
        return at(base).rsqrt()
    if exponent.is_Integer and abs(int(exponent)) < 10_000:
        return at(base) ** int(exponent)
    return at(base).pow(at(exponent))


def _piecewise(node: Any, at: "Evaluator") -> acb:
    for value, condition in node.args:
        if at.decide(condition):
            return at(value)
    raise ArbError("no branch of a Piecewise applies")


def _extreme(largest: bool) -> Callable[[Any, "Evaluator"], acb]:
    def evaluate(node: Any, at: "Evaluator") -> acb:
        values = [at(arg).real for arg in node.args]
        result = values[0]
        for value in values[1:]:
            result = result.max(value) if largest else result.min(value)
        return acb(result)

    return evaluate


def _sum_over_coordinates(node: Any, at: "Evaluator") -> acb:
    index, first, last = node.limits[0]
    stop = int(sp.Integer(last.subs(dimension, at.point[dimension])))
    total = acb(0)
    for k in range(int(first), stop + 1):
        total += Evaluator({**at.point, index: sp.Integer(k)})(node.function)
    return total


def _indexed(node: Any, at: "Evaluator") -> acb:
    entries = cast(list[Expr], at.point[node.base])
    position = at.point.get(node.indices[0], node.indices[0])
    return at(entries[int(cast(Expr, position)) - 1])


def _absolute(node: Any, at: "Evaluator") -> acb:
    value = at(node.args[0])
    return acb(abs(value))


def _remainder(node: Any, at: "Evaluator") -> acb:
    """The remainder of whole numbers."""
    top, bottom = (at(arg).real.unique_fmpz() for arg in node.args)
    if top is None or bottom is None:
        raise ArbError(f"{node} is not a remainder of whole numbers")
    return acb(top % bottom)


_RULES: dict[type, Callable[[Any, "Evaluator"], acb]] = {
    sp.Pow: _power,
    sp.Piecewise: _piecewise,
    sp.Max: _extreme(largest=True),
    sp.Min: _extreme(largest=False),
    sp.Sum: _sum_over_coordinates,
    Indexed: _indexed,
    sp.Abs: _absolute,
    sp.exp: lambda node, at: at(node.args[0]).exp(),
    sp.log: lambda node, at: at(node.args[0]).log(),
    sp.cos: lambda node, at: at(node.args[0]).cos(),
    sp.sin: lambda node, at: at(node.args[0]).sin(),
    sp.cosh: lambda node, at: at(node.args[0]).cosh(),
    sp.sinh: lambda node, at: at(node.args[0]).sinh(),
    sp.tanh: lambda node, at: at(node.args[0]).tanh(),
    sp.re: lambda node, at: acb(at(node.args[0]).real),
    sp.im: lambda node, at: acb(at(node.args[0]).imag),
    sp.arg: lambda node, at: acb(at(node.args[0]).arg()),
    sp.atan2: lambda node, at: acb(arb.atan2(at(node.args[0]).real, at(node.args[1]).real)),
    sp.atan: lambda node, at: at(node.args[0]).atan(),
    sp.Mod: _remainder,
    sp.sign: lambda node, at: acb(at(node.args[0]).real.sgn()),
    sp.conjugate: lambda node, at: at(node.args[0]).conjugate(),
    sp.gamma: lambda node, at: at(node.args[0]).gamma(),
    sp.loggamma: lambda node, at: at(node.args[0]).lgamma(),
    sp.factorial: lambda node, at: (at(node.args[0]) + 1).gamma(),
    sp.RisingFactorial: lambda node, at: at(node.args[0]).rising(at(node.args[1])),
    sp.besseli: lambda node, at: at(node.args[1]).bessel_i(at(node.args[0])),
    sp.hyper: lambda node, at: at(node.args[2]).hypgeom(
        [at(a) for a in node.args[0]], [at(b) for b in node.args[1]]
    ),
}


class Evaluator:
    """Evaluates expressions at one exact point with the current Arb precision."""

    def __init__(self, point: Point):
        self.point = point

    def __call__(self, node: Any) -> acb:
        if node in self.point:
            value = self.point[node]
            return value if isinstance(value, acb) else Evaluator({})(value)
        if isinstance(node, sp.Rational):
            return acb(fmpq(int(node.p), int(node.q)))
        if node in (sp.nan, sp.zoo, sp.oo, -sp.oo):
            raise ArbError(f"{node} is not a number")
        if node is sp.I:
            return acb(0, 1)
        if node is sp.pi:
            return acb(arb.pi())
        if node is sp.E:
            return acb(1).exp()
        if isinstance(node, sp.Add):
            return sum((self(arg) for arg in node.args), acb(0))
        if isinstance(node, sp.Mul):
            product = acb(1)
            for arg in node.args:
                product *= self(arg)
            return product
        if isinstance(node, Special):
            return self._special(node)
        rule = _RULES.get(type(node))
        if rule is None:
            raise UnknownFunctionError(f"no Arb rule for {type(node).__name__} in {node}")
        return rule(node, self)

    def _special(self, node: Special) -> acb:
        values = [self(argument) for argument in node.arguments]
        if node.at_zero is not None and values[0] == 0:
            return self(node.at_zero)
        holes = [sp.Dummy() for _ in values]
        inside = {**self.point, **dict(zip(holes, cast(list[Any], values), strict=True))}
        return Evaluator(inside)(node.definition(*holes))

    def decide(self, condition: Any) -> bool:
        """Truth of a comparison, from disjoint balls only."""
        if condition in (sp.true, sp.false, True, False):
            return bool(condition)
        if not isinstance(condition, sp.core.relational.Relational):
            raise ArbError(f"no Arb rule for the condition {condition}")
        left, right = self(condition.lhs).real, self(condition.rhs).real
        if left.is_exact() and right.is_exact():
            return bool(condition.func(*(sp.Rational(str(v.fmpq())) for v in (left, right))))
        gap = left - right
        if gap.contains(0):
            raise ArbError(f"{condition} cannot be decided")
        return bool(condition.func(1 if gap > 0 else -1, 0))


def enclose(
    expr: Expr, point: Point, digits: int = 32, lets: Sequence[tuple[sp.Symbol, Expr]] = ()
) -> acb:
    """A ball around the value of `expr` at `point` with at least `digits` correct digits.

    `lets` are intermediate names of `expr`, each computed once from those before it.
    """
    wanted = int(digits * 3.33) + 8
    before = ctx.prec
    try:
        for precision in (192, 384, 768, 1536, 3072, 6144, 12288, 24576):
            ctx.prec = precision
            value = Evaluator(_with_names(point, lets))(expr)
            if value.is_finite() and (value == 0 or value.rel_accuracy_bits() >= wanted):
                return value
            if value.is_finite() and abs(value) < arb(2) ** (-4 * wanted) and precision > 6000:
                return value
    finally:
        ctx.prec = before
    raise ArbError(f"Arb does not reach {digits} digits of {expr} at {describe(point)}")


def _with_names(point: Point, lets: Sequence[tuple[sp.Symbol, Expr]]) -> Point:
    known: dict[Any, Any] = dict(point)
    for name, value in lets:
        known[name] = Evaluator(known)(value)
    return known


def at_precision(compute: Callable[[], acb], bits: int = 256) -> acb:
    """The value of `compute` with Arb working at `bits`."""
    before = ctx.prec
    try:
        ctx.prec = bits
        return compute()
    finally:
        ctx.prec = before


def agree(first: acb, second: acb, digits: int = 30) -> bool:
    """True only if every pair of numbers in the balls agrees to `digits` digits."""

    def compare() -> acb:
        # Two values that Arb cannot tell from 0 have no digits: there the difference counts itself.
        zeros = first.contains(0) and second.contains(0)
        scale = arb(2) ** -400 if zeros else max(abs(first).upper(), abs(second).upper())
        return acb((abs(first - second) / scale).upper())

    return bool(at_precision(compare).real < arb(10) ** -digits)


def disjoint(first: acb, second: acb) -> bool:
    """True if the balls have no number in common: the two values certainly differ."""
    return not first.overlaps(second)


def describe(point: Point) -> str:
    """The point as text, for messages."""

    def show(value: Value) -> str:
        if isinstance(value, list):
            return "[" + ", ".join(show(v) for v in value) + "]"
        return str(sp.N(value, 6))

    named = {k: v for k, v in point.items() if isinstance(k, sp.Symbol | IndexedBase)}
    return ", ".join(f"{key} = {show(value)}" for key, value in named.items())
