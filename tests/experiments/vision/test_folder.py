"""Images from folders, and sentences where there are none."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from experiments.data import DataError, Origin
from experiments.vision import folder
from experiments.vision.examples import source
from experiments.vision.study import main


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two classes, one image each: a wide red one, a black one."""
    for name, colour, size in (("a", (255, 0, 0), (30, 10)), ("b", (0, 0, 0), (10, 10))):
        (tmp_path / "train" / name).mkdir(parents=True)
        Image.new("RGB", size, colour).save(tmp_path / "train" / name / "one.png")
    monkeypatch.setenv(folder.VARIABLE, str(tmp_path))
    return tmp_path


def test_images_are_squares_of_the_models_side(place: Path) -> None:
    found = folder.folder("train", 8)
    rows = found.load(np.array([1, 0]))
    assert rows["image"].shape == (2, 8, 8, 3) and rows["label"].tolist() == [1, 0]
    assert rows["image"].dtype == np.float32 and len(found) == 2
    black, red = rows["image"][:, 4, 4]
    expected = -np.array(folder.MEAN) / folder.SPREAD
    np.testing.assert_allclose(black, expected, rtol=1e-5)
    assert red[0] == pytest.approx((1 - folder.MEAN[0]) / folder.SPREAD[0], rel=1e-5)
    np.testing.assert_allclose(red[1:], expected[1:], rtol=1e-5)


def test_a_file_that_is_no_image_is_named(place: Path) -> None:
    (place / "train" / "b" / "one.png").write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"one\.png is no image that can be read"):
        folder.folder("train", 8).load(np.array([1]))


def test_absent_folders_are_one_sentence(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match=r"there is no folder .*val"):
        folder.split("test")
    (place / "val").mkdir()
    with pytest.raises(DataError, match="val has no folders of images"):
        folder.folder("test", 8)
    for name in ("a", "b"):
        (place / "val" / name).mkdir()
    with pytest.raises(DataError, match="val has no images in its folders"):
        folder.folder("test", 8)
    monkeypatch.delenv(folder.VARIABLE)
    with pytest.raises(DataError, match="CRT_IMAGENET names no folder"):
        folder.split("train")


def test_the_test_images_have_the_classes_of_the_training_images(place: Path) -> None:
    """A label is the number of a folder among those of train."""
    shutil.copytree(place / "train", place / "val")
    (place / "val" / "a" / "one.png").unlink()
    assert folder.folder("test", 8).load(np.array([0]))["label"].tolist() == [1]
    shutil.rmtree(place / "val" / "a")
    with pytest.raises(DataError, match=r"have other classes: 'a' is in one alone$"):
        folder.folder("test", 8)
    (place / "val" / "a").mkdir()
    (place / "val" / "c").mkdir()
    with pytest.raises(DataError, match=r"have other classes: 'c' is in one alone$"):
        folder.folder("test", 8)


def test_the_paper_preset_says_what_it_lacks(
    offline, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is ImageNet: that Fashion-MNIST is not at hand does not matter."""
    monkeypatch.delenv(folder.VARIABLE, raising=False)
    monkeypatch.setenv("CRT_RUNS", str(tmp_path / "runs"))
    options = ["--preset", "paper", "--jobs", "1", "--quiet", "--out", str(tmp_path)]
    assert main(options) == 3
    said = capsys.readouterr().err
    assert said.startswith("vision: ImageNet is not at hand") and said.count("\n") == 1


def test_images_of_another_size_are_refused() -> None:
    with pytest.raises(DataError, match="images of digits have 8 pixels a side; the model takes"):
        source(Origin("fashion_mnist", "digits", "0"), "train", 28)
