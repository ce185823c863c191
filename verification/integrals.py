"""Integrals of the shipped features over a rule, and their comparison with the shipped moments.

Every case sums the shipped `log_features` over the nodes of a rule and compares with the exact
kernel, with the shipped second moment and with the shipped variance.

Tolerances. The logarithm of a term is a sum of parts; the nodes are symmetric, so every part
reaches its full size uncancelled at some node. With T the largest |log| that occurs, a term is
right to 8·eps·T relatively, and a sum to that times the sum of sizes. To this are added the
difference of two step sizes (Gaussian ω) or twice the terms on the edge of the box (counts, where
each further term is at most half of the one before).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

import crt
from verification import rules
from verification.comparison import Row

EPS = float(np.finfo(np.float64).eps)
Points = Float[np.ndarray, "p d"]


def gaussian_kernel(x: Points, y: Points) -> Float[np.ndarray, " p"]:
    """exp(-‖x-y‖²/2), row by row."""
    return np.exp(-0.5 * np.sum((x - y) ** 2, axis=-1))


@dataclass(frozen=True)
class Case:
    """A mechanism, pairs of points, and rules for its ω: the first is used, others test it."""

    name: str
    mechanism: Any
    x: Float[np.ndarray, "p d"]
    y: Float[np.ndarray, "p d"]
    rules: tuple[rules.Rule, ...]
    printed: Callable[["Case"], Float[np.ndarray, " p"]] | None = None
    """The variance of the Gaussian kernel's estimate as the paper prints it."""
    log_bias: Float[np.ndarray, " p"] | float = 0.0
    """Log of the mean over the kernel."""


@dataclass(frozen=True)
class Sums:
    """Per pair Σ w X^k for k = 1, 2, the same with |X|, and the error of both by rounding."""

    values: Float[np.ndarray, "2 p"]
    errors: Float[np.ndarray, "2 p"]


def integrate(case: Case, rule: rules.Rule, kernel: str) -> Sums:
    """Mean and second moment of the product of shipped features over one rule."""
    parts = [_integrate(case, part, kernel) for part in rule.blocks()]
    return Sums(*(np.sum([getattr(p, k) for p in parts], axis=0) for k in ("values", "errors")))


def _integrate(case: Case, rule: rules.Rule, kernel: str) -> Sums:
    sides = zip((case.x, case.y), "xy", strict=True)
    with jax.enable_x64(True):
        (a, p), (b, q) = (
            map(np.asarray, case.mechanism.log_features(points, rule.omega, side, kernel=kernel))
            for points, side in sides
        )
    weighed = np.isfinite(a) & np.isfinite(b) & np.isfinite(rule.log_weights)
    logs, phase = np.where(weighed, a + b, -np.inf), np.real(p * q)
    parts = (np.where(weighed, part, 0) for part in (a, b, rule.log_weights))
    extreme = 1 + np.max(sum(map(np.abs, parts)), axis=-1)
    values, errors = [], []
    for k in (1, 2):
        sizes = np.where(weighed, np.exp(k * logs + rule.log_weights), 0)
        values.append(np.sum(sizes * phase**k, axis=-1))
        rounding = 8 * EPS * k * extreme * np.sum(sizes, axis=-1)
        errors.append(rounding + 2 * np.sum(sizes * rule.edge, axis=-1))
    return Sums(np.array(values), np.array(errors))


def rows_of(case: Case, kernel: str) -> Iterator[Row]:
    """Mean against the kernel, second moment and variance against the shipped ones."""
    sums, *others = (integrate(case, rule, kernel) for rule in case.rules)
    errors = sums.errors + sum(np.abs(sums.values - other.values) for other in others)
    first, second = sums.values
    with jax.enable_x64(True):
        exact = np.asarray(getattr(crt.kernels, kernel)(case.x[:, None], case.y[:, None]))[:, 0, 0]
        exact = exact * np.exp(case.log_bias)
        moment = np.exp(case.mechanism.log_second_moment(case.x, case.y, kernel=kernel))
        variance = np.asarray(case.mechanism.variance(case.x, case.y, kernel=kernel))
    label = f"{case.name}, {kernel}, d = {case.x.shape[1]}"
    for i in range(len(case.x)):
        mean_error, moment_error = errors[:, i]
        # The shipped moments are exponentials of numbers of size T as well.
        yield Row(f"mean of {label}", first[i], exact[i], mean_error)
        yield Row(f"second moment of {label}", second[i], moment[i], 2 * moment_error)
        both = 2 * moment_error + 2 * abs(first[i]) * mean_error
        spread = second[i] - first[i] ** 2
        yield Row(f"variance of {label}", spread, variance[i], both)
        if case.printed is not None and kernel == "gaussian":
            yield Row(f"variance of {label}, as printed", spread, case.printed(case)[i], both)


def sharp(rows: Iterable[Row], share: float = 1e-9) -> list[Row]:
    """The rows, with one more that fails if a tolerance is too wide to mean anything."""
    kept = list(rows)
    widest = max(row.allowed / abs(row.predicted) for row in kept if "variance" not in row.label)
    return [*kept, Row("widest relative tolerance", widest, share, 0.0, one_sided=True)]
