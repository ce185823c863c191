"""PoisRF+ and GeomRF+: discrete features of points moved into the positive orthant (positivity).

    x̂ = max(x - shift, 0) + ε,    ε = 1e-8,

keeps K and makes every feature positive. `shift` is the least value of each coordinate in the
fitted data; a new point below it is clamped, which biases its estimates (clamp-bias). Below the
shift a coordinate has gradient 0. At the shift, where the derivative jumps, it is half of the one
above it, as large as ω/ε.
"""

from typing import ClassVar

import numpy as np
from jax import Array
from jax.typing import ArrayLike
from jaxtyping import Float, Real

from crt import errors, formulas, parameters
from crt.arrays import promote
from crt.mechanisms.discrete import (
    Discrete,
    Geometric,
    Poisson,
    check_chance,
    check_rates,
    log_powers,
)
from crt.mechanisms.exponential import row_norms
from crt.pytrees import pytree
from crt.statistics import Statistics

EPSILON = 1e-8


class Shifted(Discrete):
    """What both mechanisms share: the shift."""

    shift: Real[ArrayLike, "*b d"]
    signed_features: ClassVar[bool] = False
    vectors: ClassVar[tuple[str, ...]] = ("shift",)

    def positive(self, x: Real[ArrayLike, "*batch d"]) -> Float[Array, "*batch d"]:
        """x̂, at least ε in every coordinate."""
        return formulas.positive_shift(x, self.shift, EPSILON)

    def log_values(
        self, x: Array, omega: Array, side: str, kernel: str
    ) -> tuple[Array, Array | None]:
        x, omega = promote(x, omega, self.parameter(), self.shift)[:2]
        moved = self.positive(x)
        log_unit, constant = self.constants(omega)
        own = row_norms(moved, -0.5)
        if kernel == "softmax":
            own += row_norms(x, 0.5)
        return log_powers(moved, omega, log_unit) + (constant + own), None


def check_shift(shift: object) -> None:
    """Refuses a shift with NaN or infinite entries."""
    errors.parameter("shift", shift, "finite in every coordinate", np.isfinite)


@pytree
class PoisRFPlus(Shifted, Poisson):
    """Poisson features of shifted points, all positive."""

    rate: Real[ArrayLike, "*b"]
    shift: Real[ArrayLike, "*b d"]
    name: ClassVar[str] = "pois+"

    def __post_init__(self) -> None:
        check_rates("rate", self.rate)
        check_shift(self.shift)

    @classmethod
    def from_statistics(cls, statistics: Statistics) -> "PoisRFPlus":
        """Least coordinates of both sets, and λ* of the shifted points."""
        low = statistics.low()
        return cls(parameters.rate(statistics.positive(low, EPSILON)), low)

    def parameter(self) -> ArrayLike:
        return self.rate

    def gaussian_log_second_moment(self, x: Array, y: Array) -> Array:
        return formulas.log_second_moment_pois(self.positive(x), self.positive(y), self.rate)

    def gaussian_log_variance(self, x: Array, y: Array) -> Array:
        return formulas.log_variance_pois(self.positive(x), self.positive(y), self.rate)


@pytree
class GeomRFPlus(Shifted, Geometric):
    """Geometric features of shifted points, all positive."""

    p: Real[ArrayLike, "*b"]
    shift: Real[ArrayLike, "*b d"]
    name: ClassVar[str] = "geom+"

    def __post_init__(self) -> None:
        check_chance(self.p)
        check_shift(self.shift)

    @classmethod
    def from_statistics(cls, statistics: Statistics) -> "GeomRFPlus":
        """Least coordinates of both sets, and the optimal p of the shifted points."""
        low = statistics.low()
        return cls(parameters.chance(statistics.positive(low, EPSILON).geometric()), low)

    def parameter(self) -> ArrayLike:
        return self.p

    def gaussian_log_second_moment(self, x: Array, y: Array) -> Array:
        return formulas.log_second_moment_geom(self.positive(x), self.positive(y), self.p)

    def gaussian_log_variance(self, x: Array, y: Array) -> Array:
        return formulas.log_variance_geom(self.positive(x), self.positive(y), self.p)
