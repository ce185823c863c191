"""Planted faults. Here: mutants of every formula's expression, judged as the formulas are.

A mutant changes one place of a formula's printed form: a sign, an operator, a constant by 1 %, one
argument for another. Arb compares it with the *definition* at the formula's random points; one
point at which the two certainly differ kills it. A mutant that agrees everywhere must be shown
equivalent by an exact symbolic 0, else it has survived, and the checks are too weak.
"""

import functools
import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

import sympy as sp
from flint import acb
from sympy import Expr
from sympy.tensor.indexed import Indexed

from derivations.algebra import vanishes
from derivations.arb import ArbError, Point, UnknownFunctionError, agree, disjoint, enclose
from derivations.certificate import points
from derivations.domain import Complex
from derivations.formula import Formula, Lets, substitute
from derivations.library import load_formulas
from derivations.symbols import l

Verdict = Literal["killed", "equivalent", "survived"]
FUNCTIONS = {sp.cos: sp.sin, sp.sin: sp.cos, sp.exp: sp.cosh, sp.log: sp.exp}
SHARE = sp.Rational(1, 100)
POINTS = 200
"""The formula's own random points and as many more as a stubborn mutant needs."""


@dataclass(frozen=True)
class Mutant:
    """A formula with one fault, in its printed form or in one of its intermediate names."""

    formula: Formula
    change: str
    expr: Expr
    lets: Lets

    @property
    def whole(self) -> Expr:
        return substitute(self.expr, self.lets)


@dataclass(frozen=True)
class Judgement:
    """What became of a mutant, and by which evidence."""

    formula: str
    change: str
    verdict: Verdict
    evidence: str

    def as_dict(self) -> dict[str, str]:
        return asdict(self)


def mutants_of(formula: Formula) -> list[Mutant]:
    """All mutants of the printed form and of its intermediate names, without repetition."""
    expr, lets, swaps = sp.sympify(formula.expr), formula.used_lets, _swaps(formula)
    found: dict[tuple[Expr, Lets], Mutant] = {}
    for change, faulty in _variants(expr, swaps):
        found.setdefault((faulty, lets), Mutant(formula, f"result: {change}", faulty, lets))
    for name, original in lets:
        for change, faulty in _variants(sp.sympify(original), swaps):
            other = tuple((k, faulty if k == name else v) for k, v in lets)
            found.setdefault((expr, other), Mutant(formula, f"{name}: {change}", expr, other))
    found.pop((expr, lets), None)
    return list(found.values())


def _swaps(formula: Formula) -> dict[Any, Any]:
    """For each scalar or vector argument another one of its kind, where there is one."""
    kinds: dict[str, list[Any]] = {}
    for arg, allowed in formula.domain.items():
        if not isinstance(allowed, Complex):
            kinds.setdefault(allowed.kind, []).append(arg)
    swaps = {}
    for group in kinds.values():
        swaps |= {a: b for a, b in zip(group, group[1:] + group[:1], strict=True) if a != b}
    return swaps


def _variants(node: Any, swaps: dict[Any, Any]) -> Iterator[tuple[str, Any]]:
    """Every tree that differs from `node` in one place, with a description."""
    yield from _here(node, swaps)
    if isinstance(node, Indexed):
        return
    for i, arg in enumerate(node.args):
        if not isinstance(arg, Expr | sp.functions.elementary.piecewise.ExprCondPair):
            continue
        for change, faulty in _variants(arg, swaps):
            rebuilt = node.func(*node.args[:i], faulty, *node.args[i + 1 :])
            yield change, rebuilt


