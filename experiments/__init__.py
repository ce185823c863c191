"""The paper's experiments, run on `crt`."""
