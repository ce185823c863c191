"""Integration rules over the laws of ω: nodes and log weights for Gaussian and count vectors.

Gaussian: trapezoidal sums, whose error for entire integrands with Gaussian decay falls like
exp(-const/step²); so two step sizes that agree to rounding prove a third useless. They fit every
A alike, where the nodes of Gauss–Hermite fit A = 0 only. In d > 2 dimensions the data lie in a
plane: two coordinates of ω and the length of the rest suffice, the length r = e^u on a line in u.
Counts: sums over a box, with what lies outside bounded by the terms on its edge.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln

BLOCK = 2**14
HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True)
class Rule:
    """Nodes ω (N, d) with log weights (N,); `edge` marks nodes whose terms bound the rest."""

    omega: Float[np.ndarray, "nodes d"]
    log_weights: Float[np.ndarray, " nodes"]
    edge: Float[np.ndarray, " nodes"] | None = None

    def blocks(self) -> Iterator["Rule"]:
        """Parts of one size, filled up with copies of no weight: one shape, compiled once."""
        edge = np.zeros_like(self.log_weights) if self.edge is None else self.edge
        for start in range(0, len(self.omega), BLOCK):
            part = slice(start, start + BLOCK)
            missing = BLOCK - len(self.omega[part])
            yield Rule(
                np.pad(self.omega[part], ((0, missing), (0, 0)), mode="edge"),
                np.pad(self.log_weights[part], (0, missing), constant_values=-np.inf),
                np.pad(edge[part], (0, missing)),
            )


@dataclass(frozen=True)
class Widths:
    """How wide integrands exp(-α‖ω‖²/2 + β·ω) are, for several complex α at once.

    The trapezoidal error is exp(-Re(1/α)(2π/step - |Im β|)²/2), and what lies beyond the reach
    exp(-Re(α)(reach - |Re β|/Re α)²/2): both are made e^{-39}.
    """

    alphas: tuple[complex, ...]
    shift: float
    """|Re β|."""
    twist: float
    """|Im β|."""

    @property
    def loose(self) -> float:
        return min(a.real for a in self.alphas)

    @property
    def tight(self) -> float:
        return max(1 / (1 / a).real for a in self.alphas)

    @property
    def reach(self) -> float:
        return self.shift / self.loose + math.sqrt(78 / self.loose)

    @property
    def step(self) -> float:
        return 2 * math.pi / (math.sqrt(78 * self.tight) + self.twist)


def _line(reach: float, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Trapezoidal nodes on [-reach, reach], symmetric, and log weights of N(0, 1)."""
    nodes = step * np.arange(-math.ceil(reach / step), math.ceil(reach / step) + 1)
    return nodes, math.log(step) - HALF_LOG_2PI - nodes**2 / 2


def _length(dim: int, low: float, high: float, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes r = e^u of a χ-distributed length of `dim` coordinates, and their log weights."""
    u = np.arange(math.log(low), math.log(high) + step, step)
    constant = math.log(step) - (dim / 2 - 1) * math.log(2) - math.lgamma(dim / 2)
    return np.exp(u), constant + dim * u - np.exp(2 * u) / 2


def _product(*axes: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    nodes = np.meshgrid(*(a for a, _ in axes), indexing="ij")
    weights = np.meshgrid(*(b for _, b in axes), indexing="ij")
    return np.stack([n.ravel() for n in nodes], axis=-1), np.sum([w.ravel() for w in weights], 0)


def gaussian(frame: Float[np.ndarray, "k d"], widths: Widths, finer: bool = False) -> Rule:
    """ω ~ N(0, I_d) for integrands of ‖ω‖ and of the coordinates along the frame's rows.

    With fewer rows than d the last one carries the length of the rest. The finer rule has steps
    0.8 times as large and reaches further by 1: their difference shows the error of the coarser.
    """
    rows, d = frame.shape
    scale, reach = (0.8, widths.reach + 1) if finer else (1.0, widths.reach)
    axes = [_line(reach, scale * widths.step)] * (rows if rows == d else rows - 1)
    if rows < d:
        dim = d - rows + 1
        # Left of the mode the integrand in u falls below e^{-40}: dim·δ - dim/2 ≥ 40.
        low = math.sqrt(dim / widths.tight) * math.exp(-40 / dim - 0.5)
        step = min(0.08, 0.4 / math.sqrt(2 * dim))
        axes.append(_length(dim, low, math.sqrt(dim / widths.loose) + reach, scale * step))
    nodes, log_weights = _product(*axes)
    # A ball instead of a cube; a length of the rest may be as large as it likes.
    near = np.sum(nodes[:, : len(axes) - (rows < d)] ** 2, axis=-1) <= reach**2
    return Rule(nodes[near] @ frame, log_weights[near])


def poisson(rates: Float[np.ndarray, " d"], most: int) -> Rule:
    """Count vectors up to `most` per coordinate, weighed by Poisson laws."""
    k = np.arange(most + 1.0)
    return _counts([(k, k * math.log(rate) - rate - gammaln(k + 1)) for rate in rates], most)


def geometric(p: float, dim: int, most: int) -> Rule:
    """Count vectors up to `most` per coordinate, weighed by P(k) = p(1-p)^k."""
    k = np.arange(most + 1.0)
    return _counts([(k, math.log(p) + k * math.log1p(-p))] * dim, most)


def _counts(axes: list[tuple[np.ndarray, np.ndarray]], most: int) -> Rule:
    omega, log_weights = _product(*axes)
    return Rule(omega, log_weights, np.any(omega == most, axis=-1).astype(float))
