"""What the paper leaves open, and how much hangs on it: how images are resized, and L.

Section 5.1 does not say how MNIST was brought to 8×8 nor how its pixels were scaled. The shift of
PoisRF+ and GeomRF+ is a minimum over L points, so their variances grow with L.
"""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import crt
from crt.statistics import collect
from experiments.data import Origin, load_images, shrink
from experiments.variance.logs import fit, halved, moments
from experiments.variance.regimes import DIM, SIDE, pairs

RATIOS = (("gerf", "trig"), ("gerf", "pos"), ("oprf", "pos"), ("geom+", "pos"))
"""Mechanisms whose variances the paper compares, and one pair more: GERF and PosRF."""
OLD = 28
CENTRES = (np.arange(SIDE) + 0.5) * (OLD / SIDE)


def _bilinear(pixels: np.ndarray) -> np.ndarray:
    """Between the four pixels around each new centre, without smoothing first."""
    place = CENTRES - 0.5
    left = np.floor(place).astype(int)
    weights = np.zeros((SIDE, OLD))
    weights[np.arange(SIDE), left] = 1 - (place - left)
    weights[np.arange(SIDE), left + 1] = place - left
    return np.einsum("ai,nij,bj->nab", weights, pixels, weights)


def _nearest(pixels: np.ndarray) -> np.ndarray:
    """The pixel at each new centre."""
    place = CENTRES.astype(int)
    return pixels[:, place][:, :, place]


def _area(pixels: np.ndarray) -> np.ndarray:
    return shrink(pixels, SIDE)


RESIZED: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "means of areas": _area,
    "bilinear": _bilinear,
    "nearest pixel": _nearest,
    "means of areas, brightest pixel 1": lambda p: _area(p) / _area(p).max((1, 2), keepdims=True),
    "means of areas, mean image removed": lambda p: _area(p) - _area(p).mean(axis=0),
    "means of areas, standardised as a whole": lambda p: (
        (_area(p) - _area(p).mean()) / _area(p).std()
    ),
}
ROWS = (64, 256, 1024)


def ratios(x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Differences of mean log variances: how many powers of e the second lies above the first."""
    with jax.enable_x64(True):
        one, other = jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32)
        statistics = collect(one, other)
        means = {}
        for name in {name for pair in RATIOS for name in pair}:
            cls = crt.MECHANISMS[name]
            means[name] = float(moments(fit(cls, statistics), one, other)[0]) - halved(cls)
    return {f"{new} / {old}": means[old] - means[new] for new, old in RATIOS}


def by_image(config: Mapping[str, Any]) -> dict[str, float]:
    """A unit: MNIST at σ = 1, resized and scaled in one of the ways."""
    draw = np.random.default_rng(config["seed"])
    pixels = load_images("mnist", given=Origin(**config["images"])).pixels
    chosen = pixels[draw.permutation(len(pixels))[: 2 * config["rows"]]].astype(np.float64)
    x, y = RESIZED[config["variant"]](chosen).reshape(2, config["rows"], DIM)
    return ratios(x, y)


def by_rows(config: Mapping[str, Any]) -> dict[str, float]:
    """A unit: the regimes normal and heterogen at σ = 1 with another number L of points."""
    x, y = pairs(config["regime"], 1.0, config["rows"], config["seed"], {})
    return ratios(x, y)
