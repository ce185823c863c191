"""What a notebook hands over: formulas to generate, statements for the index, errata."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sympy import Expr, S, Sum, Symbol, sympify
from sympy.tensor.indexed import Indexed, IndexedBase

from derivations.algebra import factor_roots, vanishes
from derivations.arb import ArbError, Point, UnknownFunctionError, agree, describe, enclose
from derivations.certificate import DIGITS, POINTS, CertificateError, _record, points
from derivations.domain import Range, Vector
from derivations.symbols import d, l

Lets = tuple[tuple[Symbol, Expr], ...]
Status = Literal["proved", "corrected", "refuted as printed", "evidence only"]


class FormulaError(ValueError):
    """A formula that cannot be generated: ill-formed, or not finite on its declared domain."""


@dataclass(frozen=True)
class Statement:
    """One row of the theorem index."""

    id: str
    paper: str
    text: str
    status: Status = "proved"


@dataclass(frozen=True)
class Erratum:
    """A printed sentence that is wrong, with the right one and the evidence for both."""

    id: str
    place: str
    printed: str
    why: str
    right: str
    evidence: str


@dataclass(frozen=True)
class Formula:
    """A function of `crt/formulas.py`.

    `expr` is the numerically stable form that is printed, `definition` the form of the statement.
    Both may use intermediate names (`lets`, `definition_lets`). Where the two forms are too far
    apart for one reduction, `lemmas` says what a name is in terms of the names of `expr`; every
    lemma is itself reduced to an exact 0. `change` is a change of variables onto the whole domain
    in which the square roots of the formula become rational.
    """

    name: str
    statement: str
    summary: str
    args: tuple[Any, ...]
    domain: Mapping[Any, Range]
    expr: Expr
    definition: Expr | None = None
    lets: Lets = ()
    definition_lets: Lets = ()
    lemmas: Mapping[Symbol, Expr] = field(default_factory=dict)
    change: Mapping[Symbol, Expr] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if set(self.args) != set(self.domain):
            raise FormulaError(f"formula {self.name}: its arguments and its domain differ")
        object.__setattr__(self, "domain", {arg: self.domain[arg] for arg in self.args})
        shared = dict(self.lets).items() ^ dict(self.definition_lets).items()
        if (
            {name for name, _ in shared}
            & dict(self.lets).keys()
            & dict(self.definition_lets).keys()
        ):
            raise FormulaError(f"formula {self.name}: one name stands for two things in its lets")
        unknown = self.full.free_symbols - self._known()
        if unknown:
            names = ", ".join(sorted(map(str, unknown)))
            raise FormulaError(f"formula {self.name}: unknown names {names}")

    def _known(self) -> set[Any]:
        inside = {base.label for base in self.args if isinstance(base, IndexedBase)}
        indexed = {atom for atom in self.full.free_symbols if isinstance(atom, Expr) and atom.args}
        vectors = {d, l} if self.has_vectors else set()
        return set(self.args) | inside | indexed | vectors

    @property
    def has_vectors(self) -> bool:
        return any(isinstance(r, Vector) for r in self.domain.values())

    @property
    def vector_valued(self) -> bool:
        """Does the result have one entry per coordinate?"""
        return has_coordinates(self.full)

    @property
    def used_lets(self) -> Lets:
        """The intermediate names that the result depends on; others serve the proof alone."""
        used: list[tuple[Symbol, Expr]] = []
        needed = sympify(self.expr).free_symbols
        for name, value in reversed(self.lets):
            if name in needed:
                used.insert(0, (name, value))
                needed = needed | sympify(value).free_symbols
        return tuple(used)

    @property
    def full(self) -> Expr:
        """The stable form with its intermediate names substituted."""
        return substitute(sympify(self.expr), self.lets)

    @property
    def stated(self) -> Expr:
        """The form of the statement with its intermediate names substituted."""
        stated = self.expr if self.definition is None else self.definition
        return substitute(sympify(stated), self.definition_lets or self.lets)

    def mutated(self, expr: Expr) -> "Formula":
        """The same formula with another printed form: what a planted error looks like."""
        return dataclasses.replace(self, expr=expr, definition=self.definition or self.expr)

    def equals_its_definition(self) -> bool:
        """The symbolic leg: printed form minus definition reduces to an exact 0."""
        if not self.lemmas:
            return self._vanishes(self.full - self.stated)
        for name, claim in self.lemmas.items():
            lets = self.definition_lets if name in dict(self.definition_lets) else self.lets
            claimed = substitute(sympify(claim), self.lets)
            if not self._vanishes(substitute(dict(lets)[name], lets) - claimed):
                return False
        assert self.definition is not None
        rules = dict(self.lemmas)
        return vanishes((self.expr - self.definition).subs(rules, simultaneous=True))

    def _vanishes(self, residual: Expr) -> bool:
        return vanishes(factor_roots(residual.subs(dict(self.change))) if self.change else residual)


def has_coordinates(expr: Expr) -> bool:
    """Does a coordinate stand outside every sum?"""
    outside = sympify(expr).replace(lambda e: isinstance(e, Sum), lambda e: S.One)
    return bool(outside.atoms(Indexed))


_checked: list[Formula] = []


def substitute(expr: Expr, lets: Lets) -> Expr:
    """`expr` with the intermediate names replaced, last first."""
    for name, value in reversed(lets):
        expr = expr.xreplace({name: sympify(value)})
    return expr


def check_formulas(formulas: Sequence[Formula]) -> None:
    """Certify every formula: stable form = definition, Arb agrees, finite on the whole domain."""
    for formula in formulas:
        _check_corners(formula)
        if not formula.equals_its_definition():
            raise CertificateError(
                f"formula {formula.name}: the printed form is not the definition"
            )
        for point in map(_at_first_coordinate, points(formula.name, formula.domain)):
            first, second = enclose(formula.full, point), enclose(formula.stated, point)
            if not agree(first, second, DIGITS):
                raise CertificateError(
                    f"formula {formula.name}: Arb disagrees at {describe(point)}"
                )
        _record(
            "formula",
            formula.statement,
            formula.name,
            f"FORMULA {formula.name} [{formula.statement}]: {_evidence(formula)}; "
            "finite at every corner",
        )
        _checked.append(formula)


def _evidence(formula: Formula) -> str:
    if formula.definition is None:
        return "printed as stated"
    return (
        f"stable form minus definition exactly 0; Arb agrees to {DIGITS} digits at {POINTS} points"
    )


def is_checked(formula: Formula) -> bool:
    """Has this session certified this very formula, not just one of its name?"""
    return formula in _checked


def _at_first_coordinate(point: Point) -> Point:
    """The point with the coordinate at which a vector-valued formula is looked at."""
    return {**point, l: S.One}


def _check_corners(formula: Formula) -> None:
    """A formula must have a finite value at every corner of its declared domain."""
    scalars = [(a, r) for a, r in formula.domain.items() if not isinstance(r, Vector)]
    vectors = [(a, r) for a, r in formula.domain.items() if isinstance(r, Vector)]
    choices = [r.corners() or [points(formula.name, {a: r}, 1)[0][a]] for a, r in scalars]
    edges = [r.corners() or [points(formula.name, {a: r}, 1)[0][a][0]] for a, r in vectors]
    for corner in itertools.product(*choices, *edges):
        at: dict[Any, Any] = dict(zip([a for a, _ in scalars], corner, strict=False))
        for (name, _), value in zip(vectors, corner[len(scalars) :], strict=True):
            at |= {name: [value], d: sympify(1)}
        try:
            enclose(formula.full, _at_first_coordinate(at), digits=12)
        except UnknownFunctionError as error:
            raise FormulaError(f"formula {formula.name}: {error}") from None
        except (ArbError, ZeroDivisionError):
            raise FormulaError(
                f"formula {formula.name} is not finite at {describe(at)}, "
                "inside its declared domain"
            ) from None
