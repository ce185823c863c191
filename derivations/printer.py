"""From a SymPy expression to JAX source: a closed list of operations, everything else refused."""

import re
import textwrap
from typing import Any

import sympy as sp
from sympy.printing.numpy import JaxPrinter
from sympy.tensor.indexed import Indexed, IndexedBase

from derivations.domain import Complex, Range, Vector
from derivations.formula import Formula, has_coordinates, substitute
from derivations.special import Special
from derivations.symbols import d, l

_FUNCTIONS = {
    sp.exp: "jnp.exp",
    sp.log: "jnp.log",
    sp.cos: "jnp.cos",
    sp.sin: "jnp.sin",
    sp.tanh: "jnp.tanh",
    sp.Abs: "jnp.abs",
    sp.atan2: "jnp.arctan2",
    sp.Mod: "jnp.mod",
}

ALLOWED = (
    sp.Symbol,
    sp.Rational,
    sp.Add,
    sp.Mul,
    sp.Pow,
    sp.Piecewise,
    sp.functions.elementary.piecewise.ExprCondPair,
    sp.core.relational.Relational,
    sp.logic.boolalg.BooleanTrue,
    sp.core.numbers.ImaginaryUnit,
    sp.Sum,
    sp.Tuple,
    Indexed,
    IndexedBase,
    sp.re,
    sp.im,
    sp.Max,
    Special,
    *_FUNCTIONS,
)


class PrintingError(ValueError):
    """An expression with an operation that has no JAX form here."""


class FormulaPrinter(JaxPrinter):
    """Prints one formula's expressions; knows which names are vectors or complex.

    `index` is the coordinate that the printed text runs over, on the last axis: names without that
    axis get one, so that they broadcast against the vectors.
    """

    def __init__(self, domain: dict[str, Range]):
        super().__init__({"fully_qualified_modules": False})
        self._domain = domain
        self.index: Any = None
        # Names that need no further axis; `d` is one as long as it is a shape, not an argument.
        self.spread = {k for k, r in domain.items() if isinstance(r, Vector)} | (
            {"d"} - set(domain)
        )

    def doprint(self, expr: Any, assign_to: Any = None) -> str:
        for node in sp.preorder_traversal(sp.sympify(expr)):
            if not isinstance(node, ALLOWED):
                raise PrintingError(f"no JAX form for {type(node).__name__} in {expr}")
        return super().doprint(expr, assign_to)

    def _print(self, expr: Any, **kwargs: Any) -> str:
        # A stand-in is never left to SymPy, whose printers know classes of the same name.
        return self._call(expr) if isinstance(expr, Special) else super()._print(expr, **kwargs)

    def _print_Symbol(self, expr: Any) -> str:
        name = str(expr)
        if expr == self.index:
            raise PrintingError(f"no JAX form for the coordinate's number {name}")
        is_complex = isinstance(self._domain.get(name), Complex)
        text = f"lax.complex({name}_re, {name}_im)" if is_complex else name
        return text if self.index is None or name in self.spread else f"{text}[..., None]"

    def _print_Indexed(self, expr: Any) -> str:
        if expr.indices != (self.index,):
            raise PrintingError(f"no JAX form for the single coordinate {expr}")
        return str(expr.base.label)

    def _print_Sum(self, expr: Any) -> str:
        (index, first, last), *more = expr.limits
        if more or (first, last) != (1, d):
            raise PrintingError(
                f"only sums over the coordinates 1 ... d can be printed, not {expr}"
            )
        if self.index is not None:
            raise PrintingError(f"a sum cannot stand inside a sum or a vector: {expr}")
        self.index = index
        try:
            return f"jnp.sum({self._print(expr.function)}, axis=-1)"
        finally:
            self.index = None

    def _print_Rational(self, expr: Any) -> str:
        return f"({expr.p} / {expr.q})"

    def _print_Pow(self, expr: Any, rational: bool = False, sqrt: str = "jnp.sqrt") -> str:
        base, exponent = expr.args
        if exponent == sp.S.Half:
            return f"jnp.sqrt({self._print(base)})"
        if exponent == -sp.S.Half:
            return f"(1 / jnp.sqrt({self._print(base)}))"
        if not exponent.is_Integer:
            raise PrintingError(f"no JAX form for the power {expr}: write exp(… * log(…))")
        if exponent == -1:
            return f"1 / {self._grouped(base)}"
        return f"{self._grouped(base)} ** {exponent}"

    def _grouped(self, expr: Any) -> str:
        """`expr` as an operand: in parentheses unless it is a name or a call."""
        text = self._print(expr)
        return text if re.fullmatch(r"[\w.]+(\[\.\.\., None\])?", text) else f"({text})"

    def _print_Piecewise(self, expr: Any) -> str:
        *cases, (last, always) = expr.args
        if always != sp.true:
            raise PrintingError(f"a Piecewise needs a final branch that always applies: {expr}")
        text = self._print(last)
        for value, condition in reversed(cases):
            text = f"jnp.where({self._print(condition)}, {self._print(value)}, {text})"
        return text

    def _print_Relational(self, expr: Any) -> str:
        return f"{self._grouped(expr.lhs)} {expr.rel_op} {self._grouped(expr.rhs)}"

    def _print_ImaginaryUnit(self, expr: Any) -> str:
        return "1j"

    def _part(self, expr: Any, suffix: str) -> str:
        inner = expr.args[0]
        if not (inner.is_Symbol and isinstance(self._domain.get(str(inner)), Complex)):
            raise PrintingError(f"only the parts of a complex argument can be printed, not {expr}")
        return f"{inner}_{suffix}" + ("" if self.index is None else "[..., None]")

    def _print_re(self, expr: Any) -> str:
        return self._part(expr, "re")

    def _print_im(self, expr: Any) -> str:
        return self._part(expr, "im")

    def _call(self, expr: Any) -> str:
        if isinstance(expr, Special):
            return f"special.{expr.routine}({', '.join(map(self._print, expr.arguments))})"
        if expr.is_number:
            return repr(float(sp.N(expr, 20)))
        name = _FUNCTIONS[type(expr)]
        return f"{name}({', '.join(self._print(arg) for arg in expr.args)})"

    def _print_Max(self, expr: Any) -> str:
        *others, last = map(self._print, expr.args)
        return "".join(f"jnp.maximum({arg}, " for arg in others) + last + ")" * len(others)

    _print_Function = _call
    _print_exp = _print_log = _print_cos = _print_sin = _print_tanh = _call
    _print_Abs = _print_atan2 = _print_Mod = _call


