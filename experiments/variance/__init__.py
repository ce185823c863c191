"""Variances of the mechanisms on data (the paper's first experiment), and their errors."""
