"""Rows and features over 8 devices give what one device gives, within 4·eps·Σ|terms|.

The devices are virtual, and must be asked for before JAX starts: a process of their own.
"""

import os
import subprocess
import sys

SCRIPT = """
import warnings
warnings.simplefilter("error")
import jax
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
import crt
from crt.statistics import collect

mesh = jax.make_mesh((8,), ("part",), axis_types=(AxisType.Auto,))
draw = np.random.default_rng(0)
x, y = (0.4 * draw.normal(size=(n, 4)).astype("f4") for n in (16, 40))
c = draw.normal(size=(40, 2)).astype("f4")

def rows(m, omega, x, y, c):
    summary = crt.summarise(m, omega, y, c, chunk=3).all_reduce("part")
    return crt.read(m, omega, x, summary, chunk=5)

def features(m, omega, x, y, c):
    scaled = crt.read_scaled(m, omega, x, crt.summarise(m, omega, y, c))
    return crt.unscale(*crt.mean_over_features(scaled, "part"))

def by_mesh(f, specs, out):
    return jax.jit(jax.shard_map(f, mesh=mesh, in_specs=(P(), *specs), out_specs=out))

PART = P("part")
ways = {
    "rows of y": by_mesh(rows, (P(), P(), PART, PART), P()),
    "rows of x and y": by_mesh(rows, (P(), PART, PART, PART), PART),
    "features": by_mesh(features, (PART, P(), P(), P()), P()),
    "jit": jax.jit(crt.apply_kernel),
}
for name in ("trig", "oprf", "gerf", "geom", "pois+"):
    m = crt.MECHANISMS[name].fit(x, y)
    omega = m.sample(jax.random.key(1), 64, 4)
    alone = np.asarray(crt.apply_kernel(m, omega, x, y, c))
    fx, fy = np.asarray(m.features(x, omega, "x")), np.asarray(m.features(y, omega, "y"))
    bound = 4 * np.finfo("f4").eps * (abs(fx) @ abs(fy).T / 64 @ abs(c))
    for way, f in ways.items():
        arguments = (omega, x, y, c)
        if way == "jit":
            arguments = [jax.device_put(a, NamedSharding(mesh, PART)) for a in arguments]
            assert len(arguments[0].sharding.device_set) == 8
        value = np.asarray(f(m, *arguments))
        assert (abs(value - alone) <= bound).all(), (name, way, abs(value - alone) / bound)
        assert (abs(0.999 * value - alone) > bound).any()

reduced = by_mesh(lambda _, x, y: collect(x, y).all_reduce("part"), (PART, PART), P())(0.0, x, y)
for one, other in zip(jax.tree.leaves(reduced), jax.tree.leaves(collect(x, y)), strict=True):
    size = max(1, abs(np.asarray(other)).max())
    assert (abs(np.asarray(one) - np.asarray(other)) <= 4 * np.finfo("f4").eps * size).all()
print("equal")
"""


def test_eight_devices() -> None:
    environment = os.environ | {
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
    }
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False
    )
    assert run.stdout == "equal\n", run.stderr[-2000:]
