"""The README's tables: what the paper reports and what we find, and the speed of attention.

Each stands between two comments and is written from the committed results, so a test can tell when
one of them has moved.
"""

import math
from collections.abc import Callable, Mapping
from pathlib import Path

from paper_figures import attention_speed
from paper_figures.results import Results, ResultsError, Row, Run, number

HEAD = ("paper", "command", "time", "paper's number", "ours", "verdict")
CLAIMS = {
    "fig-log-vars": "Section 5.1, Figure 2",
    "fig-utility": "Figure 1, right",
    "fig-map": "Figure 1, left",
    "tab-uci": "Section 5.2, Table 1",
    "tab-ucistd": "Appendix, Table 5",
    "fig-img": "Section 5.3.3, Figure 4",
    "tab-vision-settings": "Appendix, vision settings",
}
"""Where the paper has a claim."""
OF_WORK = (
    "“Of work” is summed over the units of a run that went on from an earlier one: its clock tells "
    "the last part alone."
)


def table(results: Results) -> str:
    """The lines between the comments."""
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    lines += [
        _line(row, _how(run) if k == 0 else ("", ""))
        for run in results.runs
        for k, row in enumerate(run.verdicts)
    ]
    resumed = [run for run in results.runs if run.verdicts and run.resumed]
    return "\n".join([*lines, *(["", OF_WORK] if resumed else [])])


def _how(run: Run) -> tuple[str, str]:
    """Command and time, told in the first row of an experiment."""
    return f"`python -m experiments {run.name} --preset {run.preset}`", _time(run)


def _line(row: Row, how: tuple[str, str]) -> str:
    cells = (
        f"{CLAIMS.get(row['claim'], row['claim'])}: {row['item']}",
        *how,
        str(row["paper"]),
        _number(row["ours"]),
        row["verdict"] or "not judged (stand-in)",
    )
    return "| " + " | ".join(cells) + " |"


def _time(run: Run) -> str:
    """By the clock, or of a resumed run the sum over its units."""
    key, tail = ("unit_seconds", " of work") if run.resumed else ("seconds", _cores(run))
    seconds = number(run.manifest.get(key))
    if not math.isfinite(seconds):
        return "–"
    return (f"{seconds:.0f} s" if seconds < 60 else f"{seconds / 60:.0f} min") + tail


def _cores(run: Run) -> str:
    cores = (run.manifest.get("machine") or {}).get("cores")
    return f" on {cores} cores" if cores else ""


def _number(value: object) -> str:
    size = number(value)
    text = f"{size:.0f}" if isinstance(value, int) else f"{size:.1f}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")


def attention(results: Results) -> str:
    """What was aimed at in the benchmark of attention, with what was measured."""
    found = results.file(attention_speed.FILE)
    if found is None:
        return "No run of `make bench-attention` is among the results."
    lines = ["| `make bench-attention`, on two cores | measured | aim | |", "|---|---|---|---|"]
    lines += [
        f"| {each['target']} | {number(each['measured']):.3g} | {_aim(each)} "
        f"| {'met' if each['met'] else 'missed'} |"
        for each in found["targets"]
        if each["measured"] is not None
    ]
    said = [
        f"Missed: {each['target']}. Bottleneck: {each['bottleneck']}."
        for each in found["targets"]
        if each["met"] is False
    ]
    said += [f"{sentence[:1].upper()}{sentence[1:]}." for sentence in found["exact"]]
    return "\n".join([*lines, "", *said])


def _aim(target: Row) -> str:
    """The bounds of a target."""
    ends = (("≥", target.get("at_least")), ("≤", target.get("at_most")))
    return ", ".join(f"{sign} {number(end):g}" for sign, end in ends if end is not None)


BLOCKS: Mapping[str, Callable[[Results], str]] = {"attention": attention, "reproduction": table}


def marks(name: str) -> tuple[str, str]:
    """The comments around a block."""
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"


def updated(text: str, results: Results) -> str:
    """The README with its tables written anew."""
    for name, made in BLOCKS.items():
        first, last = marks(name)
        before, begin, rest = text.partition(first)
        _, end, after = rest.partition(last)
        if not (begin and end):
            raise ResultsError(f"the README has no lines {first} and {last}")
        text = f"{before}{begin}\n{made(results)}\n{end}{after}"
    return text


def write(path: Path, results: Results) -> bool:
    """Bring a README up to date; whether anything changed."""
    text = path.read_text("utf-8")
    new = updated(text, results)
    if new != text:
        path.write_text(new, "utf-8")
    return new != text
