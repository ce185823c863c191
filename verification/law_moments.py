"""Moments of what the samplers draw, coordinate by coordinate: 1 % of a law's parameter shows here.

A distance between distribution functions hardly feels a rate that is off by 1 %: at λ = 0.7 it is
0.003. Means of ω and of ω² do: their variances are known, so Catoni's test says how many draws
detect 1 %. Coordinates are not pooled, since an error in one of 64 would drown in the others. Each
coordinate of independent rows is a draw of its own. Where rows are orthogonal, a draw is the mean
over a block: the squares of a column of Haar's matrix have the sum 1, and only blocks are
independent. Lengths of rows are independent there too.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy import stats

import crt
from verification.checks import Check, Outcome, Setting
from verification.faults import planted
from verification.laws import CHANCE, CHUNK
from verification.statistics import MeanTest, influence, relative, worst

RATE = 6.0
RATES = np.array([4.0, 6.0, 9.0])
"""Rates of counts: 1 % of one of this size shows in few draws."""
COUNT_DIM, HEADS = 8, 2
GAUSSIAN_DIMS = (8, 64)
"""Where coordinates are looked at one by one."""
POINT = 0.01
"""Relative error of a rate, of a chance or of the variance of one coordinate that is detected at
the standard budget; of the mean of one coordinate of independent rows, in units of its σ = 1."""


@dataclass(frozen=True)
class Group:
    """Values of one kind: `values(omega, block)` (n, S) are n independent draws of S kinds.

    `exact` holds the mean and the variance of each.
    """

    what: str
    exact: tuple[tuple[float, float], ...]
    values: Callable[[Array, int], Array]


def _lengths(omega: Array, block: int) -> Array:
    """Squared lengths of the rows, and their squares (n, 2)."""
    squares = jnp.sum(omega**2, axis=-1, keepdims=True)
    return jnp.concatenate([squares, squares**2], axis=-1)


def _powers(omega: Array, block: int, power: int) -> Array:
    """Means over blocks of ω_j^power (n, d)."""
    return jnp.mean((omega**power).reshape(-1, block, omega.shape[-1]), axis=1)


_values, _squares = partial(_powers, power=1), partial(_powers, power=2)


def gaussian_groups(dim: int, block: int) -> tuple[Group, ...]:
    """Lengths, and every coordinate's value and square.

    Over an orthogonal block E (Σ_i r_i²q_ij²)² = d·3 + d(d-1)·d²/(d(d+2)), so that the mean of d
    squares has variance 6/(d(d+2)) in place of 2/d; that of d values has 1/d, as signs are free.
    """
    spread = 2.0 if block == 1 else 6 / (dim * (dim + 2))
    return (
        Group("squared length", _moments(stats.chi2(dim)), _lengths),
        Group("coordinate", ((0.0, 1 / block),) * dim, _values),
        Group("squared coordinate", ((1.0, spread),) * dim, _squares),
    )


def count_groups(*laws: Any) -> tuple[Group, ...]:
    """Every coordinate's count and its square."""
    both = [_moments(law) for law in laws]
    return (
        Group("count", tuple(first for first, _ in both), _values),
        Group("squared count", tuple(second for _, second in both), _squares),
    )


def _moments(law: Any) -> tuple[tuple[float, float], tuple[float, float]]:
    """Mean and variance of X and of X²."""
    m1, m2, _, m4 = (float(law.moment(k)) for k in range(1, 5))
    return (m1, m2 - m1**2), (m2, m4 - m2**2)


@partial(jax.jit, static_argnames=("values", "block"))
def totals(
    omega: Array, means: Array, scales: Array, values: Callable[[Array, int], Array], block: int
) -> Array:
    """Σψ of every kind of value (S,)."""
    return jnp.sum(influence(scales * (values(omega, block) - means)), axis=0)


@dataclass(frozen=True)
class Sampler:
    """A mechanism, its number of coordinates, and what is known of its draws."""

    mechanism: Any
    dim: int
    groups: tuple[Group, ...]
    chunks: int
    orthogonal: bool = False

    @property
    def block(self) -> int:
        return self.dim if self.orthogonal else 1

    @property
    def rows(self) -> int:
        """Rows of a chunk: whole blocks of every head."""
        return CHUNK // (HEADS * self.dim) * HEADS * self.dim

    def draws(self, setting: Setting) -> Iterator[Array]:
        """Projections, chunk by chunk."""
        given = repr((self.mechanism, self.dim, self.orthogonal))
        rng = np.random.default_rng([setting.seed, *given.encode()])
        for _ in range(max(1, round(self.chunks * setting.effort))):
            key = jax.random.key(rng.integers(2**63))
            yield self.mechanism.sample(
                key, self.rows, self.dim, self.orthogonal, dtype=jnp.float64
            )

    def tests(self, setting: Setting) -> list[list[MeanTest]]:
        """For every group, of the mean of each of its values; all share the false alarms."""
        chunks = max(1, round(self.chunks * setting.effort))
        share = setting.false_alarm / sum(len(group.exact) for group in self.groups)
        made = []
        for group in self.groups:
            size = self.rows if group.values is _lengths else self.rows // self.block
            made.append([MeanTest(*pair, chunks * size, share) for pair in group.exact])
        return made