WIDTH = 100
_SHAPES = {"real": 'Real[ArrayLike, "..."]', "vector": 'Real[ArrayLike, "... d"]'}
_COMPLEX = 'Num[ArrayLike, "..."]'


def print_formula(formula: Formula, source: str) -> str:
    """The Python source of one formula: signature, docstring, body."""
    domain = {_name(arg): formula.domain[arg] for arg in formula.args}
    printer = FormulaPrinter(domain)
    hints = [f"{k}: {_SHAPES.get(r.kind, _COMPLEX)}" for k, r in domain.items()]
    lines = [f"def {formula.name}({', '.join(hints)}) -> {_returns(formula)}:"]
    lines += _docstring(formula, domain, source)
    lines += _promotion(domain)
    body = []
    for name, value in formula.used_lets:
        printer.index = l if has_coordinates(substitute(value, formula.lets)) else None
        body.append(f"    {name} = {printer.doprint(value)}")
        if printer.index is not None:
            printer.spread.add(str(name))
    printer.index = l if formula.vector_valued else None
    body.append(f"    return {printer.doprint(formula.expr)}")
    if d not in formula.args and re.search(r"\bd\b", "\n".join(body)):
        vector = next(k for k, r in domain.items() if isinstance(r, Vector))
        lines.append(f"    d = {vector}.shape[-1]")
    if _uses_complex_whole(formula):
        # Strict promotion, where a caller sets it, has no rule for a real times a complex array.
        lines.append('    with numpy_dtype_promotion("standard"):')
        body = [f"    {line}" for line in body]
    return "\n".join(lines + body) + "\n"


def _name(arg: Any) -> str:
    return str(arg.label) if isinstance(arg, IndexedBase) else str(arg)


def _returns(formula: Formula) -> str:
    """Complex if a complex number is used whole, one entry per coordinate if vector-valued."""
    kind = "Complex" if _uses_complex_whole(formula, real=(sp.re, sp.im, sp.Abs)) else "Float"
    return f'{kind}[Array, "{"... d" if formula.vector_valued else "..."}"]'


def _uses_complex_whole(formula: Formula, real: tuple[Any, ...] = (sp.re, sp.im)) -> bool:
    """Does a complex number stand outside every function in `real`?"""
    numbers = {sp.I, *(a for a, r in formula.domain.items() if isinstance(r, Complex))}
    outside = formula.full.replace(lambda e: isinstance(e, real), lambda e: sp.S.One)
    return bool(numbers & outside.atoms(sp.Symbol, sp.core.numbers.ImaginaryUnit))


def _docstring(formula: Formula, domain: dict[str, Range], source: str) -> list[str]:
    where = "; ".join(allowed.text(name) for name, allowed in domain.items())
    entries = [
        f'"""{formula.summary}',
        "",
        f"Statement: {formula.statement}",
        f"Formula: {formula.stated}",
        f"Domain: {where}",
        f"Source: {source}",
        '"""',
    ]
    wrapper = textwrap.TextWrapper(
        width=WIDTH,
        initial_indent="    ",
        subsequent_indent="        ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line for entry in entries for line in wrapper.wrap(entry) or [""]]


def _promotion(domain: dict[str, Range]) -> list[str]:
    """One real floating dtype for all arguments; complex ones enter as two real parts."""
    names, values = [], []
    for name, allowed in domain.items():
        if isinstance(allowed, Complex):
            names += [f"{name}_re", f"{name}_im"]
            values += [f"jnp.real({name})", f"jnp.imag({name})"]
        else:
            names.append(name)
            values.append(name)
    targets = ", ".join(names) if len(names) > 1 else f"({names[0]},)"
    return [f"    {targets} = promote({', '.join(values)})"]
