"""The runs of a preset: one frozen configuration each."""

from experiments.data import Origin
from experiments.training import Optimizer
from experiments.vision.mae import Painting
from experiments.vision.presets import Preset
from experiments.vision.tasks import Classification, Pretraining
from experiments.vision.vit import Shape

SIDE = 28


def shape(preset: Preset, data: Origin, attention: str, patch: int) -> Shape:
    """The ViT; images of the stand-in have 8×8 pixels, and patches of half the side."""
    return Shape(
        side=8 if data.stand_in else SIDE,
        patch=patch // 2 if data.stand_in else patch,
        width=preset.width,
        depth=preset.depth,
        heads=preset.heads,
        attention=attention,
        features=preset.features,
    )


def pretraining(preset: Preset, data: Origin) -> Pretraining:
    """The masked autoencoder whose encoder all uptraining starts from."""
    steps = preset.pretraining_steps
    return Pretraining(
        steps=steps,
        batch=2 * preset.batch,
        seed=0,
        optimizer=Optimizer(rate=preset.pretraining_rate, warmup=steps // 10, beta2=0.95),
        evaluate_every=steps,
        checkpoint_every=-(-steps // preset.checkpoints),
        curve_examples=preset.curve_examples,
        test_examples=preset.test_examples,
        data=data,
        shape=shape(preset, data, "softmax", preset.patch),
        crop=0.5,
        painting=Painting(width=preset.width // 2, depth=1, heads=preset.heads // 2),
    )


def classification(
    preset: Preset, data: Origin, start: str, attention: str, seed: int
) -> Classification:
    """A run from "scratch", from pre-trained weights ("uptrain"), or with more tokens ("long")."""
    steps = preset.long_steps if start == "long" else preset.steps
    patch = preset.long_patch if start == "long" else preset.patch
    uptrained = start == "uptrain"
    return Classification(
        steps=steps,
        batch=preset.batch,
        seed=seed,
        optimizer=Optimizer(
            rate=preset.uptraining_rate if uptrained else preset.rate,
            warmup=steps // 10,
            layer_decay=0.75 if uptrained else 1.0,
        ),
        ema=preset.ema,
        evaluate_every=-(-steps // preset.evaluations),
        checkpoint_every=-(-steps // preset.checkpoints),
        curve_examples=preset.curve_examples,
        test_examples=preset.test_examples,
        data=data,
        shape=shape(preset, data, attention, patch),
        crop=preset.crop,
        pretraining=pretraining(preset, data) if uptrained else None,
        mixup=preset.mixup,
        cutmix=preset.cutmix,
        drop=preset.drop,
    )
