"""Augmentation of image batches on the devices: pure functions of a key."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int, PRNGKeyArray
from scipy.special import betaincinv

ASPECTS = (3 / 4, 4 / 3)
QUANTILES = 1025
"""Points of a table of Beta's quantiles."""

Images = Float[Array, "b s s c"]
Targets = Float[Array, "b k"]


def flip(key: PRNGKeyArray, images: Images) -> Images:
    """Every second image mirrored left to right, on average."""
    mirrored = jax.random.bernoulli(key, 0.5, (len(images), 1, 1, 1))
    return jnp.where(mirrored, images[:, :, ::-1], images)


def resized_crop(key: PRNGKeyArray, images: Images, least: float) -> Images:
    """A random part of each image, at least `least` of its area, stretched to the whole.

    Area uniform, ratio of its sides log-uniform in [3/4, 4/3], as RandomResizedCrop has them.
    """
    area_key, ratio_key, place_key = jax.random.split(key, 3)
    count, side = images.shape[:2]
    area = jax.random.uniform(area_key, (count, 1), minval=least, maxval=1.0)
    logs = [math.log(each) for each in ASPECTS]
    ratio = jnp.exp(jax.random.uniform(ratio_key, (count, 1), minval=logs[0], maxval=logs[1]) / 2)
    sides = jnp.minimum(jnp.sqrt(area) * jnp.concatenate([ratio, 1 / ratio], axis=1), 1.0)
    corner = (1 - sides) * jax.random.uniform(place_key, (count, 2))

    def cut(image: Array, sides: Array, corner: Array) -> Array:
        return jax.image.scale_and_translate(
            image, image.shape, (0, 1), 1 / sides, -corner * side / sides, "linear"
        )

    return jax.vmap(cut)(images, sides, corner)


def smoothed(labels: Int[Array, " b"], classes: int, amount: float) -> Targets:
    """Probabilities: `amount` of them shared out evenly, the rest at the label."""
    return jax.nn.one_hot(labels, classes) * (1 - amount) + amount / classes


def mixed(
    key: PRNGKeyArray, images: Images, targets: Targets, mixup: float, cutmix: float
) -> tuple[Images, Targets]:
    """Mixup or CutMix, by lot where both are given, of each image with its mirror in the batch.

    Mixup: λ·x + (1-λ)·x', λ ~ Beta(mixup, mixup). CutMix: a box of x' in x, its area 1-λ. Targets
    are mixed in the same ratio. 0 turns either off.
    """
    if not (mixup or cutmix):
        return images, targets
    choice_key, blend_key, cut_key = jax.random.split(key, 3)
    share = _blend(blend_key, images, mixup) if mixup else _box(cut_key, images, cutmix)
    if mixup and cutmix:
        cut = jax.random.bernoulli(choice_key, 0.5)
        share = jnp.where(cut, _box(cut_key, images, cutmix), share)
    own = jnp.mean(share)
    return (
        share * images + (1 - share) * images[::-1],
        own * targets + (1 - own) * targets[::-1],
    )


def symmetric_beta(key: PRNGKeyArray, size: float) -> Float[Array, ""]:
    """A number from Beta(size, size), by its quantiles: they compile faster than rejection does."""
    levels = np.linspace(0, 1, QUANTILES)
    quantiles = jnp.asarray(betaincinv(size, size, levels), jnp.float32)
    return jnp.interp(jax.random.uniform(key), jnp.asarray(levels, jnp.float32), quantiles)


def _blend(key: PRNGKeyArray, images: Images, mixup: float) -> Float[Array, "1 s s 1"]:
    """The same share λ of the own image at every pixel."""
    part = symmetric_beta(key, mixup)
    return jnp.full((1, *images.shape[1:3], 1), part)


def _box(key: PRNGKeyArray, images: Images, cutmix: float) -> Float[Array, "1 s s 1"]:
    """1 outside a box of area 1-λ anywhere on the image, 0 inside."""
    part_key, place_key = jax.random.split(key)
    side = images.shape[1]
    length = side * jnp.sqrt(1 - symmetric_beta(part_key, cutmix))
    middle = jax.random.uniform(place_key, (2,), maxval=side)

    def within(axis: int) -> Bool[Array, " s"]:
        return jnp.abs(jnp.arange(side) + 0.5 - middle[axis]) < length / 2

    inside = within(0)[:, None] & within(1)[None, :]
    return 1.0 - inside[None, :, :, None]


def drop_path(key: PRNGKeyArray, branch: Float[Array, "b l e"], rate: float) -> Array:
    """A residual branch left out for a share of the examples, the others scaled to its mean."""
    kept = jax.random.bernoulli(key, 1 - rate, (len(branch), 1, 1))
    return jnp.where(kept, branch / (1 - rate), 0)
