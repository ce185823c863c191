"""A step of the paper's runs on simulated devices, from abstract shapes: nothing is computed.

`python -m experiments.vision.mesh CONFIG` is started with as many devices as are wanted.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any, cast

import jax
import jax.numpy as jnp
from jax import export
from jax.sharding import NamedSharding, PartitionSpec

from experiments.experiment import ROOT
from experiments.training import inputs
from experiments.training import step as steps
from experiments.vision.paper import configured
from experiments.vision.tasks import Vision
from verification.runs import RunError


def unit(config: Mapping[str, Any]) -> dict[str, Any]:
    """One step, in a process with devices of its own: JAX must be told before it starts."""
    flags = f"--xla_force_host_platform_device_count={config['devices']}"
    done = subprocess.run(
        [sys.executable, "-m", "experiments.vision.mesh", json.dumps(dict(config))],
        env=os.environ | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise RunError(f"the step cannot be compiled: {lines[-1]}")
    return json.loads(done.stdout)


def abstract(run: Vision, over: Any) -> tuple[Any, Any]:
    """State and batch as shapes: the state on every device, examples shared out."""
    _, state = steps.outline(run)
    everywhere, rows = inputs.everywhere(over), NamedSharding(over, PartitionSpec(inputs.AXIS))
    side, channels = run.shape.side, run.shape.channels
    batch = {
        "image": jax.ShapeDtypeStruct(
            (run.batch, side, side, channels), jnp.float32, sharding=rows
        ),
        "label": jax.ShapeDtypeStruct((run.batch,), jnp.int32, sharding=rows),
    }
    placed = partial(jax.ShapeDtypeStruct, sharding=everywhere)
    return jax.tree.map(lambda x: placed(x.shape, x.dtype), state), batch


def lowered(run: Vision, over: Any) -> jax.stages.Lowered:
    """A step, not yet compiled."""
    graph, _ = steps.outline(run)
    step = cast(Any, steps.compiled(run, graph, inputs.everywhere(over)))
    return step.lower(*abstract(run, over))


def measure(run: Vision) -> dict[str, Any]:
    """Parameters, bytes on each device, FLOPs of a step on all of them, and size for a TPU."""
    over = inputs.mesh()
    step = lowered(run, over)
    cost, memory = cast(Any, step.cost_analysis()), step.compile().memory_analysis()
    if cost is None or memory is None:
        raise NotImplementedError("XLA has no analysis of cost and memory on this platform.")
    graph, _ = steps.outline(run)
    state, batch = abstract(run, over)
    for_tpu = export.export(jax.jit(partial(steps.update, run, graph)), platforms=["tpu"])
    return {
        "devices": over.size,
        "batch": run.batch,
        "parameters": sum(leaf.size for leaf in jax.tree.leaves(state["params"])),
        "arguments": memory.argument_size_in_bytes,
        "temporary": memory.temp_size_in_bytes,
        "flops": cost["flops"],
        "tpu_bytes": len(for_tpu(state, batch).mlir_module_serialized),
    }


if __name__ == "__main__":
    print(json.dumps(measure(configured(json.loads(sys.argv[1])))))
