"""HTML from Python values: everything is escaped unless it is `Markup` already."""

import html
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from paper_figures.results import number


class Markup(str):
    """Text that is HTML already."""


VOID = ("circle", "line", "path", "rect", "br")


def text(value: Any) -> Markup:
    """A value as HTML: markup as it is, anything else escaped."""
    return value if isinstance(value, Markup) else Markup(html.escape(str(value)))


def element(name: str, *children: Any, **attributes: Any) -> Markup:
    """<name …>children</name>. `class_` is class, `stroke_width` stroke-width; None is left out."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in VOID:
        return Markup(f"<{name}{given}/>")
    return Markup(f"<{name}{given}>{join(children)}</{name}>")


def join(parts: Iterable[Any], between: str = "") -> Markup:
    """Parts one after the other, each escaped where it must be."""
    return Markup(text(between).join(text(part) for part in parts))


_MINUS = re.compile(
    r"(?<=[\s(=^{])-(?=[^\s-])|(?<=[\d)²‖])-(?=[\w(‖])|(?<=\b\w)-(?=[\d(‖]|\w\b)"
    r"|(?<=\u0302)-|(?<=\s)-(?=\s)"
)
"""Hyphens that stand for a minus: beside a digit, a bracket, a norm, or between single letters."""
_RAISED = re.compile(
    r"\^\{([^{}]*)\}|\^\(([^()]*)\)|\^([+−-]?\w+)"  # exponents
    r"|((?<![A-Za-z0-9_-])[A-Za-zα-ωΑ-Ω]|\))_(?:\{([^{}]*)\}|([A-Za-z0-9])(?![A-Za-z_]))"  # x_l
)


def prose(value: str) -> Markup:
    """A sentence as HTML with true minus signs, raised exponents and lowered indices."""
    value = _MINUS.sub("−", value).replace("<=", "≤").replace(">=", "≥")
    parts, end = [], 0
    for match in _RAISED.finditer(value):
        parts.append(text(value[end : match.start()]))
        raised = match[1] or match[2] or match[3]
        if raised is None:
            parts += [text(match[4]), element("sub", prose(match[5] or match[6]))]
        else:
            parts.append(element("sup", raised.replace("-", "−")))
        end = match.end()
    return join([*parts, value[end:]])


def numeral(value: Any, digits: int = 4) -> Markup:
    """`figure_of` in digits that stand below one another."""
    return element("span", figure_of(value, digits), class_="num")


def figure_of(value: Any, digits: int = 4) -> Markup:
    """A number for people: 0.02510, −61.22, 1.3·10⁻⁵; an absent one is a dash."""
    if value is None or value == "":
        return Markup("–")
    size = number(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**9:
        return Markup(f"{value:,}".replace(",", "\u202f").replace("-", "−"))
    if not math.isfinite(size):
        return text("∞" if size > 0 else "−∞" if size < 0 else "not a number")
    if size == 0 or 1e-3 <= abs(size) < 1e5:
        return Markup(f"{size:.{digits}g}".replace("-", "−"))
    mantissa, _, exponent = f"{size:.{digits - 1}e}".partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    raised = element("sup", str(int(exponent)).replace("-", "−"))
    factor = "" if mantissa == "1" else f"{mantissa}·".replace("-", "−")
    return join([factor, "10", raised])


def table(
    head: Sequence[str], rows: Iterable[Markup], label: str, classes: str | None = None
) -> Markup:
    """A table inside a container of its own that scrolls sideways where the page is narrow."""
    top = element("tr", *(element("th", cell, scope="col") for cell in head))
    whole = element("table", element("thead", top), element("tbody", *rows), class_=classes)
    return element("div", whole, class_="scroll", tabindex="0", role="region", aria_label=label)


def row(*cells: Any, name: str | None = None, classes: str | None = None) -> Markup:
    """A row of a table; its first cell is its heading."""
    first = element("th", cells[0], scope="row")
    return element("tr", first, *(element("td", c) for c in cells[1:]), id=name, class_=classes)


def count(size: int, singular: str, plural: str | None = None) -> str:
    """1 check, 3 checks."""
    return f"{size} {singular if size == 1 else plural or singular + 's'}"
