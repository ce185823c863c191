"""A small experiment for tests that kill it: forty units of a few milliseconds."""

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


def work(config: Mapping[str, Any]) -> list[float]:
    time.sleep(0.01)
    return np.random.default_rng(config["seed"]).normal(size=20).tolist()


def units(size: Size, origins: Origins) -> list[Unit]:
    return [Unit(f"unit {seed}", {"seed": seed}, work) for seed in size.seeds]


def gather(size: Size, finished: Sequence[Finished]) -> dict[str, Any]:
    return {"values": [each.result for each in finished]}


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
