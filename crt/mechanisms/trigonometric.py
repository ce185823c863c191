"""Trigonometric features of Rahimi and Recht: exp(iω·x), the GERF with A = 0, s = -1."""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from crt import formulas
from crt.mechanisms.base import squared_norm
from crt.mechanisms.exponential import Exponential, project, row_norms, trigonometric_log_gain
from crt.pytrees import pytree
from crt.statistics import Statistics
from crt.trigonometry import cos_sin_pi


@pytree
class TrigRF(Exponential):
    """exp(iω·x) and exp(-iω·y): the real part of a product is cos(ω·(x-y)).

    One complex feature is the usual pair of a cosine and a sine.
    """

    name: ClassVar[str] = "trig"
    complex_features: ClassVar[bool] = True

    @classmethod
    def from_statistics(cls, statistics: Statistics) -> "TrigRF":
        """No parameter to fit."""
        return cls()

    def log_values(
        self, x: Array, omega: Array, side: str, kernel: str
    ) -> tuple[Array, Array | None]:
        cosine, sine = cos_sin_pi(project(x, omega / np.pi))
        own = row_norms(x, 0.5 if kernel == "softmax" else 0.0)
        phase = lax.complex(cosine, -sine if side == "y" else sine)
        return jnp.broadcast_to(own, cosine.shape), phase

    def gaussian_log_second_moment(self, x: Array, y: Array) -> Array:
        return formulas.log_second_moment_trig(squared_norm(x, y, -1))

    def gaussian_log_variance(self, x: Array, y: Array) -> Array:
        return formulas.log_variance_trig(squared_norm(x, y, -1))

    def gaussian_log_gain(self, x: Array, y: Array) -> tuple[Array, Array]:
        return trigonometric_log_gain(x, y)
