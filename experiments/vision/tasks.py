"""What a ViT learns: to tell classes, from the start or from pre-trained weights; to paint."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx
from jax import Array
from jaxtyping import Float, PRNGKeyArray

from experiments.data import Origin
from experiments.training import augmentation
from experiments.training.config import Batch, Config
from experiments.vision.examples import CLASSES, source
from experiments.vision.mae import MAE, Painting
from experiments.vision.vit import Shape, ViT


@dataclass(frozen=True, kw_only=True)
class Vision(Config):
    """A run on images. `crop` is the least area of a random crop, 1 for whole images."""

    data: Origin
    shape: Shape
    crop: float = 1.0
    flip: bool = True

    def source(self, split: str) -> Any:
        return source(self.data, split, self.shape.side)

    @property
    def layers(self) -> int:
        return self.shape.depth + 1

    def layer(self, path: tuple[Any, ...]) -> int:
        """0 for patches and positions, k for the k-th block, then what follows the blocks."""
        if path[:2] in (("encoder", "patches"), ("encoder", "positions")):
            return 0
        return path[2] + 1 if path[:2] == ("encoder", "blocks") else self.layers

    def augmented(self, images: Array, key: PRNGKeyArray) -> Array:
        """Crops and mirrors, by the two halves of the key."""
        crop_key, flip_key = jax.random.split(key)
        if self.crop < 1:
            images = augmentation.resized_crop(crop_key, images, self.crop)
        return augmentation.flip(flip_key, images) if self.flip else images


@dataclass(frozen=True, kw_only=True)
class Pretraining(Vision):
    """Masked autoencoding, always with softmax as the paper's checkpoint was."""

    painting: Painting

    def model(self, rngs: nnx.Rngs) -> MAE:
        return MAE(self.shape, self.painting, rngs)

    def start(self, model: MAE) -> None:
        """It starts from random weights."""

    def loss(self, model: MAE, batch: Batch, key: PRNGKeyArray) -> Float[Array, ""]:
        image_key, mask_key = jax.random.split(key)
        return jnp.mean(model(self.augmented(batch["image"], image_key), mask_key))

    def measures(self, model: MAE, batch: Batch) -> dict[str, Array]:
        """The loss on whole images, with the same patches hidden at every evaluation."""
        return {"loss": model(batch["image"], jax.random.key(0))}


@dataclass(frozen=True, kw_only=True)
class Classification(Vision):
    """Classes of images; uptraining where `pretraining` is given, whose encoder is taken over."""

    pretraining: Pretraining | None = None
    smoothing: float = 0.1
    mixup: float = 0.0
    cutmix: float = 0.0
    drop: float = 0.0

    def model(self, rngs: nnx.Rngs) -> ViT:
        return ViT(self.shape, CLASSES[self.data.name], self.drop, rngs)

    def start(self, model: ViT) -> None:
        if self.pretraining is not None:
            from experiments.vision.weights import trained

            take_over(model, trained(self.pretraining).model)

    def loss(self, model: ViT, batch: Batch, key: PRNGKeyArray) -> Float[Array, ""]:
        image_key, mix_key, drop_key = jax.random.split(key, 3)
        images = self.augmented(batch["image"], image_key)
        targets = augmentation.smoothed(batch["label"], CLASSES[self.data.name], self.smoothing)
        images, targets = augmentation.mixed(mix_key, images, targets, self.mixup, self.cutmix)
        return jnp.mean(optax.softmax_cross_entropy(model(images, drop_key), targets))

    def measures(self, model: ViT, batch: Batch) -> dict[str, Array]:
        logits = model(batch["image"])
        right = jnp.argmax(logits, axis=-1) == batch["label"]
        loss = optax.softmax_cross_entropy_with_integer_labels(logits, batch["label"])
        return {"accuracy": right.astype(jnp.float32), "loss": loss}


def take_over(model: ViT, pretrained: MAE) -> None:
    """Put the encoder's weights into a model; its projections, if it has any, stay its own."""
    weights = nnx.state(pretrained.encoder, nnx.Param)
    nnx.update(model.encoder, weights)
