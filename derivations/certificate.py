"""Certificates: the one line by which a notebook says that an identity has been checked.

`certify` wants two derivations that differ by an exact symbolic 0 and an agreement with Arb to 30
digits at random points; `reject` plants an error and wants both legs to see it; `refute` shows a
printed claim false; `verify` states a fact settled by exact symbolic means.
"""

import hashlib
import random
from collections.abc import Callable, Mapping
from typing import Any

from flint import acb
from sympy import Expr, sympify
from sympy.tensor.indexed import IndexedBase

from derivations.algebra import vanishes
from derivations.arb import Point, agree, describe, disjoint, enclose
from derivations.domain import Range, Vector, Whole
from derivations.symbols import d

POINTS = 24
DIGITS = 30

Reference = Callable[[Point], acb]

_issued: list[dict[str, str]] = []


class CertificateError(AssertionError):
    """A check that a notebook relies on did not hold."""


def issued() -> list[dict[str, str]]:
    """The certificates this session has issued, in order."""
    return list(_issued)


def _record(kind: str, statement: str, what: str, line: str) -> None:
    _issued.append({"kind": kind, "statement": statement, "what": what})
    print(line)


def points(key: str, where: Mapping[Any, Range], count: int = POINTS) -> list[Point]:
    """`count` random exact points of the domain `where`, the same for the same `key`."""
    rng = random.Random(hashlib.sha256(key.encode()).digest())
    return [_point(rng, where) for _ in range(count)]


def _point(rng: random.Random, where: Mapping[Any, Range]) -> Point:
    size = where.get(d, Whole(1, 5)).sample(rng)
    has_vectors = any(isinstance(r, Vector) for r in where.values())
    drawn: dict[Any, Any] = {d: size} if d in where or has_vectors else {}
    for symbol, allowed in where.items():
        if isinstance(symbol, IndexedBase):
            drawn[symbol] = [allowed.sample(rng) for _ in range(int(size))]
        elif symbol != d:
            drawn[symbol] = allowed.sample(rng)
    return drawn


def certify(
    statement: str,
    what: str,
    first: Expr,
    second: Expr,
    *,
    where: Mapping[Any, Range],
    reference: Reference | None = None,
) -> None:
    """Check `first == second` symbolically and against Arb, and print the certificate.

    `reference` gives Arb's value of the quantity from its definition (an integral, a series);
    without one Arb evaluates both derivations.
    """
    first, second = sympify(first), sympify(second)
    if not vanishes(first - second):
        raise CertificateError(f"{statement}: {what}: the two derivations differ symbolically")
    for point in points(f"{statement}/{what}", where):
        values = [enclose(first, point), enclose(second, point)]
        values += [reference(point)] if reference else []
        if not all(agree(values[0], value, DIGITS) for value in values[1:]):
            raise CertificateError(f"{statement}: {what}: Arb disagrees at {describe(point)}")
    source = "the definition, by quadrature or series" if reference else "both forms"
    _record(
        "identity",
        statement,
        what,
        f"CERTIFIED [{statement}] {what}: two derivations, residual exactly 0; "
        f"Arb ({source}) agrees to {DIGITS} digits at {POINTS} points",
    )


def reject(
    statement: str, fault: str, right: Expr, wrong: Expr, *, where: Mapping[Any, Range]
) -> None:
    """Plant an error: the symbolic leg and the Arb leg must each refuse `right == wrong`."""
    right, wrong = sympify(right), sympify(wrong)
    if vanishes(right - wrong):
        raise CertificateError(f"{statement}: the symbolic leg accepts the planted error: {fault}")
    sample = points(f"{statement}/{fault}", where)
    seen = sum(disjoint(enclose(right, at), enclose(wrong, at)) for at in sample)
    if seen == 0:
        raise CertificateError(f"{statement}: Arb accepts the planted error: {fault}")
    _record(
        "planted",
        statement,
        fault,
        f"REJECTED [{statement}] planted error ({fault}): residual is not 0; "
        f"Arb separates the values at {seen} of {POINTS} points",
    )


def refute(statement: str, claim: str, printed: Expr, right: Expr, at: Point) -> None:
    """Show by Arb that a printed expression differs from the right one at the point `at`."""
    value, truth = enclose(sympify(printed), at), enclose(sympify(right), at)
    if not disjoint(value, truth):
        raise CertificateError(f"{statement}: the printed form is not refuted at {describe(at)}")
    place = describe(at)
    shown = ", ".join(f"{name} {_short(v)}" for name, v in (("printed", value), ("right", truth)))
    _record(
        "refuted",
        statement,
        claim,
        f"REFUTED [{statement}] {claim}: {shown}" + (f" at {place}" if place else ""),
    )


def _short(value: acb) -> str:
    return value.str(8, radius=False)


def verify(statement: str, what: str, holds: bool) -> None:
    """State a fact that an exact symbolic computation has just settled."""
    if holds is not True:
        raise CertificateError(f"{statement}: {what}: does not hold")
    _record("fact", statement, what, f"VERIFIED [{statement}] {what}")


def must_fail(statement: str, fault: str, attempt: Callable[[], object]) -> None:
    """Plant an error in a check other than an identity: `attempt` must refuse it."""
    try:
        attempt()
    except (CertificateError, ValueError) as error:
        reason = str(error).splitlines()[0]
        _record("planted", statement, fault, f"REJECTED [{statement}] {fault}: {reason}")
        return
    raise CertificateError(f"{statement}: the planted error was accepted: {fault}")
