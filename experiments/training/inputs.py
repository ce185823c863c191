"""Batches in a fixed random order that can be taken up at any step (Grain)."""

from typing import Any

import grain
import jax
import numpy as np
from jax import Array
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from experiments.training.config import Config, Source
from experiments.training.errors import TrainingError

AXIS = "data"
"""The axis of the mesh along which examples are shared out."""


def batches(source: Source, batch: int, seed: int) -> Any:
    """This process's part of endless batches: an iterator whose state can be saved.

    Every epoch has an order of its own, a function of the seed. The order of all examples does not
    depend on the number of processes, of which each loads its own rows alone.
    """
    own = own_rows(batch)

    def rows(indices: np.ndarray) -> dict[str, np.ndarray]:
        return source.load(np.asarray(indices)[own])

    order = grain.MapDataset.range(len(source)).seed(seed).shuffle().repeat().batch(batch)
    return iter(order.map(rows).to_iter_dataset(grain.ReadOptions(num_threads=1)))


def own_rows(batch: int) -> slice:
    """The rows of a batch that belong to this process."""
    share = batch // jax.process_count()
    return slice(share * jax.process_index(), share * (jax.process_index() + 1))


def mesh(devices: Any = None) -> Mesh:
    """All devices, or the given ones, in a row."""
    found = jax.devices() if devices is None else devices
    kinds = (jax.sharding.AxisType.Auto,)
    return jax.make_mesh((len(found),), (AXIS,), axis_types=kinds, devices=found)


def check_even(config: Config, over: Mesh) -> None:
    """A batch has the same number of examples on every device."""
    if config.batch % over.size:
        raise TrainingError(
            f"batch is {config.batch}; it must be a multiple of the {over.size} devices"
        )


def spread(over: Mesh, batch: dict[str, np.ndarray]) -> dict[str, Array]:
    """The batch over the devices, from the rows that each process has."""
    sharding = NamedSharding(over, PartitionSpec(AXIS))
    return {
        name: jax.make_array_from_process_local_data(sharding, rows) for name, rows in batch.items()
    }


def everywhere(over: Mesh) -> NamedSharding:
    """The sharding of what every device holds whole."""
    return NamedSharding(over, PartitionSpec())