def _here(node: Any, swaps: dict[Any, Any]) -> Iterator[tuple[str, Any]]:
    if isinstance(node, Indexed):
        if node.base in swaps:
            yield f"{node} -> {swaps[node.base][node.indices]}", swaps[node.base][node.indices]
        yield f"{node} -> -{node}", -node
    elif isinstance(node, sp.Rational):
        for factor in (1 + SHARE, 1 - SHARE):
            yield f"{node} -> {node * factor}", node * factor
    elif isinstance(node, sp.Symbol):
        if node in swaps:
            yield f"{node} -> {swaps[node]}", swaps[node]
        yield f"{node} -> -{node}", -node
    elif isinstance(node, sp.Add):
        yield f"sum of {len(node.args)} terms -> product", sp.Mul(*node.args)
        for term in node.args:
            yield f"{term} -> -({term})", node - 2 * term
    elif isinstance(node, sp.Mul):
        yield f"product of {len(node.args)} factors -> sum", sp.Add(*node.args)
        yield "1 % added to a product", node * (1 + SHARE)
    elif isinstance(node, sp.Pow):
        yield "power -> inverse power", 1 / node
    elif isinstance(node, sp.Function):
        yield f"{type(node).__name__} scaled by 1.01", node * (1 + SHARE)
        if type(node) in FUNCTIONS:
            other = FUNCTIONS[type(node)]
            yield f"{type(node).__name__} -> {other.__name__}", other(*node.args)


def judge(mutant: Mutant) -> Judgement:
    """Kill the mutant by Arb, or show it equivalent, or report that it survived."""
    everywhere = True
    for number, (point, truth) in enumerate(_truths(mutant.formula.name), start=1):
        try:
            value = enclose(mutant.expr, point, lets=mutant.lets)
        except UnknownFunctionError:
            raise
        except (ArbError, ArithmeticError) as error:
            return _judged(mutant, "killed", f"no value at point {number}: {type(error).__name__}")
        if disjoint(value, truth):
            return _judged(mutant, "killed", f"Arb separates it at point {number}")
        everywhere = everywhere and agree(value, truth)
    if everywhere and vanishes(_reflected(mutant.whole) - mutant.formula.full):
        return _judged(mutant, "equivalent", "mutant minus formula is an exact symbolic 0")
    return _judged(mutant, "survived", "Arb does not separate it, and no proof of equivalence")


def _reflected(expr: Expr) -> Expr:
    """`expr` with -a mod b written b - (a mod b).

    That is right unless b divides a; then both remainders are 0, and a mutant that only turns the
    sign of a is the formula itself.
    """

    def turned(node: Any) -> bool:
        return isinstance(node, sp.Mod) and node.args[0].could_extract_minus_sign()

    def reflect(node: Any) -> Any:
        top, bottom = node.args
        return bottom - sp.Mod(-top, bottom)

    return expr.replace(turned, reflect)


class _Truths:
    """The definition's values at the points of a formula, computed one by one when asked for."""

    def __init__(self, name: str):
        formula = load_formulas()[name]
        self._stated = formula.stated
        self._points = [{**at, l: sp.S.One} for at in points(name, formula.domain, POINTS)]
        self._known: list[acb] = []

    def __iter__(self) -> Iterator[tuple[Point, acb]]:
        for k, point in enumerate(self._points):
            if k == len(self._known):
                self._known.append(enclose(self._stated, point))
            yield point, self._known[k]


_truths = functools.cache(_Truths)


def _judged(mutant: Mutant, verdict: Verdict, evidence: str) -> Judgement:
    return Judgement(mutant.formula.name, mutant.change, verdict, evidence)


def judge_some(number: int | None, seed: int, part: int, parts: int) -> list[Judgement]:
    """Judge one of `parts` shares of all mutants, or of about `number` drawn by `seed`.

    A share has formulas of its own, so that each one's mutants and values are computed once.
    """
    known, rng = load_formulas(), random.Random(f"{seed} {part}")
    names = sorted(known)[part::parts]
    share = None if number is None else -(-number // parts)
    if share is not None:
        names = rng.sample(names, min(share, len(names)))
    every = [mutant for name in names for mutant in mutants_of(known[name])]
    if share is not None:
        every = rng.sample(every, min(share, len(every)))
    return [judge(mutant) for mutant in every]
