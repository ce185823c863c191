"""Attention over devices gives what one device gives: virtual ones, and two processes.

Devices must be asked for before JAX starts, so each test runs processes of its own.
"""

import os
import socket
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest
from jax import export
from jax.sharding import Mesh

import crt
from crt.attention import shard, sharded

START = """
import sys
import jax
address, number = sys.argv[1], int(sys.argv[2])
jax.distributed.initialize(address, num_processes=2, process_id=number)
"""

COMMON = """
import warnings
warnings.simplefilter("error")
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
import crt
from crt.attention import State, shard

BOUND = 1e-5

def far(one, other):
    one, other = (np.asarray(each, np.float64) for each in (one, other))
    return np.sqrt(np.mean((one - other) ** 2) / np.mean(other ** 2))

draw = np.random.default_rng(0)
q, k, v = (draw.normal(size=(2, 48, 4, 8)).astype("f4") for _ in range(3))
# Keys grow along the length, so that scales differ between devices.
k *= np.linspace(0.2, 3, 48, dtype="f4")[:, None, None]
mask = draw.random((2, 48)) < 0.8
attend = crt.FavorAttention(16)
omega = attend.sample(jax.random.key(1), 8, 4)
rho = jnp.linspace(0.3, 0.9, 4)

def make_mesh(sizes, names):
    return jax.make_mesh(sizes, tuple(names), axis_types=(AxisType.Auto,) * len(sizes))

def one_device(is_causal):
    return attend(q, k, v, omega, mask, is_causal, rho if is_causal else None)
"""

EIGHT = """
def gradients(f):
    weights = np.cos(np.arange(q.size)).reshape(q.shape).astype("f4")
    return jax.jit(jax.grad(lambda *a: jnp.sum(weights * f(*a)), (0, 1, 2)))

LAYOUTS = {
    "length": ((8,), dict(length="a")),
    "all": ((2, 2, 2), dict(batch="a", length="b", heads="c")),
}
for name, (sizes, axes) in LAYOUTS.items():
    mesh = make_mesh(sizes, "abc"[: len(sizes)])
    spread = shard(attend, mesh, **axes)
    for is_causal in (False, True):
        given = rho if is_causal else None
        call = lambda q, k, v: spread(
            q, k, v, omega, key_mask=mask, is_causal=is_causal, rho=given
        )
        out = jax.jit(call)(q, k, v)
        assert len(out.sharding.device_set) == 8
        assert far(out, one_device(is_causal)) <= BOUND, (name, is_causal)
# The last case is causal and spread over all axes.
alone = lambda q, k, v: attend(q, k, v, omega, mask, True, rho)
for one, other in zip(gradients(call)(q, k, v), gradients(alone)(q, k, v)):
    assert far(one, other) <= BOUND

# What flows through a fitted ρ crosses the devices too.
flowing = crt.FavorAttention(16, rho_gradient=True)
spread = shard(flowing, make_mesh((8,), "a"), length="a")
found = [
    gradients(lambda q, k, v: f(q, k, v, omega, key_mask=mask))(q, k, v) for f in (spread, flowing)
]
held = gradients(lambda q, k, v: attend(q, k, v, omega, key_mask=mask))(q, k, v)
for one, other in zip(*found):
    assert far(one, other) <= BOUND
assert far(held[0], found[1][0]) > 100 * BOUND

# One compiled call, its arrays spread by the caller: heads and batch need nothing else.
mesh = make_mesh((2, 4), ("batch", "heads"))
place = lambda x: jax.device_put(x, NamedSharding(mesh, P("batch", None, "heads")))
out = jax.jit(lambda *a: attend(*a, omega, mask))(place(q), place(k), place(v))
assert far(out, one_device(False)) <= BOUND

# Packed sequences are spread by batch and heads.
ids = np.repeat(np.arange(3), 16)[None].repeat(2, 0)
mesh = make_mesh((2, 4), "ab")
spread = shard(attend, mesh, batch="a", heads="b")
for is_causal in (False, True):
    out = jax.jit(lambda q, k, v: spread(
        q, k, v, omega, key_mask=mask, is_causal=is_causal, rho=rho.tolist(), segment_ids=ids
    ))(q, k, v)
    alone = attend(q, k, v, omega, mask, is_causal, rho, segment_ids=ids)
    assert far(out, alone) <= BOUND

# What is wrong is told of the whole arrays, in one sentence.
REFUSED = {
    "rho has shape (2,); it must be a number, (4,) or (2, 4)": dict(rho=np.ones(2, "f4")),
    "rho has shape (2, 4, 1)": dict(rho=np.ones((2, 4, 1), "f4")),
    "query has shape (2, 48)": dict(query=q[..., 0, 0]),
    "query has shape (48, 4, 8)": dict(query=q[0]),
    "omega has shape (4, 16, 7)": dict(omega=omega[..., 1:]),
    "omega is None": dict(omega=None),
    "key_mask has shape (48, 2)": dict(key_mask=mask.T),
    "segment_ids has shape (2, 47)": dict(rho=0.5, segment_ids=ids[:, 1:]),
    "rho is None with segment_ids": dict(segment_ids=ids),
    "the batch of query is 1": dict(query=q[:1], key=k[:1], value=v[:1]),
}
for start, change in REFUSED.items():
    given = dict(query=q, key=k, value=v, omega=omega) | change
    try:
        spread(**given)
    except ValueError as error:
        said = str(error)
        assert said.startswith(start) and said.endswith(".") and len(said.splitlines()) == 1, said
    else:
        raise AssertionError(start)

mesh = make_mesh((8,), "a")
try:
    shard(attend, mesh, length="a")(q, k, v, omega, rho=rho, segment_ids=ids)
except ValueError as error:
    assert str(error).endswith("spread the batch or the heads."), error

def wrong(is_causal):
    return far(shard(attend, mesh, length="a")(
        q, k, v, omega, key_mask=mask, is_causal=is_causal, rho=rho if is_causal else None
    ), one_device(is_causal))

right = State.all_reduce, State.before
State.all_reduce = lambda self, axis: self
jax.clear_caches()
assert wrong(False) > BOUND
State.all_reduce = lambda self, axis: State(
    jax.lax.pmax(self.log_scale, axis), jax.lax.psum(self.sums, axis))
jax.clear_caches()
assert wrong(False) > BOUND
State.before = right[0]
State.all_reduce = right[0]
jax.clear_caches()
assert wrong(True) > BOUND
print("equal")
"""

