"""Long work in units: a finished one is kept, and a killed run goes on where it stopped.

A unit is a configuration (JSON) and a function of it. Its result is one line of a ledger, a JSON
Lines file, named by the hash of the configuration and with a checksum of the line. What a run finds
is written as numbers alone (`write_json`), and beside it a manifest that says how it was found.
"""

import fcntl
import hashlib
import importlib.metadata
import json
import math
import os
import pickle
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verification.progress import Progress
from verification.workers import run_in_processes

PACKAGES = ("jax", "jaxlib", "flax", "numpy", "scipy", "scikit-learn", "sympy", "python-flint")


class RunError(Exception):
    """A run cannot go on; the message is one sentence, and finished units are kept."""


def plain(value: Any) -> Any:
    """The value as plain JSON: numbers that are not finite become their names."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def digest(config: Mapping[str, Any]) -> str:
    """Name of a unit: a hash of its configuration, independent of the order of its keys.

    Of a whole line of a ledger, its checksum.
    """
    text = json.dumps(plain(config), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def write_text(path: Path, text: str) -> None:
    """Write a file as a whole or not at all, whatever happens in between."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(scratch).chmod(0o644)
            Path(scratch).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(scratch).unlink()
            raise
    except OSError as error:
        raise RunError(f"{path} cannot be written: {_reason(error)}") from error


def write_json(path: Path, value: Any) -> None:
    """Write JSON with sorted keys, the same bytes for the same value."""
    write_text(path, json.dumps(plain(value), indent=1, sort_keys=True, allow_nan=False) + "\n")


def writable(folder: Path) -> None:
    """Refuses a folder that cannot be written, before anything is computed for it."""
    probe = folder / f".{os.getpid()}.probe"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise RunError(f"{folder} cannot be written: {_reason(error)}") from error


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


@dataclass(frozen=True)
class Unit:
    """One piece of work: `work(config)` gives a JSON value. `work` is a function of a module.

    Units of one group run in one process as far as the others have work: they share what is
    compiled. One that is to be `alone`, since it measures time, runs when no other does. Neither is
    part of a unit's name.
    """

    label: str
    config: Mapping[str, Any]
    work: Callable[[Mapping[str, Any]], Any]
    group: str = ""
    alone: bool = False

    @property
    def name(self) -> str:
        """The hash of the configuration."""
        return digest(self.config)


@dataclass(frozen=True)
class Finished:
    """A unit's configuration, its result and the seconds it took."""

    label: str
    config: Mapping[str, Any]
    result: Any
    seconds: float


def unit_of(line: str) -> tuple[str, Finished] | None:
    """The name and the unit of a ledger's line; None if the line is damaged in any place."""
    try:
        entry = json.loads(line)
        if entry.pop("checksum") != digest(entry):
            return None
        return entry.pop("unit"), Finished(**entry)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


