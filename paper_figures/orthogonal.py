"""Figure: what orthogonal projections do to the variance of every mechanism that has them."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.results import Results, Row, Run, number
from paper_figures.style import INK, LOOKS

TITLE = "Orthogonal against independent projections"
REGIMES = ("normal", "sphere", "heterogen", "mnist")


def _rows(found: Run) -> list[Row]:
    return [row for row in found.numbers.get("variances") or [] if "orthogonal" in row]


def caption(results: Results) -> str:
    return (
        "Above: mean over pairs (every eighth row of x) of the exact log ratio of variances, "
        "orthogonal over independent, at M = d = 64; below 0 orthogonality helps. Discrete "
        "mechanisms have no orthogonal version. Below: observed error on real data, orthogonal "
        "over independent, "
        "by the number of features."
    )


def draw(results: Results) -> Figure | None:
    found = results.experiment("variance") or results.none
    rows = _rows(found)
    regimes = [name for name in REGIMES if any(row["regime"] == name for row in rows)]
    pairs = ratios(found)
    if not regimes or not pairs:
        return None
    figure = Figure(figsize=(8.6, 5.2))
    top, bottom = figure.subfigures(2, 1, squeeze=False)[:, 0]
    axes = top.subplots(1, len(regimes), squeeze=False, sharey=True)[0]
    for axis, regime in zip(axes, regimes, strict=True):
        _by_scale(axis, [row for row in rows if row["regime"] == regime])
        axis.set_title(regime)
    axes[0].set_ylabel("mean log ratio")
    sets = list(dict.fromkeys(name for name, *_ in pairs))
    lower = bottom.subplots(1, len(sets), squeeze=False, sharey=True)[0]
    for axis, name in zip(lower, sets, strict=True):
        _by_features(axis, [(m, f, r) for data, m, f, r in pairs if data == name])
        axis.set_title(found.title(name))
    lower[0].set_ylabel("ratio of errors")
    lower[-1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def ratios(found: Run) -> list[tuple[str, str, int, float]]:
    """Data set, mechanism, M, and the orthogonal error over the independent one."""
    seen = {
        (row["set"], row["mechanism"], row["features"], bool(row["orthogonal"])): row
        for row in found.numbers.get("errors") or []
    }
    return [
        (name, mechanism, count, number(row["observed"]) / number(seen[plain]["observed"]))
        for (name, mechanism, count, orthogonal), row in seen.items()
        if orthogonal and (plain := (name, mechanism, count, False)) in seen
    ]


def _by_scale(axis: Axes, rows: Sequence[Row]) -> None:
    # Those known before come last, dashed: where two lines agree, both are seen.
    for name, (colour, marker, dashes) in reversed(LOOKS.items()):
        own = sorted(
            (row for row in rows if row["mechanism"] == name), key=lambda row: row["sigma"]
        )
        if own:
            sigma = [number(row["sigma"]) for row in own]
            logs = [number(row["orthogonal"]) for row in own]
            axis.plot(sigma, logs, color=colour, marker=marker, linestyle=dashes, markersize=3)
    axis.axhline(0, color=INK, linewidth=0.8)
    axis.set_xlabel("σ")


def _by_features(axis: Axes, pairs: Sequence[tuple[str, int, float]]) -> None:
    for name, (colour, marker, dashes) in reversed(LOOKS.items()):
        own = sorted((count, ratio) for mechanism, count, ratio in pairs if mechanism == name)
        if own:
            counts, values = zip(*own, strict=True)
            axis.plot(counts, values, color=colour, marker=marker, linestyle=dashes, label=name)
    axis.axhline(1, color=INK, linewidth=0.8)
    axis.set_xscale("log", base=2)
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_xlabel("number of features M")
