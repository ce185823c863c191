"""Attention over sequences that no attention matrix could hold."""
