"""`vision`: Vision Transformers with softmax, FAVOR+ and FAVOR++ (Section 5.3.3, Figure 4).

pretrain  a masked autoencoder with softmax, whose encoder uptraining starts from
scratch   classification with every attention, from random weights
uptrain   the same from the pre-trained encoder, its attention swapped
long      the same from random weights, with four times the tokens
swap      a trained softmax model with another attention and no training, against M
errors    how far FAVOR+ and FAVOR++ are from softmax inside the trained models
speed     steps per second of ViT-tiny against the number of tokens, and memory
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from experiments.experiment import Experiment, Origins
from experiments.experiment import main as run
from experiments.vision import errors, learning, speed, swap
from experiments.vision.attention import ESTIMATES, TITLES
from experiments.vision.configs import classification, pretraining
from experiments.vision.presets import MAIN, PRESETS, Preset
from experiments.vision.tasks import Classification
from experiments.vision.weights import NUMERICS
from verification.runs import Finished, Unit

DATA = "fashion_mnist"


def units(preset: Preset, origins: Origins) -> list[Unit]:
    """All work of a preset. Runs that others start from come first."""
    data = origins[DATA]
    before = pretraining(preset, data)
    runs = [
        (start, attention, seed, classification(preset, data, start, attention, seed))
        for seed in preset.seeds
        for start, attentions in preset.attentions.items()
        for attention in attentions
        if seed == preset.seeds[0] or (attention in MAIN and start != "long")
    ]
    return [
        Unit(
            "pre-training",
            {"kind": "train", "part": "pretrain", "seed": 0, "run": asdict(before)},
            learning.pretrain,
        ),
        *(_training(*each) for each in runs),
        *(_errors(preset, *each) for each in runs if each[1] in MAIN),
        *_swaps(preset, classification(preset, data, "scratch", "softmax", preset.seeds[0])),
        *(_speed(preset, rows) for rows in preset.speed_rows),
    ]


def _about(start: str, attention: str, seed: int) -> str:
    return f"{start}, {TITLES[attention]}, seed {seed}"


def _training(start: str, attention: str, seed: int, run: Classification) -> Unit:
    named = {"kind": "train", "part": start, "attention": attention, "seed": seed}
    return Unit(_about(start, attention, seed), named | {"run": asdict(run)}, learning.classify)


def _errors(preset: Preset, start: str, attention: str, seed: int, run: Classification) -> Unit:
    named = {"kind": "errors", "part": "errors", "start": start, "attention": attention}
    more = {"seed": seed, "examples": preset.error_examples, "run": asdict(run)}
    return Unit(f"errors in {_about(start, attention, seed)}", named | more, errors.unit)


def _swaps(preset: Preset, run: Classification) -> list[Unit]:
    return [
        Unit(
            f"swap for {TITLES[name]}",
            {
                "kind": "swap",
                "part": "swap",
                "attention": name,
                "features": preset.swap_features,
                "draws": preset.draws,
                "examples": preset.swap_examples,
                "seed": preset.seeds[0],
                "run": asdict(run),
            },
            swap.unit,
        )
        for name in ESTIMATES
    ]


def _speed(preset: Preset, rows: int) -> Unit:
    return Unit(
        f"speed with {rows}×{rows} patches",
        {
            "kind": "speed",
            "part": "speed",
            "model": preset.speed_model,
            "rows": rows,
            "features": preset.speed_features,
            "rounds": preset.rounds,
            "seed": 0,
        },
        speed.unit,
    )


def gather(preset: Preset, finished: Sequence[Finished]) -> dict[str, Any]:
    return {"units": len(finished)}


def show(numbers: Mapping[str, Any]) -> str:
    return str(numbers["units"])


EXPERIMENT = Experiment(
    name="vision",
    about=__doc__ or "",
    presets=PRESETS,
    data=(DATA,),
    parts=("part", "attention"),
    units=units,
    gather=gather,
    show=show,
    rooms=NUMERICS,
)


def main(argv: list[str] | None = None) -> int:
    return run(EXPERIMENT, argv)
