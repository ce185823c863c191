"""Figure: a trained softmax ViT whose attention is swapped, against M, before any fine-tuning."""

from matplotlib.figure import Figure

from paper_figures.results import Results, Row, number
from paper_figures.style import ATTENTION_LOOKS, GREY

TITLE = "Vision Transformers: attention swapped without training"


def caption(results: Results) -> str:
    found = (results.experiment("vision") or results.none).numbers.get("swap") or {}
    return (
        f"Accuracy on {found.get('examples', 0)} test images of a ViT trained with softmax (grey "
        f"line, {number(found.get('softmax')):.1f} %) after its attention is swapped for one with "
        f"M features, {weights(found)}: means over {found.get('draws', 0)} draws of the "
        "projections, bands from the smallest to the largest."
    )


def weights(found: Row) -> str:
    """What the swaps did to the weights of the model, which were compared bit for bit."""
    return f"{found.get('changed') or 'none'} of its {found.get('weights', 0)} weights changed"


def draw(results: Results) -> Figure | None:
    found = (results.experiment("vision") or results.none).numbers.get("swap") or {}
    rows = found.get("rows") or []
    if not rows:
        return None
    figure = Figure(figsize=(8.6, 3.6))
    axis = figure.subplots()
    for name in dict.fromkeys(row["attention"] for row in rows):
        own = [row for row in rows if row["attention"] == name]
        colour, marker, line = ATTENTION_LOOKS[name]
        features = [number(row["features"]) for row in own]
        mean, least, most = ([number(r[key]) for r in own] for key in ("mean", "least", "most"))
        label = own[0]["name"]
        axis.plot(features, mean, color=colour, marker=marker, linestyle=line, label=label)
        axis.fill_between(features, least, most, color=colour, alpha=0.18, linewidth=0)
    axis.axhline(number(found.get("softmax")), color=GREY, linewidth=1.0, label="softmax")
    axis.set_xscale("log", base=2)
    axis.set_xticks(sorted({number(row["features"]) for row in rows}))
    axis.xaxis.set_major_formatter("{x:g}")
    axis.set_xlabel("features M")
    axis.set_ylabel("test accuracy, %")
    axis.legend(loc="lower right")
    return figure
