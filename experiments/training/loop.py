"""`train(config, workdir)`: the loop, which any kill only interrupts."""

import dataclasses
import fcntl
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax.sharding import Mesh

from experiments.training import inputs
from experiments.training import step as steps
from experiments.training.checkpoints import Checkpoints
from experiments.training.config import Config
from experiments.training.errors import Diverged, TrainingError
from experiments.training.evaluation import averages, weighted_sums
from experiments.training.history import History, Row
from experiments.training.optimizer import schedule
from experiments.training.plots import draw
from verification import runs

LOOK_EVERY = 25
"""Steps between two looks at the losses, which the host need not wait for until then."""


@dataclass(frozen=True, eq=False)
class Trained:
    """A finished run: its model, with averaged parameters where there are any, and its metrics.

    Rows have a step and either loss, gradient_norm and learning_rate, of the update to that step,
    or `test`, the averages of the measures after it.
    """

    model: Any
    history: list[Row]


def train(config: Config, workdir: Path, *, devices: Any = None, quiet: bool = False) -> Trained:
    """Run a configuration in a folder of its own, or go on with it, or take it if it is finished.

    All processes call it alike (`jax.distributed`), with one folder that all of them share: the
    first writes metrics, and each its part of a checkpoint. Without `devices`, all of them take
    part.
    """
    over = inputs.mesh(devices)
    inputs.check_even(config, over)
    with alone(workdir), Checkpoints(workdir / "checkpoints") as saved:
        _same(config, workdir)
        run = _Run(config, workdir, over, saved, quiet)
        run.go_on()
        if jax.process_index() == 0:
            draw(run.history.rows, workdir / "curves.svg")
        return Trained(nnx.merge(run.graph, *_own(run.learned())), run.history.rows)


def _own(tree: Any) -> Any:
    """What every device holds whole; of many processes each gets arrays of its own."""
    if jax.process_count() == 1:
        return tree
    return jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf.addressable_data(0))), tree)


@contextmanager
def alone(workdir: Path) -> Iterator[None]:
    """No other process of this machine works in the folder; who comes second waits."""
    workdir.mkdir(parents=True, exist_ok=True)
    with (workdir / f"lock.{jax.process_index()}").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _same(config: Config, workdir: Path) -> None:
    """A folder holds one configuration."""
    path, text = workdir / "config.json", json.dumps(runs.plain(dataclasses.asdict(config)))
    if path.exists() and path.read_text("utf-8") != text:
        raise TrainingError(f"{workdir} holds a run of another configuration; take another folder")
    if jax.process_index() == 0:
        runs.write_text(path, text)


def _check(step: int, values: Mapping[str, float]) -> None:
    """Nothing that is not finite comes into the history: the run ends there."""
    for name, value in values.items():
        if not math.isfinite(value):
            raise Diverged(step, name.replace("_", " "), value)


class _Run:
    """The state of a run between two steps."""

    def __init__(self, config: Config, workdir: Path, over: Mesh, saved: Checkpoints, quiet: bool):
        self.config, self.over, self.saved = config, over, saved
        self.history = History(workdir / "metrics.jsonl")
        self.progress = runs.Progress(config.steps, quiet=quiet or jax.process_index() > 0)
        self.input = inputs.batches(config.source("train"), config.batch, config.seed)
        self.graph, self.outline = steps.outline(config)
        self.done = self._restore()

    def _restore(self) -> int:
        """The step of the last checkpoint that is whole, 0 at the start."""
        whole = inputs.everywhere(self.over)
        found = self.saved.latest(
            jax.tree.map(
                lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=whole), self.outline
            )
        )
        if found is None:
            self.state = jax.device_put(steps.first(self.config), whole)
            return 0
        self.state, position, said = found
        self.input.set_state(position)
        done = int(self.state["step"])
        self.history.take_up(done)
        for sentence in said:
            self.progress.say(f"{sentence}; the run goes on from step {done}")
        self.progress.before = self.progress.done = done
        return done

    def learned(self) -> tuple[Any, Any]:
        """The parameters that are evaluated, and what is fixed."""
        return steps.shown(self.state), self.state["fixed"]

    def go_on(self) -> None:
        """All steps that are left. Nothing is computed for a finished run."""
        config, measured = self.config, []
        update = steps.compiled(config, self.graph, inputs.everywhere(self.over))
        sums = weighted_sums(config, self.graph)
        with self.progress:
            for number in range(self.done + 1, config.steps + 1):
                batch = inputs.spread(self.over, next(self.input))
                self.state, found = update(self.state, batch)
                measured.append((number, found))
                end = number == config.steps
                if end or number % LOOK_EVERY == 0 or self._due(number):
                    self._look(measured)
                    self.progress.done = number - 1
                    self.progress.advance(f"loss {self.history.rows[-1]['loss']:.3f}")
                if end or number % config.evaluate_every == 0:
                    count = config.test_examples if end else config.curve_examples
                    test = averages(config, self.over, sums, self.state, count)
                    _check(number, {f"test {name}": value for name, value in test.items()})
                    self.history.add(step=number, test=test)
                if end or number % config.checkpoint_every == 0:
                    self._save(number)

    def _due(self, number: int) -> bool:
        config = self.config
        return not (number % config.evaluate_every and number % config.checkpoint_every)

    def _look(self, measured: list[tuple[int, Any]]) -> None:
        """Move what the devices have measured into the history."""
        rate = schedule(self.config.optimizer, self.config.batch, self.config.steps)
        for number, found in measured:
            values = {name: float(value) for name, value in found.items()}
            values["learning_rate"] = float(rate(number - 1))
            _check(number, values)
            self.history.add(step=number, **values)
        measured.clear()

    def _save(self, number: int) -> None:
        """Metrics first: a checkpoint without its metrics would be of no use."""
        if jax.process_index() == 0:
            self.history.write()
        self.saved.save(number, self.state, self.input.get_state())
