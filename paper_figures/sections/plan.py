"""The paper's Vision Transformers without data: what their steps take on simulated devices."""

from paper_figures.markup import Markup, element, figure_of, join, numeral, row, table
from paper_figures.results import Run, number

STEPS = (
    *("Run", "Attention", "Devices", "Batch", "Parameters"),
    *("GB a device, formula", "GB a device, XLA for CPU", "TFLOPs a step"),
)
COSTS = (
    *("Tokens", "Softmax, 10⁹ multiply-adds", "FAVOR, 10⁹ multiply-adds"),
    *("Softmax, MB", "FAVOR, MB"),
)
LEAD = (
    "Nothing of this was run: no accelerator was at hand. Each step of the paper’s runs was "
    "compiled from abstract shapes for simulated devices in a row, data parallel with all "
    "parameters on each, and lowered for TPUs. Memory by formula counts the state, the gradients "
    "and the activations that are kept if blocks are computed again; XLA for CPU devices does not "
    "do so, and holds bfloat16 in float32. A core of a TPUv3 has 16 GB. FLOPs are those of the "
    "unrolled step on all devices."
)
ATTENTION = (
    "Attention of ViT-tiny by formula, one image, forward, M = 128, bfloat16: multiply-adds, and "
    "what the backward pass must keep of matrices or features."
)


def render(run: Run) -> Markup:
    steps = [
        row(
            each["start"],
            each["name"],
            each["devices"],
            figure_of(each["batch"]),
            figure_of(each["parameters"]),
            numeral(number(each["estimate"]) / 1e9, 3),
            numeral((number(each["arguments"]) + number(each["temporary"])) / 1e9, 3),
            numeral(number(each["flops"]) / 1e12, 3),
        )
        for each in run.numbers.get("rows") or []
    ]
    costs = [
        row(
            each["tokens"],
            *(numeral(number(each[key]) / 1e9, 3) for key in ("softmax", "favor++")),
            *(numeral(number(each[key]) / 1e6, 3) for key in ("softmax_bytes", "favor_bytes")),
        )
        for each in run.numbers.get("costs") or []
    ]
    return join(
        [
            element("p", LEAD),
            table(STEPS, steps, "Steps of the paper’s runs", "plan"),
            element("p", ATTENTION),
            table(COSTS, costs, "Attention on paper", "plan"),
        ]
    )
