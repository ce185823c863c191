"""`bench-features`: random features against scikit-learn's RBFSampler and Nystroem.

    (a) time to transform 100k × 64 float32 points to 512 columns with TrigRF, in one run with
        RBFSampler; target: at most its time, cosines within 2e-7;
    (b) relative error of the kernel matrix at equal columns, every mechanism, three kinds of data,
        beside the error that the exact variances predict;
    (c) temporary memory of the O(dML) operator at 100k points; target: 3·chunk·M·itemsize.

Takes about four minutes on two cores, `--quick` one.
"""

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import crt
from experiments.benchmarks import kernel_error, memory, speed
from experiments.experiment import DONE, MISSED, STOPPED
from verification import runs

ROOT = Path(__file__).resolve().parents[2]
COSINE_LIMIT = 2e-7


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    rows: int
    dim: int
    width: int
    repeats: int
    angles: int
    kernel_rows: int
    columns: tuple[int, ...]
    seeds: int


FULL = Size(100_000, 64, 512, 15, 10_000_000, 600, (128, 512), 10)
QUICK = Size(20_000, 64, 512, 5, 1_000_000, 200, (128,), 3)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m experiments bench-features",
        description=__doc__,
        epilog="exit codes: 0 done; 1 accuracy or memory missed its target; 2 wrong usage; "
        "3 the results could not be written. Times are printed and not judged.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--quick", action="store_true", help="a small run, to see that it works")
    made.add_argument("--json", action="store_true", help="print the outcome as JSON")
    made.add_argument("--quiet", action="store_true", help="no progress")
    made.add_argument(
        "--out", type=Path, default=ROOT / "results", metavar="DIR", help="where to write"
    )
    return made


def units(size: Size) -> list[runs.Unit]:
    """One unit for every data set, method and number of columns."""
    code = runs.fingerprint(ROOT / "crt", ROOT / "experiments" / "benchmarks")
    shared = {"rows": size.kernel_rows, "seeds": size.seeds, "code": code}
    return [
        runs.Unit(
            f"{data}, {method}{', orthogonal' if orthogonal else ''}, {columns} columns",
            {
                "data": data,
                "method": method,
                "orthogonal": orthogonal,
                "columns": columns,
                **shared,
            },
            kernel_error.measure,
        )
        for data in kernel_error.DATA
        for columns in size.columns
        for method, orthogonal in kernel_error.METHODS
    ]


def kernel_errors(size: Size, ledger: runs.Ledger, quiet: bool) -> list[dict[str, Any]]:
    """The rows of the table of kernel errors."""
    named = ("data", "method", "orthogonal", "columns")
    return [
        {key: done.config[key] for key in named} | done.result
        for done in runs.run_units(units(size), ledger, quiet=quiet)
    ]


def measure(size: Size, ledger: runs.Ledger, quiet: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """Numbers, which are the same at each run, and times."""
    times = speed.transform_times(size.rows, size.dim, size.width, size.repeats)
    numbers = {
        "cosine_error": speed.cosine_error(size.angles),
        "kernel_errors": kernel_errors(size, ledger, quiet),
        "memory": {name: memory.operator_memory(name) for name in crt.MECHANISMS},
    }
    ratios = {name: each / times["RBFSampler"] for name, each in times.items()}
    return numbers, {"seconds": times, "relative_to_RBFSampler": ratios}


def missed(numbers: dict[str, Any]) -> list[str]:
    """A sentence for every number that misses its target."""
    found = []
    if not numbers["cosine_error"] <= COSINE_LIMIT:
        found.append(f"cosines are off by {numbers['cosine_error']:.1e}, above {COSINE_LIMIT:.0e}")
    for name, each in numbers["memory"].items():
        if each["bytes"] > each["limit"]:
            found.append(f"{name} needs {each['bytes']} bytes, above {each['limit']}")
    return found


def report(size: Size, numbers: dict[str, Any], timing: dict[str, Any]) -> str:
    """The three tables as text."""
    lines = [f"(a) transform of {size.rows} × {size.dim} float32 to {size.width} columns, median"]
    for name, seconds in timing["seconds"].items():
        ratio = timing["relative_to_RBFSampler"][name]
        lines.append(f"    {name:18}{seconds:8.4f} s  {ratio:5.2f} × RBFSampler")
    lines.append(f"    largest error of a cosine or sine: {numbers['cosine_error']:.1e}")
    lines += ["", "(b) ‖K̂-K‖/‖K‖, mean over seeds (predicted)", *_error_table(numbers, size)]
    lines += ["", "(c) temporary memory of apply_kernel at 100k × 100k, M = 512 (limit)"]
    for name, each in numbers["memory"].items():
        lines.append(
            f"    {name:8}{each['bytes'] / 2**20:7.1f} MB ({each['limit'] / 2**20:.0f} MB)"
        )
    return "\n".join(lines)


def _error_table(numbers: dict[str, Any], size: Size) -> list[str]:
    heads = [f"{data} {columns}" for data in kernel_error.DATA for columns in size.columns]
    cells: dict[str, list[str]] = {}
    for row in numbers["kernel_errors"]:
        name = row["method"] + (", orthogonal" if row["orthogonal"] else "")
        guess = "" if row["predicted"] is None else f" ({row['predicted']:.3g})"
        cells.setdefault(name, []).append(f"{row['mean']:.3g}{guess}")
    lines = ["    " + " " * 18 + "".join(f"{head:>18}" for head in heads)]
    return lines + [
        f"    {name:18}" + "".join(f"{cell:>18}" for cell in row) for name, row in cells.items()
    ]


def main(argv: list[str] | None = None) -> int:
    options = parser().parse_args(argv)
    size, preset = (QUICK, "quick") if options.quick else (FULL, "laptop")
    name = f"bench_features.{preset}"
    start = time.monotonic()
    try:
        ledger = runs.Ledger(options.out / "units" / f"{name}.jsonl")
        numbers, timing = measure(size, ledger, options.quiet)
        config = asdict(size) | {"code": units(size)[0].config["code"]}
        about = runs.manifest(config, time.monotonic() - start)
        runs.write_json(options.out / f"{name}.json", numbers)
        runs.write_json(options.out / f"{name}.manifest.json", about)
        runs.write_json(options.out / f"{name}.timing.json", timing)
        ledger.remove()
    except runs.RunError as error:
        print(f"bench-features: {error}", file=sys.stderr)
        return STOPPED
    failures = missed(numbers)
    outcome = {"numbers": numbers, "timing": timing, "missed": failures}
    print(
        json.dumps(runs.plain(outcome), indent=1) if options.json else report(size, numbers, timing)
    )
    for sentence in failures:
        print(f"bench-features: {sentence}", file=sys.stderr)
    return MISSED if failures else DONE
