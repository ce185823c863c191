"""All figures: drawn once from the results, as files and as parts of the page."""

import functools
from dataclasses import dataclass

from matplotlib.figure import Figure

from paper_figures import (
    accuracy,
    attention_map,
    attention_speed,
    constant,
    convergence,
    equal_cost,
    gain,
    log_vars,
    method_map,
    minilm,
    orthogonal,
    prediction,
    ranks,
    surface,
    tails,
    uniform,
    utility,
    variance,
    vision_accuracy,
    vision_error,
    vision_speed,
    vision_stability,
    vision_swap,
)
from paper_figures.results import Results
from paper_figures.style import paper_style, save

MODULES = (
    *(method_map, utility, log_vars, orthogonal, prediction, equal_cost),
    *(accuracy, ranks, constant, convergence),
    *(variance, surface, gain, tails, uniform),
    *(attention_speed, attention_map, minilm),
    *(vision_accuracy, vision_stability, vision_swap, vision_error, vision_speed),
)
"""One module a figure: TITLE, `draw(results)` and `caption(results)`."""


@dataclass(frozen=True)
class Drawing:
    """A finished figure."""

    name: str
    title: str
    caption: str
    figure: Figure
    svg: bytes

    def png(self) -> bytes:
        """The same as pixels; drawn again, for only files need it."""
        with paper_style():
            return save(self.figure, "png")


@functools.cache
def drawings(results: Results) -> tuple[Drawing, ...]:
    """Every figure whose results are there."""
    found = []
    for module in MODULES:
        with paper_style():
            figure = module.draw(results)
            if figure is not None:
                name = module.__name__.rpartition(".")[2]
                caption, svg = module.caption(results), save(figure, "svg")
                found.append(Drawing(name, module.TITLE, caption, figure, svg))
    return tuple(found)


def absent(results: Results) -> list[str]:
    """Names of the figures without results."""
    drawn = {drawing.name for drawing in drawings(results)}
    names = [module.__name__.rpartition(".")[2] for module in MODULES]
    return [name for name in names if name not in drawn]
