"""How figures look, how they are saved, and how one becomes part of a page."""

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

STYLE = Path(__file__).with_name("paper.mplstyle")

BLUE, RED, GREEN, PINK, ORANGE, SKY = (
    *("#0072B2", "#D55E00", "#009E73"),
    *("#CC79A7", "#E69F00", "#56B4E9"),
)
INK, GREY, GRID, PAPER = "#1d2126", "#7a828d", "#ddd7cb", "#ffffff"
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

LOOKS = {
    "trig": (INK, "o", "--"),
    "pos": (RED, "s", "--"),
    "gerf": (BLUE, "D", "-"),
    "oprf": (GREEN, "v", "-"),
    "pois": (ORANGE, "^", "-"),
    "geom": (PINK, "P", "-"),
    "pois+": (ORANGE, "<", ":"),
    "geom+": (PINK, "*", ":"),
    "optpois": (SKY, "X", "-."),
}
"""Colour, marker and line of every mechanism; dashed are those known before the paper."""

ATTENTION_LOOKS = {
    "softmax": (INK, "o", "-"),
    "favor+": (RED, "s", "--"),
    "favor++": (GREEN, "v", "-"),
    "relu": (ORANGE, "^", ":"),
    "elu": (PINK, "P", ":"),
}
"""Colour, marker and line of every attention of the Transformers."""

THINNEST = 1.1


def nested(names: Iterable[str], widest: float) -> Iterator[tuple[str, float]]:
    """Names in the order of drawing, with widths of lines that fall.

    Where several lines agree, the lower ones are seen as rims of the upper.
    """
    every = list(names)
    step = (widest - THINNEST) / max(len(every) - 1, 1)
    for k, name in enumerate(every):
        yield name, widest - k * step


THEMED = {
    INK: "currentColor",
    GREY: "var(--muted)",
    GRID: "var(--rule)",
    PAPER: "var(--surface)",
    BLUE: "var(--blue)",
}
"""Colours that follow the page, which may be light or dark."""


@contextmanager
def paper_style() -> Iterator[None]:
    """Matplotlib's own defaults and the paper's style, whatever a user's settings are."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(mpl.rc_params_from_file(STYLE, use_default_template=False))
        yield


def reach(
    middle: Sequence[float], least: Sequence[float], most: Sequence[float]
) -> list[list[float]]:
    """Lengths of error bars below and above the middle, from their ends."""
    below = [m - a for m, a in zip(middle, least, strict=True)]
    return [below, [b - m for m, b in zip(middle, most, strict=True)]]


def save(figure: Figure, kind: str) -> bytes:
    """The figure as SVG or PNG, the same bytes for the same figure: no date, no random names."""
    buffer = io.BytesIO()
    metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    figure.savefig(buffer, format=kind, metadata=metadata)
    return buffer.getvalue()


def inline(svg: bytes, name: str, label: str) -> str:
    """An SVG file as an element of a page: names of its own, and the colours of the page.

    `label` is escaped text that says what is drawn.
    """
    body = svg.decode()
    body = body[body.index("<svg") :]
    opening, _, rest = body.partition(">")
    view = re.search(r'viewBox="[^"]*"', opening)
    rest = re.sub(r"<metadata>.*?</metadata>", "", rest, flags=re.DOTALL)
    rest = re.sub(r'\bid="', f'id="{name}-', rest)
    rest = re.sub(r'(href="#|url\(#)', rf"\g<1>{name}-", rest)
    for colour, themed in THEMED.items():
        rest = rest.replace(colour.lower(), themed)
    head = f'<svg xmlns:xlink="http://www.w3.org/1999/xlink" {view[0] if view else ""}'
    return f'{head} role="img" aria-label="{label}">{rest}'
