"""Identities proved once (notebook 01) and used everywhere; Arb values of the same quantities.

The `…_arb` functions compute an expectation from its definition, by certified quadrature or a
series with a bound on its tail, and so are independent of every closed form.
"""

from collections.abc import Callable
from typing import Any

from flint import acb, arb, ctx
from sympy import Expr, S, exp, log, sqrt

from derivations.arb import Evaluator, Point, at_precision

QUADRATURE_BITS = 384


def gaussian_mean(a: Expr, b: Expr) -> Expr:
    """`E exp(a·ω² + b·ω)` for ω ~ N(0, 1) and Re(1 - 2a) > 0 (notebook 01)."""
    return exp(b**2 / (2 * (1 - 2 * a))) / sqrt(1 - 2 * a)


def log_gaussian_mean(a: Expr, z: Expr, d: Expr) -> Expr:
    """`log E exp(a‖ω‖² + ω·v)` for ω ~ N(0, I_d), `z = ‖v‖²`: d coordinates of `gaussian_mean`."""
    return z / (2 * (1 - 2 * a)) - d * log(1 - 2 * a) / 2


def gaussian_mean_arb(a: acb, b: acb) -> acb:
    """`E exp(a·ω² + b·ω)`, ω ~ N(0, 1), by quadrature on [-R, R] and a bound on both tails."""
    precision = arb(1) / 2 - a.real
    drift = abs(b.real)
    if not precision > 0:
        raise ValueError("the expectation does not exist: Re(1 - 2a) must be positive")
    # |integrand| <= exp(-precision ω² + drift |ω|); beyond R it falls faster than its value there.
    reach = (drift + (drift**2 + 4 * precision * ctx.prec).sqrt()) / (2 * precision) + 1
    radius = arb(reach.upper())
    inside = acb.integral(
        lambda w, _: ((a - acb(0.5)) * w * w + b * w).exp(), acb(-radius), acb(radius)
    )
    edge = (-precision * radius**2 + drift * radius).exp()
    tail = 2 * edge / (2 * precision * radius - drift)
    return (inside + _uncertain(tail)) / (2 * arb.pi()).sqrt()


def series_arb(term: Callable[[int], acb], ratio: Callable[[int], arb]) -> acb:
    """`Σ_k term(k)`, where |term(k+1)| <= ratio(k)·|term(k)| and ratio decreases to below 1/2."""
    total = acb(0)
    for k in range(100_000):
        value = term(k)
        total += value
        bound = abs(value)
        if ratio(k) < arb(0.5) and bound < arb(2) ** (-ctx.prec) * (1 + abs(total)):
            return total + _uncertain(2 * bound)
    raise ValueError("the series does not converge within 100000 terms")


def sphere_mean_arb(f: Callable[[acb], acb], dimension: int) -> acb:
    """`E f(u_1)` for u uniform on the unit sphere of R^dimension, dimension >= 2, by quadrature."""
    weight = dimension - 2
    top = acb.integral(lambda th, _: f(th.cos()) * th.sin() ** weight, acb(0), acb.pi())
    return top / acb.integral(lambda th, _: th.sin() ** weight, acb(0), acb.pi())


def chi_square_mean_arb(f: Callable[[acb], acb], freedom: int) -> acb:
    """`E f(R²)` for R² ~ χ² with an even number of degrees of freedom >= 2, by quadrature.

    f may grow like exp(r/4) at most: beyond the range the integrand is then below exp(-r/8).
    """
    half = freedom // 2
    reach = acb(8 * (ctx.prec + 40 * freedom))
    inside = acb.integral(lambda r, _: f(r) * r ** (half - 1) * (-r / 2).exp(), acb(0), reach)
    tail = 16 * (-reach.real / 8).exp()
    return (inside + _uncertain(tail)) / (acb(2) ** half * acb(half).gamma())


def reference(compute: Callable[..., acb], *arguments: Expr) -> Callable[[Point], acb]:
    """A reference for `certify`: `compute` at the values of `arguments`, in quadrature bits."""

    def at(point: Point) -> acb:
        def value() -> acb:
            evaluate = Evaluator(point)
            return compute(*(evaluate(argument) for argument in arguments))

        return at_precision(value, QUADRATURE_BITS)

    return at


def _uncertain(bound: Any) -> acb:
    """The ball of radius `bound` around 0 in the complex plane."""
    size = arb(bound.upper())
    spread = arb(0).union(size).union(-size)
    return acb(spread, spread)


HALF = S.Half
