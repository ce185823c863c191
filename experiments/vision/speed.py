"""Units that time a training step against the number of tokens, and tell its memory."""

import time
from collections.abc import Callable, Mapping
from typing import Any, cast

import jax
import jax.numpy as jnp
from flax import nnx

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
    calls, sizes = {}, {}
    for name in NAMES:
        calls[name], sizes[name] = prepared(task(config, name))
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
    return {"tokens": config["rows"] ** 2, "seconds": seconds, "bytes": sizes}


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


def prepared(run: Classification) -> tuple[Callable[[], None], dict[str, int]]:
    """A step as a call, as training makes it, which updates its state in place; and its memory."""
    # Without jit: layers and models share what is compiled for a weight.
    graph, params, fixed = nnx.split(run.model(nnx.Rngs(run.seed)), nnx.Param, ...)
    state = steps.begin(run, params, fixed)
    side = run.shape.side
    batch = {
        "image": jax.random.normal(jax.random.key(run.seed), (run.batch, side, side, 3)),
        "label": jnp.zeros(run.batch, jnp.int32),
    }
    compiled = cast(Any, steps.compiled(run, graph, None)).lower(state, batch).compile()

    def call() -> None:
        nonlocal state
        state, measured = compiled(state, batch)
        jax.block_until_ready((state, measured))

    return call, memory(compiled)


def memory(compiled: jax.stages.Compiled) -> dict[str, int]:
    """Bytes of a compiled function: all that it occupies at its peak, and the temporary among them.

    Arguments, results, temporaries and the program; a result in the place of an argument is one.
    """
    found = compiled.memory_analysis()
    if found is None:
        raise NotImplementedError("XLA has no analysis of memory on this platform.")
    held = found.argument_size_in_bytes + found.output_size_in_bytes - found.alias_size_in_bytes
    temporary = found.temp_size_in_bytes
    return {
        "all": held + temporary + found.generated_code_size_in_bytes,
        "temporary": temporary,
    }
