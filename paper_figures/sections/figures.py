"""The figures, drawn into the page."""

import html

from paper_figures.gallery import Drawing, absent, drawings
from paper_figures.markup import Markup, element, join, prose
from paper_figures.results import Results
from paper_figures.sections.links import heading
from paper_figures.style import inline


def render(results: Results) -> Markup | None:
    drawn = drawings(results)
    if not drawn:
        return None
    missing = absent(results)
    lead = [f"Left out, because these results hold nothing for them: {', '.join(missing)}."]
    return join([heading("Figures", *(lead if missing else [])), *map(_figure, drawn)])


def _figure(drawing: Drawing) -> Markup:
    label = html.escape(f"{drawing.title}. {drawing.caption}")
    plot = element("div", Markup(inline(drawing.svg, drawing.name, label)), class_="plot")
    words = element("figcaption", element("b", drawing.title), prose(drawing.caption))
    return element("figure", plot, words, id=f"figure-{drawing.name}")
