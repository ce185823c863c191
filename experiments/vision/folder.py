"""ImageNet as a folder: SPLIT/CLASS/*.jpg, the folder named by the variable CRT_IMAGENET."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Int
from PIL import Image

from experiments.data import DataError

FOLDER = "imagenet"
VARIABLE = "CRT_IMAGENET"
MEAN, SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Of ImageNet's channels, as everybody takes them."""
ENDINGS = (".jpg", ".jpeg", ".png")


class Folder:
    """Images of a folder of classes, read when they are asked for, (side, side, 3) each.

    Labels number the given classes, in their order.
    """

    def __init__(self, place: Path, side: int, classes: Sequence[str]):
        self.side, self.classes = side, classes
        self.files = [
            (path, label)
            for label, name in enumerate(self.classes)
            for path in sorted((place / name).iterdir())
            if path.suffix.lower() in ENDINGS
        ]
        if not self.files:
            raise DataError(f"{place} has no images in its folders, one for each class")

    def __len__(self) -> int:
        return len(self.files)

    def load(self, indices: Int[np.ndarray, " b"]) -> dict[str, np.ndarray]:
        chosen = [self.files[index] for index in indices]
        images = np.stack([self._image(path) for path, _ in chosen])
        return {"image": images, "label": np.array([label for _, label in chosen], np.int32)}

    def _image(self, path: Path) -> np.ndarray:
        """The middle square, its side scaled to the model's."""
        try:
            with Image.open(path) as file:
                file.load()
                whole = file.convert("RGB")
        except OSError as error:
            raise DataError(f"{path} is no image that can be read") from error
        short = min(whole.size)
        left, top = ((length - short) // 2 for length in whole.size)
        box = (left, top, left + short, top + short)
        small = whole.resize((self.side, self.side), Image.Resampling.BICUBIC, box)
        pixels = np.asarray(small, np.float32) / 255
        return ((pixels - np.array(MEAN)) / np.array(SPREAD)).astype(np.float32)


def split(name: str) -> Path:
    """The folder of the training or the test images ("val", as ImageNet names them)."""
    named = os.environ.get(VARIABLE)
    if not named:
        raise DataError(f"ImageNet is not at hand: {VARIABLE} names no folder with train and val")
    place = Path(named) / ("train" if name == "train" else "val")
    if not place.is_dir():
        raise DataError(f"ImageNet is not at hand: there is no folder {place}")
    return place


def folder(name: str, side: int) -> Folder:
    """The images of "train" or "test"; the folders of the former are the classes of both."""
    place, classes = split(name), names(split("train"))
    found = set(names(place)).symmetric_difference(classes)
    if found:
        raise DataError(
            f"{place} and {split('train')} have other classes: {sorted(found)[0]!r} is in one alone"
        )
    return Folder(place, side, classes)


def names(place: Path) -> list[str]:
    """The classes of a split: its folders."""
    found = sorted(each.name for each in place.iterdir() if each.is_dir())
    if not found:
        raise DataError(f"{place} has no folders of images, one for each class")
    return found
