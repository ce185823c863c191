"""A step of the paper's runs on a simulated mesh, from abstract shapes: nothing is computed.

`python -m experiments.vision.mesh CONFIG` is started by `plan.unit` with as many devices as the
mesh has.
"""

import json
import sys
from functools import partial
from typing import Any, cast

import jax
import jax.numpy as jnp
from jax import export
from jax.sharding import NamedSharding, PartitionSpec

from experiments.training import inputs
from experiments.training import step as steps
from experiments.vision.plan import configured
from experiments.vision.tasks import Vision


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


def measure(run: Vision) -> dict[str, Any]:
    """Parameters, bytes on each device, FLOPs of a step on all of them, and size for a TPU."""
    over = inputs.mesh()
    graph, _ = steps.outline(run)
    state, batch = abstract(run, over)
    step = cast(Any, steps.compiled(run, graph, inputs.everywhere(over)))
    lowered = step.lower(state, batch)
    flops = lowered.cost_analysis()["flops"]
    memory = lowered.compile().memory_analysis()
    for_tpu = export.export(jax.jit(partial(steps.update, run, graph)), platforms=["tpu"])
    return {
        "devices": over.size,
        "batch": run.batch,
        "parameters": sum(leaf.size for leaf in jax.tree.leaves(state["params"])),
        "arguments": memory.argument_size_in_bytes,
        "temporary": memory.temp_size_in_bytes,
        "flops": flops,
        "tpu_bytes": len(for_tpu(state, batch).mlir_module_serialized),
    }


if __name__ == "__main__":
    print(json.dumps(measure(configured(json.loads(sys.argv[1])))))
