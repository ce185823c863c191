"""A run at a glance: loss, norm of the gradient and tests against steps."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from experiments.training.history import Row


def draw(rows: Sequence[Row], path: Path) -> None:
    """Write the curves of a run as SVG."""
    tests = [row for row in rows if "test" in row]
    names = list(tests[-1]["test"]) if tests else []
    with mpl.rc_context({"svg.hashsalt": "run"}):
        figure = Figure(figsize=(9, 3), layout="constrained")
        panels = figure.subplots(1, 2 + len(names), squeeze=False)[0]
        for axis, key in zip(panels, ("loss", "gradient_norm"), strict=False):
            own = [row for row in rows if key in row]
            axis.plot([row["step"] for row in own], [row[key] for row in own], linewidth=0.8)
            axis.set_title(key.replace("_", " "))
        for axis, name in zip(panels[2:], names, strict=True):
            axis.plot([row["step"] for row in tests], [row["test"][name] for row in tests], "o-")
            axis.set_title(f"test {name}")
        for axis in panels:
            axis.set_xlabel("steps")
        figure.savefig(path, metadata={"Date": None, "Creator": None})
