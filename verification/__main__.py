"""Command line: every check of the shipped code, with stated error rates."""

import argparse
import json
import os
import secrets
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from derivations.__main__ import positive
from derivations.library import LibraryError
from verification import index, plan, report
from verification.runs import (
    Finished,
    Ledger,
    RunError,
    Unit,
    digest,
    manifest,
    run_units,
    writable,
    write_json,
)
from verification.workers import shared_programs

PASSED, FAILED, USAGE, STOPPED, INTERRUPTED = 0, 1, 2, 3, 130
EPILOG = """Identifiers are claims (thm-tails-iid), checks, formulas (rho_star) and groups:
formulas (accuracy of every generated formula against Arb), mutants (faults planted in their
expressions), and the modules that hold checks. A whole run writes OUT/verification.json with its
manifest and timing; a part of it (--only) writes OUT/verification.part.json if --out is given, and
else no results.

Finished work is kept in OUT/units until the run is complete. An interrupted run is taken up again,
with its seed, by the same command: the same --budget, --only, --seed and --out. Other commands
neither take its work nor its seed, and may run meanwhile; the same one twice at a time is no
faster.

exit codes:
  0    every check passed
  1    a check failed, or did not notice a fault planted for it
  2    wrong usage, for instance an unknown identifier
  3    the run could not go on, for instance because the output folder cannot be written
  130  interrupted; finished work is kept
"""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m verification",
        description="Check the shipped code against every claim: pointwise certificates, "
        "deterministic integration, Monte Carlo with stated false-alarm rate and power, accuracy "
        "of the generated formulas, and planted faults that these must notice.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument(
        "--only",
        metavar="ID",
        nargs="+",
        help="run these alone, e.g. thm-tails-iid; no results are written unless --out is given",
    )
    made.add_argument("--list", action="store_true", help="list everything that can be run")
    made.add_argument(
        "--index",
        action="store_true",
        help="bring verification/index.json up to date (then run python -m derivations)",
    )
    made.add_argument(
        "--budget",
        choices=plan.BUDGETS,
        default="standard",
        help="quick takes about 2 and standard 10 minutes on 2 cores, full ten times standard's "
        "samples (default: standard); quick keeps a check for every claim and plants no faults",
    )
    made.add_argument("--seed", type=whole, help="repeat a run (default: from the system, printed)")
    made.add_argument("--out", type=Path, help="folder of the results (default: results)")
    made.add_argument(
        "--jobs",
        type=positive,
        default=os.cpu_count() or 1,
        help="processes (default: as many as there are cores, here %(default)s)",
    )
    made.add_argument("--json", action="store_true", help="print the outcome as JSON")
    made.add_argument("--quiet", action="store_true", help="no progress, no table of what passed")
    return made


def whole(text: str) -> int:
    """A seed."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)


def main(argv: list[str] | None = None) -> int:
    options = parser().parse_args(argv)
    try:
        if options.list:
            _print(lambda: print("\n".join(plan.known())))
            return PASSED
        if options.index:
            index.write()
            return PASSED
        return run(options)
    except (LibraryError, plan.UnknownIdError) as error:
        return _say(str(error), USAGE)
    except RunError as error:
        return _say(str(error), STOPPED)
    except KeyboardInterrupt:
        return _say("interrupted; finished work is kept, the same command goes on", INTERRUPTED)


def _say(sentence: str, code: int) -> int:
    print(f"verification: {sentence}", file=sys.stderr)
    return code


def _print(show: Callable[[], None]) -> None:
    """Show something; a reader that has had enough changes nothing, least of all the exit code."""
    try:
        show()
        sys.stdout.flush()
    except BrokenPipeError:
        # Python must not complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run(options: argparse.Namespace) -> int:
    """Run what is wanted, print it, and write it where that is asked for."""
    start = time.monotonic()
    out = options.out or plan.ROOT / "results"
    ledger = Ledger(out / "units" / f"{own_name(options)}.jsonl")
    seed = options.seed if options.seed is not None else begun(ledger)
    units = plan.plan(options.only, plan.BUDGETS[options.budget], seed)
    for folder in (out, ledger.path.parent):
        writable(folder)
    with shared_programs():
        finished = run_units(units, ledger, jobs=options.jobs, quiet=options.quiet, show=describe)
    outcome = report.gather(units, finished)
    outcome |= {"budget": options.budget, "seed": seed, "only": options.only}
    if options.only is None or options.out is not None:
        write(out, outcome, units, finished, time.monotonic() - start)
    ledger.forget(units)
    code = PASSED if outcome["passed"] else FAILED
    if options.json:
        _print(lambda: print(json.dumps(outcome, indent=1)))
    else:
        _print(lambda: report.show(outcome, quiet=options.quiet))
    return code


def own_name(options: argparse.Namespace) -> str:
    """The name of a command's ledger: what is wanted and its seed are one run with no other.

    A whole run must not lose units to a part of it, nor go on with a seed that was chosen for one.
    """
    given = {"only": sorted(set(options.only)) if options.only else None, "seed": options.seed}
    return f"verification.{options.budget}.{digest(given)}"


def begun(ledger: Ledger) -> int:
    """The seed of an unfinished run of the same code, or a new one from the system."""
    seed = ledger.value("seed", code=plan.code())
    return secrets.randbits(63) if seed is None else seed


def describe(done: Finished) -> str:
    """One line of progress: what was seen, and the exit code's business in capitals."""
    seen = report.running(done.result)
    line = f"{done.label}: {seen}" if seen else done.label
    return line if done.result["ok"] else f"{line} FAILED"


def write(
    out: Path, outcome: dict[str, Any], units: list[Unit], finished: list[Finished], seconds: float
) -> None:
    """The numbers, how they were found, and how long each unit took.

    A part of a run has files of its own: it must not pass for a whole one.
    """
    name = "verification" if outcome["only"] is None else "verification.part"
    config = {key: outcome[key] for key in ("budget", "seed", "only")} | {"units": len(units)}
    write_json(out / f"{name}.json", outcome)
    write_json(out / f"{name}.manifest.json", manifest(config, seconds, code=plan.code()))
    timing = {done.label: round(done.seconds, 3) for done in finished}
    write_json(out / f"{name}.timing.json", timing)


if __name__ == "__main__":
    sys.exit(main())
