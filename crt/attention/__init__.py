"""Linear attention with random features: FAVOR++, FAVOR+, FAVOR and two baselines."""

from crt.attention.favor import FavorAttention

__all__ = ["FavorAttention"]
