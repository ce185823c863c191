"""Links and labels that several sections share."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paper_figures.markup import Markup, element, text
from paper_figures.results import Results

ROOT = Path(__file__).resolve().parents[2]

STATUSES: Mapping[str, tuple[str, str, str]] = {
    "proved": ("proved", "✓", "derived in a notebook, in two ways, and certified to 30 digits"),
    "corrected": ("corrected", "✎", "the printed form has a slip; the right form is proved"),
    "refuted as printed": ("refuted", "✗", "false as printed: a machine-checked counterexample"),
    "evidence only": ("evidence", "◐", "numbers speak for it; no proof"),
    "reproduced": ("good", "✓", "our numbers bear out what the paper says"),
    "partly reproduced": ("corrected", "◑", "some of our numbers bear it out, others do not"),
    "not reproduced": ("refuted", "✗", "our numbers differ from what the paper says"),
    "not decided": ("evidence", "≈", "our numbers cannot tell whether the paper is right"),
    "drawn": ("evidence", "◇", "a drawing without numbers to compare, made from the library"),
    "not yet run": ("pending", "○", "an experiment that has no result here yet"),
}
"""Class, sign and meaning of every status of a claim."""


def badge(status: str) -> Markup:
    """A claim's status, told by its words and a sign, and only then by colour."""
    kind, sign, _ = STATUSES.get(status, ("pending", "○", ""))
    return element("span", f"{sign} {status}", class_=f"badge {kind}")


def verdict(ok: bool, good: str = "passed", bad: str = "failed") -> Markup:
    """Whether something went well."""
    word = f"✓ {good}" if ok else f"✗ {bad}"
    return element("span", word, class_="badge good" if ok else "badge bad")


def notebook(results: Results, stem: Any) -> Markup:
    """A link to a notebook, relative to the page; bare text if the page is not in the checkout."""
    if not stem:
        return Markup("–")
    page = results.page.resolve()
    if not page.is_relative_to(ROOT):
        return text(stem)
    path = Path(os.path.relpath(ROOT, page), "derivations", f"{stem}.ipynb").as_posix()
    return element("a", stem, href=path)


def heading(title: str, *lead: Any) -> Markup:
    """The title of a section and what it is about."""
    return Markup(element("h2", title) + "".join(element("p", part) for part in lead))
