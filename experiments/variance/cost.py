"""Milliseconds of the O(dML) kernel operator, every mechanism and number of features in one run."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

import crt
from experiments.benchmarks.clock import interleaved
from experiments.variance.regimes import DIM

OUTPUTS = 16


def measure(config: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """A unit: median milliseconds of K(x, x)·c by mechanism and M, c with 16 columns.

    All are timed in turn, so that what else the machine does hits all alike. Projections are drawn
    before: independent and orthogonal ones then cost the same.
    """
    rows = config["rows"]
    draw = np.random.default_rng(config["seed"])
    x = draw.standard_normal((rows, DIM), dtype=np.float32) / np.float32(DIM**0.5)
    c = draw.standard_normal((rows, OUTPUTS), dtype=np.float32)
    tasks = {}
    for name, cls in crt.MECHANISMS.items():
        mechanism = cls.fit(x, x)
        for count in config["features"]:
            omega = mechanism.sample(jax.random.key(config["seed"]), count, DIM)
            run = jax.jit(crt.apply_kernel).lower(mechanism, omega, x, x, c).compile()
            tasks[name, count] = lambda run=run, m=mechanism, o=omega: run(
                m, o, x, x, c
            ).block_until_ready()
    times = interleaved({f"{name} {count}": task for (name, count), task in tasks.items()},
                        config["repeats"])  # fmt: skip
    return {
        name: {str(count): 1e3 * times[f"{name} {count}"] for count in config["features"]}
        for name in crt.MECHANISMS
    }
