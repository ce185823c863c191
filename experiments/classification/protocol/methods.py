"""The methods that are compared, and readings of them that could have produced the paper's."""

from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import jax.numpy as jnp
from jax import Array

import crt
from crt.mechanisms.base import Mechanism
from crt.pytrees import pytree

REAL, COMPLEX = 128, 64
"""Numbers of features of the paper: a complex one counts as two real ones."""


@pytree
class UnconjugatedTrigRF(crt.TrigRF):
    """exp(iω·x) on both sides: the real part of a product is cos(ω·(x+y)), the mirrored kernel."""

    name: ClassVar[str] = "trig, unconjugated"

    def log_values(
        self, x: Array, omega: Array, side: str, kernel: str
    ) -> tuple[Array, Array | None]:
        return super().log_values(x, omega, "x", kernel)


@pytree
class UnconjugatedGERF(crt.GERF):
    """The same slip in the general family, which shows where the fitted s is -1."""

    name: ClassVar[str] = "gerf, unconjugated"

    def log_values(
        self, x: Array, omega: Array, side: str, kernel: str
    ) -> tuple[Array, Array | None]:
        return super().log_values(x, omega, "x", kernel)


@pytree
class CosineTrigRF(crt.TrigRF):
    """cos(ω·x) on both sides: what is left if imaginary parts are dropped too early."""

    name: ClassVar[str] = "trig, real parts"
    complex_features: ClassVar[bool] = False
    signed_features: ClassVar[bool] = True

    def log_values(
        self, x: Array, omega: Array, side: str, kernel: str
    ) -> tuple[Array, Array | None]:
        log_abs, phase = super().log_values(x, omega, side, kernel)
        assert phase is not None
        return log_abs, jnp.real(phase)


@pytree
class SineTrigRF(crt.TrigRF):
    """sin(ω·x) on both sides: the imaginary parts alone."""

    name: ClassVar[str] = "trig, imaginary parts"
    complex_features: ClassVar[bool] = False
    signed_features: ClassVar[bool] = True

    def log_values(
        self, x: Array, omega: Array, side: str, kernel: str
    ) -> tuple[Array, Array | None]:
        log_abs, phase = super().log_values(x, omega, "x", kernel)
        assert phase is not None
        return log_abs, jnp.imag(phase)


class Method(NamedTuple):
    """A mechanism, its number of features, and whether its projections are orthogonal."""

    mechanism: type[Mechanism]
    num_features: int
    orthogonal: bool


def _method(mechanism: type[Mechanism]) -> Method:
    """As in the paper: orthogonal ω for the exponential family, half as many complex features."""
    count = COMPLEX if mechanism.complex_features else REAL
    return Method(mechanism, count, not mechanism.discrete)


PAPER = ("trig", "pos", "gerf", "pois", "geom", "oprf", "pois+", "geom+")
"""The columns of the paper's table."""
BEYOND = ("optpois", "trig-128")
"""TrigRF with 128 complex features has twice the columns of all others."""
READINGS: Mapping[str, type[Mechanism]] = {
    "trig-unconjugated": UnconjugatedTrigRF,
    "gerf-unconjugated": UnconjugatedGERF,
    "trig-real": CosineTrigRF,
    "trig-imaginary": SineTrigRF,
}
UNCONJUGATED = ("trig-unconjugated", "gerf-unconjugated")
OF_TRIG = ("trig-unconjugated", "trig-real", "trig-imaginary")
METHODS: Mapping[str, Method] = {
    **{name: _method(crt.MECHANISMS[name]) for name in (*PAPER, "optpois")},
    "trig-128": Method(crt.TrigRF, 128, orthogonal=True),
    **{name: Method(kind, COMPLEX, orthogonal=True) for name, kind in READINGS.items()},
}
