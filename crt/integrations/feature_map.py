"""One real map φ with φ(x)·φ(y) ≈ exp(-γ‖x-y‖²), for libraries that want columns.

With points stretched by √(2γ) the Gaussian kernel exp(-‖x-y‖²/2) becomes exp(-γ‖x-y‖²). Where
f1 = f2 is real (s = +1 and the discrete mechanisms) the columns are the features. Where s = -1 and
A is real, f2 is the conjugate of f1, and Re f1(x) f2(y) is a product of cosines plus one of sines.
"""

import math
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from crt.mechanisms import GERF, Mechanism, TrigRF
from crt.mechanisms.exponential import project
from crt.trigonometry import cos_sin_pi

# Entries of a block of the result: large enough to keep the threads busy, small enough for a cache.
BLOCK = 2**20
# Fewer rows than this are padded to a power of two: few programs, each compiled once, serve them.
SMALL = 1024


def padded(x: Float[np.ndarray, "l k"]) -> Float[np.ndarray, "p k"]:
    """x with its last row repeated until a small number of rows is a power of two."""
    rows = len(x) if len(x) >= SMALL else 1 << (len(x) - 1).bit_length()
    return x if rows == len(x) else np.pad(x, ((0, rows - len(x)), (0, 0)), mode="edge")


def oscillates(mechanism: Mechanism) -> bool:
    """Whether one projection gives a cosine and a sine; refuses features without a real map."""
    if not isinstance(mechanism, GERF):
        return mechanism.complex_features
    if np.any(np.imag(mechanism.A) != 0):
        raise ValueError(
            f"mechanism is a GERF with A = {mechanism.A}; A must be real here, for with complex A "
            "f1 and f2 are not conjugate, and no single real map has this kernel."
        )
    return bool(np.all(np.asarray(mechanism.s) < 0))


def _join(cosine: Array, sine: Array, width: int) -> Array:
    """Cosines, then sines, `width` columns in all; for an odd width the last sine is left out."""
    if width == 2 * cosine.shape[-1]:
        # XLA writes a stack faster than the concatenation, which has the same entries.
        return jnp.stack([cosine, sine], axis=1).reshape(-1, width)
    return jnp.concatenate([cosine, sine[:, : width // 2]], axis=-1)


@partial(jax.jit, static_argnames=("width",))
def _waves(half_turns: Array, phases: Array, x: Array, width: int) -> Array:
    """√(2/width) times cosines and sines of π(half_turns·x + phases)."""
    cosine, sine = cos_sin_pi(project(x, half_turns) + phases)
    return math.sqrt(2 / width) * _join(cosine, sine, width)


@partial(jax.jit, static_argnames=("width", "paired"))
def _columns(
    mechanism: Mechanism, omega: Array, phases: Array, x: Array, width: int, paired: bool
) -> Array:
    """Features over √width, or pairs of real and imaginary parts over √(width/2)."""
    values = mechanism.features(x, omega, "x")
    if not paired:
        return jnp.real(values) / math.sqrt(width)
    cosine, sine = cos_sin_pi(phases)
    real, imaginary = jnp.real(values), jnp.imag(values)
    turned = (real * cosine - imaginary * sine, real * sine + imaginary * cosine)
    return math.sqrt(2 / width) * _join(*turned, width)


@partial(jax.jit, static_argnames=("count", "dim", "orthogonal"))
def _sample(mechanism: Mechanism, key: Array, count: int, dim: int, orthogonal: bool) -> Array:
    return mechanism.sample(key, count, dim, orthogonal, dtype=jnp.float64)


def draw(
    mechanism: Mechanism, key: Array, count: int, dim: int, orthogonal: bool
) -> Float[np.ndarray, "{count} {dim}"]:
    """Projections ω, drawn in float64, whose normals have tails to 8 (float32: to 5)."""
    with jax.enable_x64(True):
        return np.asarray(_sample(mechanism, key, count, dim, bool(orthogonal)))


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """A mechanism with its projections, as a function from points (L, d) to (L, width) columns.

    An odd number of columns from pairs ends in a cosine of random phase b without its sine:
    E 2cos(u+b)cos(v+b) = cos(u-v), so it has the mean of a pair at half a pair's weight.
    """

    mechanism: Mechanism
    omega: Float[np.ndarray, "m d"]
    phases: Float[np.ndarray, " m"]
    stretch: float
    width: int
    paired: bool

    @classmethod
    def draw(
        cls,
        mechanism: Mechanism,
        key: Array,
        dim: int,
        width: int,
        *,
        stretch: float = 1.0,
        orthogonal: bool = False,
    ) -> "FeatureMap":
        """The map with new projections for `width` columns."""
        paired = oscillates(mechanism)
        count = -(-width // 2) if paired else width
        with jax.enable_x64(True):
            omega_key, phase_key = jax.random.split(key)
            phases = np.zeros(count)
            if paired and width % 2:
                phases[-1] = jax.random.uniform(phase_key, (), jnp.float64, 0, 2)
        omega = draw(mechanism, omega_key, count, dim, orthogonal)
        return cls(mechanism, omega, phases, stretch, width, paired)

    def _block(self, dtype: np.dtype):
        """The map of one block of points, in the given dtype."""
        omega, phases = self.omega, self.phases.astype(dtype)
        if isinstance(self.mechanism, TrigRF):
            half_turns = (omega * (self.stretch / np.pi)).astype(dtype)
            return lambda x: _waves(half_turns, phases, x, self.width)
        omega, stretch = omega.astype(dtype), dtype.type(self.stretch)
        return lambda x: _columns(
            self.mechanism, omega, phases, stretch * x, self.width, self.paired
        )

    def __call__(self, x: Float[np.ndarray, "l d"]) -> Float[np.ndarray, "l width"]:
        """The columns of every row, in x's dtype (float32 or float64). O(L·d·width).

        Blocks of rows are computed one ahead of the copy into the result, which is writable and
        touched once. The last block reaches back, so that one program serves all blocks.
        """
        rows = max(1, BLOCK // self.width)
        with jax.enable_x64(x.dtype == np.float64):
            block = self._block(x.dtype)
            if len(x) <= rows:
                return np.array(np.asarray(block(padded(x)))[: len(x)])
            out = np.empty((len(x), self.width), x.dtype)
            starts = [min(start, len(x) - rows) for start in range(0, len(x), rows)]
            ahead = block(x[:rows])
            for start, following in zip(starts, [*starts[1:], None], strict=True):
                ready = ahead
                if following is not None:
                    ahead = block(x[following : following + rows])
                out[start : start + rows] = ready
        return out
