"""`million-tokens`: one layer of FAVOR++ over 1,048,576 tokens, bidirectional and causal.

    4 heads of 64, M = 256, bfloat16 queries, keys, values and outputs; the attention matrix of one
    head would take 4 TB in float32. Inputs are made in chunks, so that no float32 copy of them
    exists. Each kind runs in a process of its own, whose largest resident memory is reported.

Run once on two cores that had other work: 9 minutes bidirectional, 23 causal, 5.7 GiB each.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
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
KINDS = ("bidirectional", "causal")
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
    omega = attend.sample(jax.random.key(0), DIM)
    q, k, v = (made(seed, length) for seed in (1, 2, 3))
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
        epilog="exit codes: 0 done; 1 a run needed more than 8 GB or was not finite; 2 wrong "
        "usage; 3 the results could not be written.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--length", type=int, default=2**20, help=f"a multiple of {CHUNK}")
    made.add_argument("--kind", choices=KINDS, help="one kind, in this process, printed as JSON")
    made.add_argument("--out", type=Path, default=ROOT / "results", help="folder of the results")
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
        check=True,
    )
    return json.loads(run.stdout)


def main(argv: list[str] | None = None) -> int:
    parse = parser()
    options = parse.parse_args(argv)
    if options.length < CHUNK or options.length % CHUNK:
        parse.error(f"--length {options.length} is not a positive multiple of {CHUNK}")
    if options.kind:
        print(json.dumps(measure(options.kind, options.length)))
        return DONE
    start = time.monotonic()
    found = {kind: _alone(kind, options.length) for kind in KINDS}
    config = {"heads": HEADS, "dim": DIM, "num_features": FEATURES, "length": options.length}
    try:
        # Times and memory differ from run to run: they are no numbers to compare.
        runs.write_json(
            options.out / "million_tokens.laptop.timing.json",
            {"runs": found, "manifest": runs.manifest(config, time.monotonic() - start)},
        )
    except runs.RunError as error:
        print(f"million-tokens: {error}", file=sys.stderr)
        return STOPPED
    if options.json:
        print(json.dumps(found, indent=1))
    elif not options.quiet:
        for kind, each in found.items():
            print(
                f"{kind:14} {each['tokens']:,} tokens in {each['seconds']:.1f} s, "
                f"{each['bytes'] / 2**30:.2f} GB at most, outputs {each['dtype']}"
            )
    good = all(each["finite"] and each["bytes"] <= LIMIT for each in found.values())
    return DONE if good else MISSED
