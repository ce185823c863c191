"""The paper's experiments: its values beside ours, a verdict each, and how ours were found."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from paper_figures.markup import Markup, count, element, join, numeral, prose, row, table
from paper_figures.results import Results, Row, Run, number
from paper_figures.sections import classification, plan, variance, vision
from paper_figures.sections.links import badge, heading, notebook

HEAD = ("What the paper says", "Paper", "Ours", "Other average", "Verdict", "Proof", "Remark")
TITLES = {
    "variance": "Variances of the mechanisms (Section 5.1, Figures 1 and 2)",
    "classification": "Non-parametric classification (Section 5.2, Tables 1 and 5)",
    "vision": "Vision Transformers (Section 5.3.3, Figure 4)",
    "vision-plan": "The paper’s Vision Transformers, on paper",
}
NOTEBOOKS = {
    "fig-log-vars": "03_variance",
    "fig-utility": "04_optimal_positive",
    "fig-map": "02_generalized_exponential",
    "tab-uci": "12_experiments_in_print",
    "tab-ucistd": "12_experiments_in_print",
}
"""Where the formulas behind a claim are proved."""
MORE: Mapping[str, Callable[[Run], Markup]] = {
    "variance": variance.render,
    "classification": classification.render,
    "vision": vision.render,
    "vision-plan": plan.render,
}
"""What an experiment shows below its verdicts."""


def render(results: Results) -> Markup | None:
    found = results.runs
    if not found:
        return None
    rows = [row for run in found for row in run.verdicts if row["verdict"] not in (None, "drawn")]
    good = sum(row["verdict"] == "reproduced" for row in rows)
    lead = (
        f"Of {count(len(rows), 'statement')} that the experiments here can judge, {good} came out "
        "as the paper says. Every number is from a file beside this page, whose manifest says how "
        "it was found."
    )
    return join([heading("Reproduction", lead), *(_run(results, run) for run in found)])


def _run(results: Results, run: Run) -> Markup:
    parts = [element("h3", TITLES.get(run.name, run.name)), element("p", _stand_ins(run))]
    if run.verdicts:
        rows = [_verdict(results, each) for each in run.verdicts]
        parts.append(table(HEAD, rows, f"Verdicts of {run.name}", "verdicts"))
    if run.name in MORE:
        parts.append(MORE[run.name](run))
    facts = [join([element("dt", name), element("dd", value)]) for name, value in _facts(run)]
    parts.append(element("details", element("summary", "How these numbers were found"),
                         element("dl", *facts, class_="facts")))  # fmt: skip
    return element("section", *parts, id=f"experiment-{run.name}")


def _stand_ins(run: Run) -> str:
    said = f"Preset {run.preset}."
    if run.stand_ins:
        named = ", ".join(f"{other} for {name}" for name, other in run.stand_ins.items())
        said += f" Stand-ins from scikit-learn, for want of a download: {named}."
    return said


def _verdict(results: Results, each: Row) -> Markup:
    verdict = badge(each["verdict"]) if each["verdict"] else "not judged: a stand-in"
    claim = element("small", element("span", each["claim"], class_="id"))
    proof = notebook(results, NOTEBOOKS.get(each["claim"]))
    numbers = [numeral(each.get(key)) for key in ("ours", "other")]
    what = join([prose(each["item"]), claim])
    return row(what, prose(str(each["paper"])), *numbers, verdict, proof, prose(each["note"]))


def _facts(run: Run) -> Iterator[tuple[str, Any]]:
    about, config = run.manifest, run.manifest.get("config") or {}
    yield "File", element("code", f"{run.name}.{run.preset}.json")
    for name in ("command", "revision", "finished"):
        if about.get(name):
            yield name.capitalize(), element("code", about[name])
    if config.get("seeds") is not None:
        yield "Seeds", ", ".join(map(str, config["seeds"]))
    if about.get("seconds") is not None:
        earlier = about.get("resumed")
        after = f", after {count(earlier, 'unit')} of earlier runs" if earlier else ""
        yield "Time", f"{number(about['seconds']) / 60:.1f} minutes by the clock{after}"
    if about.get("unit_seconds") is not None:
        yield "Work", f"{number(about['unit_seconds']) / 60:.1f} minutes, summed over its units"
    for name, each in (run.numbers.get("data") or {}).items():
        yield name, element("code", f"sha256 {each['sha256'][:16]}…")
    if about.get("machine"):
        yield "Machine", ", ".join(str(value) for value in about["machine"].values())
    if about.get("versions"):
        yield "Versions", ", ".join(f"{name} {value}" for name, value in about["versions"].items())
