"""Command line: checks of the shipped code. So far: the accuracy of the generated formulas."""

import argparse
import json
import os
import secrets
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

from derivations.library import load_formulas
from verification.accuracy import DTYPES, Accuracy, measure

PASSED, FAILED, USAGE = 0, 1, 2
CHECKS = ("formulas",)
BUDGETS = {"quick": (400, 4), "standard": (4_000, 20), "full": (20_000, 40)}
"""Random points of a formula and dtype, and rounds of the hill climb."""

EPILOG = """exit codes:
  0  every check passed
  1  a check failed
  2  wrong usage, for instance an unknown check or formula
"""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m verification",
        description="Check the shipped code against the statements. 'formulas': the error of every "
        "generated formula, in float32 and float64, against certified arithmetic (Arb).",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--only", metavar="ID", nargs="+", help="checks or formulas, e.g. rho_star")
    made.add_argument("--list", action="store_true", help="list the checks and the formulas")
    made.add_argument("--budget", choices=BUDGETS, default="standard", help="how many points")
    made.add_argument("--seed", type=int, help="repeat a run (default: from the system, printed)")
    made.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    made.add_argument("--json", action="store_true", help="print the outcome as JSON")
    made.add_argument("--quiet", action="store_true", help="no progress lines")
    return made


def main(argv: list[str] | None = None) -> int:
    options = parser().parse_args(argv)
    known = list(load_formulas())
    if options.list:
        print("\n".join([*CHECKS, *known]))
        return PASSED
    names = select(options.only, known)
    if isinstance(names, str):
        print(f"verification: {names}", file=sys.stderr)
        return USAGE
    seed = secrets.randbits(63) if options.seed is None else options.seed
    results = run(names, seed, options)
    passed = all(result.passed for result in results)
    if options.json:
        rows = [result.as_dict() for result in results]
        print(json.dumps({"seed": seed, "passed": passed, "formulas": rows}, indent=2))
    else:
        print_table(results, seed)
    return PASSED if passed else FAILED


def select(only: list[str] | None, known: list[str]) -> list[str] | str:
    """The formulas to check, or one sentence on what is unknown."""
    wanted = only or list(CHECKS)
    unknown = [name for name in wanted if name not in (*CHECKS, *known)]
    if unknown:
        return f"there is no check or formula {unknown[0]!r}; --list shows what there is"
    return known if "formulas" in wanted else [name for name in known if name in wanted]


def run(names: list[str], seed: int, options: argparse.Namespace) -> list[Accuracy]:
    """Measure every formula in both dtypes, several processes at a time."""
    points, steps = BUDGETS[options.budget]
    tasks = [(name, dtype, points, steps, seed) for name in names for dtype in DTYPES]
    results: dict[tuple[str, str], Accuracy] = {}
    start = time.monotonic()
    workers = max(1, min(options.jobs, len(tasks)))
    # JAX starts threads, which a forked process would inherit in an unusable state.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(measure, *task) for task in tasks]):
            result = done.result()
            results[result.name, result.dtype] = result
            if not options.quiet:
                left = (time.monotonic() - start) / len(results) * (len(tasks) - len(results))
                mark = "ok" if result.passed else "FAILED"
                print(
                    f"[{len(results)}/{len(tasks)}] {result.name} {result.dtype}: {mark}, "
                    f"about {left:.0f} s left",
                    file=sys.stderr,
                )
    return [results[name, dtype] for name, dtype, *_ in tasks]


def print_table(results: list[Accuracy], seed: int) -> None:
    """One row per formula and dtype: the worst error in units of the bound, and where."""
    width = max(len(result.name) for result in results)
    print(f"{'formula':{width}}  dtype    points   worst  at (error in units of the bound)")
    for result in results:
        mark = "" if result.passed else "  FAILED"
        print(
            f"{result.name:{width}}  {result.dtype}  {result.points:6d}  {result.worst:6.3f}  "
            f"{result.at}{mark}"
        )
    failed = sum(not result.passed for result in results)
    print(f"{len(results) - failed} passed, {failed} failed (seed {seed})")


if __name__ == "__main__":
    sys.exit(main())
