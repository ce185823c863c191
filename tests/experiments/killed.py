"""A small experiment for tests that kill it: forty units of some milliseconds."""

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.experiment import Experiment, Origins, main
from verification.runs import Finished, Unit


@dataclass(frozen=True)
class Size:
    seeds: tuple[int, ...]


def work(config: Mapping[str, Any]) -> dict[str, list[float]]:
    """Numbers by name, the names not in order: a stored result has them sorted."""
    time.sleep(0.02)
    draw = np.random.default_rng(config["seed"])
    return {name: draw.normal(size=20).tolist() for name in ("one", "another")}


def units(size: Size, origins: Origins) -> list[Unit]:
    return [Unit(f"unit {seed}", {"seed": seed}, work) for seed in size.seeds]


def gather(size: Size, finished: Sequence[Finished]) -> dict[str, Any]:
    return {"values": [[*each.result.items()] for each in finished]}


EXPERIMENT = Experiment(
    name="killed",
    about="numbers, slowly",
    presets={"smoke": Size(tuple(range(40)))},
    data=(),
    parts=(),
    units=units,
    gather=gather,
    show=lambda numbers: "done",
    rooms=("paper_figures",),
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
