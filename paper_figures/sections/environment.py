"""How the numbers were found: seed, command, versions, machine and time."""

from collections.abc import Iterator
from typing import Any

from paper_figures.markup import Markup, element, figure_of, join
from paper_figures.results import Results, Row, number
from paper_figures.sections.links import heading

SLOWEST = 5


def render(results: Results) -> Markup | None:
    manifest = results.file("verification.manifest.json")
    if manifest is None:
        return None
    facts = [
        join([element("dt", name), element("dd", value)])
        for name, value in _facts(manifest, results.file("verification.timing.json"))
    ]
    lead = "The same seed on the same machine gives the same numbers, byte for byte."
    return join([heading("Environment", lead), element("dl", *facts, class_="facts")])


def _facts(manifest: Row, timing: Row | None) -> Iterator[tuple[str, Any]]:
    config, machine = manifest.get("config") or {}, manifest.get("machine") or {}
    for name in ("seed", "budget", "units"):
        if name in config:
            yield name.capitalize(), str(config[name])
    for name in ("command", "revision", "finished"):
        if manifest.get(name):
            yield name.capitalize(), element("code", manifest[name])
    if manifest.get("seconds") is not None:
        yield "Time", f"{number(manifest['seconds']) / 60:.1f} minutes"
    if timing:
        slowest = sorted(timing.items(), key=lambda each: -number(each[1]))[:SLOWEST]
        parts = [join([name, " ", figure_of(seconds, 3), " s"]) for name, seconds in slowest]
        yield "Slowest units", join(parts, ", ")
    if machine:
        yield "Machine", ", ".join(f"{value} {name}" if name == "cores" else str(value)
                                   for name, value in machine.items())  # fmt: skip
    versions = manifest.get("versions") or {}
    if versions:
        yield "Versions", ", ".join(f"{name} {value}" for name, value in versions.items())
