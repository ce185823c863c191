"""Inequalities over boxes, proved by branch and bound in Arb ball arithmetic."""

from collections.abc import Mapping
from typing import Any

import sympy as sp
from flint import acb, arb, ctx
from sympy import Expr

from derivations.arb import ArbError, Evaluator
from derivations.certificate import CertificateError, _record

Cell = tuple[tuple[sp.Rational, sp.Rational], ...]


def _ball(low: sp.Rational, high: sp.Rational) -> acb:
    ends = [arb(str(int(v.p))) / arb(str(int(v.q))) for v in (low, high)]
    return acb(ends[0].union(ends[1]))


def _positive(expr: Expr, slopes: list[Expr], names: list[Any], cell: Cell) -> bool:
    """Is `expr` positive on the cell, by its direct enclosure or by the mean value form?"""
    box = {name: _ball(*edge) for name, edge in zip(names, cell, strict=True)}
    try:
        direct = Evaluator(box)(expr)
        if not direct.imag.is_zero():  # an enclosure of values that need not be real proves nothing
            return False
        if direct.real > 0:
            return True
        centre = {name: sp.Rational(a + b) / 2 for name, (a, b) in zip(names, cell, strict=True)}
        value = Evaluator(centre)(expr).real
        for slope, name in zip(slopes, names, strict=True):
            value += Evaluator(box)(slope).real * (box[name].real - Evaluator(centre)(name).real)
        return bool(value > 0)
    except ArbError:
        return False


def _refuted(expr: Expr, names: list[Any], cell: Cell) -> bool:
    centre = {name: sp.Rational(a + b) / 2 for name, (a, b) in zip(names, cell, strict=True)}
    try:
        return bool(Evaluator(centre)(expr).real <= 0)
    except ArbError:
        return False


def _split(cell: Cell) -> tuple[Cell, Cell]:
    widest = max(range(len(cell)), key=lambda i: cell[i][1] - cell[i][0])
    low, high = cell[widest]
    middle = (low + high) / 2
    return tuple(
        tuple(half if i == widest else edge for i, edge in enumerate(cell))
        for half in ((low, middle), (middle, high))
    )  # type: ignore[return-value]


def prove_positive(
    statement: str,
    what: str,
    expr: Expr,
    box: Mapping[Any, tuple[object, object]],
    *,
    max_cells: int = 20_000,
) -> None:
    """Prove `expr > 0` on the closed `box` and print the certificate; undecided cells fail."""
    names = list(box)
    slopes = [sp.diff(expr, name) for name in names]
    todo: list[Cell] = [tuple((sp.Rational(str(a)), sp.Rational(str(b))) for a, b in box.values())]
    proved = 0
    before = ctx.prec
    ctx.prec = 128
    try:
        while todo:
            cell = todo.pop()
            if _positive(expr, slopes, names, cell):
                proved += 1
            elif _refuted(expr, names, cell):
                raise CertificateError(f"{statement}: {what}: fails at {_centre(names, cell)}")
            elif proved + len(todo) > max_cells:
                raise CertificateError(
                    f"{statement}: {what}: {len(todo) + 1} cells undecided, one near "
                    f"{_centre(names, cell)}"
                )
            else:
                todo.extend(_split(cell))
    finally:
        ctx.prec = before
    edges = ", ".join(f"{name} in [{a}, {b}]" for name, (a, b) in box.items())
    _record(
        "inequality",
        statement,
        what,
        f"CERTIFIED [{statement}] {what}: positive on {edges} "
        "(branch and bound, 0 cells undecided)",
    )


def _centre(names: list[Any], cell: Cell) -> str:
    middle = (f"{n} = {float(a + b) / 2:.6g}" for n, (a, b) in zip(names, cell, strict=True))
    return ", ".join(middle)
