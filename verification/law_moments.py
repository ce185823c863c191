"""Moments of what the samplers draw: 1 % of a rate, a chance or a length shows here.

A distance between distribution functions hardly feels a rate that is off by 1 %: at λ = 0.7 it is
0.003. The means of ω and ω² do: their variances are known, so Catoni's test says how many draws
detect 1 %. Every coordinate of every row is a draw of its own; lengths of rows are independent
also where the rows are orthogonal.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

import crt
from verification.checks import Check, Outcome, Setting
from verification.faults import planted
from verification.laws import CHANCE, CHUNK, RATE
from verification.statistics import MeanTest, influence, relative, worst

RATES = np.array([4.0, 6.0, 9.0])
"""Rates of coordinates that are tested one by one: 1 % of a rate shows in few draws."""


@dataclass(frozen=True)
class Sampler:
    """A mechanism, its number of coordinates, and how what it draws is split into laws.

    `values` gives arrays of independent draws, one array for each law.
    """

    mechanism: Any
    dim: int
    laws: tuple[Any, ...]
    values: Callable[[np.ndarray], tuple[np.ndarray, ...]]
    chunks: int
    orthogonal: bool = False

    @property
    def rows(self) -> int:
        """Rows of a chunk: whole blocks."""
        return CHUNK // self.dim * self.dim

    def draws(self, setting: Setting) -> Iterator[tuple[np.ndarray, ...]]:
        """Chunk by chunk, the draws of every law."""
        rng = np.random.default_rng([setting.seed, *repr(self.mechanism).encode()])
        for _ in range(max(1, round(self.chunks * setting.effort))):
            key = jax.random.key(rng.integers(2**63))
            drawn = self.mechanism.sample(
                key, self.rows, self.dim, self.orthogonal, dtype=jnp.float64
            )
            yield self.values(np.asarray(drawn))

    def tests(self, setting: Setting) -> list[list[MeanTest]]:
        """For every law, of E ω and of E ω²; all share the false alarms."""
        chunks = max(1, round(self.chunks * setting.effort))
        share = setting.false_alarm / (2 * len(self.laws))
        sizes = [each.size for each in self.values(np.zeros((self.rows, self.dim)))]
        made = []
        for law, size in zip(self.laws, sizes, strict=True):
            m1, m2, _, m4 = (float(law.moment(k)) for k in range(1, 5))
            pairs = ((m1, m2 - m1**2), (m2, m4 - m2**2))
            made.append([MeanTest(*pair, chunks * size, share) for pair in pairs])
        return made


def _entries(omega: np.ndarray) -> tuple[np.ndarray, ...]:
    """All coordinates together: they have one law."""
    return (omega.ravel(),)


def _coordinates(omega: np.ndarray) -> tuple[np.ndarray, ...]:
    """Each coordinate on its own."""
    return tuple(omega.T)


def _lengths(omega: np.ndarray) -> tuple[np.ndarray, ...]:
    """Squared lengths of the rows."""
    return (np.sum(omega**2, axis=-1),)


def samplers() -> Mapping[str, Sampler]:
    """Every sampler at the parameters of the tests of laws; lengths in 8 dimensions."""
    zeros, poisson, geometric = np.zeros(8), stats.poisson(RATE), stats.nbinom(1, CHANCE)
    by_rate = tuple(stats.poisson(rate) for rate in RATES)
    lengths = (stats.chi2(8),)
    return {
        "pois": Sampler(crt.PoisRF(RATE), 8, (poisson,), _entries, 3),
        "pois+": Sampler(crt.PoisRFPlus(RATE, zeros), 8, (poisson,), _entries, 3),
        "optpois": Sampler(crt.OptPoisRF(RATES), 3, by_rate, _coordinates, 4),
        "geom": Sampler(crt.GeomRF(CHANCE), 8, (geometric,), _entries, 2),
        "geom+": Sampler(crt.GeomRFPlus(CHANCE, zeros), 8, (geometric,), _entries, 2),
        "iid": Sampler(crt.PosRF(), 8, lengths, _lengths, 2),
        "orthogonal": Sampler(crt.PosRF(), 8, lengths, _lengths, 2, True),
    }


def run(name: str, setting: Setting, shift: float = 0.0) -> Outcome:
    """The worst mean, in units of the exact one; `shift` times what is detected is planted."""
    sampler = samplers()[name]
    exact = sampler.tests(setting)
    moved = [[replace(t, mean=t.mean + shift * t.detects) for t in pair] for pair in exact]
    totals = np.zeros((len(exact), 2))
    with jax.enable_x64(True):
        for chunk in sampler.draws(setting):
            for i, values in enumerate(chunk):
                for j, test in enumerate(moved[i]):
                    powers = jnp.asarray(values) ** (j + 1)
                    totals[i, j] += float(jnp.sum(influence(test.scale * (powers - test.mean))))
    what = "squared length" if sampler.values is _lengths else "count"
    return worst(
        [
            relative(moved[i][j].judge(totals[i, j], f"{what}, law {i}, power {j + 1}"), test.mean)
            for i, pair in enumerate(exact)
            for j, test in enumerate(pair)
        ]
    )


FAULTS: Mapping[str, str] = {
    "pois": "rate-percent",
    "pois+": "rate-percent",
    "optpois": "rate-percent",
    "geom": "chance-percent",
    "geom+": "chance-percent",
    "iid": "entries-percent",
    "orthogonal": "lengths-percent",
}
"""What must be noticed in every sampler: 1 %, the smallest error that is promised."""


def checks() -> list[Check]:
    """One check per sampler."""
    claims = {"iid": "thm-gerf", "orthogonal": "thm-ortho"}
    made = []
    for name in samplers():
        look = partial(run, name)
        twice = ("twice the detectable error", partial(run, name, shift=2.0))
        summary = f"means of what {name} draws, and of its squares, to 1 % of the parameter"
        faults = (twice, *planted(look, FAULTS[name]))
        claim = claims.get(name, "eq-dirf")
        made.append(
            Check(f"moments-{name}", (claim,), "montecarlo", summary, look, faults, quick=False)
        )
    return made
