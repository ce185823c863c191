"""Attention by its definition, pair by pair in NumPy: features, masked matrix, normalised.

Everything is analytic in q, k and v but for the corners of relu and elu, so a step along the
imaginary axis gives derivatives without cancellation: f'(x)u = Im f(x + ihu)/h.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool

STEP = 1e-40
"""h: its square vanishes beside 1, and nothing is subtracted."""
RELU_OFFSET = 1e-3

Array = np.ndarray
"""Real numbers, or complex ones for a derivative."""


@dataclass(frozen=True)
class Given:
    """What a call gets: q (B, T, N, H), k (B, S, K, H), v (B, S, K, V), ω (N, M, H), ρ (B, N)."""

    name: str
    q: Array
    k: Array
    v: Array
    omega: Array
    rho: Array
    mask: Bool[np.ndarray, "b s"]
    is_causal: bool
    scale: float

    @property
    def label(self) -> str:
        return self.name + (", causal" if self.is_causal else "")

    @property
    def arrays(self) -> dict[str, Array]:
        return {"q": self.q, "k": self.k, "v": self.v}

    def per_query_head(self, x: Array) -> Array:
        """Heads (B, L, K, ·) repeated for their groups of query heads, (B, L, N, ·)."""
        return np.repeat(x, self.q.shape[2] // x.shape[2], axis=2)


def log_features(given: Given, x: Array) -> tuple[Array, Array]:
    """Logarithm (B, N, L, M) and factor of the features of queries or keys, every constant in."""
    x = np.sqrt(given.scale) * np.swapaxes(given.per_query_head(x), 1, 2)
    if given.name == "elu":
        return np.zeros(x.shape), np.where(
            np.real(x) > 0, x + 1, np.exp(np.where(np.real(x) > 0, 0, x))
        )
    dots = np.einsum("bnlh,nmh->bnlm", x, given.omega)
    half = np.sum(x**2, axis=-1, keepdims=True) / 2
    if given.name == "relu":
        return np.zeros(dots.shape), np.where(np.real(dots) > 0, dots, 0) + RELU_OFFSET
    if given.name == "trig":
        factor = np.concatenate([np.cos(dots), np.sin(dots)], axis=-1)
        return np.broadcast_to(half, factor.shape), factor
    rho = given.rho if given.name == "oprf" else np.ones_like(given.rho)
    a = (1 - 1 / rho)[:, :, None, None] / 8
    constant = x.shape[-1] / 4 * np.log(1 - 4 * a)
    constant = constant + a * np.sum(given.omega**2, axis=-1)[:, None]
    return constant + np.sqrt(1 - 4 * a) * dots - half, np.ones(dots.shape)


def _terms(given: Given) -> Array:
    """f(q_t)·f(k_j) of each feature, (B, N, T, S, M), relative to the largest of each row.

    0 where t may not see j.
    """
    k = np.where(given.mask[:, :, None, None], given.k, 0)
    log_q, factor_q = log_features(given, given.q)
    log_k, factor_k = log_features(given, k)
    seen = np.broadcast_to(given.mask[:, None, None, :], (*log_q.shape[:3], k.shape[1]))
    if given.is_causal:
        seen = seen & np.tril(np.ones(seen.shape[-2:], bool))
    logs = log_q[:, :, :, None, :] + log_k[:, :, None, :, :]
    top = np.max(np.where(seen[..., None], np.real(logs), -np.inf), axis=(-1, -2), keepdims=True)
    terms = np.exp(np.where(seen[..., None], logs - np.where(np.isfinite(top), top, 0), -np.inf))
    return terms * factor_q[:, :, :, None, :] * factor_k[:, :, None, :, :]


def weights(given: Given) -> Array:
    """Σ_m f(q_t)·f(k_j) where t may see j, else 0, relative to the largest term of each row."""
    return np.sum(_terms(given), axis=-1)


def cancellation(given: Given) -> float:
    """max_t Σ_jm |f(q_t)·f(k_j)| / |Σ_jm f(q_t)·f(k_j)|: 1 for positive features."""
    terms = _terms(given)
    total = np.abs(np.sum(terms, axis=(-1, -2)))
    seen = total > 0
    return float(np.max(np.sum(np.abs(terms), axis=(-1, -2))[seen] / total[seen], initial=1.0))


def attend(given: Given) -> Array:
    """Outputs (B, T, N, V); 0 for queries that see no key."""
    matrix = weights(given)
    total = np.sum(matrix, axis=-1, keepdims=True)
    rows = matrix / np.where(total == 0, 1, total)
    v = np.where(given.mask[:, :, None, None], given.v, 0)
    return np.einsum("bnts,bsnv->btnv", rows, given.per_query_head(v))


def slope(given: Given, name: str, direction: Array, change: Array) -> float:
    """Σ change·(derivative of the output along a direction of q, k or v)."""
    moved = replace(given, **{name: given.arrays[name] + 1j * STEP * direction})
    return float(np.sum(change * np.imag(attend(moved))) / STEP)
