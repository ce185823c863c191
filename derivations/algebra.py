"""Exact symbolic zeros: the reductions by which two derivations are shown to be the same."""

import itertools
from collections.abc import Callable
from typing import cast

import sympy as sp
from sympy import Expr
from sympy.simplify.fu import TR5, TR7

from derivations.special import unfold
from derivations.symbols import A, d, s

_u, _v = sp.Symbol("u", positive=True), sp.Symbol("v", real=True)


def power_sums(expr: Expr) -> Expr:
    """Every sum over coordinates as a linear combination of sums of single monomials.

    `Sum(a·f(x_l) + b, (l, 1, d))` becomes `a·S[f] + b·d`; equal sums then get equal symbols,
    for every dimension at once.
    """

    def expand_one(total: sp.Sum) -> Expr:
        index = total.limits[0][0]
        result: Expr = sp.S.Zero
        for term in sp.Add.make_args(sp.expand(total.function)):
            outside, inside = term.as_independent(*_carriers(term, index), as_Add=False)
            name = sp.Symbol(f"S[{inside}]", **({"real": True} if inside.is_real else {}))
            result += outside * (d if inside == 1 else name)
        return result

    def over_coordinates(node: Expr) -> bool:
        return isinstance(node, sp.Sum) and [tuple(r)[1:] for r in node.limits] == [(1, d)]

    return cast(Expr, expr.replace(over_coordinates, expand_one))


def _carriers(term: Expr, index: sp.Symbol) -> list[Expr]:
    """The subexpressions of `term` that depend on the coordinate."""
    return [*(node for node in term.atoms(sp.Indexed) if node.has(index)), index]


def split_absolute(expr: Expr) -> Expr:
    """Absolute values of products as products of absolute values."""

    def is_product(node: Expr) -> bool:
        return isinstance(node, sp.Abs) and isinstance(node.args[0], sp.Mul)

    def split(node: Expr) -> Expr:
        return sp.Mul(*(sp.Abs(factor) for factor in cast(Expr, node.args[0]).args), evaluate=False)

    return cast(Expr, expr.replace(is_product, split))


def split_parameter(expr: Expr) -> Expr:
    """The complex parameter by its parts, `1 - 8A = u + i·v` with u > 0, where `expr` uses them."""
    if not expr.has(sp.re, sp.im, sp.arg, sp.Abs) or not expr.has(A):
        return expr
    value = (1 - _u - sp.I * _v) / 8

    def part(node: Expr) -> Expr:
        inner = sp.expand(node.args[0].subs(A, value))
        across, up = inner.as_real_imag()
        if isinstance(node, sp.re | sp.im):
            return across if isinstance(node, sp.re) else up
        if isinstance(node, sp.Abs):
            return sp.sqrt(sp.expand(across**2 + up**2))
        scale = sp.ilcm(*(sp.fraction(sp.together(side))[1] for side in (across, up)))
        return sp.atan2(sp.expand(up * scale), sp.expand(across * scale))

    kinds = (sp.re, sp.im, sp.arg, sp.Abs)
    return cast(Expr, expr.replace(lambda e: isinstance(e, kinds), part).subs(A, value))


def factor_roots(expr: Expr) -> Expr:
    """Square roots with factored radicands, so that the root of a square of a positive shows."""

    def factored(node: Expr) -> Expr:
        return sp.sqrt(sp.factor(node.args[0])) ** (2 * node.args[1])

    def is_root(node: Expr) -> bool:
        return isinstance(node, sp.Pow) and node.args[1] in (sp.S.Half, -sp.S.Half)

    return cast(Expr, expr.replace(is_root, factored))


def _signs(expr: Expr) -> list[Expr]:
    """`expr` for s = +1 and s = -1, where it depends on the sign."""
    if s not in expr.free_symbols:
        return [expr]
    return [cast(Expr, sp.piecewise_fold(expr.subs(s, sign))) for sign in (1, -1)]


