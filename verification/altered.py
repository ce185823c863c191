"""Mechanisms with one fault: a method replaced, everything else as shipped."""

import math
from collections.abc import Callable
from typing import Any

Change = Callable[[Any], Any]


class Replaced:
    """A mechanism with some of its methods replaced."""

    def __init__(self, mechanism: Any, **methods: Any):
        self._mechanism, self._methods = mechanism, methods

    def __getattr__(self, name: str) -> Any:
        return self._methods.get(name) or getattr(self._mechanism, name)


def as_shipped(mechanism: Any) -> Any:
    """No fault."""
    return mechanism


def _features(alter: Callable[[Any, str, Any, Any], tuple[Any, Any]]) -> Change:
    """A fault in the features: `alter` gets ω, the side, and log size and phase as shipped."""

    def change(mechanism: Any) -> Any:
        def log_features(points: Any, omega: Any, side: str, *, kernel: str = "gaussian") -> Any:
            logs, phase = mechanism.log_features(points, omega, side, kernel=kernel)
            return alter(omega, side, logs, phase)

        return Replaced(mechanism, log_features=log_features)

    return change


def scaled(factor: float) -> Change:
    """Features of side x too large by a factor."""
    return _features(lambda _, side, a, p: (a + math.log(factor) if side == "x" else a, p))


def turned(angle: float) -> Change:
    """Features of both sides turned by an angle; by π/2 it is another root D in thm-gerf."""
    unit = complex(math.cos(angle), math.sin(angle))
    return _features(lambda _, side, a, p: (a, unit * p))


def tilted(share: float) -> Change:
    """Features of both sides with exp(share·‖ω‖²/2) left in: an error in A alone."""
    return _features(lambda omega, _, a, p: (a + share / 2 * (omega**2).sum(-1), p))


unsigned = _features(lambda _, side, a, p: (a, abs(p)))
"""Signs of the features lost."""


def one_side(mechanism: Any) -> Any:
    """Features of side x on both sides."""

    def log_features(points: Any, omega: Any, side: str, *, kernel: str = "gaussian") -> Any:
        return mechanism.log_features(points, omega, "x", kernel=kernel)

    return Replaced(mechanism, log_features=log_features)


def counted_from_1(mechanism: Any) -> Any:
    """Counts larger by 1 than the law says."""

    def log_features(points: Any, omega: Any, side: str, *, kernel: str = "gaussian") -> Any:
        return mechanism.log_features(points, omega + 1, side, kernel=kernel)

    return Replaced(mechanism, log_features=log_features)


def one_kernel(mechanism: Any) -> Any:
    """The softmax kernel ignored in the features."""

    def log_features(points: Any, omega: Any, side: str, *, kernel: str = "gaussian") -> Any:
        return mechanism.log_features(points, omega, side)

    return Replaced(mechanism, log_features=log_features)


def raised(share: float) -> Change:
    """Second moment too large by a share."""

    def change(mechanism: Any) -> Any:
        def log_second_moment(*args: Any, **names: Any) -> Any:
            return mechanism.log_second_moment(*args, **names) + math.log1p(share)

        return Replaced(mechanism, log_second_moment=log_second_moment)

    return change


def widened(share: float) -> Change:
    """Variance too large by a share."""

    def change(mechanism: Any) -> Any:
        def variance(*args: Any, **names: Any) -> Any:
            return mechanism.variance(*args, **names) * (1 + share)

        return Replaced(mechanism, variance=variance)

    return change
