"""Arb values and sensitivities of a formula at float points, by compiled ball arithmetic.

The value comes from the formula's *definition*; the sensitivity `Σ_i |x_i·∂f/∂x_i|`, which scales
the error bound, from the printed form (the two are proved equal, and the latter differentiates
without cancellation). Complex parameters enter by their parts.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import sympy as sp
from flint import acb, arb, ctx, fmpq
from sympy import Expr
from sympy.tensor.indexed import Indexed, IndexedBase

from derivations.domain import Complex, Vector
from derivations.formula import Formula
from derivations.library import load_formulas
from derivations.special import Special

PRECISIONS = (128, 256, 512, 1024, 2048, 4096, 8192, 16384)

_METHODS = {
    sp.exp: "{}.exp()",
    sp.log: "{}.log()",
    sp.cos: "{}.cos()",
    sp.sin: "{}.sin()",
    sp.tanh: "{}.tanh()",
    sp.Abs: "number(abs({}))",
    sp.re: "number({}.real)",
    sp.im: "number({}.imag)",
    sp.arg: "number({}.arg())",
    sp.sign: "number({}.real.sgn())",
}


class _Source:
    """Python source of an expression over Arb numbers."""

    def __init__(self) -> None:
        self.constants: dict[str, Any] = {}

    def __call__(self, node: Any) -> str:
        if isinstance(node, sp.Integer):
            return f"number({int(node)})"
        if isinstance(node, sp.Rational):
            name = f"q{len(self.constants)}"
            self.constants[name] = fmpq(int(node.p), int(node.q))
            return f"number({name})"
        if node is sp.I:
            return "acb(0, 1)"
        if isinstance(node, sp.Symbol):
            return str(node)
        if isinstance(node, sp.Add | sp.Mul):
            sign = " + " if isinstance(node, sp.Add) else " * "
            return f"({sign.join(map(self, node.args))})"
        if isinstance(node, sp.Pow):
            return self._power(*node.args)
        if isinstance(node, Special):
            return self._special(node)
        if isinstance(node, sp.Derivative | sp.Subs):
            return 'number("nan")'  # of a remainder, or of 1F1 in d: such a slope counts as 0
        if isinstance(node, sp.Piecewise):
            return self._piecewise(node)
        return self._function(node)

    def _power(self, base: Any, exponent: Any) -> str:
        if exponent == sp.S.Half:
            return f"{self(base)}.sqrt()"
        if exponent.is_Integer:
            return f"({self(base)}) ** ({int(exponent)})"
        return f"(({self(exponent)}) * {self(base)}.log()).exp()"

    def _special(self, node: Special) -> str:
        names = [sp.Symbol(f"t{i}") for i in range(len(node.arguments))]
        inner = f"(lambda {', '.join(map(str, names))}: {self(node.definition(*names))})"
        values = ", ".join(map(self, node.arguments))
        if node.at_zero is None:
            return f"{inner}({values})"
        return f"at_zero({inner}, {self(node.at_zero)}, {values})"

    def _piecewise(self, node: Any) -> str:
        *cases, (last, _) = node.args
        text = self(last)
        for value, condition in reversed(cases):
            text = f"({self(value)} if {self(condition)} else {text})"
        return text

    def _function(self, node: Any) -> str:
        if isinstance(node, sp.core.relational.Relational):
            return f"(({self(node.lhs)}).real {node.rel_op} ({self(node.rhs)}).real)"
        if isinstance(node, sp.Heaviside):
            return f"number(({self(node.args[0])}).real > 0)"
        if isinstance(node, sp.Max | sp.Min):
            first, *others = map(self, node.args)
            name = "max" if isinstance(node, sp.Max) else "min"
            return first + "".join(f".{name}({other})" for other in others)
        if isinstance(node, sp.Mod):
            return f"remainder({self(node.args[0])}, {self(node.args[1])})"
        if isinstance(node, sp.besseli):
            return f"{self(node.args[1])}.bessel_i({self(node.args[0])})"
        if isinstance(node, sp.hyper):
            upper, lower = (", ".join(map(self, args)) for args in node.args[:2])
            return f"{self(node.args[2])}.hypgeom([{upper}], [{lower}])"
        if isinstance(node, sp.atan2):
            return f"number(arb.atan2(({self(node.args[0])}).real, ({self(node.args[1])}).real))"
        if type(node) not in _METHODS:
            raise TypeError(f"no Arb source for {type(node).__name__} in {node}")
        return _METHODS[type(node)].format(f"({self(node.args[0])})")


def _at_zero(function: Callable[..., Any], value: Any, *arguments: Any) -> Any:
    return value if arguments[0] == 0 else function(*arguments)


def _remainder(top: Any, bottom: Any) -> Any:
    return type(top)(top.real.unique_fmpz() % bottom.real.unique_fmpz())


def compile_arb(names: Sequence[str], outputs: Sequence[Expr], number: type) -> Callable[..., list]:
    """A Python function of Arb numbers that returns the values of `outputs`, shared parts once."""
    shared, reduced = sp.cse(list(outputs), symbols=sp.numbered_symbols("c_"))
    source = _Source()
    lines = [f"    {name} = {source(value)}" for name, value in shared]
    lines.append(f"    return [{', '.join(map(source, reduced))}]")
    text = f"def compiled({', '.join(names)}):\n" + "\n".join(lines)
    namespace: dict[str, Any] = {"acb": acb, "arb": arb, "number": number}
    namespace |= {"at_zero": _at_zero, "remainder": _remainder}
    exec(text, namespace | source.constants, namespace := {})
    return namespace["compiled"]


def by_parts(expr: Expr, formula: Formula) -> Expr:
    """`expr` with every complex argument A replaced by `A_re + i·A_im`."""
    for arg, allowed in formula.domain.items():
        if isinstance(allowed, Complex):
            re, im = sp.symbols(f"{arg}_re {arg}_im", real=True)
            expr = expr.xreplace({sp.re(arg): re, sp.im(arg): im}).subs(arg, re + sp.I * im)
    return expr


class Reference:
    """Value and sensitivity of one formula; its inputs are the scalars, then the vectors."""

    def __init__(self, formula: Formula):
        self.formula = formula
        entries = formula.domain.items()
        vectors = [a for a, r in entries if isinstance(r, Vector)]
        if formula.vector_valued:  # one coordinate is a formula of scalars
            vectors = []
        self.vectors = [str(v.label) for v in vectors]
        self.scalars: list[str] = []
        for arg, allowed in entries:
            if arg not in vectors:
                label = str(arg.label) if isinstance(arg, IndexedBase) else str(arg)
                parts = [f"{label}_re", f"{label}_im"]
                self.scalars += parts if isinstance(allowed, Complex) else [label]
        complex_valued = any(isinstance(r, Complex) for _, r in entries)
        self.number: type = acb if complex_valued or _needs_complex(formula) else arb
        self._value = _Compiled(self._plain(formula.stated), self, gradient=False)
        self._slope = _Compiled(self._plain(formula.full), self, gradient=True)

    def _plain(self, expr: Expr) -> Expr:
        if self.formula.vector_valued:
            names = {e: sp.Symbol(str(e.base.label), real=True) for e in expr.atoms(Indexed)}
            expr = expr.xreplace(names)
        return _bare(by_parts(expr, self.formula))

    def value(self, scalars: Sequence[float], vectors: Sequence[Sequence[float]] = ()) -> acb:
        """A ball around f with at least 70 correct bits, or around a number that is 0 to any float.

        Where the definition reads 0/0 or cancels to an exact 0, the printed form decides.
        """
        try:
            return _refined(lambda: self._value(scalars, vectors)[0], PRECISIONS)
        except (ArithmeticError, ZeroDivisionError):
            return _refined(lambda: self._slope(scalars, vectors)[0], PRECISIONS[:3])

    def sensitivity(self, scalars: Sequence[float], vectors: Sequence[Sequence[float]] = ()) -> arb:
        """`Σ_i |x_i·∂f/∂x_i|` over scalars, parts and coordinates; undefined slopes count as 0."""
        inputs = [*scalars, *(entry for vector in vectors for entry in vector)]

        def total() -> arb:
            slopes = self._slope(scalars, vectors)[1:]
            sizes = (abs(slope) * abs(arb(x)) for x, slope in zip(inputs, slopes, strict=True))
            return sum((size for size in sizes if size.is_finite()), arb(0))

        return _refined(total, PRECISIONS, bits=20).real


def _bare(expr: Expr) -> Expr:
    """Assumption-free symbols, so that names alone tell arguments apart."""
    bare = {s: sp.Symbol(s.name, real=True) for s in expr.free_symbols if isinstance(s, sp.Symbol)}
    return expr.xreplace(bare)


def _needs_complex(formula: Formula) -> bool:
    return formula.stated.has(sp.I, sp.hyper)


def _refined(compute: Callable[[], Any], precisions: Sequence[int], bits: int = 70) -> acb:
    before = ctx.prec
    try:
        for precision in precisions:
            ctx.prec = precision
            value = acb(compute())
            if value.is_finite() and (value == 0 or value.rel_accuracy_bits() >= bits):
                return value
            if value.is_finite() and abs(value).upper() < arb(2) ** -1100:
                return value
    finally:
        ctx.prec = before
    raise ArithmeticError(f"Arb cannot decide the value within {precisions[-1]} bits")


class _Compiled:
    """An expression over scalars and vectors: value and, if asked, all partial derivatives."""

    def __init__(self, expr: Expr, reference: Reference, gradient: bool):
        self.number, self.vectors, self.gradient = reference.number, reference.vectors, gradient
        scalars = [sp.Symbol(name, real=True) for name in reference.scalars]
        sums = sorted(expr.atoms(sp.Sum), key=str)
        totals = [sp.Symbol(f"T{i}", real=True) for i in range(len(sums))]
        outer = expr.xreplace(dict(zip(sums, totals, strict=True)))
        names = [*reference.scalars, *(["d"] if self.vectors else []), *map(str, totals)]
        inputs = [*scalars, *totals]
        slopes = [sp.diff(outer, s) for s in inputs] if gradient else []
        self._outer = compile_arb(names, [outer, *slopes], self.number)
        self._inner = [self._summand(total, reference, scalars) for total in sums]

    def _summand(self, total: sp.Sum, reference: Reference, scalars: list) -> Callable[..., list]:
        entries = {e: sp.Symbol(str(e.base.label), real=True) for e in total.atoms(Indexed)}
        summand = total.function.xreplace(entries)
        coordinates = [sp.Symbol(name, real=True) for name in self.vectors]
        slopes = [sp.diff(summand, s) for s in [*scalars, *coordinates]] if self.gradient else []
        names = [*reference.scalars, "d", *self.vectors]
        return compile_arb(names, [summand, *slopes], self.number)

    def __call__(self, scalars: Sequence[float], vectors: Sequence[Sequence[float]]) -> list:
        given = [self.number(x) for x in scalars]
        if not self.vectors:
            return self._outer(*given)
        columns = [[self.number(x) for x in vector] for vector in vectors]
        size = self.number(len(columns[0]))
        per_sum = [
            [inner(*given, size, *entry) for entry in zip(*columns, strict=True)]
            for inner in self._inner
        ]
        totals = [sum((row[0] for row in rows), self.number(0)) for rows in per_sum]
        value, *slopes = self._outer(*given, size, *totals)
        return [value, *self._chain(slopes, per_sum, len(given))] if self.gradient else [value]

    def _chain(self, slopes: list, per_sum: list, scalars: int) -> list:
        """Partial derivatives by scalar, then by coordinate, through the sums."""
        outer, through = slopes[:scalars], slopes[scalars:]
        result = list(outer)
        for i in range(scalars):
            for factor, rows in zip(through, per_sum, strict=True):
                result[i] += factor * sum((row[1 + i] for row in rows), self.number(0))
        for j in range(len(self.vectors)):
            for k in range(len(per_sum[0])):
                at = 1 + scalars + j
                terms = (f * rows[k][at] for f, rows in zip(through, per_sum, strict=True))
                result.append(sum(terms, self.number(0)))
        return result


@functools.cache
def reference_of(name: str) -> Reference:
    """The reference of a generated formula, compiled once."""
    return Reference(load_formulas()[name])
