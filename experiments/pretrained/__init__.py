"""Pretrained encoders, on which attention is tried without any training."""