TWO = """
assert jax.process_count() == 2 and jax.device_count() == 4
mesh = make_mesh((4,), "a")

def whole(x, spec):
    sharding = NamedSharding(mesh, spec)
    return jax.make_array_from_callback(x.shape, sharding, lambda index: x[index])

spread = shard(attend, mesh, length="a")
rows, shown = [whole(x, P(None, "a")) for x in (q, k, v)], whole(mask, P(None, "a"))
shared, given = whole(np.asarray(omega), P()), whole(np.asarray(rho), P())
for is_causal in (False, True):
    call = jax.jit(lambda q, k, v, omega, mask, rho: spread(
        q, k, v, omega, key_mask=mask, is_causal=is_causal, rho=rho if is_causal else None
    ))
    out = call(*rows, shared, shown, given)
    expected = np.asarray(one_device(is_causal))
    for part in out.addressable_shards:
        assert far(part.data, expected[part.index]) <= BOUND, (is_causal, part.index)
# Outside jit the checks meet arrays of which a process holds a part; the last one refuses.
try:
    spread(*rows, shared, key_mask=shown, rho=2.0)
except ValueError as error:
    assert str(error) == "rho is 2.0; it must be in (0, 1].", error
else:
    raise AssertionError("accepted")
print("equal")
"""


def environment(devices: int) -> dict[str, str]:
    return os.environ | {
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}",
    }


def test_eight_devices() -> None:
    run = subprocess.run(
        [sys.executable, "-c", COMMON + EIGHT],
        env=environment(8),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout == "equal\n", run.stderr[-3000:]


def test_two_processes() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    started = [
        subprocess.Popen(
            [sys.executable, "-c", START + COMMON + TWO, address, str(number)],
            env=environment(2),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    try:
        outputs = [process.communicate(timeout=300) for process in started]
    finally:
        for process in started:
            process.kill()
    for out, error in outputs:
        assert out.endswith("equal\n"), error[-3000:]


@pytest.mark.parametrize("platform", ["tpu", "cuda"])
@pytest.mark.parametrize("is_causal", [False, True])
def test_lowering_for_other_platforms(platform: str, is_causal: bool) -> None:
    attend = crt.FavorAttention(16)
    rows = jax.ShapeDtypeStruct((1, 256, 2, 8), jnp.bfloat16)
    omega = jax.ShapeDtypeStruct((16, 8), jnp.float32)

    def call(q, k, v, omega):
        return attend(q, k, v, omega, is_causal=is_causal, rho=0.5)

    exported = export.export(jax.jit(call), platforms=[platform])(rows, rows, rows, omega)
    assert exported.platforms == (platform,)
    assert exported.out_avals[0].shape == rows.shape


def test_an_axis_that_the_mesh_lacks_is_refused() -> None:
    mesh = Mesh(jax.devices()[:1], ("part",))
    sentence = "length is 'seq', which is no axis of the mesh; its axes are 'part'."
    with pytest.raises(ValueError, match="no axis of the mesh") as caught:
        shard(crt.FavorAttention(8), mesh, length="seq")
    assert str(caught.value) == sentence


def test_meshes_and_axes_are_one_sentence(unchecked) -> None:
    mesh = Mesh(jax.devices()[:1], ("part",))
    refused = {
        "length and heads are both 'part'; they must be different axes of the mesh.": lambda: shard(
            crt.FavorAttention(8), mesh, length="part", heads="part"
        ),
        "mesh is a tuple; it must be a jax.sharding.Mesh, such as jax.make_mesh makes.": (
            lambda: shard(crt.FavorAttention(8), (1, 2), length="part")  # pyright: ignore
        ),
        "length is ['part'], which is no axis of the mesh; its axes are 'part'.": (
            lambda: shard(crt.FavorAttention(8), mesh, length=["part"])  # pyright: ignore
        ),
    }
    for sentence, call in refused.items():
        with pytest.raises(ValueError, match="mesh") as caught:
            call()
        assert str(caught.value) == sentence


def test_uneven_parts_are_refused() -> None:
    with pytest.raises(ValueError, match="a multiple of the 4 devices") as caught:
        sharded._check_even("the length of query", 6, 4)
    assert str(caught.value).startswith("the length of query is 6")
