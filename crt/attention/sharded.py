"""Attention over many devices: the length, the heads and the batch, each along an axis of a mesh.

Along the length a device summarises its own keys. For bidirectional attention one maximum and one
sum over devices make the state of all keys; for causal attention a device begins with the state of
the devices before it. What is sent is the state, M·(V+1) numbers for each head, at any length.
"""

from collections.abc import Callable
from functools import partial

import jax
import numpy as np
from jax import Array
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P
from jax.typing import ArrayLike

from crt.attention.favor import FavorAttention


def _axis_size(mesh: Mesh, name: str, axis: str | None) -> int:
    """How many devices stand along an axis of the mesh; 1 for none."""
    if axis is None:
        return 1
    if axis not in mesh.shape:
        raise ValueError(
            f"{name} is {axis!r}, which is no axis of the mesh; its axes are "
            f"{', '.join(map(repr, mesh.shape))}."
        )
    return mesh.shape[axis]


def _check_even(name: str, length: int, devices: int) -> None:
    if length % devices:
        raise ValueError(
            f"{name} is {length}; it must be a multiple of the {devices} devices along its axis."
        )


def shard(
    attend: FavorAttention,
    mesh: Mesh,
    *,
    length: str | None = None,
    heads: str | None = None,
    batch: str | None = None,
) -> Callable[..., Array]:
    """A function like `attend` whose arrays are spread over axes of a mesh, each by its name.

    It takes query, key, value, omega and, by name, key_mask, is_causal, rho and scale; ρ is (N,) or
    (B, N). The parts are equal, so sizes must be multiples of the numbers of devices. The result
    equals that of one device to rounding, and so do gradients.
    """
    names = {"length": length, "heads": heads, "batch": batch}
    sizes = {name: _axis_size(mesh, name, axis) for name, axis in names.items()}
    rows = P(batch, length, heads, None)

    def call(
        query: ArrayLike,
        key: ArrayLike,
        value: ArrayLike,
        omega: ArrayLike | None,
        *,
        key_mask: ArrayLike | None = None,
        is_causal: bool = False,
        rho: ArrayLike | None = None,
        scale: ArrayLike | None = None,
    ) -> Array:
        for name, array in {"query": query, "key": key}.items():
            shape = np.shape(array)
            for axis, what in enumerate(("batch", "length", "heads")):
                _check_even(f"the {what} of {name}", shape[axis], sizes[what])
        own_heads = np.ndim(omega) == 3 if omega is not None else False
        specs = (
            *(rows, rows, rows),
            None if omega is None else P(heads) if own_heads else P(),
            None if key_mask is None else P(batch, length),
            None if rho is None else (P(), P(heads), P(batch, heads))[np.ndim(rho)],
            None if scale is None else P(),
        )

        # Gradients of what all devices share are sums over devices, which the check would have
        # every function write down; without it `shard_map` adds them.
        @partial(jax.shard_map, mesh=mesh, in_specs=specs, out_specs=rows, check_vma=False)
        def run(q, k, v, omega, key_mask, rho, scale):
            return attend(q, k, v, omega, key_mask, is_causal, rho, scale=scale, axis_name=length)

        return run(query, key, value, omega, key_mask, rho, scale)

    return call
