"""Command line: run the notebooks, generate the code, or check that nothing has drifted."""

import argparse
import asyncio
import difflib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from derivations.codegen import COMMAND, ROOT, CodegenError, render
from derivations.notebooks import KERNEL, NotebookError, run, sources

OK, DRIFT, USAGE, FAILED = 0, 1, 2, 3


class UsageError(ValueError):
    """A command line that asks for what there is not."""


EPILOG = """exit codes:
  0  everything generated, or (--check) nothing has drifted
  1  --check found generated files that differ from the notebooks
  2  wrong usage, for instance an unknown notebook
  3  a notebook raised, a kernel is missing, or a formula was refused; no file was touched
"""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog=COMMAND,
        description="Run the derivation notebooks and generate crt/formulas.py, the theorem index "
        "(derivations/README.md), ERRATA.md and the executed notebooks.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument(
        "--check", action="store_true", help="write nothing; compare bytes, print a diff"
    )
    made.add_argument("--only", metavar="NN", nargs="+", help="run these notebooks only, e.g. 04")
    made.add_argument("--kernel", default=KERNEL, help="Jupyter kernel (default: %(default)s)")
    made.add_argument(
        "--jobs", type=positive, default=os.cpu_count() or 1, help="kernels at a time"
    )
    made.add_argument("--json", action="store_true", help="print the outcome as JSON")
    made.add_argument("--quiet", action="store_true", help="no progress lines")
    return made


def positive(text: str) -> int:
    """A number of processes."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def main(argv: list[str] | None = None) -> int:
    options = parser().parse_args(argv)
    try:
        chosen = select(options.only)
        executed = execute(chosen, options)
        wanted = generate(executed)
    except UsageError as error:
        return _fail(str(error), USAGE, options)
    except (NotebookError, CodegenError) as error:
        return _fail(str(error), FAILED, options)
    stale = {path: text for path, text in wanted.items() if _current(path) != text}
    if options.check:
        return report_drift(stale, wanted, options)
    for path, text in stale.items():
        write(ROOT / path, text)
    _say({"status": "generated", "written": sorted(stale), "current": sorted(wanted)}, options)
    if not options.json:
        print(
            f"{len(wanted)} files are current ({len(stale)} changed): " + ", ".join(sorted(wanted))
        )
    return OK


def select(only: list[str] | None) -> list[Path]:
    """The notebooks to run; a name is a number `NN` or a stem `NN_topic`."""
    known = sources()
    if not only:
        return known
    chosen = []
    for name in only:
        found = [s for s in known if name in (s.stem, s.stem[:2], s.name)]
        if not found:
            numbers = ", ".join(s.stem for s in known)
            raise UsageError(f"there is no notebook {name!r}; there are {numbers}")
        chosen += found
    return sorted(set(chosen))


def execute(chosen: list[Path], options: argparse.Namespace) -> dict[str, str]:
    """Run the notebooks, several kernels at a time; their normal forms by stem."""
    done: dict[str, str] = {}
    free = asyncio.Semaphore(options.jobs)

    async def one(source: Path) -> None:
        async with free:
            done[source.stem] = await run(source, options.kernel)
        if not options.quiet:
            print(f"[{len(done)}/{len(chosen)}] {source.stem}", file=sys.stderr)

    async def every() -> None:
        # nbclient watches each kernel in a task of its own, which fails when the kernel is stopped;
        # nobody waits for that task, and its traceback would follow the one sentence that counts.
        asyncio.get_running_loop().set_exception_handler(lambda _, context: None)
        async with asyncio.TaskGroup() as group:  # the first failure stops the other kernels
            for source in chosen:
                group.create_task(one(source))

    try:
        asyncio.run(every())
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return done


def generate(executed: dict[str, str]) -> dict[str, str]:
    """All generated files by path: notebooks just run, the others as they were committed."""
    notebooks = {f"derivations/{stem}.ipynb": text for stem, text in executed.items()}
    handovers = {}
    for source in sources():
        text = executed.get(source.stem) or _current(f"derivations/{source.stem}.ipynb")
        if text is None:
            raise NotebookError(f"{source.stem} was never run: run {COMMAND} without --only first")
        handovers[source.stem] = handed_over(source.stem, text)
    return notebooks | render(handovers)


def handed_over(stem: str, text: str) -> dict[str, Any]:
    """What the executed notebook `text` keeps for the generated files."""
    try:
        return json.loads(text)["metadata"]["crt"]
    except (ValueError, KeyError):
        raise NotebookError(
            f"derivations/{stem}.ipynb is not a run's result: run it again"
        ) from None


def report_drift(stale: dict[str, str], wanted: dict[str, str], options: argparse.Namespace) -> int:
    """Print what differs and the command that mends it."""
    if options.json:
        _say({"status": "drift" if stale else "current", "stale": sorted(stale)}, options)
        return DRIFT if stale else OK
    for path, text in sorted(stale.items()):
        before = (_current(path) or "").splitlines(keepends=True)
        diff = difflib.unified_diff(
            before, text.splitlines(keepends=True), path, f"{path} (wanted)"
        )
        sys.stdout.writelines(list(diff)[:200])
    if stale:
        print(f"{len(stale)} generated files have drifted; to mend them run: {COMMAND}")
        return DRIFT
    print(f"{len(wanted)} generated files are current")
    return OK


def write(path: Path, text: str) -> None:
    """Replace a file in one step, so that a killed run leaves the old one."""
    path.parent.mkdir(exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
    Path(name).chmod(0o644)
    os.replace(name, path)


def _current(path: str) -> str | None:
    file = ROOT / path
    return file.read_text(encoding="utf-8") if file.exists() else None


def _fail(sentence: str, code: int, options: argparse.Namespace) -> int:
    _say({"status": "failed", "error": sentence}, options)
    print(f"derivations: {sentence}", file=sys.stderr)
    return code


def _say(outcome: dict[str, Any], options: argparse.Namespace) -> None:
    if options.json:
        print(json.dumps(outcome, indent=2))


if __name__ == "__main__":
    sys.exit(main())
