"""`bench-attention`: FAVOR++ beside its peers: time, memory, and error against exact softmax.

    (a) medians of interleaved rounds, forward and with gradients, bidirectional and causal, for
        growing length: FAVOR++ and FAVOR+ of this library, textbook FAVOR+ and a per-token scan in
        JAX, performer-pytorch, and exact attention of JAX and PyTorch;
    (b) temporary memory of the forward pass, by XLA's own analysis;
    (c) relative error of the output at equal M, on Gaussian inputs and on MiniLM's queries and
        keys (they need WikiText-2 in CRT_DATA), beside a uniform average. FAVOR has two features
        for each of its M projections.

Peers that are not installed are left out, which is said; `make bench-attention` installs them. The
laptop preset takes some ten minutes on two cores; smoke is the same with little to do.
"""

import argparse
import json
import statistics
import sys
import time
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from experiments.benchmarks import attention_error, attention_times
from experiments.benchmarks.attention_times import Row
from experiments.data.errors import DataError, Unreachable
from experiments.experiment import DONE, INTERRUPTED, ROOT, STOPPED
from experiments.pretrained import minilm, wikitext
from verification import runs


@dataclass(frozen=True)
class Size:
    """How much is measured. One batch element; lengths of (a), tokens of (c)."""

    lengths: tuple[int, ...]
    heads: int
    dim: int
    features: int
    rounds: int
    product: int
    memory_length: int
    sigmas: tuple[float, ...]
    dims: tuple[int, ...]
    error_features: tuple[int, ...]
    tokens: int
    seeds: int
    layers: int
    paragraphs: int
    text_tokens: int


PRESETS = {
    "laptop": Size(
        lengths=(1024, 2048, 4096, 8192, 16384, 32768, 65536),
        heads=4,
        dim=64,
        features=256,
        rounds=9,
        product=2048,
        memory_length=16384,
        sigmas=(0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0),
        dims=(8, 16, 32, 64, 128),
        error_features=(64, 256, 1024),
        tokens=512,
        seeds=9,
        layers=6,
        paragraphs=8,
        text_tokens=128,
    ),
    "smoke": Size(
        lengths=(256, 1024),
        heads=2,
        dim=16,
        features=32,
        rounds=3,
        product=256,
        memory_length=1024,
        sigmas=(0.5, 1.0),
        dims=(8,),
        error_features=(32,),
        tokens=64,
        seeds=3,
        layers=1,
        paragraphs=1,
        text_tokens=32,
    ),
}


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m experiments bench-attention",
        description=__doc__,
        epilog="exit codes: 0 done; 2 wrong usage; 3 the results could not be written; "
        "130 interrupted, finished units are kept. Targets are printed with what was measured and "
        "not judged: times belong to a machine.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--preset", choices=PRESETS, default="laptop", help="default: laptop")
    made.add_argument("--json", action="store_true", help="print the outcome as JSON")
    made.add_argument("--quiet", action="store_true", help="no progress")
    made.add_argument(
        "--out", type=Path, default=ROOT / "results", metavar="DIR", help="where to write"
    )
    return made


def time_units(size: Size, code: str) -> list[runs.Unit]:
    """One for every mode, direction and length, and one for the memory."""
    shape = {"heads": size.heads, "dim": size.dim, "features": size.features, "code": code}
    found = [
        runs.Unit(
            f"{'causal' if is_causal else 'bidirectional'}, "
            f"{'with gradients' if gradients else 'forward'}, L = {length}",
            shape
            | {
                "length": length,
                "is_causal": is_causal,
                "gradients": gradients,
                "rounds": size.rounds,
                "product": size.product,
            },
            attention_times.measure,
        )
        for is_causal in (False, True)
        for gradients in (False, True)
        for length in size.lengths
    ]
    memory = shape | {"length": size.memory_length, "what": "memory"}
    return [*found, runs.Unit("temporary memory", memory, attention_times.temporary_bytes)]


def error_units(size: Size, code: str, real: bool) -> list[runs.Unit]:
    """One for every σ, d and M, and if the model and the text are there for every layer and M."""
    found = [
        runs.Unit(
            f"error, d = {dim}, M = {features}, σ = {sigma:g}",
            {"dim": dim, "features": features, "sigma": sigma}
            | {"tokens": size.tokens, "seeds": size.seeds, "code": code},
            attention_error.gaussian,
        )
        for dim in size.dims
        for features in size.error_features
        for sigma in size.sigmas
    ]
    layers = [
        runs.Unit(
            f"error, MiniLM layer {layer + 1}, M = {features}",
            {"layer": layer, "features": features, "paragraphs": size.paragraphs}
            | {"tokens": size.text_tokens, "seeds": size.seeds, "code": code},
            attention_error.pretrained,
        )
        for layer in range(size.layers)
        for features in size.error_features
    ]
    return [*found, *(layers if real else [])]


def absent() -> list[str]:
    """A sentence for everything that the run must do without."""
    said = [
        f"{name} is not installed and left out"
        for name in ("torch", "performer_pytorch")
        if find_spec(name) is None
    ]
    try:
        minilm.tokenize(wikitext.paragraphs(1), 8)
    except (ImportError, minilm.MissingModelError, DataError, Unreachable) as error:
        said.append(f"no queries and keys of MiniLM: {error}")
    return said


