"""Figure: log variances of all mechanisms in the four regimes of Section 5.1 (Figure 2)."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.results import Results, Row, number
from paper_figures.style import LOOKS, nested

TITLE = "Log variances by scale (the paper's Figure 2)"
REGIMES = ("normal", "sphere", "heterogen", "mnist")
PANELS = (
    ("complex or signed", ("pois", "geom", "optpois", "gerf", "trig")),
    ("positive", ("pois+", "geom+", "oprf", "pos")),
)


def _rows(results: Results) -> Sequence[Row]:
    found = results.experiment("variance")
    return found.numbers.get("variances") or [] if found else []


def caption(results: Results) -> str:
    rows = _rows(results)
    draws = max((row["draws"] for row in rows), default=0)
    mnist = (results.experiment("variance") or results.none).stand_ins.get("mnist")
    note = f" In mnist, scikit-learn's {mnist} stand in." if mnist else ""
    return (
        "Mean of the log variance over all pairs of two sets, parameters fitted to the sets; the "
        f"bands are one standard deviation over pairs and {draws} draws. d = 64; real features "
        "count twice, as in the paper. Above: complex or signed features, below: positive ones. "
        "OptPoisRF (optpois) is not in the paper. Where lines agree, the wider ones are seen as "
        "rims of the thinner: so pois and optpois around trig in normal." + note
    )


def draw(results: Results) -> Figure | None:
    rows = _rows(results)
    regimes = [name for name in REGIMES if any(row["regime"] == name for row in rows)]
    if not regimes:
        return None
    figure = Figure(figsize=(8.6, 5.2))
    axes = figure.subplots(2, len(regimes), squeeze=False, sharex=True)
    for line, (kind, names) in zip(axes, PANELS, strict=True):
        for axis, regime in zip(line, regimes, strict=True):
            for name, width in nested(names, 3.4):
                _curve(axis, rows, regime, name, width)
            axis.set_title(regime if kind == PANELS[0][0] else "")
        line[0].set_ylabel(f"log variance, {kind}")
    for axis in axes[-1]:
        axis.set_xlabel("σ")
    for line in axes:
        line[-1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _curve(axis: Axes, rows: Sequence[Row], regime: str, name: str, width: float) -> None:
    own = sorted(
        (row for row in rows if (row["regime"], row["mechanism"]) == (regime, name)),
        key=lambda row: row["sigma"],
    )
    sigma = [number(row["sigma"]) for row in own]
    mean, spread = ([number(row[key]) for row in own] for key in ("mean", "std"))
    colour, marker, dashes = LOOKS[name]
    low = [m - s for m, s in zip(mean, spread, strict=True)]
    high = [m + s for m, s in zip(mean, spread, strict=True)]
    axis.fill_between(sigma, low, high, color=colour, alpha=0.13, linewidth=0)
    axis.plot(
        sigma,
        mean,
        color=colour,
        marker=marker,
        linestyle=dashes,
        linewidth=width,
        markersize=1.5 + width,
        label=name,
    )
