"""Command line: `python -m experiments NAME [options]` runs one, `list` lists them."""

import importlib
import sys

EXPERIMENTS = {
    "bench-features": (
        "experiments.benchmarks.features",
        "random features against scikit-learn: speed, kernel error, memory",
    ),
}
"""Name → the module whose `main(arguments)` runs it and returns an exit code, and what it is."""

USAGE = """usage: python -m experiments NAME [options]
       python -m experiments list

NAME --help shows the options of one experiment.

exit codes:
  0  done
  1  a checked target was missed, or the results could not be written
  2  wrong usage, for instance an unknown name
"""


def listing() -> str:
    """One line per experiment."""
    width = max(map(len, EXPERIMENTS))
    return "\n".join(f"{name:{width}}  {about}" for name, (_, about) in EXPERIMENTS.items())


def main(argv: list[str] | None = None) -> int:
    name, *rest = (sys.argv[1:] if argv is None else argv) or ["--help"]
    if name in ("-h", "--help"):
        print(USAGE)
    elif name == "list":
        print(listing())
    elif name not in EXPERIMENTS:
        print(f"experiments: there is no experiment {name!r}; `list` lists them", file=sys.stderr)
        return 2
    else:
        return importlib.import_module(EXPERIMENTS[name][0]).main(rest)
    return 0


if __name__ == "__main__":
    sys.exit(main())