def measure(size: Size, ledger: runs.Ledger, quiet: bool, real: bool) -> tuple[Any, Any]:
    """Times with their targets, and the map of errors."""
    # Whatever decides a time or an error; the figure and the table do not.
    rooms = (ROOT / "experiments" / name for name in ("benchmarks", "pretrained"))
    code = runs.fingerprint(ROOT / "crt", *rooms)
    timed, erring = time_units(size, code), error_units(size, code, real)
    finished = runs.run_units([*timed, *erring], ledger, quiet=quiet)
    *rows, memory = finished[: len(timed)]
    times = [_row(done, "length", "is_causal", "gradients") for done in rows]
    errors = finished[len(timed) :]
    numbers = {
        "times": times,
        "temporary_bytes": memory.result,
        "targets": attention_times.targets(times, memory.result),
        "exact": attention_times.exact_wins(times),
    }
    keys = {False: ("dim", "features", "sigma"), True: ("layer", "features")}
    parts = {
        name: [_row(done, *keys[is_real]) for done in errors if ("layer" in done.config) == is_real]
        for name, is_real in (("gaussian", False), ("minilm", True))
    }
    return numbers, parts


def _row(done: runs.Finished, *keys: str) -> dict[str, Any]:
    return {key: done.config[key] for key in keys} | done.result


def report(numbers: Any, errors: Any) -> str:
    """Everything as text."""
    lines = ["(a) median seconds, FAVOR++ first; × is relative to it"]
    for row in numbers["times"]:
        mode = "causal" if row["is_causal"] else "bidirectional"
        what = "with gradients" if row["gradients"] else "forward"
        lines.append(f"    {mode}, {what}, L = {row['length']}")
        own = row["seconds"]["FAVOR++"]
        for name, seconds in row["seconds"].items():
            lines.append(f"        {name:20}{seconds:9.4f} s  {seconds / own:7.2f} ×")
    lines += [f"    {sentence}" for sentence in numbers["exact"]]
    lines += ["", "(b) temporary memory, bidirectional forward"]
    for name, size in numbers["temporary_bytes"].items():
        lines.append(f"    {name:20}{size / 2**20:9.1f} MB")
    lines += ["", "targets", *map(_target, numbers["targets"])]
    lines += ["", "(c) relative error of the output", *_error_lines(errors)]
    return "\n".join(lines)


def _target(each: Row) -> str:
    wanted = [f"≥ {each['at_least']:g}"] if each["at_least"] is not None else []
    wanted += [f"≤ {each['at_most']:g}"] if each["at_most"] is not None else []
    if each["measured"] is None:
        return f"    {each['target']:46} not measured ({', '.join(wanted)})"
    verdict = "met" if each["met"] else f"MISSED: {each['bottleneck']}"
    return f"    {each['target']:46}{each['measured']:8.3g}  ({', '.join(wanted)}) {verdict}"


def _error_lines(errors: Any) -> list[str]:
    names = (*attention_error.METHODS, attention_error.UNIFORM)
    head = "".join(f"{name:>10}" for name in names)
    lines = [f"    {'':30}{head}"]
    for row in errors["gaussian"]:
        label = f"d = {row['dim']}, M = {row['features']}, σ = {row['sigma']:g}"
        lines.append(f"    {label:30}" + "".join(f"{row[name]:10.3g}" for name in names))
    for row in errors["minilm"]:
        label = f"MiniLM layer {row['layer'] + 1}, M = {row['features']}"
        middle = [statistics.median(row[name]) for name in names]
        lines.append(f"    {label:30}" + "".join(f"{each:10.3g}" for each in middle))
    return lines


def main(argv: list[str] | None = None) -> int:
    options = parser().parse_args(argv)
    size = PRESETS[options.preset]
    missing = absent()
    for sentence in missing:
        print(f"bench-attention: {sentence}", file=sys.stderr)
    start = time.monotonic()
    try:
        ledger = runs.Ledger(options.out / "units" / f"bench_attention.{options.preset}.jsonl")
        real = not any("MiniLM" in sentence for sentence in missing)
        numbers, errors = measure(size, ledger, options.quiet, real)
        about = runs.manifest(asdict(size), time.monotonic() - start, left_out=missing)
        for name, found in (("bench_attention", numbers), ("attention_error", errors)):
            path = options.out / f"{name}.{options.preset}.json"
            runs.write_json(path, found)
            runs.write_json(path.with_suffix(".manifest.json"), about)
        ledger.remove()
    except runs.RunError as error:
        print(f"bench-attention: {error}", file=sys.stderr)
        return STOPPED
    except KeyboardInterrupt:
        print("bench-attention: interrupted; finished units are kept", file=sys.stderr)
        return INTERRUPTED
    outcome = {"times": numbers, "errors": errors, "left_out": missing}
    print(json.dumps(runs.plain(outcome), indent=1) if options.json else report(numbers, errors))
    return DONE
