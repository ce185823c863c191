"""`vision`: Vision Transformers with softmax, FAVOR+ and FAVOR++ (Section 5.3.3, Figure 4).

pretrain  a masked autoencoder with softmax, whose encoder uptraining starts from
scratch   classification with every attention, from random weights
uptrain   the same from the pre-trained encoder, its attention swapped
long      the same from random weights, with four times the tokens
swap      a trained softmax model with another attention and no training, against M
errors    how far FAVOR+ and FAVOR++ are from softmax inside the trained models
fresh     the same inside those of the first seed, with projections that they never saw
speed     steps per second of ViT-tiny against the number of tokens, and memory

The paper preset runs with --jobs 1 on the devices of one machine, or with --hosts on those of many,
such as 8×8 TPUs. The same command is then started on every host; OUT and the folder of the runs
(CRT_RUNS, else build/runs of the checkout) must be on a disk that all of them share. All hosts
train together, each repeats swaps, errors and timings on its own, and the first one writes. This
was tried with two processes on one CPU, never on TPUs.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import jax

from experiments.experiment import STOPPED, Experiment, Origins, UsageError
from experiments.experiment import main as run
from experiments.training import ConfigError, TrainingError
from experiments.vision import (
    claims,
    configs,
    errors,
    fresh,
    gather,
    learning,
    paper,
    speed,
    swap,
    weights,
)
from experiments.vision.attention import ESTIMATES, TITLES
from experiments.vision.presets import MAIN, PRESETS, Paper, Preset
from experiments.vision.tasks import Classification, Pretraining
from experiments.vision.weights import ROOMS
from verification.runs import Finished, Unit

DATA = "fashion_mnist"


def units(preset: Preset, origins: Origins) -> list[Unit]:
    """All work of a preset, the most telling first: a run that is stopped shows something whole."""
    before, made = _configurations(preset, origins)
    runs = [
        (start, attention, seed, made(start, attention, seed))
        for seed in preset.seeds
        for start, attentions in preset.attentions.items()
        for attention in attentions
        if seed == preset.seeds[0] or (attention in MAIN and start != "long")
    ]
    main = [each for each in runs if each[1] in MAIN and each[0] != "long"]
    rest = [each for each in runs if each not in main]
    first = [each for each in main if each[2] == preset.seeds[0]]
    later = [each for each in main if each not in first]
    return [
        _pretraining(before),
        *(_training(*each) for each in first),
        *_swaps(preset, made("scratch", "softmax", preset.seeds[0])),
        *(_speed(preset, rows) for rows in preset.speed_rows),
        *(_errors(preset, "errors", *each) for each in first),
        *(_fresh(preset, *each) for each in first),
        *(_training(*each) for each in (*later, *rest)),
        *(_errors(preset, "later errors", *each) for each in (*later, *rest) if each[1] in MAIN),
    ]


def _configurations(
    preset: Preset, origins: Origins
) -> tuple[Pretraining, Callable[[str, str, int], Classification]]:
    """The pre-training, and what makes the other runs."""
    if isinstance(preset, Paper):
        return paper.pretraining(), paper.classification
    data = origins[DATA]
    return configs.pretraining(preset, data), partial(configs.classification, preset, data)


def _about(start: str, attention: str, seed: int) -> str:
    return f"{start}, {TITLES[attention]}, seed {seed}"


def _pretraining(run: Pretraining) -> Unit:
    named = {"kind": "train", "part": "pretrain", "seed": 0}
    return Unit("pre-training", named | {"run": asdict(run)}, learning.pretrain)


def _training(start: str, attention: str, seed: int, run: Classification) -> Unit:
    named = {"kind": "train", "part": start, "attention": attention, "seed": seed}
    return Unit(_about(start, attention, seed), named | {"run": asdict(run)}, learning.classify)


def _errors(
    preset: Preset, group: str, start: str, attention: str, seed: int, run: Classification
) -> Unit:
    named = {"kind": "errors", "part": "errors", "start": start, "attention": attention}
    more = {"seed": seed, "examples": preset.error_examples, "run": asdict(run)}
    return Unit(f"errors in {_about(start, attention, seed)}", named | more, errors.unit, group)


def _fresh(preset: Preset, start: str, attention: str, seed: int, run: Classification) -> Unit:
    named = {"kind": "fresh", "part": "fresh", "start": start, "attention": attention}
    much = {"examples": preset.error_examples, "draws": preset.fresh_draws}
    return Unit(
        f"fresh projections in {_about(start, attention, seed)}",
        named | much | {"seed": seed, "run": asdict(run)},
        fresh.unit,
        group="errors",
    )


def _swaps(preset: Preset, run: Classification) -> list[Unit]:
    return [
        Unit(
            f"swap for {TITLES[name]}, M = {features}",
            {
                "kind": "swap",
                "part": "swap",
                "attention": name,
                "features": features,
                "draws": preset.draws,
                "examples": preset.swap_examples,
                "seed": preset.seeds[0],
                "run": asdict(run),
            },
            swap.unit,
            group="swap",
        )
        for features in preset.swap_features
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
        alone=True,
    )


def numbers(preset: Preset, finished: Sequence[Finished]) -> dict[str, Any]:
    """Everything but times, from whatever is finished."""
    painted = [each.result["test"] for each in gather.of_kind(finished, "pretrain")]
    errors = gather.errors(finished)
    found = {
        "setting": gather.setting(finished),
        "accuracy": gather.accuracies(finished),
        "curves": gather.curves(finished),
        "stability": gather.stability(finished),
        "swap": gather.swaps(finished),
        "errors": errors,
        "explained": gather.explained(errors),
        "memory": gather.memory(finished),
        "pretraining": painted[0] if painted else None,
    }
    return found | {"verdicts": claims.judge(found)}


def times(finished: Sequence[Finished]) -> dict[str, Any]:
    """What the clock decides, verdicts included; it is no part of the numbers."""
    measured = gather.speeds(finished)
    return {"speed": measured, "verdicts": claims.judge_speed(measured)} if measured else {}


def show(numbers: Mapping[str, Any]) -> str:
    """Accuracies, and the verdicts on them."""
    lines = [f"{'':9}{'tokens':>7}{'accuracy':>10}  seeds"]
    for row in sorted(numbers["accuracy"], key=lambda row: row["start"]):
        what = f"{row['start']:9}{row['tokens']:7}{row['mean']:9.2f}%"
        lines.append(f"{what}  {len(row['seeds'])}  {row['name']}")
    lines += [
        f"{row['verdict'] or 'not judged':16}{row['ours']:8.2f}  {row['item']}"
        for row in numbers["verdicts"]
    ]
    return "\n".join(lines)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--hosts", nargs="*", metavar="VALUE",
        help="this is one of several hosts, started alike, with a disk that they share; one job "
        "each. Without values JAX finds the others itself (Cloud TPU, Slurm, Open MPI); else: "
        "HOST:PORT of the first, how many they are, and the number of this one from 0",
    )  # fmt: skip


def begin(options: argparse.Namespace) -> bool:
    """Meet the other hosts, if there are any; the first writes, and shows progress."""
    first = True
    if options.hosts is not None:
        jax.distributed.initialize(**meeting(options.hosts))
        options.jobs, first = 1, jax.process_index() == 0
    weights.shown.set(first and options.jobs == 1 and not options.quiet)
    return first


def meeting(values: Sequence[str]) -> dict[str, Any]:
    """What jax.distributed is told of the hosts: nothing, or all."""
    if not values:
        return {}
    if len(values) != 3 or not all(each.isdecimal() for each in values[1:]):
        raise UsageError("--hosts takes nothing, or HOST:PORT, how many hosts, and which this is")
    count, number = int(values[1]), int(values[2])
    if not number < count:
        raise UsageError(f"--hosts says number {number} of {count}; numbers are 0 to {count - 1}")
    return {"coordinator_address": values[0], "num_processes": count, "process_id": number}


EXPERIMENT = Experiment(
    name="vision",
    about=__doc__ or "",
    presets=PRESETS,
    data=(DATA,),
    parts=("part", "attention"),
    units=units,
    gather=numbers,
    show=show,
    rooms=ROOMS,
    times=times,
    elsewhere=("paper",),
    add_options=add_options,
    begin=begin,
)


def main(argv: list[str] | None = None) -> int:
    try:
        return run(EXPERIMENT, argv)
    except (ConfigError, TrainingError) as error:
        print(f"{EXPERIMENT.name}: {error}", file=sys.stderr)
        return STOPPED