def _branches(expr: Expr) -> list[Expr]:
    """`expr` with every combination of branches of its Piecewise parts: each must hold alone."""
    parts = sorted(expr.atoms(sp.Piecewise), key=str)
    choices = itertools.product(*([value for value, _ in part.args] for part in parts))
    return [expr.xreplace(dict(zip(parts, choice, strict=True))) for choice in choices]


def _through_exponential(expr: Expr) -> Expr:
    """0 if e^expr reduces to 1: the way to compare logarithms of real positive quantities.

    Logarithms of negative numbers could hide a multiple of 2πi here; every certificate that rests
    on this reduction compares the two sides with Arb as well.
    """
    if expr.has(sp.I) or not all(symbol.is_real for symbol in expr.free_symbols):
        return expr  # a complex residual may be a multiple of 2πi
    grown = sp.exp(sp.expand(expr))
    return sp.simplify(factor_roots(sp.simplify(sp.powsimp(grown)))) - 1


def _per_dimension(expr: Expr) -> Expr:
    """0 if `expr` is linear in d and both its coefficients reduce to 0."""
    plain = sp.expand(expr)
    slope = plain.coeff(d, 1)
    rest = sp.expand(plain - d * slope)
    if slope == 0 or rest.has(d) or slope.has(d):
        return plain
    zero = all(sp.simplify(e) == 0 or _through_exponential(e) == 0 for e in (slope, rest))
    return sp.S.Zero if zero else plain


def _along_imaginary(expr: Expr) -> Expr:
    """0 if an expression with angles is 0 at v = 0 and does not change with v.

    Every angle must be that of a point in the right half-plane, where it is smooth in v; there
    SymPy writes atan2(b, a) as atan(b/a).
    """
    slopes = [sp.fraction(sp.together(angle.args[0])) for angle in expr.atoms(sp.atan)]
    if not slopes or expr.has(sp.atan2):
        return expr
    if not all(sp.expand(bottom).is_positive for _, bottom in slopes):
        return expr
    still = sp.simplify(sp.diff(expr, _v)) == 0 and sp.simplify(expr.subs(_v, 0)) == 0
    return sp.S.Zero if still else expr


_REDUCTIONS: tuple[Callable[[Expr], Expr], ...] = (
    sp.simplify,
    sp.expand,
    lambda e: sp.simplify(sp.expand_log(sp.expand(e))),
    lambda e: sp.radsimp(sp.simplify(e)),
    _per_dimension,
    _through_exponential,
    _along_imaginary,
)


def vanishes(residual: Expr) -> bool:
    """True if `residual` reduces to an exact symbolic 0: any d, both signs, all branches."""
    plain = unfold(sp.sympify(residual))
    plain = split_absolute(plain.rewrite(sp.Abs) if plain.has(sp.Max) else plain)
    cases = [branch for case in _signs(plain) for branch in _branches(case)]
    return all(_reduces_to_zero(split_parameter(power_sums(case))) for case in cases)


def _reduces_to_zero(expr: Expr) -> bool:
    expr = TR7(TR5(expr))  # half angles: squares of sines and cosines become cosines
    # Expanded angles, so that cos(-a) and cos(a) are the same tree.
    angles = (sp.cos, sp.sin)
    expr = expr.replace(lambda e: isinstance(e, angles), lambda e: e.func(sp.expand(e.args[0])))
    return expr == 0 or any(reduce(expr) == 0 for reduce in _REDUCTIONS)


def positive_by_coefficients(expr: Expr, *variables: sp.Symbol) -> bool:
    """True if `expr` is a quotient of polynomials with positive coefficients only.

    Such a quotient is positive wherever every variable is positive.
    """
    top, bottom = sp.fraction(sp.together(sp.expand(expr)))
    parts = [sp.Poly(sp.expand(part), *variables) for part in (top, bottom)]
    if all(c.is_negative for part in parts for c in part.coeffs()):
        return True
    return all(c.is_positive for part in parts for c in part.coeffs())
