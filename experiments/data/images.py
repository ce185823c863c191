"""MNIST and Fashion-MNIST, from idx files; scikit-learn's digits stand in for either."""

from dataclasses import dataclass

import numpy as np

from experiments.data.catalogue import FILES
from experiments.data.errors import DataError
from experiments.data.files import content
from experiments.data.origins import Origin, origin, stand_in

IMAGES = ("mnist", "fashion_mnist")
SPLITS = ("train", "test")
BYTES = 8
"""The code of unsigned bytes in the head of an idx file."""
STAND_IN_TEST = 5
"""Of the digits every fifth is a test image; they come in an order without a pattern of five."""


@dataclass(frozen=True, eq=False)
class Images:
    """Pixels (n, side, side) in [0, 1] float32 and labels (n)."""

    origin: Origin
    pixels: np.ndarray
    labels: np.ndarray


def load_images(name: str, split: str = "train", given: Origin | None = None) -> Images:
    """Images of a split. `given` is where they come from, if that is known."""
    for what, value, accepted in (("image set", name, IMAGES), ("split", split, SPLITS)):
        if value not in accepted:
            raise DataError(f"there is no {what} {value!r}; known are {', '.join(accepted)}")
    source = given or origin(name)
    if source.stand_in:
        return _stand_in(source, split)
    pixels, labels = (content(file) for file in FILES[name][2 * SPLITS.index(split) :][:2])
    return Images(source, idx(pixels).astype(np.float32) / 255, idx(labels).astype(np.int64))


def idx(data: bytes) -> np.ndarray:
    """The array of an idx file of bytes: two zeros, type, axes, lengths (big-endian), entries."""
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] != BYTES:
        raise DataError("an idx file of bytes begins with 0, 0, 8, and this one does not")
    shape = tuple(np.frombuffer(data, ">u4", count=data[3], offset=4).tolist())
    entries = np.frombuffer(data, np.uint8, offset=4 + 4 * data[3])
    if entries.size != np.prod(shape):
        raise DataError(f"an idx file of shape {shape} holds {entries.size} entries")
    return entries.reshape(shape)


def _stand_in(source: Origin, split: str) -> Images:
    digits = stand_in(str(source.stand_in))
    test = np.arange(len(digits.target)) % STAND_IN_TEST == 0
    keep = test if split == "test" else ~test
    pixels = digits.images[keep].astype(np.float32) / 16
    return Images(source, pixels, digits.target[keep].astype(np.int64))


def shrink(pixels: np.ndarray, side: int) -> np.ndarray:
    """(n, side, side): every new pixel is the mean of the area it covers, in float64.

    From 28 to 8 a new pixel covers 3.5 old ones each way; the mean brightness is kept exactly.
    """
    old = pixels.shape[-1]
    edges = np.arange(side + 1) * (old / side)
    starts = np.arange(old)
    covered = np.clip(
        np.minimum(edges[1:, None], starts + 1) - np.maximum(edges[:-1, None], starts), 0, 1
    )
    share = covered * (side / old)
    return np.einsum("ai,nij,bj->nab", share, pixels.astype(np.float64), share)
