"""How much the study trains and measures. The docstring of a preset is its lab note."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from experiments.vision.attention import ESTIMATES, MECHANISMS

MAIN = ("softmax", *ESTIMATES)
"""Those that are run with all seeds."""
ALL = tuple(MECHANISMS)


@dataclass(frozen=True, kw_only=True)
class Preset:
    """What the presets share.

    Attributes:
        seeds: those of softmax, FAVOR+ and FAVOR++; ReLU and ELU have the first one.
        width, depth, heads, patch, features: the ViT, and M of its linear attention.
        long_patch: patch of the runs with more tokens.
        steps, long_steps, batch, rate, uptraining_rate: of the classification, with base rates.
        pretraining_steps, pretraining_rate: of the masked autoencoder.
        evaluations, checkpoints: of a run, evenly spaced.
        curve_examples, test_examples: test images of an evaluation on the way and at the end.
        attentions: for each start, those that are run; all with the first seed.
        swap_features, draws, swap_examples: swaps without training: M, draws of projections for
            each, test images.
        error_examples, fresh_draws: images on which attention is compared with softmax, and draws
            of projections that no model was trained with.
        speed_rows, speed_features, rounds: patches along a side, M and rounds of the timed steps.
        drop, mixup, cutmix, crop, ema: regularisation of the classification.
    """

    seeds: tuple[int, ...]
    width: int = 64
    depth: int = 3
    heads: int = 4
    patch: int = 4
    features: int = 32
    long_patch: int = 2
    steps: int
    long_steps: int
    batch: int = 64
    rate: float = 8e-3
    uptraining_rate: float = 8e-3
    pretraining_steps: int
    pretraining_rate: float = 6e-3
    evaluations: int = 8
    checkpoints: int = 4
    curve_examples: int = 2000
    test_examples: int = 10_000
    attentions: Mapping[str, tuple[str, ...]]
    swap_features: tuple[int, ...]
    draws: int
    swap_examples: int
    error_examples: int
    fresh_draws: int = 8
    speed_model: str = "tiny"
    speed_rows: tuple[int, ...]
    speed_features: int = 128
    rounds: int
    drop: float = 0.0
    mixup: float = 0.0
    cutmix: float = 0.0
    crop: float = 1.0
    ema: float = 0.99


@dataclass(frozen=True, kw_only=True)
class Smoke(Preset):
    """Everything once, to see that it works; the numbers mean nothing.

    Command: python -m experiments vision --preset smoke. Under a minute on two quiet cores, nearly
    all of it compilation, so that there is one run of each start. Every kind of augmentation is
    on; one layer drops no path.
    """

    seeds: tuple[int, ...] = (0,)
    width: int = 16
    depth: int = 1
    heads: int = 2
    features: int = 8
    steps: int = 6
    long_steps: int = 2
    batch: int = 16
    pretraining_steps: int = 4
    evaluations: int = 2
    checkpoints: int = 2
    curve_examples: int = 32
    test_examples: int = 32
    attentions: Mapping[str, tuple[str, ...]] = field(
        default_factory=lambda: {
            "scratch": ("softmax",),
            "uptrain": ("favor++",),
            "long": ("elu",),
        }
    )
    swap_features: tuple[int, ...] = (8,)
    draws: int = 1
    swap_examples: int = 32
    error_examples: int = 1
    fresh_draws: int = 1
    speed_model: str = "smoke"
    speed_rows: tuple[int, ...] = (8,)
    speed_features: int = 8
    rounds: int = 1
    drop: float = 0.1
    mixup: float = 0.8
    cutmix: float = 1.0
    crop: float = 0.5


@dataclass(frozen=True, kw_only=True)
class Laptop(Preset):
    """Fashion-MNIST on two cores.

    Command: python -m experiments vision --preset laptop, some 80 minutes of two quiet cores in
    pieces of a few minutes; two runs at a time are faster than one. A ViT of 3 layers and 155,000
    parameters sees 128,000 images (two epochs); softmax is to reach 85 % of the test images in the
    mean over seeds, from scratch and uptrained. Of its six runs one, from scratch, ended at 84.5 %.
    So short a training needs no mixup, CutMix or drop path, and is the worse for them.
    """

    seeds: tuple[int, ...] = (0, 1, 2)
    steps: int = 2000
    long_steps: int = 500
    pretraining_steps: int = 2000
    attentions: Mapping[str, tuple[str, ...]] = field(
        default_factory=lambda: {"scratch": ALL, "uptrain": ALL, "long": MAIN}
    )
    swap_features: tuple[int, ...] = (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
    draws: int = 3
    swap_examples: int = 2000
    error_examples: int = 8
    speed_rows: tuple[int, ...] = (8, 16, 32, 40, 44)
    rounds: int = 7


@dataclass(frozen=True, kw_only=True)
class Paper(Preset):
    """ViT-Large on ImageNet with the settings of the paper's tables, which `paper` holds.

    Command: CRT_IMAGENET=FOLDER python -m experiments vision --preset paper --jobs 1, on the
    devices of one machine, or with --hosts on every one of many (`--help`). Not run here, where
    there is neither; `python -m experiments vision-plan` checks it without data. The numbers of
    this class are those of the swaps, the errors and the speed.
    """

    seeds: tuple[int, ...] = (0, 1, 2)
    width: int = 1024
    depth: int = 24
    steps: int = 62_556
    long_steps: int = 0
    pretraining_steps: int = 0
    attentions: Mapping[str, tuple[str, ...]] = field(
        default_factory=lambda: {"scratch": ALL, "uptrain": ALL}
    )
    swap_features: tuple[int, ...] = (64, 256, 1024, 4096)
    draws: int = 3
    swap_examples: int = 10_000
    error_examples: int = 8
    speed_rows: tuple[int, ...] = (8, 16, 32, 40, 44)
    rounds: int = 20


PRESETS: Mapping[str, Preset] = {"smoke": Smoke(), "laptop": Laptop(), "paper": Paper()}
