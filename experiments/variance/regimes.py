"""The four ways of drawing x and y in Section 5.1."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from experiments.data import Origin, load_images, shrink

DIM = 64
SIDE = 8
REGIMES = ("normal", "sphere", "heterogen", "mnist")


def pairs(
    regime: str, sigma: float, rows: int, seed: int, images: Mapping[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """x and y, each (rows, 64) float32, drawn at scale σ = 1 and multiplied by σ.

        normal     both N(0, σ²I)
        sphere     both uniform on the sphere of radius σ
        heterogen  N(0, σ²I) and N(σ·1, σ²I)
        mnist      random images, pixels in [0, 1], 8×8, times σ; no image is drawn twice

    One seed gives the same directions for every σ. `images` says where MNIST comes from.
    """
    draw = np.random.default_rng([seed, REGIMES.index(regime)])
    if regime == "mnist":
        x, y = _images(draw, rows, Origin(**images))
    else:
        x, y = draw.standard_normal((2, rows, DIM))
    if regime == "sphere":
        x, y = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (x, y))
    if regime == "heterogen":
        y = y + 1
    return (sigma * x).astype(np.float32), (sigma * y).astype(np.float32)


def _images(draw: np.random.Generator, rows: int, origin: Origin) -> np.ndarray:
    pixels = load_images("mnist", given=origin).pixels
    chosen = draw.permutation(len(pixels))[: 2 * rows]
    return shrink(pixels[chosen], SIDE).reshape(2, rows, DIM)
