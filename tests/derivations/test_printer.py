"""Every printed operation computes what Arb computes; every other operation is refused by name."""

import ast
import re as regex
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp
from jax import Array, lax, numpy_dtype_promotion
from jax.typing import ArrayLike
from jaxtyping import Complex as ComplexArray
from jaxtyping import Float, Num
from jaxtyping import Real as RealArray
from sympy import Eq, I, Ne, Piecewise, Rational, S, Sum, Symbol, exp, im, re

from derivations import printer
from derivations.arb import Point, enclose
from derivations.certificate import points
from derivations.domain import Complex, Real, Sign, Vector, Whole
from derivations.formula import Formula
from derivations.notebooks import FOLDER
from derivations.printer import FormulaPrinter, PrintingError, print_formula
from derivations.special import (
    BesselRatio,
    Expit,
    Expm1,
    Expm1Ratio,
    Log,
    Log1p,
    Log1pGap,
    Log1pRatio,
    LogCosh,
    LogExpm1,
    LogI0,
    LogI0e,
    LogI0Gap,
    LogMeanExp,
    LogOneMinusExp,
    LogOrthogonalDeficit,
    OrthogonalDeficit,
    OrthogonalTrig,
    Softplus,
    Special,
    Sqrt,
)
from derivations.symbols import A, d, l, n, s, x, y, z

POINTS = 3  # as many as coordinates, so that a misplaced axis broadcasts and must be seen by value
UNIT = Real(Rational(1, 4), 1)
DOMAIN: dict[Any, Any] = {
    z: UNIT,
    n: UNIT,
    s: Sign(),
    A: Complex(UNIT, Real(-1, 1)),
    x: Vector(Real(-1, 1)),
    y: Vector(Real(-1, 1)),
}
w, norm = Symbol("w", positive=True), Symbol("norm", nonnegative=True)

OPERATIONS = [
    sp.exp(z),
    sp.log(z),
    sp.cos(z),
    sp.sin(n),
    sp.tanh(z),
    sp.Abs(z - 2 * n),
    sp.Abs(A),
    sp.atan2(z, -n),
    sp.Mod(d + 6, d + 1) * n,
    sp.Max(z, n, S.Half),
    sp.sqrt(w),
    1 / sp.sqrt(n),
    -((z - 2 * n) ** 3),
    (1 + n) ** -2 / w,
    Rational(-2, 7) * n,
    Piecewise((z, z < n), (n**2, z > 2 * n), (-1, True)),
    Piecewise((z, Eq(s, 1)), (n, True)),
    Piecewise((n, Ne(s, 1)), (z**2, True)),
    Piecewise((3 * z, s <= -1), (n, True)),
    Piecewise((5 * n, s >= 1), (z, True)),
    re(A) * im(A),
    exp(I * A) * norm,
    Sum(z * x[l] ** 2 - y[l] * n / d + 1, (l, 1, d)),
    Sum(A * x[l] + re(A) * y[l] - im(A) * x[l] * y[l], (l, 1, d)),
    Log(n),
    Log1p(z),
    Log1p(A),
    Log1pRatio(n),
    Log1pGap(z),
    Expm1(n),
    Expm1Ratio(z),
    LogExpm1(n),
    LogOneMinusExp(z),
    LogCosh(n),
    LogI0(z),
    LogI0e(z),
    LogI0Gap(n),
    BesselRatio(z),
    Expit(n),
    Softplus(z),
    Sqrt(n),
    LogMeanExp(n, -z, z),
    OrthogonalDeficit(z, n),
    LogOrthogonalDeficit(n, z),
    OrthogonalTrig(z, n),
]
COVERAGE = Formula(
    "coverage",
    "no-statement",
    "Every operation once.",
    tuple(DOMAIN),
    DOMAIN,
    expr=sp.Add(*((k + 1) * operation for k, operation in enumerate(OPERATIONS))),
    lets=((w, 1 + z * n), (norm, Sum(x[l] ** 2, (l, 1, d)) / d)),
)
VECTOR = Formula(
    "vector",
    "no-statement",
    "One entry per coordinate.",
    tuple(DOMAIN),
    DOMAIN,
    expr=z * x[l] + norm * w - A * n / d + re(A) * y[l],
    lets=((norm, n * Sum(x[l] ** 2, (l, 1, d))), (w, exp(s * y[l] / norm))),
)
SOURCE = "derivations/00_probe.py"
STAND_INS = Special.__subclasses__()


def bessel(order: int, t: Array) -> Array:
    return (jax.scipy.special.i0, jax.scipy.special.i1)[order](t)


def confluent(top: tuple[Array], bottom: tuple[Array], t: Array) -> Array:
    """1F1 by its series, for small t."""
    total = jnp.ones_like(t)
    for k in reversed(range(30)):
        total = 1 + (top[0] + k) / (bottom[0] + k) * t / (k + 1) * total
    return total


