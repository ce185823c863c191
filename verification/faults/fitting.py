"""Faults of the statistics and of the fitted parameters."""

from typing import Any

import jax.numpy as jnp
from jax import lax

from crt import formulas, parameters, statistics
from verification.faults.fault import Fault, scaled, with_argument


def _moved(first: Any, second: Any) -> Any:
    return type(second)(second.count, first.mean, second.variance, second.absolute, second.low)


STATISTICS = (
    Fault(
        "padded-rows",
        "masked rows counted",
        statistics,
        "_moments",
        lambda f: lambda values, keep: f(values, jnp.ones_like(keep)),
    ),
    Fault(
        "merge-means",
        "a merge counts the second part's mean as the first's",
        statistics.Moments,
        "merge",
        lambda f: lambda a, b: f(a, _moved(a, b)),
    ),
    Fault(
        "sign-ignored",
        "‖x+y‖² in place of ‖x+s·y‖²",
        statistics.Statistics,
        "squared_norm",
        lambda f: lambda self, s: f(self, 1.0),
    ),
    Fault(
        "centred-squares",
        "the variance in place of the mean square",
        statistics.Moments,
        "square",
        lambda _: property(lambda self: self.variance),
    ),
    Fault(
        "geometric-statistic",
        "mean |x_l y_l| off by 10 %",
        formulas,
        "geom_statistic",
        with_argument(0, lambda r: 0.9 * r),
    ),
    Fault(
        "low-of-x",
        "the shift taken from x alone",
        statistics.Statistics,
        "low",
        lambda _: lambda self: self.x.low,
    ),
)

PARAMETERS = (
    Fault("rho-half-z", "ρ* at z/2", formulas, "rho_star", with_argument(0, lambda z: z / 2)),
    Fault("a-dropped-factor", "A* without its factor 2", formulas, "a_star", scaled(0.5)),
    Fault(
        "rate-without-d",
        "λ* without d^{-1/2}",
        formulas,
        "lambda_star",
        with_argument(1, lambda d: 1),
    ),
    Fault(
        "rates-squared",
        "λ_l² in place of λ_l",
        formulas,
        "rates_star",
        lambda f: lambda x, y: f(x, y) ** 2,
    ),
    Fault(
        "chance-swapped", "1-p in place of p", parameters, "chance", lambda f: lambda r: 1 - f(r)
    ),
    Fault(
        "root-not-found",
        "the bracket's end in place of the root",
        parameters,
        "_root",
        lambda _: lambda slope, low, high: lax.stop_gradient(high),
    ),
)
