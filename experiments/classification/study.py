"""`classification`: kernel regression with random features (Section 5.2, tables uci and ucistd).

table         the paper's protocol on every set, on several splits, with all methods, the exact
              kernel and the majority class
preparation   raw, standardised and min-max columns, ordinal and one-hot: which does the paper use?
              With readings of TrigRF that could have produced the paper's column
convergence   accuracy by the number of features, beside the exact kernel's
shares        the majority class's share of the test rows in many random splits
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from experiments.classification.gather import gather, show
from experiments.classification.presets import CATEGORICAL, PREPARATION, PRESETS, SETS, WORDS, Size
from experiments.classification.protocol import work
from experiments.classification.protocol.methods import BEYOND, OF_TRIG, PAPER, UNCONJUGATED
from experiments.experiment import FEATURE_ROOMS, Experiment, Origins
from experiments.experiment import main as run
from verification.runs import Unit

CONVERGING = ("trig", "pos", "oprf", "geom")
LARGEST = ("chess", "nursery", "abalone")
"""They come first, so that no process is left with one of them at the end."""


def units(size: Size, origins: Origins) -> list[Unit]:
    """All work of a preset. The units of a set form a group: they share compiled programs."""
    where = {name: vars(each) for name, each in origins.items()}
    order = (*LARGEST, *SETS)
    sets = sorted(size.sets, key=order.index)
    return [
        *(_table(name, seed, size, where[name]) for seed in size.seeds for name in sets),
        *(unit for name in sets for unit in _preparations(name, size, where[name])),
        *(unit for name in size.converging for unit in _convergence(name, size, where[name])),
        *(_shares(name, size, where[name]) for name in sets),
    ]


def _config(
    part: str, name: str, seed: int, draws: int, origin: Mapping[str, Any], **more: Any
) -> dict[str, Any]:
    shared = {"part": part, "set": name, "split": seed, "draws": draws, "origin": origin}
    return {**shared, **more}


def _prepared(preparation: tuple[str, str], methods: Sequence[str]) -> dict[str, Any]:
    scaling, encoding = preparation
    return {"scaling": scaling, "encoding": encoding, "methods": list(methods)}


def _table(name: str, seed: int, size: Size, origin: Mapping[str, Any]) -> Unit:
    more = _prepared(_preparation(name, origin), (*PAPER, *BEYOND, *UNCONJUGATED))
    config = _config("table", name, seed, size.draws, origin, **more)
    return Unit(f"{name}, split {seed}", config, work.evaluate, group=name)


def _preparation(name: str, origin: Mapping[str, Any]) -> tuple[str, str]:
    """One-hot where the file has words. Stand-ins have numbers alone."""
    words = name in WORDS and not origin["stand_in"]
    return PREPARATION if words else (PREPARATION[0], "ordinal")


def _preparations(name: str, size: Size, origin: Mapping[str, Any]) -> Iterator[Unit]:
    categorical = name in CATEGORICAL and not origin["stand_in"]
    for preparation in size.preparations:
        if preparation[1] == "ordinal" or categorical:
            for seed in size.seeds[: size.few_splits]:
                more = _prepared(preparation, (*PAPER, *OF_TRIG))
                config = _config("preparation", name, seed, size.few_draws, origin, **more)
                label = f"{name}, {' and '.join(preparation)}, split {seed}"
                yield Unit(label, config, work.evaluate, group=name)


def _convergence(name: str, size: Size, origin: Mapping[str, Any]) -> Iterator[Unit]:
    for count in size.features:
        more = _prepared(_preparation(name, origin), CONVERGING) | {"features": count}
        seed = size.seeds[0]
        config = _config("convergence", name, seed, size.draws, origin, **more)
        yield Unit(f"{name}, M = {count}", config, work.converge, group=name)


def _shares(name: str, size: Size, origin: Mapping[str, Any]) -> Unit:
    config = _config("shares", name, size.seeds[0], size.random_splits, origin)
    return Unit(f"{name}, shares of the majority class", config, work.shares, group=name)


EXPERIMENT = Experiment(
    name="classification",
    about=__doc__ or "",
    presets=PRESETS,
    data=SETS,
    parts=("part", "set"),
    units=units,
    gather=gather,
    show=show,
    rooms=(
        *FEATURE_ROOMS,
        *(f"crt/{name}.py" for name in ("estimate", "regression", "sweep")),
        *(f"experiments/data/{name}.py" for name in ("encodings", "sheets", "tables")),
        "experiments/classification/protocol",
    ),
)


def main(argv: list[str] | None = None) -> int:
    return run(EXPERIMENT, argv)