def plain(kind: type[Special]) -> Callable[..., Array]:
    """The routine of a stand-in, straight from its definition."""
    names = sp.symbols(f"t:{kind.definition.__code__.co_argcount}")
    modules = [{"besseli": bessel, "hyper": confluent}, vars(jnp)]
    return sp.lambdify(names, kind.definition(*names), modules)


def load(source: str) -> Callable[..., Array]:
    """The one function in `source`, compiled with plain forms of what generated files import."""
    names: dict[str, Any] = {
        "jnp": jnp,
        "lax": lax,
        "numpy_dtype_promotion": numpy_dtype_promotion,
        "special": SimpleNamespace(**{kind.routine: plain(kind) for kind in STAND_INS}),
        "promote": lambda *values: [jnp.asarray(value, float) for value in values],
        "Array": Array,
        "ArrayLike": ArrayLike,
        "Complex": ComplexArray,
        "Float": Float,
        "Num": Num,
        "Real": RealArray,
    }
    known = set(names)
    exec(compile(source, "<generated>", "exec"), names)
    (name,) = set(names) - known - {"__builtins__"}
    return names[name]


def sample() -> list[Point]:
    """Points of the domain, all of dimension 3."""
    return points("printer", {**DOMAIN, d: Whole(3, 3)}, POINTS)


def arguments() -> list[np.ndarray]:
    """The points as one batch: scalars of shape (points,), vectors of shape (points, d)."""

    def column(arg: Any) -> np.ndarray:
        kind = complex if isinstance(DOMAIN[arg], Complex) else float
        return np.array(sp.Array([at[arg] for at in sample()]).tolist(), dtype=kind)

    return [column(arg) for arg in DOMAIN]


def computed(source: str) -> np.ndarray:
    """What the printed function returns for the batch, in float64."""
    with jax.enable_x64(True):
        return np.asarray(load(source)(*arguments()))


def expected(formula: Formula, at: Point) -> complex:
    return complex(enclose(formula.full, at))


def coverage_is_right(source: str) -> bool:
    """Whether the printed coverage formula has Arb's values."""
    try:
        got = computed(source)
    except (TypeError, ValueError):
        return False
    want = np.array([expected(COVERAGE, at) for at in sample()])
    return got.shape == want.shape and np.allclose(got, want, rtol=1e-13, atol=0)


def test_the_coverage_formula_covers_the_whole_list() -> None:
    nodes = [*sp.preorder_traversal(COVERAGE.expr)]
    missing = {
        kind.__name__
        for kind in (*printer.ALLOWED, *STAND_INS)
        if not any(isinstance(node, kind) for node in nodes)
    }
    assert len(STAND_INS) > 10
    assert not missing


def test_the_printed_coverage_formula_agrees_with_arb() -> None:
    assert coverage_is_right(print_formula(COVERAGE, SOURCE))


def test_a_fault_in_any_printed_operation_is_seen() -> None:
    *head, body = print_formula(COVERAGE, SOURCE).split('"""')
    calls = sorted(set(regex.findall(r"(?:jnp|lax|special)\.\w+\(", body)))
    assert len(calls) > 25
    mutants = [body.replace(call, f"1.01 * {call}", 1) for call in calls]
    mutants += [body.replace(op, "+", 1) for op in (" ** ", "*", "/", " - ", "1j*")]
    for pattern, fault in {r"\[\.\.\., None\]": "", r" ([<>]=?|==) ": "!=", "!=": "=="}.items():
        found = list(regex.finditer(pattern, body))
        assert found
        mutants += [body[: m.start()] + fault + body[m.end() :] for m in found]
    assert body not in mutants
    sources = ['"""'.join([*head, mutant]) for mutant in mutants]
    assert not [source for source in sources if coverage_is_right(source)]


def test_vector_valued_formulas_have_one_entry_per_coordinate() -> None:
    got = computed(print_formula(VECTOR, SOURCE))
    want = [[expected(VECTOR, {**at, l: sp.Integer(k)}) for k in (1, 2, 3)] for at in sample()]
    np.testing.assert_allclose(got, want, rtol=1e-14)


def test_scalars_take_an_axis_against_vectors_only() -> None:
    text = FormulaPrinter({"x": DOMAIN[x], "z": UNIT, "A": DOMAIN[A]})
    assert text.doprint(Sum(x[l] * z, (l, 1, d))) == "jnp.sum(z[..., None]*x, axis=-1)"
    assert text.doprint(z * exp(z)) == "z*jnp.exp(z)"
    assert text.doprint(Sum(re(A) * x[l], (l, 1, d))) == "jnp.sum(A_re[..., None]*x, axis=-1)"
    assert text.doprint(re(A) + z) == "z + A_re"


