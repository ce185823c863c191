"""Linear attention with random features: FAVOR++, FAVOR+, FAVOR and two baselines."""

from crt.attention.favor import FavorAttention
from crt.attention.report import Report
from crt.attention.sharded import shard
from crt.attention.state import State

__all__ = ["FavorAttention", "Report", "State", "shard"]
