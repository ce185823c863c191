"""Times of attention and its peers in interleaved rounds, temporary memory, and the targets."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from experiments.benchmarks import attention_peers as peers
from experiments.benchmarks import memory
from experiments.benchmarks.clock import interleaved

PRODUCT = "matrix product"
MODES = {
    (is_causal, gradients): f"{mode}{what}"
    for is_causal, mode in ((False, ""), (True, "causal "))
    for gradients, what in ((False, "forward"), (True, "with gradients"))
}
BOTTLENECKS = {
    "memory": "the features of one block and the outputs",
    "textbook": "the exponentials of 2·L·M features, which both compute",
    "performer": "the exponentials of 2·L·M features, which both compute",
    "scan": "the C×C matrix of every chunk, which a scan does not form",
    "matrix-product rate": "the exponentials of 2·L·M features, which are no products",
    "exponent": "what a call costs at any length, which weighs at the short end, or what else ran",
    "over FAVOR+": "the fit of ρ, one more pass over queries and keys before the first feature",
}
"""Part of a target's name, the first that fits → where time or memory goes if it is missed."""
Row = Mapping[str, Any]


def rounds(length: int, most: int) -> int:
    """Measured rounds: fewer of the long ones, five at least (three of a small preset)."""
    return max(min(5, most), min(most, 2**18 // length))


def multiplications(length: int, heads: int, dim: int, features: int) -> int:
    """Of the forward pass: projections of q and k, sums over keys with their count, read-out."""
    return length * heads * features * (2 * dim + 2 * (dim + 1))


def measure(config: Mapping[str, Any]) -> dict[str, Any]:
    """Median seconds of every contestant at one length, in one mode and direction.

    The machine's own rate is that of the fastest library's product of large matrices.
    """
    shape = [config[key] for key in ("length", "heads", "dim", "features")]
    is_causal, gradients = config["is_causal"], config["gradients"]
    size = config["product"]
    found = dict(peers.tasks(peers.inputs(*shape), is_causal, gradients))
    products = {f"{PRODUCT}, {name}": task for name, task in peers.product_tasks(size).items()}
    seconds = interleaved(found | products, rounds(config["length"], config["rounds"]))
    jax.clear_caches()
    rate = size**3 / min(seconds.pop(name) for name in products)
    share = None
    if not (is_causal or gradients):
        share = multiplications(*shape) / seconds["FAVOR++"] / rate
    return {"seconds": seconds, "product_share": share, "multiplications_per_second": rate}


def temporary_bytes(config: Mapping[str, Any]) -> dict[str, int]:
    """What XLA reserves beside inputs and output, forward and bidirectional."""
    shape = [config[key] for key in ("length", "heads", "dim", "features")]
    given = peers.inputs(*shape)
    calls = {"FAVOR++": peers.favor("oprf", given, False), "textbook FAVOR+": peers.textbook}
    rows = jax.ShapeDtypeStruct(given.q.shape, jnp.float32)
    return {
        name: memory.temporary_bytes(call, rows, rows, rows, given.omega)
        for name, call in calls.items()
    }


def _pick(rows: Sequence[Row], is_causal: bool, gradients: bool, least: int = 0) -> list[Row]:
    return [
        row
        for row in rows
        if (row["is_causal"], row["gradients"]) == (is_causal, gradients) and row["length"] >= least
    ]


def _least_ratio(rows: Sequence[Row], peer: str) -> float | None:
    """The least of the peer's time over FAVOR++'s."""
    ratios = [r["seconds"][peer] / r["seconds"]["FAVOR++"] for r in rows if peer in r["seconds"]]
    return min(ratios, default=None)


def _over_plus(rows: Sequence[Row]) -> float | None:
    """The largest of FAVOR++'s time over FAVOR+'s."""
    ratios = [row["seconds"]["FAVOR++"] / row["seconds"]["FAVOR+"] for row in rows]
    return max(ratios, default=None)


def exponent(rows: Sequence[Row]) -> float | None:
    """Slope of log seconds of FAVOR++ against log length, least squares."""
    points = [(math.log(r["length"]), math.log(r["seconds"]["FAVOR++"])) for r in rows]
    if len(points) < 2:
        return None
    x_mean, y_mean = (sum(column) / len(points) for column in zip(*points, strict=True))
    over = sum((x - x_mean) * (y - y_mean) for x, y in points)
    return over / sum((x - x_mean) ** 2 for x, _ in points)


def targets(rows: Sequence[Row], sizes: Mapping[str, int]) -> list[dict[str, Any]]:
    """Every target with what was measured; None where no length or peer of the run tells."""
    long = 4096
    forward, both = (_pick(rows, False, gradients, long) for gradients in (False, True))
    causal = [row for row in _pick(rows, True, True) if row["length"] == long]
    shares = [row["product_share"] for row in forward]
    wanted = [
        ("forward, textbook over FAVOR++", _least_ratio(forward, "textbook FAVOR+"), 2.0, None),
        ("forward, performer over FAVOR++", _least_ratio(forward, "performer-pytorch"), 2.0, None),
        ("with gradients, textbook over FAVOR++", _least_ratio(both, "textbook FAVOR+"), 1.3, None),
        (
            "with gradients, performer over FAVOR++",
            _least_ratio(both, "performer-pytorch"),
            1.3,
            None,
        ),
        (
            "causal with gradients, scan over FAVOR++",
            _least_ratio(causal, "per-token scan"),
            1.5,
            None,
        ),
        (
            "causal with gradients, performer over FAVOR++",
            _least_ratio(causal, "performer-pytorch"),
            10.0,
            None,
        ),
        ("forward, share of the matrix-product rate", min(shares, default=None), 0.45, None),
        *(
            (f"{said}, exponent in L", exponent(_pick(rows, *mode, long)), 0.95, 1.1)
            for mode, said in MODES.items()
        ),
        *(
            (f"{said}, FAVOR++ over FAVOR+", _over_plus(_pick(rows, *mode, long)), None, 1.05)
            for mode, said in MODES.items()
        ),
        (
            "temporary memory, FAVOR++ over textbook",
            sizes["FAVOR++"] / sizes["textbook FAVOR+"],
            None,
            0.25,
        ),
    ]
    return [
        {
            "target": name,
            "measured": seen,
            "at_least": low,
            "at_most": high,
            "met": _met(seen, low, high),
            "bottleneck": next(text for part, text in BOTTLENECKS.items() if part in name),
        }
        for name, seen, low, high in wanted
    ]


def _met(seen: float | None, low: float | None, high: float | None) -> bool | None:
    if seen is None:
        return None
    return (low is None or seen >= low) and (high is None or seen <= high)


def exact_wins(rows: Sequence[Row]) -> list[str]:
    """One sentence for each mode and direction: where exact attention is the faster one."""
    said = []
    for mode, name in MODES.items():
        wins, most = [], 0
        for row in _pick(rows, *mode):
            times = {n: s for n, s in row["seconds"].items() if n in ("exact, JAX", "torch SDPA")}
            if not times:
                continue
            most, fastest = max(most, row["length"]), min(times, key=lambda n: times[n])
            ratio = row["seconds"]["FAVOR++"] / times[fastest]
            if ratio > 1:
                wins.append(f"L = {row['length']} ({fastest}, {ratio:.1f} ×)")
        if most:
            where = ", ".join(wins) or "none"
            said.append(f"{name}: up to L = {most}, exact attention is faster at {where}")
    return said
