"""How much the study looks at."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """Scales σ, rows L of each set and seeds of the draws; then those of the error on real data.

    `features` are the numbers M of features, `draws` the independent sets of projections that an
    error is averaged over, `operator_rows` the points of the timed kernel operator.
    """

    sigmas: tuple[float, ...]
    rows: int
    seeds: tuple[int, ...]
    data: tuple[str, ...]
    error_rows: int
    features: tuple[int, ...]
    draws: int
    operator_rows: int
    repeats: int


ALL = tuple(round(0.1 * k, 1) for k in range(1, 11))

PRESETS: Mapping[str, Size] = {
    # To see that it works: a minute, nearly all of it compilation.
    "smoke": Size((0.5, 1.0), 32, (0,), ("mnist",), 32, (64,), 2, 256, 1),
    # Some two minutes on two cores.
    "laptop": Size(
        (0.1, 0.4, 0.7, 1.0), 256, (0, 1), ("mnist", "banknote"), 128, (64, 256), 8, 2048, 3
    ),
    # The paper's: L = 1024, five draws. Under ten minutes on two cores.
    "paper": Size(
        ALL,
        1024,
        (0, 1, 2, 3, 4),
        ("mnist", "fashion_mnist", "banknote"),
        256,
        (16, 64, 256, 1024),
        16,
        4096,
        7,
    ),
}
