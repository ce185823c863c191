"""How much the study looks at."""

from collections.abc import Mapping
from dataclasses import dataclass

from experiments.classification.protocol.splits import ENCODINGS, SCALINGS

SETS = ("abalone", "banknote", "car", "yeast", "cmc", "nursery", "wifi", "chess")
"""In the order of the paper's table."""
CATEGORICAL = ("abalone", "car", "cmc", "nursery", "chess")
"""The sets with columns of categories, where encodings differ."""
WORDS = ("abalone", "car", "nursery", "chess")
"""Those whose files spell categories in words; cmc has numbers for them."""
PREPARATION = ("standard", "one-hot")
"""Scaling of the tables, and encoding of words; numbers stay numbers, and columns of one-hot zeros
and ones are scaled as all others are. The paper names neither. `evidence.preparations` compares
this with the other ways, by their agreement with the paper's columns other than TrigRF: it was
chosen by that agreement, so the agreement is no evidence for anything else."""


@dataclass(frozen=True)
class Size:
    """Sets, seeds of the splits, and draws of ω for each split and σ.

    `preparations` are compared on the first `few_splits` splits with `few_draws` draws. `features`
    are the numbers M of the approach to the exact kernel, and `random_splits` those of which the
    majority class's share is taken.
    """

    sets: tuple[str, ...]
    seeds: tuple[int, ...]
    draws: int
    preparations: tuple[tuple[str, str], ...]
    few_splits: int
    few_draws: int
    converging: tuple[str, ...]
    features: tuple[int, ...]
    random_splits: int


ORDINAL = tuple((scaling, "ordinal") for scaling in SCALINGS)
ALL = tuple((scaling, encoding) for encoding in ENCODINGS for scaling in SCALINGS)

PRESETS: Mapping[str, Size] = {
    # To see that it works.
    "smoke": Size(("banknote",), (0,), 2, ORDINAL[:1], 1, 2, ("banknote",), (16,), 100),
    # Three minutes on two cores, most of it compilation.
    "laptop": Size(
        ("banknote", "yeast", "cmc", "wifi"),
        (0, 1, 2, 3, 4),
        10,
        ORDINAL,
        1,
        5,
        ("banknote",),
        (32, 128, 512),
        2000,
    ),
    # The paper's protocol, on ten splits in the place of one. 27 minutes on two cores, by the
    # manifest in results/.
    "paper": Size(
        SETS,
        tuple(range(10)),
        50,
        ALL,
        3,
        10,
        ("banknote", "cmc", "wifi"),
        (8, 32, 128, 512, 2048, 8192, 32768),
        20000,
    ),
}
