"""Which mechanism, and how many features, reach a wanted error on given data: computed, not tried.

The relative error of an estimate K̂ of the kernel matrix K is predicted as

    (Σ_ij Var K̂_ij / Σ_ij K_ij²)^{1/2},

the root of the expected ‖K̂ - K‖_F² / ‖K‖_F². By Jensen's inequality the expected error is no
larger. The variances are exact; rounding of the features themselves is not counted.
"""

import math
from dataclasses import dataclass
from functools import partial
from numbers import Real as RealNumber

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.nn import logsumexp
from jax.typing import ArrayLike
from jaxtyping import Float, Real

from crt import errors, formulas
from crt.kernels import KERNELS
from crt.mechanisms import MECHANISMS, Mechanism
from crt.statistics import Statistics, collect

# Errors that differ by less than this share are equal: the simpler mechanism is taken.
TIE = 1e-3
LARGEST = math.log(np.finfo(np.float64).max)


@dataclass(frozen=True, eq=False)
class Choice:
    """A fitted mechanism, its number of features M and what they predict.

    Where no mechanism reaches the wanted error, the best within the budget, and the verdict says
    so. `predicted_error` is infinite where float64 cannot hold it; its logarithm is `log_error`.
    `uniform_error` is the error of a matrix whose rows are constant, each the mean of K's row.
    """

    mechanism: Mechanism
    num_features: int
    predicted_error: float
    verdict: str
    orthogonal: bool
    log_error: float
    uniform_error: float


