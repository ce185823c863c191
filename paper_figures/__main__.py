"""Command line: the report page and its figures, from result files alone."""

import argparse
import json
import sys
from pathlib import Path

from paper_figures import readme
from paper_figures.report import write
from paper_figures.results import Results, ResultsError

WRITTEN, USAGE, STOPPED = 0, 2, 3
EPILOG = """Nothing is computed here: python -m verification and python -m experiments write what is
read. A section without results is left out, and named in the output.

exit codes:
  0  the page and the figures are written
  2  wrong usage
  3  the results are absent or damaged, or the output folder cannot be written
"""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m paper_figures",
        description="Write OUT/report.html, a page that needs no network, and OUT/figures/*.svg "
        "and *.png from the files of a results folder.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument(
        "--results", type=Path, default=Path("results"), help="what is read (default: results)"
    )
    made.add_argument("--out", type=Path, help="where it is written (default: the same folder)")
    made.add_argument(
        "--readme", type=Path, metavar="FILE", help="bring the table of a README up to date too"
    )
    made.add_argument("--json", action="store_true", help="print what was written as JSON")
    made.add_argument("--quiet", action="store_true", help="print nothing unless it fails")
    return made


def main(argv: list[str] | None = None) -> int:
    options = parser().parse_args(argv)
    try:
        results = Results(options.results, options.out)
        written, left_out = write(results)
        if options.readme and readme.write(options.readme, results):
            written.append(options.readme)
    except ResultsError as error:
        print(f"paper_figures: {error}", file=sys.stderr)
        return STOPPED
    if options.json:
        files = [path.as_posix() for path in written]
        print(json.dumps({"written": files, "left_out": left_out}, indent=1))
    elif not options.quiet:
        print("\n".join(f"wrote {path}" for path in written))
        for name, source in left_out.items():
            print(f"left out: {name}, for want of {source}")
    return WRITTEN


if __name__ == "__main__":
    sys.exit(main())
