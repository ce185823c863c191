"""`vision-plan`: the paper's runs checked without their data: size, memory, FLOPs, compilation.

Every step is compiled from abstract shapes for a simulated mesh of 8×8 devices, and lowered for
TPUs. Memory is told twice: as XLA reserves it for CPU devices, which compute bfloat16 in float32
and keep what `remat` would compute again, and by a formula for a TPU, which does neither. FLOPs are
those of the whole step, all layers and blocks unrolled, with what `remat` computes again. All of it
is on paper: no accelerator was used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.experiment import Experiment, Origins
from experiments.experiment import main as run
from experiments.vision import mesh, paper
from experiments.vision.attention import ESTIMATES, TITLES
from experiments.vision.vit import SIZES
from experiments.vision.weights import ROOMS
from verification.runs import Finished, Unit

TPU_BYTES = 16 * 2**30
"""Memory of a core of a TPUv3."""
TABLES = {"tiny": (3, 12, 192), "large": (16, 24, 1024)}
"""The paper's tables vittiny and vitlarge: heads, layers, width."""


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
        | {"estimate": each.result["arguments"] + activations(each.config, each.result)}
        for each in finished
    ]
    return {"rows": rows, "costs": costs(), "verdicts": [settings()] if preset.depth > 1 else []}


def activations(config: Mapping[str, Any], result: Mapping[str, Any]) -> int:
    """Bytes of activations on a device by formula, blocks computed again: none of it was measured.

    In bfloat16 the input of every block is kept, and of one block q, k, v, out and the two sides of
    its inner layer; in float32 its attention: matrices L², or features LM of queries and keys.
    """
    examples = result["batch"] // result["devices"]
    tokens, width, heads = paper.TOKENS, config["width"], config["heads"]
    kept = (config["depth"] + 1) * tokens * width * 2
    block = tokens * (4 + 8) * width * 2
    inner = tokens if config["attention"] == "softmax" else 2 * config["features"]
    return examples * (kept + block + heads * tokens * inner * 4)


def settings() -> dict[str, Any]:
    """Whether the sizes are those of the paper's tables."""
    ours = {name: tuple(SIZES[name][k] for k in ("heads", "depth", "width")) for name in TABLES}
    right = sum(ours[n][i] == printed[i] for n, printed in TABLES.items() for i in range(3))
    return {
        "claim": "tab-vision-settings",
        "item": "entries of the tables of ViT-tiny and ViT-Large that are configured so",
        "paper": "6",
        "ours": right,
        "verdict": "reproduced" if right == 6 else "not reproduced",
        "note": "Compiled for 8×8 devices and not run; RandAugment is left out.",
    }


def costs() -> list[dict[str, Any]]:
    """Attention of ViT-tiny on paper: multiplications, and bytes of softmax's matrices in bf16.

    Forward, of all layers and heads, one image: 2L²H for softmax, 2LM(2H+1) with M features.
    """
    heads, depth, width = TABLES["tiny"]
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
