"""Below the verdicts of the classification: what came out, both tables, and what the paper did.

Sentences that state an outcome are made of the numbers; where a part was not run they are absent.
"""

from paper_figures.markup import Markup, join
from paper_figures.results import Run
from paper_figures.sections.classification import preparation, ranking, summary, tables, trig


def render(run: Run) -> Markup:
    numbers = run.numbers
    parts: list[Markup] = []
    if numbers.get("accuracy"):
        parts += [*summary.render(numbers, run.verdicts), *tables.render(numbers)]
    if numbers.get("ranks"):
        parts += ranking.render(numbers)
    if numbers.get("preparations"):
        parts += preparation.render(numbers)
    if (numbers.get("shares") or {}).get("sets"):
        parts += trig.render(numbers)
    return join(parts)
