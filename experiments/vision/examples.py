"""Image sets as sources of training: Fashion-MNIST in memory, ImageNet from a folder."""

import functools

import numpy as np
from jaxtyping import Int

from experiments.data import DataError, Origin, load_images
from experiments.vision.folder import FOLDER, Folder, folder

CLASSES = {"fashion_mnist": 10, "mnist": 10, FOLDER: 1000}


class Arrays:
    """Images (n, side, side) in [0, 1] and labels (n), standardised by the training images."""

    def __init__(self, images: np.ndarray, labels: np.ndarray, mean: float, spread: float):
        self.images, self.labels = images, labels
        self.mean, self.spread = mean, spread

    def __len__(self) -> int:
        return len(self.labels)

    def load(self, indices: Int[np.ndarray, " b"]) -> dict[str, np.ndarray]:
        images = (self.images[indices, :, :, None] - np.float32(self.mean)) / np.float32(
            self.spread
        )
        return {"image": images, "label": self.labels[indices].astype(np.int32)}


@functools.cache
def source(data: Origin, split: str, side: int) -> Arrays | Folder:
    """The examples of a split; their sides must be what the model takes."""
    if data.name == FOLDER:
        return folder(split, side)
    train = load_images(data.name, "train", data)
    found = train if split == "train" else load_images(data.name, split, data)
    if found.pixels.shape[-1] != side:
        raise DataError(
            f"images of {data.stand_in or data.name} have {found.pixels.shape[-1]} pixels a side; "
            f"the model takes {side}"
        )
    mean, spread = float(train.pixels.mean()), float(train.pixels.std())
    return Arrays(found.pixels, found.labels, mean, spread)
