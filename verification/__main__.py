"""Command line: checks of the shipped code, so far of the generated formulas.

`formulas` measures their accuracy against certified arithmetic, `mutants` shows that the proofs'
checks would notice a fault in them.
"""

import argparse
import json
import os
import secrets
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any, TypeVar

from derivations.__main__ import positive
from derivations.library import LibraryError, load_formulas
from verification.accuracy import DTYPES, Accuracy, measure
from verification.mutants import Judgement, judge_some

PASSED, FAILED, USAGE = 0, 1, 2
CHECKS = ("formulas", "mutants")
POINTS = {"quick": (400, 4), "standard": (20_000, 10), "full": (40_000, 40)}
"""Random points per formula and dtype, and rounds of the hill climb."""
MUTANTS = {"quick": 200, "standard": 1_000, "full": None}
"""How many mutants are judged; None means all."""
BATCHES = 24

EPILOG = """exit codes:
  0  every check passed
  1  a check failed
  2  wrong usage, for instance an unknown check or formula
"""

Outcome = TypeVar("Outcome")


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m verification",
        description="Check the shipped code. 'formulas': the error of every generated formula, in "
        "float32 and float64, against certified arithmetic (Arb). 'mutants': faults planted in the "
        "formulas' expressions, which the definitions and Arb must notice.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--only", metavar="ID", nargs="+", help="checks or formulas, e.g. rho_star")
    made.add_argument("--list", action="store_true", help="list the checks and the formulas")
    made.add_argument("--budget", choices=POINTS, default="standard", help="how much is looked at")
    made.add_argument("--seed", type=whole, help="repeat a run (default: from the system, printed)")
    made.add_argument("--jobs", type=positive, default=os.cpu_count() or 1, help="processes")
    made.add_argument("--json", action="store_true", help="print the outcome as JSON")
    made.add_argument("--quiet", action="store_true", help="no progress lines")
    return made


def whole(text: str) -> int:
    """A seed."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)


def main(argv: list[str] | None = None) -> int:
    options = parser().parse_args(argv)
    try:
        known = list(load_formulas())
    except LibraryError as error:
        print(f"verification: {error}", file=sys.stderr)
        return USAGE
    if options.list:
        print("\n".join([*CHECKS, *known]))
        return PASSED
    wanted = options.only or list(CHECKS)
    unknown = [name for name in wanted if name not in (*CHECKS, *known)]
    if unknown:
        sentence = f"there is no check or formula {unknown[0]!r}; --list shows what there is"
        print(f"verification: {sentence}", file=sys.stderr)
        return USAGE
    seed = secrets.randbits(63) if options.seed is None else options.seed
    names = known if "formulas" in wanted else [name for name in known if name in wanted]
    accuracy = check_accuracy(names, seed, options)
    judged = check_mutants(seed, options) if "mutants" in wanted else []
    failed = sum(not a.passed for a in accuracy) + sum(j.verdict == "survived" for j in judged)
    if options.json:
        report = {"seed": seed, "passed": failed == 0}
        report |= {"formulas": [a.as_dict() for a in accuracy]}
        report |= {"mutants": [j.as_dict() for j in judged]}
        print(json.dumps(report, indent=2))
    else:
        print_accuracy(accuracy)
        print_mutants(judged)
        total = len(accuracy) + len(judged)
        print(f"seed {seed}\n{total - failed} passed, {failed} failed")
    return FAILED if failed else PASSED


def check_accuracy(names: list[str], seed: int, options: argparse.Namespace) -> list[Accuracy]:
    """Measure every formula in both dtypes."""
    points, steps = POINTS[options.budget]
    tasks = [(name, dtype, points, steps, seed) for name in names for dtype in DTYPES]
    return in_parallel(measure, tasks, lambda a: f"{a.name} {a.dtype}", options)


def check_mutants(seed: int, options: argparse.Namespace) -> list[Judgement]:
    """Judge the mutants, dealt out to the processes in batches."""
    tasks = [(MUTANTS[options.budget], seed, part, BATCHES) for part in range(BATCHES)]
    batches = in_parallel(judge_some, tasks, lambda batch: f"{len(batch)} mutants", options)
    return [judgement for batch in batches for judgement in batch]


def in_parallel(
    work: Callable[..., Outcome],
    tasks: Sequence[tuple[Any, ...]],
    name: Callable[[Outcome], str],
    options: argparse.Namespace,
) -> list[Outcome]:
    """`work(*task)` for every task, in their order, several processes at a time, with progress."""
    if not tasks:
        return []
    results: dict[int, Outcome] = {}
    start = time.monotonic()
    # JAX starts threads, which a forked process would inherit in an unusable state.
    context = get_context("spawn")
    with ProcessPoolExecutor(min(options.jobs, len(tasks)), context) as pool:
        futures = {pool.submit(work, *task): i for i, task in enumerate(tasks)}
        for done in as_completed(futures):
            results[futures[done]] = done.result()
            if not options.quiet:
                left = (time.monotonic() - start) / len(results) * (len(tasks) - len(results))
                label = f"[{len(results)}/{len(tasks)}] {name(done.result())}"
                print(f"{label}, about {left:.0f} s left", file=sys.stderr)
    return [results[i] for i in range(len(tasks))]


def print_accuracy(results: list[Accuracy]) -> None:
    """One row per formula and dtype: the worst error in units of the bound, and where."""
    if not results:
        return
    width = max(len(result.name) for result in results)
    print(f"{'formula':{width}}  dtype    points   worst  at (error in units of the bound)")
    for result in results:
        mark = "" if result.passed else "  FAILED"
        print(
            f"{result.name:{width}}  {result.dtype}  {result.points:6d}  {result.worst:6.3f}  "
            f"{result.at}{mark}"
        )


def print_mutants(judged: list[Judgement]) -> None:
    """How many were killed, and every mutant that was not."""
    if not judged:
        return
    for judgement in judged:
        if judgement.verdict != "killed":
            print(
                f"{judgement.verdict}: {judgement.formula}: {judgement.change}: "
                f"{judgement.evidence}"
            )
    counts = Counter(judgement.verdict for judgement in judged)
    print("mutants: " + ", ".join(f"{counts[v]} {v}" for v in ("killed", "equivalent", "survived")))


if __name__ == "__main__":
    sys.exit(main())