def test_signatures_say_what_goes_in_and_out() -> None:
    signature = print_formula(VECTOR, SOURCE).splitlines()[0]
    assert 'z: Real[ArrayLike, "..."]' in signature
    assert 'A: Num[ArrayLike, "..."]' in signature
    assert 'x: Real[ArrayLike, "... d"]' in signature
    assert signature.endswith('-> Complex[Array, "... d"]:')


@pytest.mark.parametrize(
    ("expr", "returns"),
    [
        (exp(z), "Float"),
        (exp(A), "Complex"),
        (exp(I * z), "Complex"),
        (re(A) + im(A), "Float"),
        (sp.Abs(A), "Float"),
    ],
    ids=str,
)
def test_the_kind_of_the_result(expr: Any, returns: str) -> None:
    domain = {z: UNIT, A: DOMAIN[A]}
    made = Formula("probe", "thm", "A probe.", (z, A), domain, expr=expr)
    assert f'-> {returns}[Array, "..."]:' in print_formula(made, SOURCE)


def test_the_docstring_names_statement_domain_and_source() -> None:
    lines = [line.strip() for line in print_formula(COVERAGE, SOURCE).splitlines()]
    assert "Statement: no-statement" in lines
    assert f"Source: {SOURCE}" in lines
    assert any(line.startswith("Domain: 1/4 <= z <= 1; ") for line in lines)


def test_printed_source_compiles_without_warnings_and_is_not_too_wide() -> None:
    source = print_formula(COVERAGE, SOURCE) + "\n\n" + print_formula(VECTOR, SOURCE)
    program = "import sys; compile(sys.stdin.read(), 'generated', 'exec')"
    subprocess.run(
        [sys.executable, "-W", "error", "-c", program], input=source.encode(), check=True
    )
    docstring = source.split('"""')[1]
    assert max(map(len, docstring.splitlines())) <= printer.WIDTH


def test_every_stand_in_names_a_routine_of_crt() -> None:
    tree = ast.parse((FOLDER.parent / "crt" / "special.py").read_text("utf-8"))
    defined = {getattr(node, "name", None) for node in tree.body}
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    defined |= {alias.name for node in imports for alias in node.names}
    assert {kind.routine for kind in STAND_INS} <= defined


REFUSED: dict[str, tuple[Any, str]] = {
    "erf": (sp.erf(z), "erf"),
    "gamma": (sp.gamma(z), "gamma"),
    "loggamma": (1 + sp.loggamma(z), "loggamma"),
    "besseli": (z * sp.besseli(0, z), "besseli"),
    "hyper": (sp.hyper([1], [2], z), "hyper"),
    "cosh": (exp(sp.cosh(z)), "cosh"),
    "smallest": (sp.Min(z, n), "Min"),
    "conjugate": (sp.conjugate(A), "conjugate"),
    "decimal": (z * sp.Float("0.1"), "Float"),
    "pi": (sp.pi * z, "Pi"),
    "infinity": (sp.Max(z, Symbol("z1")) + sp.oo * Symbol("a"), "Infinity"),
    "undefined function": (sp.Function("f")(z), r"f in f\(z\)"),
    "cube root": (z ** Rational(1, 3), r"power z\*\*\(1/3\)"),
    "symbolic power": (z**n, r"power z\*\*n"),
    "power of two": (S(2) ** z, r"power 2\*\*z"),
    "open Piecewise": (Piecewise((z, z < Rational(1, 2))), "Piecewise"),
    "joined conditions": (Piecewise((z, (z < n) & (n < 1)), (1, True)), "And"),
    "sum from 2": (Sum(x[l], (l, 2, d)), r"Sum\(x\[l\], \(l, 2, d\)\)"),
    "sum to d - 1": (Sum(x[l], (l, 1, d - 1)), r"Sum\(x\[l\], \(l, 1, d - 1\)\)"),
    "double sum": (Sum(x[l], (l, 1, d), (l, 1, d)), "Sum"),
    "sum in a sum": (Sum(x[l] * Sum(y[l], (l, 1, d)), (l, 1, d)), "inside a sum"),
    "number of the coordinate": (Sum(l * x[l], (l, 1, d)), "number l"),
    "single coordinate": (x[1], r"x\[1\]"),
    "coordinate outside a sum": (x[l], r"x\[l\]"),
    "real part of an expression": (re(Log1p(A)), r"re\(Log1p\(A\)\)"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_everything_else_is_refused_by_name(name: str) -> None:
    expr, named = REFUSED[name]
    text = FormulaPrinter({sp.sstr(getattr(k, "label", k)): r for k, r in DOMAIN.items()})
    with pytest.raises(PrintingError, match=named):
        text.doprint(expr)


def test_intermediate_names_are_held_to_the_same_list() -> None:
    lets = ((w, sp.gamma(z)),)
    made = Formula("probe", "thm", "A probe.", (z,), {z: UNIT}, expr=exp(w), lets=lets)
    with pytest.raises(PrintingError, match="gamma"):
        print_formula(made, SOURCE)
