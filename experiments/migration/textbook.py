"""FAVOR+ as public libraries compute it, in NumPy and float64, with what they add to it."""

import numpy as np
from jaxtyping import Float

Rows = Float[np.ndarray, "l d"]


def raw_qr(draw: np.random.Generator, blocks: int, dim: int) -> Float[np.ndarray, "b d d"]:
    """Orthogonal rows of chi-distributed length, with the signs that QR happens to give."""
    normal = draw.standard_normal((2, blocks, dim, dim))
    lengths = np.linalg.norm(normal[1], axis=-1, keepdims=True)
    return lengths * np.swapaxes(np.linalg.qr(normal[0])[0], 1, 2)


def haar(draw: np.random.Generator, blocks: int, dim: int) -> Float[np.ndarray, "b d d"]:
    """The same with every column of Q multiplied by the sign of R's diagonal."""
    normal = draw.standard_normal((2, blocks, dim, dim))
    q, r = np.linalg.qr(normal[0])
    q = q * np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None, :]
    return np.linalg.norm(normal[1], axis=-1, keepdims=True) * np.swapaxes(q, 1, 2)


def features(x: Rows, omega: Rows, per_row: bool, epsilon: float) -> Float[np.ndarray, "l m"]:
    """exp(ω·x - ‖x‖²/2 - maximum) + ε; the maximum is that of ω·x in the row, or in all rows.

    It leaves out the norms, as performer-pytorch does: features are at most e^{-‖x‖²/2}, beside ε.
    """
    x = x / x.shape[1] ** 0.25
    projected, norms = x @ omega.T, np.sum(x**2, axis=1, keepdims=True)
    top = np.max(projected, axis=1 if per_row else None, keepdims=True)
    return np.exp(projected - norms / 2 - top) + epsilon


def attend(
    q: Rows, k: Rows, v: Rows, omega: Rows, epsilon: float = 0.0, is_causal: bool = False
) -> Rows:
    """Textbook FAVOR+: a stabiliser for each query, one for all keys, and ε in every feature."""
    matrix = features(q, omega, True, epsilon) @ features(k, omega, False, epsilon).T
    matrix = np.tril(matrix) if is_causal else matrix
    return matrix @ v / np.sum(matrix, axis=1, keepdims=True)
