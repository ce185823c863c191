"""Below the verdicts of the vision study: accuracies, the swap, and the paper's runs on paper."""

from collections.abc import Sequence

from paper_figures import vision_error, vision_swap
from paper_figures.markup import Markup, element, join, numeral, row, table
from paper_figures.results import Row, Run, number

STARTS = {"scratch": "From scratch", "uptrain": "Uptrained from MAE", "long": "From scratch"}
ASKED, TOKENS = 85, 49
"""Accuracy in percent that the laptop preset asks of softmax, and with how many tokens."""
HEAD = ("Start", "Tokens", "Attention", "Accuracy, %", "Deviation", "Seeds")


def render(run: Run) -> Markup:
    parts = [element("p", SCALE.format(data=(run.numbers.get("setting") or {}).get("data")))]
    if run.numbers.get("accuracy"):
        parts.append(_accuracies(run.numbers["accuracy"]))
        asked = [each for each in run.numbers["accuracy"] if _is_asked(each)]
        parts += [element("p", _softmax(asked))] if asked else []
    if run.numbers.get("swap"):
        parts.append(element("p", _swap(run.numbers["swap"])))
    if run.numbers.get("errors"):
        parts.append(element("p", _errors(run.numbers["errors"])))
    if run.numbers.get("explained"):
        parts.append(element("p", vision_error.answer(run.numbers["explained"])))
    return join(parts)


SCALE = (
    "The paper trains ViT-Large (304 million parameters) on ImageNet with 64 TPUs for days and "
    "shows its accuracies in a figure without numbers. Here a ViT of some hundred thousand "
    "parameters learns {data} on two cores in minutes. The verdicts are about that scale: what is "
    "not reproduced here may hold there, and the other way round."
)


def _accuracies(rows: Sequence[Row]) -> Markup:
    lines = [
        row(
            STARTS[each["start"]],
            each["tokens"],
            each["name"],
            *(numeral(each[key], 3) for key in ("mean", "std")),
            len(each["seeds"]),
        )
        for each in sorted(rows, key=lambda each: list(STARTS).index(each["start"]))
    ]
    return table(HEAD, lines, "Accuracies of the Vision Transformers", "accuracies")


def _is_asked(each: Row) -> bool:
    return each["attention"] == "softmax" and each["tokens"] == TOKENS


def _softmax(asked: Sequence[Row]) -> str:
    """Whether softmax learned what was asked of it, its mean over seeds, and each run below."""
    means = ", ".join(
        f"{vision_error.STARTS[each['start']]} {number(each['mean']):.2f} %" for each in asked
    )
    runs = [number(value) for each in asked for value in each["values"]]
    below = [f"{value:.2f} %" for value in sorted(runs) if value < ASKED]
    ended = f"{len(below)} ended below: {', '.join(below)}" if below else "none ended below"
    return (
        f"Softmax was to reach {ASKED} % in the mean over seeds: {means}. Of its {len(runs)} runs "
        f"{ended}."
    )


def _swap(found: Row) -> str:
    """What a trained softmax model loses when its attention is swapped, at the largest M."""
    rows, exact = found["rows"], number(found["softmax"])
    most = max(each["features"] for each in rows)
    said = ", ".join(
        f"{each['name']} {number(each['mean']):.1f} %" for each in rows if each["features"] == most
    )
    return (
        f"A swap of attention in the trained softmax model ({exact:.1f} %), "
        f"{vision_swap.weights(found)} and nothing trained, at M = {most}: {said}."
    )


def _errors(rows: Sequence[Row]) -> str:
    """Errors of both estimates: in models trained with softmax, and each in its own models."""
    rows = [each for each in rows if each["output_fresh"] is not None]
    exact = [each for each in rows if each["attention"] == "softmax"]
    own = vision_error.own(rows)
    said = (
        f"Inside those trained with softmax: {_means(exact, what, 'predicted', 'fresh')}. Inside "
        f"those trained with the estimate: {_means(own, what, 'predicted', 'fresh', 'observed')}."
        for what in ("output", "kernel")
    )
    return (
        "Error of the attention's output relative to softmax, means over the models of the first "
        "seed. {} Error of the kernel matrix, whose prediction is exact in the mean square over "
        "all draws. {}".format(*said)
    )


SEEN = {
    "predicted": "predicted",
    "fresh": "observed with fresh projections",
    "observed": "with the model's own",
}


def _means(rows: Sequence[Row], what: str, *keys: str) -> str:
    """Of the output or the kernel, by estimate."""
    said = []
    for name in dict.fromkeys(each["estimate_name"] for each in rows):
        own = [each for each in rows if each["estimate_name"] == name]
        means = (
            f"{sum(number(each[f'{what}_{key}']) for each in own) / len(own):.3g} {SEEN[key]}"
            for key in keys
        )
        said.append(f"{name} {', '.join(means)}")
    return "; ".join(said)
