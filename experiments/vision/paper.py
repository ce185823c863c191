"""The paper's runs: ViT-Large on ImageNet, 8×8 TPUs, with the settings of its tables.

RandAugment (9, 0.5) of the tables is left out; crops and mirrors take its place. The tables do not
give the number of pre-training epochs: 800 is that of the MAE paper, which they follow.

`folder` differs from what such runs usually do: an image is scaled to 224 pixels before a part of
it, down to 8 %, is cut out and stretched, so that small parts are blurred; and one thread reads,
which no TPU waits for gladly.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from experiments.data import Origin
from experiments.training import Optimizer
from experiments.vision.folder import FOLDER
from experiments.vision.mae import Painting
from experiments.vision.tasks import Classification, Pretraining, Vision
from experiments.vision.vit import SIZES, Shape

IMAGES = 1_281_167
"""Training images of ImageNet."""
TESTED = 50_000
"""Test images of every evaluation: all, since the first ones are of few classes."""
TOKENS = 196
FEATURES = 256
"""M; the paper does not give it for vision."""
LARGE = Shape(
    side=224,
    patch=16,
    channels=3,
    features=FEATURES,
    dtype="bfloat16",
    remat=True,
    **SIZES["large"],
)
DATA = Origin(FOLDER, None, "")


def steps(epochs: int, batch: int) -> int:
    return epochs * IMAGES // batch


def pretraining(shape: Shape = LARGE, batch: int = 4096) -> Pretraining:
    """Table vitpretrain: masked autoencoding with softmax.

    Command: CRT_IMAGENET=… python -m experiments vision --preset paper --jobs 1 --only pretrain
    Hardware: 8×8 TPUv3, AdamW, base rate 1.5e-4, 40 epochs of warm-up; 800 epochs.
    Not run here: no ImageNet, no TPU; `python -m experiments vision-plan` checks what can be.
    """
    total = steps(800, batch)
    return Pretraining(
        steps=total,
        batch=batch,
        seed=0,
        optimizer=Optimizer(rate=1.5e-4, warmup=steps(40, batch), weight_decay=0.05, beta2=0.95),
        evaluate_every=steps(20, batch),
        checkpoint_every=steps(5, batch),
        curve_examples=TESTED,
        data=DATA,
        shape=replace(shape, attention="softmax"),
        crop=0.2,
        painting=Painting(width=512, depth=8, heads=16),
    )


def finetuning(
    attention: str, seed: int = 0, shape: Shape = LARGE, batch: int = 1024
) -> Classification:
    """Table vitfinetune: uptraining, 50 epochs from the pre-trained encoder.

    Command: CRT_IMAGENET=… python -m experiments vision --preset paper --jobs 1 --only uptrain
    The paper's accuracies are in a figure without numbers. Not run here.
    """
    return Classification(
        steps=steps(50, batch),
        batch=batch,
        seed=seed,
        optimizer=Optimizer(rate=1e-3, warmup=steps(5, batch), weight_decay=0.05, layer_decay=0.75),
        evaluate_every=steps(1, batch),
        checkpoint_every=steps(1, batch),
        curve_examples=TESTED,
        data=DATA,
        shape=replace(shape, attention=attention),
        crop=0.08,
        pretraining=pretraining(),
        smoothing=0.1,
        mixup=0.8,
        cutmix=1.0,
        drop=0.1,
    )


def scratch(
    attention: str, seed: int = 0, shape: Shape = LARGE, batch: int = 4096
) -> Classification:
    """Table vitscratch: 200 epochs from random weights, with a moving average of 0.9999.

    Command: CRT_IMAGENET=… python -m experiments vision --preset paper --jobs 1 --only scratch
    The paper's accuracies are in a figure without numbers. Not run here.
    """
    return replace(
        finetuning(attention, seed, shape),
        steps=steps(200, batch),
        batch=batch,
        optimizer=Optimizer(rate=1e-4, warmup=steps(20, batch), weight_decay=0.3, layer_decay=0.75),
        ema=0.9999,
        evaluate_every=steps(5, batch),
        checkpoint_every=steps(1, batch),
        pretraining=None,
        drop=0.2,
    )


def classification(start: str, attention: str, seed: int) -> Classification:
    """A run from "scratch", or from pre-trained weights ("uptrain")."""
    return (scratch if start == "scratch" else finetuning)(attention, seed)


def configured(config: Mapping[str, Any]) -> Vision:
    """The paper's run with the model of a plan; blocks are whole, so that no loop hides FLOPs."""
    shape = Shape(
        **vars(LARGE)
        | {key: config[key] for key in ("depth", "width", "heads", "features")}
        | {"attention": config["attention"], "block": TOKENS}
    )
    part = config["part"]
    if part == "pretrain":
        made = pretraining(shape)
    else:
        kind = finetuning if part == "uptrain" else scratch
        made = kind(config["attention"], shape=shape)
    share = config["share"]
    return made if share is None else replace(made, batch=share * config["devices"])
