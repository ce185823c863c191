"""Command line: `python -m experiments NAME [options]` runs one, `list` lists them."""

import importlib
import sys

from experiments import data
from experiments.experiment import DONE, EXITS, STOPPED, USAGE

EXPERIMENTS = {
    "variance": (
        "experiments.variance.study",
        "variances of all mechanisms (Section 5.1, Figures 1 and 2), and what goes beyond",
    ),
    "classification": (
        "experiments.classification.study",
        "classification by kernel regression (Section 5.2, tables uci and ucistd)",
    ),
    "vision": (
        "experiments.vision.study",
        "Vision Transformers with softmax, FAVOR+ and FAVOR++ (Section 5.3.3, Figure 4)",
    ),
    "vision-plan": (
        "experiments.vision.plan",
        "the paper's ViT-Large on 64 devices without data: parameters, memory, FLOPs, lowering",
    ),
    "minilm": (
        "experiments.pretrained.study",
        "a pretrained sentence encoder with FAVOR+ and FAVOR++ in place of softmax, no training",
    ),
    "million-tokens": (
        "experiments.long.million_tokens",
        "one layer over 1,048,576 tokens, bidirectional and causal: time and memory",
    ),
    "migration": (
        "experiments.migration.study",
        "what differs from performer-pytorch, fast_attention and RBFSampler, in numbers",
    ),
    "bench-features": (
        "experiments.benchmarks.features",
        "random features against scikit-learn: speed, kernel error, memory",
    ),
    "bench-attention": (
        "experiments.benchmarks.attention",
        "FAVOR++ against its peers: speed, memory, error against exact softmax",
    ),
}
"""Name → the module whose `main(arguments)` runs it and returns an exit code, and what it is."""

HELP = (
    """usage: python -m experiments NAME [options]
       python -m experiments list
       python -m experiments data      tell where the data come from, or what stands in for them

NAME --help shows the options of one experiment.

"""
    + EXITS
)


def listing() -> str:
    """One line per experiment."""
    width = max(map(len, EXPERIMENTS))
    return "\n".join(f"{name:{width}}  {about}" for name, (_, about) in EXPERIMENTS.items())


def tell_data() -> int:
    """Say in one line where the data come from."""
    try:
        origins = [data.origin(name) for name in data.NAMES]
    except data.DataError as error:
        print(f"data: {error}", file=sys.stderr)
        return STOPPED
    missing = any(each.stand_in for each in origins)
    print(data.stand_in_line(origins) if missing else "Data: every set is at hand and whole.")
    return DONE


def main(argv: list[str] | None = None) -> int:
    name, *rest = (sys.argv[1:] if argv is None else argv) or ["--help"]
    if name in ("-h", "--help"):
        print(HELP)
    elif name == "list":
        print(listing())
    elif name == "data":
        return tell_data()
    elif name not in EXPERIMENTS:
        print(f"experiments: there is no experiment {name!r}; `list` lists them", file=sys.stderr)
        return USAGE
    else:
        return importlib.import_module(EXPERIMENTS[name][0]).main(rest)
    return DONE


if __name__ == "__main__":
    sys.exit(main())
