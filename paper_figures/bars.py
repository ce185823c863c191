"""Small drawings within the text: an observed number against what was predicted and allowed."""

import math
from collections.abc import Sequence

from paper_figures.markup import Markup, element
from paper_figures.results import Row, number

WIDTH, HEIGHT = 132.0, 18.0
MARGIN = 6.0
REACH = 1.15
"""Half the width of a bar in units of its longest mark."""


def bar(check: Row) -> Markup | None:
    """The error of a check in units of what is allowed: band, centre line, dot.

    The band is what passes, its centre the prediction, the dot what was observed, and the outer
    ticks the error that is found with probability 0.999. A check whose observed value passes far
    below its prediction is one-sided: its band is open to the left. A dot beyond the drawing sits
    on its edge as an arrow.
    """
    observed, predicted = number(check["observed"]), number(check["predicted"])
    allowed, detects = number(check.get("allowed")), number(check.get("detects"))
    error = observed - predicted
    if not math.isfinite(error):
        return None
    one_sided = bool(check["passed"]) and error < -max(allowed, 0.0)
    unit = allowed if allowed > 0 else abs(error) or 1.0
    power = detects / unit if math.isfinite(detects) and detects > unit else None
    span = REACH * max(1.0, min(power or 1.0, 4.0))
    return _draw(error / unit, power, span, one_sided, bool(check["passed"]))


def _draw(error: float, power: float | None, span: float, one_sided: bool, passed: bool) -> Markup:
    def place(value: float) -> float:
        return WIDTH / 2 + (WIDTH / 2 - MARGIN) * max(-1.0, min(1.0, value / span))

    middle = HEIGHT / 2
    left, right = (MARGIN if one_sided else place(-1)), place(1)
    ticks = [t for t in (power, -power if power and not one_sided else None) if t and abs(t) < span]
    parts = [
        element("rect", x=_n(left), y=4, width=_n(right - left), height=10, rx=2, class_="band"),
        _line(MARGIN, middle, WIDTH - MARGIN, middle, "axis"),
        _line(place(0), 2, place(0), 16, "centre"),
        *(_line(place(tick), 5, place(tick), 13, "power") for tick in ticks),
        _dot(place(error), middle, abs(error) > span, error > 0, passed),
    ]
    said = f"observed at {error:+.2g} of what is allowed".replace("-", "−")
    return element(
        *("svg", element("title", said), *parts),
        viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}",
        class_="bar",
        role="img",
    )


def _dot(x: float, y: float, beyond: bool, right: bool, passed: bool) -> Markup:
    kind = "seen" if passed else "seen missed"
    if not beyond:
        return element("circle", cx=_n(x), cy=_n(y), r=3.2, class_=kind)
    tip = 5 if right else -5
    return element(
        "path", d=f"M{_n(x)} {y - 4:g}L{_n(x + tip)} {y:g}L{_n(x)} {y + 4:g}Z", class_=kind
    )


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return element("line", x1=_n(x1), y1=_n(y1), x2=_n(x2), y2=_n(y2), class_=kind)


def _n(value: float) -> str:
    return f"{value:.1f}"


def shares(parts: Sequence[tuple[str, str, int]]) -> Markup:
    """Counts as one divided strip: (name, class, count) each."""
    return element(
        "div",
        *(
            element("span", class_=f"share {kind}", style=f"flex:{size}", title=f"{size} {name}")
            for name, kind, size in parts
            if size
        ),
        class_="shares",
        aria_hidden="true",
    )
