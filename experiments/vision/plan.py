"""`vision-plan`: the paper's runs checked without their data: size, memory, FLOPs, compilation.

Every step is compiled from abstract shapes for 64 simulated devices in a row, data parallel with
all parameters on each, and lowered for TPUs. Memory is told twice: as XLA reserves it for CPU
devices, which compute bfloat16 in float32 and keep what `remat` would compute again, and by a
formula for a TPU, which does neither: state, gradients and activations. FLOPs are those of the
whole step, all layers and blocks unrolled, with what `remat` computes again. All of it is on paper:
no accelerator was used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from experiments.experiment import Experiment, Origins
from experiments.experiment import main as run
from experiments.vision import mesh, paper, settings
from experiments.vision.attention import ESTIMATES, TITLES
from experiments.vision.tasks import Pretraining
from experiments.vision.vit import SIZES, Shape
from experiments.vision.weights import ROOMS
from verification.runs import Finished, Unit

FLOAT32 = 4
"""Bytes of a parameter's gradient."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Depth of the model and number of devices; the width, and examples for each of them."""

    seeds: tuple[int, ...] = (0,)
    depth: int = 24
    width: int = 1024
    heads: int = 16
    features: int = paper.FEATURES
    devices: int = 64
    share: int | None = None
    kinds: tuple[tuple[str, str], ...] = (
        ("scratch", "softmax"),
        ("scratch", "favor+"),
        ("scratch", "favor++"),
        ("uptrain", "favor++"),
        ("pretrain", "softmax"),
    )


PRESETS = {
    "smoke": Plan(
        depth=1, width=32, heads=2, features=8, devices=4, share=1, kinds=(("scratch", "favor++"),)
    ),
    "laptop": Plan(),
    "paper": Plan(),
}


def units(preset: Plan, origins: Origins) -> list[Unit]:
    shared = {key: getattr(preset, key) for key in ("depth", "width", "heads", "features")}
    shared |= {"devices": preset.devices, "share": preset.share, "seed": 0}
    return [
        Unit(
            f"{start}, {TITLES[attention]}",
            shared | {"kind": "plan", "part": start, "attention": attention},
            mesh.unit,
        )
        for start, attention in preset.kinds
    ]


def gather(preset: Plan, finished: Sequence[Finished]) -> dict[str, Any]:
    rows = [
        {"start": each.config["part"], "attention": each.config["attention"]}
        | {"name": TITLES[each.config["attention"]]}
        | each.result
        | {"estimate": _bytes(each.config, each.result)}
        for each in finished
    ]
    judged = [settings.judge()] if preset.depth > 1 else []
    return {"rows": rows, "costs": costs(), "verdicts": judged}


def _bytes(config: Mapping[str, Any], result: Mapping[str, Any]) -> int:
    """What a device holds: the state and its examples, gradients, activations."""
    held = result["arguments"] + FLOAT32 * result["parameters"]
    return held + activations(config, result)


def activations(config: Mapping[str, Any], result: Mapping[str, Any]) -> int:
    """Bytes of activations on a device by formula, blocks computed again: none of it was measured.

    The input of every block is kept, and of the largest block all. An autoencoder has two stacks of
    blocks: the encoder over the patches that are seen, the decoder over all.
    """
    run = paper.configured(config)
    shape, tokens = run.shape, run.shape.tokens
    # The encoder adds positions of float32, which its sums then are; the decoder those of bfloat16.
    stacks = [(shape, tokens, 4)]
    if isinstance(run, Pretraining):
        painting = run.painting
        small = {key: getattr(painting, key) for key in ("width", "depth", "heads")}
        seen = tokens - int(painting.hidden * tokens)
        stacks = [(shape, seen, 4), (replace(shape, **small), tokens, 2)]
    kept = sum((each.depth + 1) * length * each.width * size for each, length, size in stacks)
    block = max(_block(each, length) for each, length, _ in stacks)
    return result["batch"] // result["devices"] * (kept + block)


def _block(shape: Shape, tokens: int) -> int:
    """Bytes of one example in a block: in bfloat16 q, k, v, out and both sides of the inner layer,
    in float32 the matrices L² of attention, or the features LM of queries and keys.
    """
    inner = tokens if shape.attention == "softmax" else 2 * shape.features
    return tokens * (4 + 8) * shape.width * 2 + shape.heads * tokens * inner * 4


def costs() -> list[dict[str, Any]]:
    """Attention of ViT-tiny on paper: multiply-adds, and bytes of softmax's matrices in bf16.

    Forward, of all layers and heads, one image: 2L²H for softmax, 2LM(2H+1) with M features.
    """
    heads, depth, width = (SIZES["tiny"][key] for key in ("heads", "depth", "width"))
    dim = width // heads
    rows = []
    for side in (8, 16, 32, 40, 44, 64, 128):
        length = side**2
        linear = 2 * length * 128 * (2 * dim + 1)
        rows.append(
            {
                "tokens": length,
                "softmax": depth * heads * 2 * length**2 * dim,
                **dict.fromkeys(ESTIMATES, depth * heads * linear),
                "softmax_bytes": depth * heads * length**2 * 2,
                "favor_bytes": depth * heads * 2 * length * 128 * 2,
            }
        )
    return rows


def show(numbers: Mapping[str, Any]) -> str:
    lines = [f"{'':26}{'parameters':>12}{'GB a device':>12}{'TFLOPs a step':>15}"]
    lines += [
        f"{row['start']:9}{row['name']:17}{row['parameters']:12,}{row['estimate'] / 1e9:12.1f}"
        f"{row['flops'] / 1e12:15,.0f}"
        for row in numbers["rows"]
    ]
    return "\n".join([*lines, "Nothing was run: memory is that of a formula."])


EXPERIMENT = Experiment(
    name="vision-plan",
    about=__doc__ or "",
    presets=PRESETS,
    data=(),
    parts=("part", "attention"),
    units=units,
    gather=gather,
    show=show,
    rooms=(
        *ROOMS,
        *(f"experiments/data/{name}.py" for name in ("catalogue", "origins")),
        "experiments/vision/paper.py",
    ),
)


def main(argv: list[str] | None = None) -> int:
    return run(EXPERIMENT, argv)
