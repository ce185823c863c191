"""The samplers follow their laws: distribution functions of single coordinates and of sums.

Distances are judged by the DKW inequality, exact for every sample size. The law comes from SciPy.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

import crt
from crt.mechanisms import Mechanism
from verification.cases import DISCRETE
from verification.checks import Check, Outcome, Setting
from verification.faults import Run, planted
from verification.statistics import judge_law, worst

CHUNK = 2**15
"""Projections drawn at a time."""
ROWS = 2 * CHUNK
"""Projections of the quick budget."""
RATE, CHANCE = 0.7, 0.6
RATES = np.array([0.2, 0.7, 1.5])

Law = tuple[str, np.ndarray, Callable[[np.ndarray], np.ndarray]]
"""A name, independent draws, and the distribution function that they should have."""


def draw(mechanism: Mechanism, dim: int, orthogonal: bool, setting: Setting) -> np.ndarray:
    """Projections (M, d) of the shipped sampler, whole blocks."""
    rng = np.random.default_rng([setting.seed, *repr((mechanism, dim, orthogonal)).encode()])
    rows = round(ROWS * setting.effort)
    size = CHUNK // dim * dim if orthogonal else CHUNK
    parts = []
    with jax.enable_x64(True):
        for _ in range(max(1, rows // size)):
            key = jax.random.key(rng.integers(2**63))
            parts.append(mechanism.sample(key, size, dim, orthogonal, dtype=jnp.float64))
    return np.concatenate(parts)


def gaussian_laws(omega: np.ndarray, block: int) -> Iterator[Law]:
    """Of independent rows, one from each block: two coordinates, the length, and row on row.

    Given ω, the coordinate of another, independent row along ω is N(0, 1): that is tested too.
    """
    blocks = omega.reshape(-1, block, omega.shape[-1])
    rows = blocks[np.arange(len(blocks)), np.arange(len(blocks)) % block]
    dim = rows.shape[-1]
    yield "first coordinate", rows[:, 0], stats.norm.cdf
    yield "along (1, …, 1)", rows.sum(axis=-1) / dim**0.5, stats.norm.cdf
    yield "squared length", np.sum(rows**2, axis=-1), stats.chi2(dim).cdf
    # Partners keep their place in the block, where a repeated matrix would repeat its row.
    half = len(rows) // (2 * block) * block
    first, second = rows[:half], rows[half : 2 * half]
    along = np.sum(first * second, axis=-1) / np.linalg.norm(first, axis=-1)
    yield "along another row", along, stats.norm.cdf


def count_laws(omega: np.ndarray, singles: list[Any], whole: Any) -> Iterator[Law]:
    """Of every coordinate, and of the sum of coordinates."""
    for index, law in enumerate(singles):
        yield f"coordinate {index}", omega[:, index], law.cdf
    yield "sum of coordinates", omega.sum(axis=-1), whole.cdf


def run_gaussian(dim: int, orthogonal: bool, setting: Setting, stuck: float = 0.0) -> Outcome:
    """Projections of the exponential mechanisms."""
    omega = draw(crt.PosRF(), dim, orthogonal, setting)
    return judge(list(gaussian_laws(omega, dim if orthogonal else 1)), setting, False, stuck)


def run_counts(name: str, setting: Setting, stuck: float = 0.0) -> Outcome:
    """Projections of a discrete mechanism in three dimensions."""
    zeros = np.zeros(3)
    geometric = [stats.nbinom(1, CHANCE)] * 3, stats.nbinom(3, CHANCE)
    poisson = [stats.poisson(RATE)] * 3, stats.poisson(3 * RATE)
    known = {
        "pois": (crt.PoisRF(RATE), *poisson),
        "pois+": (crt.PoisRFPlus(RATE, zeros), *poisson),
        "geom": (crt.GeomRF(CHANCE), *geometric),
        "geom+": (crt.GeomRFPlus(CHANCE, zeros), *geometric),
        "optpois": (
            crt.OptPoisRF(RATES),
            [stats.poisson(rate) for rate in RATES],
            stats.poisson(RATES.sum()),
        ),
    }
    mechanism, singles, whole = known[name]
    omega = draw(mechanism, 3, False, setting)
    return judge(list(count_laws(omega, singles, whole)), setting, True, stuck)


def judge(found: list[Law], setting: Setting, discrete: bool, stuck: float) -> Outcome:
    """The worst of several laws, which share the false alarms; `stuck` as in `judge_law`."""
    share = setting.false_alarm / len(found)
    return worst(
        [judge_law(draws, cdf, share, discrete, name, stuck) for name, draws, cdf in found]
    )


PLANTED: Mapping[str, tuple[str, ...]] = {
    "law-iid-d3": ("repeated-rows",),
    "law-iid-d8": ("repeated-rows",),
    "law-orthogonal-d3": ("one-block", "equal-lengths", "longer-lengths"),
    "law-orthogonal-d8": ("one-block",),
    "law-pois": ("shared-counts",),
    "law-pois+": ("shared-counts",),
    "law-geom": ("geometric-from-1", "geometric-swapped"),
    "law-geom+": ("geometric-from-1",),
    "law-optpois": ("reversed-rates",),
}


def checks() -> list[Check]:
    """One check per sampler and dimension."""
    made = []
    for orthogonal in (False, True):
        for dim in (3, 8):
            name = f"law-{'orthogonal' if orthogonal else 'iid'}-d{dim}"
            run = partial(run_gaussian, dim, orthogonal)
            summary = f"every row of {dim} coordinates is N(0, I), and rows are independent"
            made.append((name, "thm-ortho" if orthogonal else "thm-gerf", summary, run))
    for kind in DISCRETE:
        summary = f"counts of {kind} follow their law"
        made.append((f"law-{kind}", "eq-dirf", summary, partial(run_counts, kind)))
    return [
        Check(name, (claim,), "montecarlo", summary, run, _faults(name, run))
        for name, claim, summary, run in made
    ]


def _faults(name: str, run: Callable[..., Outcome]) -> tuple[tuple[str, Run], ...]:
    twice = ("twice the detectable error", lambda setting: run(setting, stuck=2.0))
    return (twice, *planted(run, *PLANTED[name]))
