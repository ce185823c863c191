"""FAVOR+ as public libraries compute it, in NumPy and float64, with what they add to it."""

import numpy as np
from jaxtyping import Float

Rows = Float[np.ndarray, "l d"]


def raw_signs(omega: Float[np.ndarray, "b d d"]) -> Float[np.ndarray, "b d d"]:
    """Orthogonal projections (rows) with the signs that a QR happens to give in place of theirs.

    A QR of G and a QR of its sign-corrected Q give the same Q, for their reflections see the same
    directions: this is what the libraries would have drawn from the same numbers.
    """
    lengths = np.linalg.norm(omega, axis=-1, keepdims=True)
    directions = np.swapaxes(omega / lengths, 1, 2)
    return lengths * np.swapaxes(np.linalg.qr(directions)[0], 1, 2)


def features(x: Rows, omega: Rows, per_row: bool, epsilon: float) -> Float[np.ndarray, "l m"]:
    """exp(ω·x - ‖x‖²/2 - maximum) + ε; the maximum is that of ω·x in the row, or in all rows.

    It leaves out the norms, as performer-pytorch does: features are at most e^{-‖x‖²/2}, beside ε.
    """
    x = x / x.shape[1] ** 0.25
    projected, norms = x @ omega.T, np.sum(x**2, axis=1, keepdims=True)
    top = np.max(projected, axis=1 if per_row else None, keepdims=True)
    return np.exp(projected - norms / 2 - top) + epsilon


def attend(
    q: Rows,
    k: Rows,
    v: Rows,
    omega: Rows,
    epsilon: float = 0.0,
    is_causal: bool = False,
    renormalize: bool = True,
) -> Rows:
    """Textbook FAVOR+: a stabiliser for each query, one for all keys, and ε in every feature.

    With `renormalize` false there is no denominator, as in fast_attention.
    """
    matrix = features(q, omega, True, epsilon) @ features(k, omega, False, epsilon).T / len(omega)
    matrix = np.tril(matrix) if is_causal else matrix
    return matrix @ v / (np.sum(matrix, axis=1, keepdims=True) if renormalize else 1)
