"""Images from idx files, their stand-in, and how they are made smaller."""

import numpy as np
import pytest

from experiments.data import DataError, load_images, shrink
from experiments.data.images import idx

DIGITS = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]


@pytest.mark.usefixtures("real_data")
@pytest.mark.parametrize(("name", "counts"), [("mnist", DIGITS), ("fashion_mnist", [1000] * 10)])
def test_test_images_have_the_known_counts(name: str, counts: list[int]) -> None:
    images = load_images(name, "test")
    assert images.pixels.shape == (10_000, 28, 28) and images.pixels.dtype == np.float32
    assert images.pixels.min() == 0 and images.pixels.max() == 1
    assert np.bincount(images.labels).tolist() == counts


@pytest.mark.usefixtures("offline")
def test_digits_stand_in() -> None:
    train, test = (load_images("mnist", split) for split in ("train", "test"))
    assert train.pixels.shape == (1437, 8, 8) and test.pixels.shape == (360, 8, 8)
    assert train.origin.stand_in == "digits" and train.pixels.max() == 1
    assert set(test.labels.tolist()) == set(range(10))


@pytest.mark.parametrize(
    ("name", "split", "sentence"),
    [("cifar", "test", "no image set 'cifar'"), ("mnist", "dev", "no split 'dev'")],
)
def test_unknown_names_are_refused(name: str, split: str, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        load_images(name, split)


def test_idx_files_are_read() -> None:
    head = bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3])
    assert idx(head + bytes(range(6))).tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(DataError, match=r"shape \(2, 3\) holds 5 entries"):
        idx(head + bytes(5))
    with pytest.raises(DataError, match="begins with 0, 0, 8"):
        idx(b"\x00\x00\x0d\x01")


def test_shrinking_takes_means_of_areas() -> None:
    pixels = np.arange(2 * 36, dtype=np.float64).reshape(2, 6, 6)
    whole = shrink(pixels, 3)
    assert whole[0, 0, 0] == pytest.approx(pixels[0, :2, :2].mean(), rel=1e-15)
    # From 6 to 4 the first pixel covers 1.5 old ones each way.
    weights = np.array([1, 0.5, 0, 0, 0, 0]) / 1.5
    parts = shrink(pixels, 4)
    assert parts[1, 0, 0] == pytest.approx(weights @ pixels[1] @ weights, rel=1e-15)
    np.testing.assert_allclose(parts.mean(axis=(1, 2)), pixels.mean(axis=(1, 2)), rtol=1e-14)
    np.testing.assert_allclose(shrink(pixels, 6), pixels, rtol=1e-15)
