"""Units that time a training step against the number of tokens, and tell its memory."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from experiments.data import Origin
from experiments.training import Optimizer
from experiments.training import step as steps
from experiments.vision.folder import FOLDER
from experiments.vision.tasks import Classification
from experiments.vision.vit import SIZES, Shape

SIDES = {8: 224, 16: 224, 32: 224, 40: 240, 44: 220}
"""Patches along a side → pixels along it, the paper's table of sequence lengths."""
NAMES = ("softmax", "favor+", "favor++")
SMOKE: Mapping[str, Any] = {"width": 16, "depth": 1, "heads": 2}


def unit(config: Mapping[str, Any]) -> dict[str, Any]:
    """Seconds of a forward and backward pass with its update, in rounds that run every attention.

    What else the machine does then hits all of them alike; every round begins with another one.
    """
    calls, memory = {}, {}
    for name in NAMES:
        calls[name], memory[name] = prepared(task(config, name))
    seconds: dict[str, list[float]] = {name: [] for name in NAMES}
    order = list(NAMES)
    for number in range(config["rounds"] + 1):
        for name in order:
            start = time.perf_counter()
            calls[name]()
            # The first round warms up.
            if number:
                seconds[name].append(time.perf_counter() - start)
        order = order[1:] + order[:1]
    return {"tokens": config["rows"] ** 2, "seconds": seconds, "bytes": memory}


def task(config: Mapping[str, Any], attention: str) -> Classification:
    """One image of the paper's size a step."""
    rows = config["rows"]
    side = SIDES[rows]
    size = SMOKE if config["model"] == "smoke" else SIZES[config["model"]]
    shape = Shape(
        side=side,
        patch=side // rows,
        channels=3,
        attention=attention,
        features=config["features"],
        **size,
    )
    return Classification(
        steps=100,
        batch=1,
        seed=config["seed"],
        optimizer=Optimizer(rate=1e-3, warmup=10),
        evaluate_every=100,
        checkpoint_every=100,
        data=Origin(FOLDER, None, ""),
        shape=shape,
    )


def prepared(run: Classification) -> tuple[Callable[[], None], int]:
    """A step as a call, and the bytes that it needs beside its arguments."""
    graph, _ = steps.outline(run)
    state = steps.first(run)
    side = run.shape.side
    batch = {
        "image": jax.random.normal(jax.random.key(run.seed), (run.batch, side, side, 3)),
        "label": jnp.zeros(run.batch, jnp.int32),
    }
    step = jax.jit(lambda state, batch: steps.update(run, graph, state, batch))
    compiled = step.lower(state, batch).compile()
    analysis = compiled.memory_analysis()
    bytes_ = analysis.temp_size_in_bytes if analysis else 0
    return lambda: jax.block_until_ready(compiled(state, batch)), bytes_