class Ledger:
    """Finished units, one line each. Damaged lines are put aside with a sentence and run again.

    One that does not write reads what there is, and keeps what is added in memory alone. Runs at
    the same time may share a file: each adds its lines, and none undoes another's.
    """

    def __init__(self, path: Path, *, writes: bool = True):
        self.path, self.writes = path, writes
        self.finished: dict[str, Finished] = {}
        self.damaged = 0
        if path.parent.is_dir():
            self._load()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """While no other run reads or changes the files of the ledger's folder."""
        try:
            folder = os.open(self.path.parent, os.O_RDONLY)
        except OSError as error:
            raise RunError(f"{self.path.parent} cannot be read: {_reason(error)}") from error
        try:
            # A file system without locks is left to one run at a time.
            with suppress(OSError):
                fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)

    def _read(self) -> str:
        try:
            return self.path.read_text("utf-8", errors="replace")
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise RunError(f"{self.path} cannot be read: {_reason(error)}") from error

    def _load(self) -> None:
        with self._alone():
            text = self._read()
            good = [line for line in text.splitlines() if self._take(line)]
            whole = text == "".join(line + "\n" for line in good)
            if self.writes and not whole:
                self.damaged = len(text.splitlines()) - len(good)
                write_text(self.path.with_suffix(".damaged"), text)
                write_text(self.path, "".join(line + "\n" for line in good))

    def _take(self, line: str) -> bool:
        """Remember a line if it is whole."""
        found = unit_of(line)
        if found is not None:
            self.finished[found[0]] = found[1]
        return found is not None

    def add(self, unit: Unit, result: Any, seconds: float) -> None:
        """Append a finished unit in one write."""
        entry = {"unit": unit.name, "label": unit.label, "config": plain(unit.config)}
        entry |= {"result": plain(result), "seconds": round(seconds, 3)}
        entry |= {"checksum": digest(entry)}
        line = json.dumps(entry, sort_keys=True, allow_nan=False) + "\n"
        if self.writes:
            self._append(line)
        # As it will be read: a resumed run must not see other orders of keys than the first.
        self._take(line)

    def _append(self, line: str) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self._alone(), self.path.open("ab") as file:
                file.write(line.encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise RunError(
                f"{self.path} cannot be written: {_reason(error)}; "
                f"{len(self.finished)} finished units are kept"
            ) from error

    def value(self, key: str, **given: Any) -> Any:
        """What the finished units with the given configuration have under a key, else None."""
        for done in self.finished.values():
            if given.items() <= done.config.items() and key in done.config:
                return done.config[key]
        return None

    def forget(self, units: Sequence[Unit]) -> None:
        """Drop the units of a complete run; what other runs have finished or damaged stays."""
        names = {unit.name for unit in units}
        self.finished = {name: done for name, done in self.finished.items() if name not in names}
        with self._alone():
            lines = self._read().splitlines(keepends=True)
            left = [line for line in lines if (unit_of(line) or ("",))[0] not in names]
            if left:
                write_text(self.path, "".join(left))
            else:
                self.path.unlink(missing_ok=True)

    def remove(self) -> None:
        """Forget everything: the run is complete, or another one begins."""
        self.path.unlink(missing_ok=True)
        self.finished.clear()


def _timed(unit: Unit) -> tuple[Any, float]:
    start = time.monotonic()
    return unit.work(unit.config), time.monotonic() - start


def _sent(unit: Unit) -> tuple[Any, float]:
    """`_timed` in a process of its own: of an error that cannot be sent, its sentence is."""
    try:
        return _timed(unit)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            raise RunError(f"{unit.label}: {error}") from error
        raise


def run_units(
    units: Sequence[Unit],
    ledger: Ledger,
    *,
    jobs: int = 1,
    quiet: bool = False,
    show: Callable[[Finished], str] = lambda done: done.label,
) -> list[Finished]:
    """Every unit's result in order; finished ones are taken from the ledger.

    With one job the units run here, with more in processes of their own, and then those that are
    to be alone here. A unit that raises ends the run; so does an interrupt. What is finished by
    then is in the ledger.
    """
    if jobs < 1:
        raise RunError(f"jobs is {jobs}, and at least one process is needed")
    waiting = [unit for unit in units if unit.name not in ledger.finished]
    with Progress(len(units), done=len(units) - len(waiting), quiet=quiet) as progress:
        if ledger.damaged:
            lines = "line" if ledger.damaged == 1 else "lines"
            aside = ledger.path.with_suffix(".damaged").name
            progress.say(f"{ledger.damaged} damaged {lines} of {ledger.path} put aside in {aside}")
        if len(units) > len(waiting) and not quiet:
            progress.say(f"{len(units) - len(waiting)} of {len(units)} units are finished already")

        def keep(unit: Unit, result: Any, seconds: float) -> None:
            ledger.add(unit, result, seconds)
            failed = isinstance(result, Mapping) and result.get("ok") is False
            progress.advance(show(ledger.finished[unit.name]), lasting=failed)

        shared = [unit for unit in waiting if jobs > 1 and not unit.alone]
        if len(shared) > 1:
            grouped = ((unit.group or unit.name, unit) for unit in shared)
            try:
                for unit, done in run_in_processes(grouped, _sent, min(jobs, len(shared))):
                    keep(unit, *done)
            except BrokenProcessPool as error:
                raise RunError(
                    "a worker process was killed, for instance for want of memory; "
                    f"{len(ledger.finished)} finished units are kept"
                ) from error
        for unit in waiting:
            if unit.name not in ledger.finished:
                keep(unit, *_timed(unit))
    return [ledger.finished[unit.name] for unit in units]


def fingerprint(*places: Path) -> str:
    """Hash of Python sources, files or folders: results of other code are not taken for ours."""
    total = hashlib.sha256()
    for place in places:
        for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
            total.update(path.relative_to(place.parent).as_posix().encode() + b"\0")
            total.update(path.read_bytes() + b"\0")
    return total.hexdigest()[:16]


def manifest(config: Mapping[str, Any], seconds: float, **more: Any) -> dict[str, Any]:
    """How numbers were found: configuration, versions, revision, machine, time."""
    return {
        "command": " ".join(["python", "-m", *_module(), *without_folder(sys.argv[1:])]),
        "config": plain(config),
        "versions": {"python": platform.python_version()} | _versions(),
        "revision": _revision(),
        "machine": {"cpu": _processor(), "cores": os.cpu_count(), "system": platform.system()},
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "seconds": round(seconds, 1),
        **{key: plain(value) for key, value in more.items()},
    }


def without_folder(arguments: Sequence[str]) -> list[str]:
    """Arguments but for `--out DIR`: where numbers are written says nothing of how they came."""
    kept, given = [], iter(arguments)
    for argument in given:
        if argument == "--out":
            next(given, None)
        elif not argument.startswith("--out="):
            kept.append(argument)
    return kept


def _module() -> list[str]:
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return [spec.name.removesuffix(".__main__")] if spec else [Path(sys.argv[0]).stem]


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def _revision() -> str:
    """The checked-out commit, marked where files differ from it; results are no part of that."""
    git = ["git", "-C", str(Path(__file__).parent)]
    sources = ["--untracked-files=no", "--", ":/", ":(top,exclude)results"]
    try:
        commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True)
        changed = subprocess.run(
            [*git, "status", "--porcelain", *sources], capture_output=True, text=True
        )
    except OSError:
        return "unknown"
    if commit.returncode:
        return "unknown"
    return commit.stdout.strip() + (" with changes" if changed.stdout.strip() else "")


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
