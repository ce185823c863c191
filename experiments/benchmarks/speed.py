"""Time of a transform beside scikit-learn's RBFSampler, and the accuracy of its cosines."""

from typing import Any

import jax
import numpy as np
from sklearn.kernel_approximation import RBFSampler

from crt.integrations.sklearn import RandomFeatures
from crt.trigonometry import cos_sin_pi
from experiments.benchmarks.clock import interleaved


def transform_times(rows: int, dim: int, columns: int, repeats: int) -> dict[str, float]:
    """Median seconds of float32 transforms of rows × dim to `columns` columns."""
    x = np.random.default_rng(0).standard_normal((rows, dim), dtype=np.float32)
    # Norms near 1: the kernel of neighbours is neither 0 nor 1.
    x /= np.float32(dim**0.5)
    shared: dict[str, Any] = {"gamma": 0.5, "n_components": columns, "random_state": 0}
    estimators = {
        "RBFSampler": RBFSampler(**shared),
        "trig": RandomFeatures("trig", **shared),
        "trig, orthogonal": RandomFeatures("trig", orthogonal=True, **shared),
    }
    for estimator in estimators.values():
        estimator.fit(x)
    tasks = {name: (lambda e=e: e.transform(x)) for name, e in estimators.items()}
    return interleaved(tasks, repeats)


def cosine_error(points: int, largest: float = 1e4) -> float:
    """Largest |cos| or |sin| error at random float32 half turns, against float64.

    Half turns are reduced modulo 2 in float64, exactly, before they are multiplied by π.
    """
    draw = np.random.default_rng(1)
    size = np.exp(draw.uniform(np.log(1e-6), np.log(largest), points))
    t = (size * draw.choice([-1, 1], points)).astype(np.float32)
    turned = np.pi * np.remainder(t.astype(np.float64), 2)
    cosine, sine = (np.asarray(each, np.float64) for each in jax.jit(cos_sin_pi)(t))
    return float(max(np.abs(cosine - np.cos(turned)).max(), np.abs(sine - np.sin(turned)).max()))
