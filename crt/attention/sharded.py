"""Attention over many devices: the length, the heads and the batch, each along an axis of a mesh.

Along the length a device summarises its own keys. For bidirectional attention one maximum and one
sum over devices make the state of all keys; for causal attention a device begins with the state of
the devices before it. What is sent is the state, M·(V+1) numbers for each head, at any length.
"""

from collections.abc import Callable
from functools import partial

import jax
from jax import Array
from jax.sharding import AbstractMesh, Mesh
from jax.sharding import PartitionSpec as P
from jax.typing import ArrayLike

from crt.attention import checks
from crt.attention.favor import FavorAttention


def _sizes(mesh: Mesh | AbstractMesh, names: dict[str, str | None]) -> dict[str, int]:
    """How many devices stand along the mesh's axis of each name; 1 for none."""
    if not isinstance(mesh, Mesh | AbstractMesh):
        raise ValueError(
            f"mesh is a {type(mesh).__name__}; it must be a jax.sharding.Mesh, such as "
            "jax.make_mesh makes."
        )
    taken: dict[str, str] = {}
    for name, axis in names.items():
        if axis is None:
            continue
        if not isinstance(axis, str) or axis not in mesh.shape:
            raise ValueError(
                f"{name} is {axis!r}, which is no axis of the mesh; its axes are "
                f"{', '.join(map(repr, mesh.shape))}."
            )
        if axis in taken:
            raise ValueError(
                f"{taken[axis]} and {name} are both {axis!r}; they must be different axes of the "
                "mesh."
            )
        taken[axis] = name
    return {name: 1 if axis is None else mesh.shape[axis] for name, axis in names.items()}


def _check_even(name: str, length: int, devices: int) -> None:
    if length % devices:
        raise ValueError(
            f"{name} is {length}; it must be a multiple of the {devices} devices along its axis."
        )


def shard(
    attend: FavorAttention,
    mesh: Mesh | AbstractMesh,
    *,
    length: str | None = None,
    heads: str | None = None,
    batch: str | None = None,
) -> Callable[..., Array]:
    """A function like `attend` whose arrays are spread over axes of a mesh, each by its name.

    It takes query, key, value, omega and, by name, key_mask, is_causal, rho, scale and, where the
    length is not spread, segment_ids. The parts are equal, so sizes must be multiples of the
    numbers of devices. The result equals that of one device to rounding, and so do gradients.
    """
    checks.settings(attend, FavorAttention)
    sizes = _sizes(mesh, {"length": length, "heads": heads, "batch": batch})
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
        segment_ids: ArrayLike | None = None,
    ) -> Array:
        # On the whole arrays: what is wrong is told of them, not of a device's part.
        q, k = checks.pair(query, key)
        v = checks.values(value, k)
        checks.same_length(q, k, "is_causal=True" if is_causal else None)
        drawn = None
        if attend.mechanism != "elu":
            drawn = checks.projections(omega, attend.mechanism, attend.num_features, q)
        arrays = {
            "query": (q, rows),
            "key": (k, rows),
            "value": (v, rows),
            "omega": (drawn, P() if drawn is None or drawn.ndim == 2 else P(heads)),
            "key_mask": (checks.mask("key_mask", key_mask, None, "", k), P(batch, length)),
            "rho": (None if rho is None else checks.rho(rho, q), P(batch, heads)),
            "scale": (None if scale is None else checks.scale(scale, q.shape[-1]), P()),
            "segment_ids": (checks.segments(segment_ids, q, k, length), P(batch, length)),
        }
        for name in ("query", "key"):
            for axis, what in enumerate(("batch", "length", "heads")):
                _check_even(f"the {what} of {name}", arrays[name][0].shape[axis], sizes[what])
        given = {name: array for name, (array, _) in arrays.items() if array is not None}
        specs = {name: spec for name, (_, spec) in arrays.items() if name in given}

        # Gradients of what all devices share are sums over devices, which the check would have
        # every function write down; without it `shard_map` adds them.
        @partial(jax.shard_map, mesh=mesh, in_specs=(specs,), out_specs=rows, check_vma=False)
        def run(parts):
            return attend(**{"omega": None, **parts}, is_causal=is_causal, axis_name=length)

        return run(given)

    return call
