"""`million-tokens`: one layer of FAVOR++ over 1,048,576 tokens, bidirectional and causal.

    4 heads of 64, M = 256, bfloat16 queries, keys, values and outputs; the attention matrix of one
    head would take 4 TiB in float32. Inputs are made in chunks, so that no float32 copy of them
    exists. Each kind runs in a process of its own, whose largest resident memory is reported.

Another length than the default is written only if --out is given. On two cores that had other work
the passes took 13 s bidirectional and 26 s causal, and 4.4 GiB each.
"""

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

import crt
from verification import runs

ROOT = Path(__file__).resolve().parents[2]
HEADS, DIM, FEATURES = 4, 64, 256
CHUNK = 2**14
LIMIT = 8 * 2**30
LENGTH = 2**20
SEEDS = {"query": 1, "key": 2, "value": 3, "omega": 0}
KINDS = ("bidirectional", "causal")
NAME = "million_tokens.laptop"
DONE, MISSED, STOPPED = 0, 1, 3


@jax.jit
def _tokens(key: Array) -> Array:
    """A chunk of Gaussian rows (1, C, N, H) in bfloat16."""
    return jax.random.normal(key, (1, CHUNK, HEADS, DIM), jnp.float32).astype(jnp.bfloat16)


def made(seed: int, length: int) -> Array:
    """Rows (1, L, N, H) in bfloat16, a chunk at a time."""
    keys = jax.random.split(jax.random.key(seed), length // CHUNK)
    return jnp.concatenate([_tokens(key) for key in keys], axis=1)


def measure(kind: str, length: int) -> dict[str, Any]:
    """One forward pass: what it gave, how long it took, and the most memory of this process."""
    attend = crt.FavorAttention(FEATURES)
    omega = attend.sample(jax.random.key(SEEDS["omega"]), DIM)
    q, k, v = (made(SEEDS[name], length) for name in ("query", "key", "value"))
    rho = attend.calibrate(q[:, :CHUNK], k[:, :CHUNK]) if kind == "causal" else None

    @jax.jit
    def call(q: Array, k: Array, v: Array) -> Array:
        return attend(q, k, v, omega, is_causal=kind == "causal", rho=rho)

    start = time.perf_counter()
    compiled = call.lower(q, k, v).compile()
    ready = time.perf_counter()
    out = compiled(q, k, v).block_until_ready()
    seconds = time.perf_counter() - ready
    last = out[:, -CHUNK:].astype(jnp.float32)
    return {
        "tokens": length,
        "finite": bool(jnp.isfinite(last).all()),
        "dtype": str(out.dtype),
        "rms_of_the_last_outputs": float(jnp.sqrt(jnp.mean(last**2))),
        "seconds_to_compile": ready - start,
        "seconds": seconds,
        "bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m experiments million-tokens",
        description=__doc__,
        epilog="exit codes: 0 done; 1 a run needed more than 8 GiB or was not finite; 2 wrong "
        "usage; 3 a run was killed, or the results could not be written.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--length", type=int, default=LENGTH, help=f"a multiple of {CHUNK}")
    made.add_argument("--kind", choices=KINDS, help="one kind, in this process, printed as JSON")
    made.add_argument("--out", type=Path, help="folder of the results (default: results)")
    made.add_argument("--json", action="store_true", help="print the outcome as JSON")
    made.add_argument("--quiet", action="store_true", help="print nothing unless it fails")
    return made


def _alone(kind: str, length: int) -> dict[str, Any]:
    """A kind in a fresh process: the largest memory of a process never falls."""
    command = [sys.executable, "-m", "experiments", "million-tokens"]
    run = subprocess.run(
        [*command, "--kind", kind, "--length", str(length)],
        stdout=subprocess.PIPE,
        text=True,
    )
    if run.returncode < 0:
        raise runs.RunError(
            f"the {kind} run was killed by signal {-run.returncode}, for instance for want of "
            "memory; a smaller --length needs less"
        )
    if run.returncode:
        raise runs.RunError(f"the {kind} run ended with exit code {run.returncode}")
    return json.loads(run.stdout)


def numbers(found: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What a run gave, without its times; memory in GiB, rounded up to tenths."""
    return {
        "preset": "laptop",
        "rows": [
            {
                "kind": kind,
                "length": each["tokens"],
                "finite": each["finite"],
                "dtype": each["dtype"],
                "rms_of_the_last_outputs": each["rms_of_the_last_outputs"],
                "ru_maxrss_gib": math.ceil(each["bytes"] / 2**30 * 10) / 10,
            }
            for kind, each in found.items()
        ],
    }


def _write(out: Path, found: Mapping[str, Mapping[str, Any]], seconds: float) -> None:
    """Numbers, manifest and timing; the timing has the memory to the byte as well."""
    (length,) = {each["tokens"] for each in found.values()}
    config = {"heads": HEADS, "dim": DIM, "num_features": FEATURES, "length": length}
    about = runs.manifest(config | {"seeds": SEEDS}, seconds, data={})
    runs.write_json(out / f"{NAME}.json", numbers(found))
    runs.write_json(out / f"{NAME}.manifest.json", about)
    runs.write_json(out / f"{NAME}.timing.json", {"runs": found})


def _show(found: Mapping[str, Mapping[str, Any]]) -> str:
    return "\n".join(
        f"{kind:14} {each['tokens']:,} tokens in {each['seconds']:.1f} s, "
        f"{each['bytes'] / 2**30:.2f} GiB at most, outputs {each['dtype']}"
        for kind, each in found.items()
    )


def main(argv: list[str] | None = None) -> int:
    parse = parser()
    options = parse.parse_args(argv)
    if options.length < CHUNK or options.length % CHUNK:
        parse.error(f"--length {options.length} is not a positive multiple of {CHUNK}")
    if options.kind:
        print(json.dumps(measure(options.kind, options.length)))
        return DONE
    start = time.monotonic()
    try:
        found = {kind: _alone(kind, options.length) for kind in KINDS}
        if options.out or options.length == LENGTH:
            _write(options.out or ROOT / "results", found, time.monotonic() - start)
    except runs.RunError as error:
        print(f"million-tokens: {error}", file=sys.stderr)
        return STOPPED
    if options.json:
        print(json.dumps(found, indent=1))
    elif not options.quiet:
        print(_show(found))
    good = all(each["finite"] and each["bytes"] <= LIMIT for each in found.values())
    return DONE if good else MISSED