@dataclass(frozen=True)
class Heads:
    """Projections as attention draws them, of several heads one after the other."""

    again: bool
    """Whether `redraw` draws them, for one step and layer, in place of `sample`."""

    def sample(self, key: Array, rows: int, dim: int, orthogonal: bool, dtype: Any) -> Array:
        """As a mechanism's: whole blocks, each in one head."""
        attend = crt.FavorAttention(rows // HEADS // dim * dim, "pos", orthogonal)
        if self.again:
            heads = jnp.arange(HEADS)
            drawn = attend.redraw(key, dim, step=3, layer=1, head=heads, dtype=dtype)
        else:
            drawn = attend.sample(key, dim, HEADS, dtype=dtype)
        assert drawn is not None
        return drawn.reshape(-1, dim)


def samplers() -> Mapping[str, Sampler]:
    """Every sampler, with as many chunks as an error of POINT needs at the standard budget."""
    zeros, dim = np.zeros(COUNT_DIM), GAUSSIAN_DIMS[0]
    poisson = count_groups(*[stats.poisson(RATE)] * COUNT_DIM)
    geometric = count_groups(*[stats.nbinom(1, CHANCE)] * COUNT_DIM)
    by_rate = count_groups(*(stats.poisson(rate) for rate in RATES))
    return {
        "pois": Sampler(crt.PoisRF(RATE), COUNT_DIM, poisson, 3),
        "pois+": Sampler(crt.PoisRFPlus(RATE, zeros), COUNT_DIM, poisson, 3),
        "optpois": Sampler(crt.OptPoisRF(RATES), len(RATES), by_rate, 4),
        "geom": Sampler(crt.GeomRF(CHANCE), COUNT_DIM, geometric, 6),
        "geom+": Sampler(crt.GeomRFPlus(CHANCE, zeros), COUNT_DIM, geometric, 6),
        "heads": Sampler(Heads(False), dim, gaussian_groups(dim, dim), 8, True),
        "redraw": Sampler(Heads(True), dim, gaussian_groups(dim, dim), 8, True),
    } | {
        f"{'orthogonal' if orthogonal else 'iid'}-d{dim}": Sampler(
            crt.PosRF(), dim, gaussian_groups(dim, dim if orthogonal else 1), chunks, orthogonal
        )
        for orthogonal, counts in ((False, (26, 26)), (True, (8, 2)))
        for dim, chunks in zip(GAUSSIAN_DIMS, counts, strict=True)
    }


def run(name: str, setting: Setting, loss: float = 0.0) -> Outcome:
    """The worst mean, in units of the exact one, or of σ = 1 where that is 0.

    For a planted error the first coordinate is drawn too short: its square, which the last group
    looks at, loses `loss` detectable parts.
    """
    sampler = samplers()[name]
    exact = sampler.tests(setting)
    square = exact[-1][0]
    short = math.sqrt(1 - loss * square.detects / square.mean)
    sums = [np.zeros(len(tests)) for tests in exact]
    numbers = [np.array([(t.mean, t.scale) for t in tests]).T for tests in exact]
    with jax.enable_x64(True):
        for omega in sampler.draws(setting):
            omega = omega.at[:, 0].multiply(short)
            for i, group in enumerate(sampler.groups):
                sums[i] += np.asarray(totals(omega, *numbers[i], group.values, sampler.block))
    return worst(
        [
            relative(test.judge(sums[i][j], f"{group.what} {j}"), test.mean or 1.0)
            for i, group in enumerate(sampler.groups)
            for j, test in enumerate(exact[i])
        ]
    )


FAULTS: Mapping[str, tuple[str, ...]] = {
    "pois": ("rate-percent", "first-rate-percent"),
    "pois+": ("rate-percent", "first-rate-percent"),
    "optpois": ("rate-percent", "first-rate-percent"),
    "geom": ("chance-percent", "first-chance-percent"),
    "geom+": ("chance-percent", "first-chance-percent"),
    "iid-d8": ("entries-percent", "first-entry-percent", "first-entry-shifted"),
    "iid-d64": ("first-entry-percent", "first-entry-shifted"),
    "orthogonal-d8": ("lengths-percent", "first-axis-percent"),
    "orthogonal-d64": ("first-axis-percent",),
    "heads": ("heads-percent",),
    "redraw": ("redraw-percent",),
}
"""What must be noticed in every sampler: 1 %, the smallest error that is promised."""


def checks() -> list[Check]:
    """One check per sampler, and per dimension of Gaussian projections."""
    claims = {"iid": "thm-gerf", "orthogonal": "thm-ortho"}
    claims |= {"heads": "attention-unbiased", "redraw": "interface"}
    made = []
    for name in samplers():
        look = partial(run, name)
        twice = ("twice the detectable error", partial(run, name, loss=2.0))
        summary = f"means of each coordinate that {name} draws, and of its square, to 1 %"
        faults = (twice, *planted(look, *FAULTS[name]))
        claim = claims.get(name.partition("-")[0], "eq-dirf")
        made.append(
            Check(f"moments-{name}", (claim,), "montecarlo", summary, look, faults, quick=False)
        )
    return made