@dataclass(frozen=True, eq=False)
class Candidate:
    """A mechanism with one kind of projections: its error as a function of M.

    Relative to Σ K², the summed variance at M = k·block + r is C/M + r(block - r)G/M², where
    C = Σ Var X - (block - 1)·G and G ≥ 0 is the summed gain of an orthogonal pair (ortho-exact,
    collected by powers of M). Independent features are blocks of 1. Both terms are non-negative and
    the second vanishes at full blocks, so the least M lies within a block of where C/M does it.
    """

    mechanism: Mechanism
    block: int
    log_c: float
    log_g: float

    @property
    def orthogonal(self) -> bool:
        return self.block > 1

    def log_errors(self, m: np.ndarray) -> np.ndarray:
        """Log of the predicted relative error with m features, elementwise."""
        left = np.mod(m, self.block)
        with np.errstate(divide="ignore"):
            uneven = np.log(left * (self.block - left)) + self.log_g
        return 0.5 * np.logaddexp(self.log_c - np.log(m), uneven - 2 * np.log(m))

    def log_error(self, m: int) -> float:
        """Log of the predicted relative error with m features."""
        return float(self.log_errors(np.asarray([m], np.float64))[0])

    def least(self, log_error: float, budget: int) -> int | None:
        """The least number of features that reaches the error, None if it exceeds the budget."""
        first = int(math.exp(min(self.log_c - 2 * log_error, math.log(budget))))
        high = min(budget, (first // self.block + 2) * self.block)
        trial = _range(max(1, first - 1), high)
        reached = trial[self.log_errors(trial) <= log_error]
        return int(reached[0]) if reached.size else None

    def best(self, budget: int) -> int:
        """The number of features in the budget with the least error: full blocks, or a few more."""
        trial = _range(max(1, budget // self.block * self.block), budget)
        return int(trial[np.argmin(self.log_errors(trial))])

    def plainness(self) -> tuple[bool, int, bool]:
        """Orders equals: real features first, then few parameters, then independent rows."""
        size = sum(np.size(leaf) for leaf in jax.tree.leaves(self.mechanism))
        return self.mechanism.complex_features, size, self.orthogonal


def _range(low: int, high: int) -> np.ndarray:
    """low, …, high in float64, also beyond the integers of NumPy."""
    return low + np.arange(high - low + 1, dtype=np.float64)


@partial(jax.jit, static_argnames=("cls",))
def _fit(cls: type[Mechanism], statistics: Statistics) -> Mechanism:
    return cls.from_statistics(statistics)


@partial(jax.jit, static_argnames=("method", "kernel"))
def _by_rows(
    mechanism: Mechanism, x: Array, y: Array, method: str, kernel: str
) -> Array | tuple[Array, Array]:
    """A method of the mechanism for all pairs, (n, m), in O(md) memory beside it."""
    return lax.map(lambda point: getattr(mechanism, method)(point, y, kernel=kernel), x)


@partial(jax.jit, static_argnames=("kernel",))
def _log_kernel(x: Array, y: Array, kernel: str) -> Float[Array, "n m"]:
    exact = formulas.log_softmax_kernel if kernel == "softmax" else formulas.log_gaussian_kernel
    return lax.map(lambda point: exact(point, y), x)


def _spread(points: Array, rows: int) -> np.ndarray:
    """At most `rows` rows, evenly spaced, in float64."""
    count = min(rows, points.shape[0])
    return np.asarray(points[np.arange(count) * points.shape[0] // count], np.float64)


def _weights(x: Array, y: Array, rows: int) -> np.ndarray:
    """How many pairs of the data each pair of chosen rows stands for, up to a common factor.

    Of a set against itself every row has one pair on the diagonal, however many rows are chosen.
    """
    chosen = min(rows, x.shape[0]), min(rows, y.shape[0])
    weights = np.ones(chosen)
    if 1 < rows < x.shape[0] and x.shape == y.shape and bool((x == y).all()):
        weights[~np.eye(rows, dtype=bool)] = (x.shape[0] - 1) / (rows - 1)
    return weights


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs that stand for the data: rows in float64, weights, log K and log Σ K²."""

    x: Array
    y: Array
    weights: Array
    kernel: str
    log_kernel: Array
    log_scale: Array

    @classmethod
    def gather(cls, x: Array, y: Array, rows: int, kernel: str) -> "Pairs":
        """Evenly spaced rows of both sets."""
        near, far = jnp.asarray(_spread(x, rows)), jnp.asarray(_spread(y, rows))
        weights, log_kernel = jnp.asarray(_weights(x, y, rows)), _log_kernel(near, far, kernel)
        log_scale = logsumexp(2 * log_kernel, b=weights)
        return cls(near, far, weights, kernel, log_kernel, log_scale)

    def uniform_error(self) -> float:
        """‖K - row means‖_F / ‖K‖_F, relative to the largest entry."""
        kernel = jnp.exp(self.log_kernel - jnp.max(self.log_kernel))
        mean = jnp.average(kernel, axis=1, weights=self.weights, keepdims=True)
        apart = jnp.sum(self.weights * (kernel - mean) ** 2)
        return float(jnp.sqrt(apart / jnp.sum(self.weights * kernel**2)))

    def log_variance(self, mechanism: Mechanism) -> float:
        """log(Σ Var X / Σ K²), which may lie far beyond the range of floating point."""
        logs = _by_rows(mechanism, self.x, self.y, "log_variance", self.kernel)
        return float(logsumexp(logs, b=self.weights) - self.log_scale)

    def log_gain(self, mechanism: Mechanism) -> float:
        """log(Σ G / Σ K²), -∞ where the sum is not positive."""
        logs, signs = _by_rows(mechanism, self.x, self.y, "log_orthogonal_gain", self.kernel)
        log_g, sign = logsumexp(logs, b=signs * self.weights, return_sign=True)
        return float(log_g - self.log_scale) if sign > 0 else -math.inf


def _candidates(mechanism: Mechanism, pairs: Pairs) -> list[Candidate]:
    """The mechanism with independent rows and, where that lowers the variance, orthogonal ones.

    None where its parameters overflowed.
    """
    exact = jax.tree.map(lambda leaf: leaf.astype(jnp.float64), mechanism)
    log_v, dim = pairs.log_variance(exact), pairs.x.shape[-1]
    if not log_v < math.inf:
        return []
    independent = Candidate(mechanism, 1, log_v, -math.inf)
    if mechanism.discrete or dim == 1 or log_v == -math.inf:
        return [independent]
    log_g = pairs.log_gain(exact)
    if log_g == -math.inf:
        return [independent]
    share = (dim - 1) * math.exp(log_g - log_v)
    # The variance of a full block is not negative; rounding may say so.
    left = math.log1p(-share) if share < 1 else -math.inf
    return [independent, Candidate(mechanism, dim, log_v + left, log_g)]


def _best(options: list[Candidate], error: float, budget: int) -> tuple[Candidate, int]:
    """Fewest features that reach the error or, where none do, the least error in the budget."""
    needed = [(each, each.least(math.log(error), budget)) for each in options]
    reaching = [(each, m) for each, m in needed if m is not None]
    if reaching:
        return min(reaching, key=lambda pair: (pair[1], pair[0].plainness()))
    nearest = [(each, each.best(budget)) for each in options]
    least = min(each.log_error(m) for each, m in nearest)
    equals = [(each, m) for each, m in nearest if each.log_error(m) <= least + TIE]
    return min(equals, key=lambda pair: pair[0].plainness())


def _number(log_value: float) -> str:
    """Three digits, or a power of ten where the number is large."""
    if log_value > math.log(1e6):
        return f"10^{log_value / math.log(10):.0f}"
    return f"{math.exp(log_value):.3g}"


def _verdict(best: Candidate, m: int, error: float, budget: int, uniform: float) -> str:
    """One plain sentence."""
    kind = "orthogonal" if best.orthogonal else "independent"
    noun = "feature" if m == 1 else "features"
    which, log_error = f"{best.mechanism.name} with {m} {kind} {noun}", best.log_error(m)
    loses = log_error > (math.log(uniform) if uniform else -math.inf)
    end = " only, so random features lose even to a uniform average here." if loses else "."
    average = f"; replacing every row of the kernel by its mean errs by {uniform:.3g}{end}"
    if log_error <= math.log(error):
        reached = f"{which} predicts a relative error of {_number(log_error)}"
        return reached + (average if loses else ".")
    return (
        f"No mechanism reaches {error:.3g} within {budget} features: the best, {which}, predicts "
        f"{_number(log_error)}{average}"
    )


def _wanted(error: object) -> float:
    """The error as a positive finite number; single entries of NumPy and JAX are numbers too."""
    number = error
    if isinstance(error, np.ndarray | np.generic | Array) and errors.is_concrete(error):
        number = error.item() if error.ndim == 0 else None
    if isinstance(number, bool) or not isinstance(number, RealNumber):
        number = math.nan
    if not 0 < float(number) < math.inf:
        raise ValueError(f"error is {error!r}; it must be a positive finite number.")
    return float(number)


def _checked(x: ArrayLike, y: ArrayLike) -> list[Array]:
    sets = [errors.points(name, value, axes="(rows, dim)") for name, value in (("x", x), ("y", y))]
    for name, points in zip("xy", sets, strict=True):
        if not errors.is_concrete(points):
            raise ValueError(f"{name} is traced; choose looks at values and does not run in jit.")
    errors.same_dim("x", sets[0], "y", sets[1])
    return sets


def choose(
    x: Real[ArrayLike, "n d"],
    y: Real[ArrayLike, "m d"],
    *,
    error: Real[ArrayLike, ""],
    budget: int,
    kernel: str = "gaussian",
    rows: int = 256,
) -> Choice:
    """The mechanism that needs fewest features for a relative error between x (n, d) and y (m, d).

    Every mechanism is fitted to all data, O((n+m)d); the variances are summed over the pairs of at
    most `rows` evenly spaced rows of each set, O(rows²d), in float64 and log space. `budget` is the
    largest M allowed. Among equals real features win, then fewer parameters, then independent rows.
    """
    errors.one_of("kernel", kernel, KERNELS)
    errors.whole("budget", budget)
    errors.whole("rows", rows)
    wanted = _wanted(error)
    one, other = _checked(x, y)
    statistics = collect(one, other)
    fitted = [_fit(each, statistics) for each in MECHANISMS.values()]
    # For this computation alone: float32 cannot hold the digits of logarithms of size 1e8.
    with jax.enable_x64(True):
        pairs = Pairs.gather(one, other, rows, kernel)
        options = [candidate for each in fitted for candidate in _candidates(each, pairs)]
        uniform = pairs.uniform_error()
    best, m = _best(options, wanted, budget)
    log_error = best.log_error(m)
    predicted = math.exp(log_error) if log_error < LARGEST else math.inf
    verdict = _verdict(best, m, wanted, budget, uniform)
    return Choice(best.mechanism, m, predicted, verdict, best.orthogonal, log_error, uniform)
