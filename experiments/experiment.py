"""What an experiment is, and the command line that all of them share.

An experiment is a record of plain functions: units of work for a preset, and what is gathered from
them. A new one is a module with an `EXPERIMENT` and one line in `experiments/__main__.py`.
"""

import argparse
import functools
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from experiments import data
from verification import runs
from verification.runs import Finished, Ledger, RunError, Unit

ROOT = Path(__file__).resolve().parents[1]
DONE, MISSED, USAGE, STOPPED, INTERRUPTED = 0, 1, 2, 3, 130
EXITS = """exit codes:
  0    done; the numbers are in OUT/NAME.PRESET.json, with manifest and timing beside them
  1    a checked target was missed
  2    wrong usage, for instance an unknown preset
  3    the run could not go on: data are missing or damaged, the results cannot be written
  130  interrupted; finished units are kept, and the same command goes on with the others
"""

Preset = Any
"""A frozen dataclass of the experiment's own, with a field `seeds`."""
Origins = Mapping[str, data.Origin]

FEATURE_ROOMS = (
    "crt/mechanisms",
    *(f"crt/{name}.py" for name in ("arrays", "errors", "formulas", "kernels", "parameters")),
    *(f"crt/{name}.py" for name in ("projections", "pytrees", "series", "special", "statistics")),
    *(f"crt/{name}.py" for name in ("tables", "trigonometry")),
)
"""Rooms of every experiment with random features: the mechanisms and what they need."""
RUNNING = ("experiments/experiment.py", "verification/runs.py")
"""No rooms: they run a unit and keep its result, which is the same without them."""
DELIVERY = ("experiments/data/errors.py", "experiments/data/files.py")
"""No rooms: what they hand out has the checksum of the catalogue."""
NAMED = ("experiments/data/catalogue.py", "experiments/data/origins.py")
"""No rooms where `data` names the sets: a unit's configuration holds the hash of their contents."""


class UsageError(Exception):
    """Options name something that is not there; the message is one sentence."""


