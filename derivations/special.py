"""Numerically stable functions: SymPy stand-ins for the routines of `crt/special.py`.

Each stands for an elementary expression, its `definition`: proofs unfold it (`unfold`), the Arb
evaluator computes it at whatever precision is needed, and the printer emits the stable routine.
"""

from typing import Any, cast

from sympy import Basic, Dummy, Expr, Function, Integer, besseli, cos, exp, hyper, log, sqrt


class Special(Function):
    """Base of the stand-ins: a `definition`, and the routine's name in crt."""

    routine: str
    at_zero: Expr | None = None
    """The value at first argument 0, where the definition reads 0/0."""

    @staticmethod
    def definition(*args: Expr) -> Expr:
        """The elementary expression this function stands for."""
        raise TypeError("a stand-in must give its definition")

    @property
    def arguments(self) -> tuple[Expr, ...]:
        return cast(tuple[Expr, ...], self.args)

    def fdiff(self, argindex: int = 1) -> Expr:
        names = [Dummy("u") for _ in self.args]
        slope = self.definition(*names).diff(names[argindex - 1])
        return slope.subs(dict(zip(names, self.args, strict=True)), simultaneous=True)


def _special(name: str, routine: str, definition: Any, at_zero: Any = None) -> type[Special]:
    """A stand-in class; SymPy tells functions apart by class, so each needs its own."""
    namespace = {
        "nargs": definition.__code__.co_argcount,
        "routine": routine,
        "definition": staticmethod(definition),
        "at_zero": None if at_zero is None else Integer(at_zero),
        "__module__": __name__,
        "__doc__": f"`crt.special.{routine}`.",
    }
    return cast(type[Special], type(name, (Special,), namespace))


Sqrt = _special("Sqrt", "sqrt", lambda t: sqrt(t))
Log = _special("Log", "log", lambda t: log(t))
Log1p = _special("Log1p", "log1p", lambda t: log(1 + t))
Log1pRatio = _special("Log1pRatio", "log1p_ratio", lambda t: log(1 + t) / t, at_zero=1)
Log1pGap = _special("Log1pGap", "log1p_gap", lambda t: t - log(1 + t))
Expm1 = _special("Expm1", "expm1", lambda t: exp(t) - 1)
Expm1Ratio = _special("Expm1Ratio", "expm1_ratio", lambda t: (exp(t) - 1) / t, at_zero=1)
LogExpm1 = _special("LogExpm1", "log_expm1", lambda t: log(exp(t) - 1))
LogOneMinusExp = _special("LogOneMinusExp", "log_one_minus_exp", lambda t: log(1 - exp(-t)))
LogCosh = _special("LogCosh", "log_cosh", lambda t: log((exp(t) + exp(-t)) / 2))
LogMeanExp = _special(
    "LogMeanExp",
    "log_mean_exp",
    lambda h, g, theta: h + log((exp(-g / 2) + exp(g / 2) * cos(theta)) / 2),
)
LogI0 = _special("LogI0", "log_i0", lambda t: log(besseli(0, t)))
LogI0e = _special("LogI0e", "log_i0e", lambda t: log(besseli(0, t)) - t)
LogI0Gap = _special("LogI0Gap", "log_i0_gap", lambda t: t**2 / 4 - log(besseli(0, t)))
BesselRatio = _special("BesselRatio", "bessel_ratio", lambda t: besseli(1, t) / besseli(0, t))
Softplus = _special("Softplus", "softplus", lambda t: log(1 + exp(t)))
Expit = _special("Expit", "expit", lambda t: 1 / (1 + exp(-t)))
OrthogonalDeficit = _special(
    "OrthogonalDeficit",
    "orthogonal_deficit",
    lambda z, d: 1 - exp(-z) * hyper([d], [d / 2], z / 2),
    at_zero=0,
)
LogOrthogonalDeficit = _special(
    "LogOrthogonalDeficit",
    "log_orthogonal_deficit",
    lambda z, d: log(1 - exp(-z) * hyper([d], [d / 2], z / 2)),
)
OrthogonalTrig = _special(
    "OrthogonalTrig",
    "orthogonal_trig",
    lambda z, d: exp(-z) - hyper([d], [d / 2], -z / 2),
    at_zero=0,
)


def unfold(expr: Expr) -> Expr:
    """`expr` with every stand-in replaced by its elementary definition."""

    def step(node: Basic) -> Basic:
        return cast(Special, node).definition(*cast(Special, node).arguments)

    while expr.has(Special):
        expr = cast(Expr, expr.replace(lambda node: isinstance(node, Special), step))
    return expr
