"""Figure: a pretrained encoder whose softmax is swapped for FAVOR+ or FAVOR++, no training."""

from matplotlib.figure import Figure

from paper_figures.results import Results, number
from paper_figures.style import GREY, LOOKS, reach

TITLE = "A pretrained encoder with its attention swapped"


def caption(results: Results) -> str:
    found = results.experiment("minilm") or results.none
    exact = found.numbers.get("exact") or {}
    return (
        "Cosine between the embeddings of MiniLM as it is and with every softmax layer converted, "
        f"no weight changed, over both sentences of {found.numbers.get('pairs', 0)} MRPC pairs: "
        "means over draws of the projections, bars from the smallest to the largest draw. Numbers "
        "beside the marks: how often a sentence is still closest to its own partner; with exact "
        f"softmax {number(exact.get('hits')):.2f}."
    )


def draw(results: Results) -> Figure | None:
    found = results.experiment("minilm") or results.none
    rows = found.numbers.get("rows") or []
    if not rows:
        return None
    figure = Figure(figsize=(8.6, 3.6))
    axis = figure.subplots()
    for name in dict.fromkeys(row["mechanism"] for row in rows):
        own = [row for row in rows if row["mechanism"] == name]
        features = [number(row["features"]) for row in own]
        mean, least, most = (
            [number(row[key]) for row in own] for key in ("cosine", "least", "most")
        )
        colour, marker, line = LOOKS[name]
        axis.errorbar(
            features,
            mean,
            reach(mean, least, most),
            color=colour,
            marker=marker,
            linestyle=line,
            capsize=3,
            label=own[0]["name"],
        )
        side = 9 if name == "oprf" else -15
        for row, x, y in zip(own, features, mean, strict=True):
            axis.annotate(
                f"{number(row['hits']):.2f}",
                (x, y),
                (0, side),
                textcoords="offset points",
                ha="center",
                color=GREY,
                fontsize="small",
            )
    axis.axhline(1.0, color=GREY, linewidth=1.0, zorder=0)
    axis.set_xscale("log", base=2)
    axis.set_xticks(sorted({number(row["features"]) for row in rows}))
    axis.xaxis.set_major_formatter("{x:g}")
    axis.margins(x=0.08, y=0.15)
    axis.set_xlabel("features M")
    axis.set_ylabel("cosine to the exact embedding")
    axis.legend(loc="lower right")
    return figure