@dataclass(frozen=True, eq=False)
class Experiment:
    """A name, the presets smoke, laptop and paper, the data sets, and functions of them.

    `units(preset, origins)` lists the work; `parts` are the keys of a unit's configuration that
    `--only` chooses by. `gather(preset, finished)` makes the numbers, equal bytes for equal seeds,
    also from a part of the units; `show(numbers)` tells them to people. `rooms` are the folders and
    files whose code the units share: a hash of it and of the module of a unit's own work is added
    to its configuration, so that units of other code are not taken. A test holds them against the
    imports. `times(finished)` is what the units measured by the clock. Presets in `elsewhere` take
    none of the data sets. `add_options(parser)` adds options of the experiment's own, and
    `begin(options)`, before any work, tells whether this process writes the results: of many that
    do the same work on many hosts, one does.
    """

    name: str
    about: str
    presets: Mapping[str, Preset]
    data: tuple[str, ...]
    parts: tuple[str, ...]
    units: Callable[[Preset, Origins], list[Unit]]
    gather: Callable[[Preset, Sequence[Finished]], dict[str, Any]]
    show: Callable[[Mapping[str, Any]], str]
    rooms: tuple[str, ...]
    times: Callable[[Sequence[Finished]], Mapping[str, Any]] = lambda finished: {}
    elsewhere: tuple[str, ...] = ()
    add_options: Callable[[argparse.ArgumentParser], None] = lambda parser: None
    begin: Callable[[argparse.Namespace], bool] = lambda options: True


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence, as all other errors are said."""

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{self.prog.rpartition(' ')[2]}: {message}\n")


def _at_least(least: int) -> Callable[[str], int]:
    """Reads a whole number that is not below the least."""

    def read(text: str) -> int:
        if not text.removeprefix("-").isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {least} on")
        return int(text)

    return read


def values(experiment: Experiment) -> dict[str, list[str]]:
    """What `--only` accepts: the values of every part in any preset."""
    origins = {name: data.Origin(name, None, "") for name in experiment.data}
    units = [
        unit for preset in experiment.presets.values() for unit in experiment.units(preset, origins)
    ]
    return {
        part: list(dict.fromkeys(str(unit.config[part]) for unit in units if part in unit.config))
        for part in experiment.parts
    }


def parser(experiment: Experiment) -> argparse.ArgumentParser:
    made = Parser(
        prog=f"python -m experiments {experiment.name}",
        description=experiment.about,
        epilog=EXITS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument(
        "--preset", choices=list(experiment.presets), default="laptop",
        help="how much work: smoke to see that it runs, laptop for minutes, paper for the paper's "
        "numbers (default: %(default)s)",
    )  # fmt: skip
    known = "; ".join(f"{part}: {', '.join(each)}" for part, each in values(experiment).items())
    made.add_argument(
        "--only", nargs="+", metavar="VALUE",
        help=f"only units that have one of these values, whichever part it is of ({known})",
    )  # fmt: skip
    made.add_argument(
        "--seeds", nargs="+", type=_at_least(0), metavar="N", help="other seeds, each once"
    )
    made.add_argument(
        "--out", type=Path, help="folder of the results (default: results; a part of a preset is "
        "written only if this is given, its finished units are kept in any case)",
    )  # fmt: skip
    made.add_argument(
        "--jobs", type=_at_least(1), metavar="N", default=os.cpu_count() or 1,
        help="processes (default: %(default)s)",
    )  # fmt: skip
    made.add_argument("--json", action="store_true", help="print the numbers as JSON")
    made.add_argument("--quiet", action="store_true", help="no progress")
    experiment.add_options(made)
    return made


def main(experiment: Experiment, argv: list[str] | None = None) -> int:
    """The command line of one experiment; returns the exit code."""
    options = parser(experiment).parse_args(argv)
    try:
        return _run(experiment, options)
    except UsageError as error:
        code, said = USAGE, str(error)
    except (data.DataError, RunError) as error:
        code, said = STOPPED, str(error)
    except KeyboardInterrupt:
        code, said = INTERRUPTED, "interrupted; finished units are kept"
    print(f"{experiment.name}: {said}", file=sys.stderr)
    return code


def _run(experiment: Experiment, options: argparse.Namespace) -> int:
    start, preset = time.monotonic(), experiment.presets[options.preset]
    if options.seeds:
        preset = replace(preset, seeds=_distinct(options.seeds))
    origins = _origins(experiment, options.preset)
    chosen = select(experiment.units(preset, origins), experiment.parts, options.only)
    units = [
        replace(unit, config={**unit.config, "code": _code(experiment, unit.work.__module__)})
        for unit in chosen
    ]
    name, out = f"{experiment.name}.{options.preset}", options.out or ROOT / "results"
    writes = experiment.begin(options)
    ledger = Ledger(out / "units" / f"{name}.jsonl", writes=writes)
    earlier = sum(unit.name in ledger.finished for unit in units)
    quiet = options.quiet or not writes
    finished = runs.run_units(units, ledger, jobs=options.jobs, quiet=quiet)
    if not writes:
        return DONE
    numbers = experiment.gather(preset, finished) | {
        "preset": options.preset,
        "data": {each.name: asdict(each) for each in origins.values()},
    }
    if options.out or not (options.only or options.seeds):
        config = asdict(preset) | {"only": options.only}
        timing = {"units": {each.label: each.seconds for each in finished}}
        timing |= experiment.times(finished)
        clock = {"seconds": round(time.monotonic() - start, 1), "resumed": earlier}
        if earlier == len(units):
            clock = _clock(out / f"{name}.manifest.json", config) or clock
        _write(out, name, numbers, config, timing, clock)
    print(json.dumps(runs.plain(numbers), indent=1) if options.json else experiment.show(numbers))
    if any(each.stand_in for each in origins.values()):
        print(data.stand_in_line(origins.values()), file=sys.stderr)
    return DONE


def _distinct(seeds: Sequence[int]) -> tuple[int, ...]:
    for seed in seeds:
        if seeds.count(seed) > 1:
            raise UsageError(f"--seeds names {seed} more than once; a seed counts once")
    return tuple(seeds)


@functools.cache
def _code(experiment: Experiment, module: str) -> str:
    """Hash of the code that a unit depends on: the shared rooms and the module of its work."""
    own = sys.modules[module].__file__ or ""
    return runs.fingerprint(*(ROOT / room for room in experiment.rooms), Path(own))


def _origins(experiment: Experiment, preset: str) -> Origins:
    """Where every data set comes from; a stand-in is no good for the paper's numbers."""
    named = () if preset in experiment.elsewhere else experiment.data
    found = {name: data.origin(name) for name in named}
    for each in found.values():
        if each.stand_in and preset == "paper":
            raise data.DataError(
                f"{data.stand_in_line([each])} The paper preset needs the set itself."
            )
    return found


def _clock(path: Path, config: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the manifest of the run says that did the work which a later one found finished."""
    try:
        known = json.loads(path.read_text("utf-8"))
        same = known["config"] == runs.plain(config)
        return {key: known[key] for key in ("seconds", "resumed")} if same else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(
    out: Path,
    name: str,
    numbers: Mapping[str, Any],
    config: Mapping[str, Any],
    timing: Mapping[str, Any],
    clock: Mapping[str, Any],
) -> None:
    """Numbers, manifest and timing.

    `seconds` is by the clock, `resumed` counts the units that earlier runs had finished, and
    `unit_seconds` is summed over all units, theirs too.
    """
    work = round(sum(timing["units"].values()), 1)
    about = runs.manifest(
        config,
        clock["seconds"],
        resumed=clock["resumed"],
        data=numbers["data"],
        unit_seconds=work,
    )
    runs.write_json(out / f"{name}.json", numbers)
    runs.write_json(out / f"{name}.manifest.json", about)
    runs.write_json(out / f"{name}.timing.json", timing)


def select(units: Sequence[Unit], parts: Sequence[str], only: Sequence[str] | None) -> list[Unit]:
    """The units of which some part has one of the wanted values; all if nothing is wanted."""
    if only is None:
        return list(units)
    values = [{str(unit.config[part]) for part in parts if part in unit.config} for unit in units]
    known = sorted(set().union(*values))
    for value in only:
        if value not in known:
            raise UsageError(f"there is no part {value!r}; known are {', '.join(known)}")
    return [unit for unit, own in zip(units, values, strict=True) if own & set(only)]
