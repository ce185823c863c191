"""`vision-plan`: the paper's runs checked without their data: size, memory, FLOPs, compilation.

Every step is compiled from abstract shapes for a simulated mesh of 8×8 devices, and lowered for
TPUs. Memory is that of XLA's buffers for CPU devices: an estimate of a TPU's. FLOPs are those of
the whole step, all layers and blocks unrolled; with `remat` they count what is computed twice.
All of it is on paper: no accelerator was used.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from experiments.experiment import ROOT, Experiment, Origins
from experiments.experiment import main as run
from experiments.vision import paper
from experiments.vision.attention import ESTIMATES, TITLES
from experiments.vision.vit import SIZES, Shape
from experiments.vision.weights import NUMERICS
from verification.runs import Finished, RunError, Unit

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
            unit,
        )
        for start, attention in preset.kinds
    ]


def unit(config: Mapping[str, Any]) -> dict[str, Any]:
    """One step, in a process with devices of its own: JAX must be told before it starts."""
    flags = f"--xla_force_host_platform_device_count={config['devices']}"
    done = subprocess.run(
        [sys.executable, "-m", "experiments.vision.mesh", json.dumps(dict(config))],
        env=os.environ | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RunError(f"the step cannot be compiled: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout)


def configured(config: Mapping[str, Any]) -> Any:
    """The paper's run with the model of a plan; blocks are whole, so that no loop hides FLOPs."""
    shape = Shape(
        **vars(paper.LARGE)
        | {key: config[key] for key in ("depth", "width", "heads", "features")}
        | {"attention": config["attention"], "block": paper.TOKENS}
    )
    part = config["part"]
    if part == "pretrain":
        made = paper.pretraining(shape)
    else:
        kind = paper.finetuning if part == "uptrain" else paper.scratch
        made = kind(config["attention"], shape=shape)
    share = config["share"]
    return made if share is None else replace(made, batch=share * config["devices"])


def gather(preset: Plan, finished: Sequence[Finished]) -> dict[str, Any]:
    rows = [
        {"start": each.config["part"], "attention": each.config["attention"]}
        | {"name": TITLES[each.config["attention"]]}
        | each.result
        for each in finished
    ]
    return {"rows": rows, "costs": costs(), "verdicts": [settings()] if preset.depth > 1 else []}


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
    for row in numbers["rows"]:
        size = (row["arguments"] + row["temporary"]) / 1e9
        lines.append(
            f"{row['start']:9}{row['name']:17}{row['parameters']:12,}{size:12.1f}"
            f"{row['flops'] / 1e12:15,.0f}"
        )
    return "\n".join([*lines, "Nothing was run: memory is XLA's for CPU devices."])


EXPERIMENT = Experiment(
    name="vision-plan",
    about=__doc__ or "",
    presets=PRESETS,
    data=(),
    parts=("part", "attention"),
    units=units,
    gather=gather,
    show=show,
    rooms=(*NUMERICS, "experiments/vision/mesh.py", "experiments/vision/paper.py"),
)


def main(argv: list[str] | None = None) -> int:
    return run(EXPERIMENT, argv)
