"""Paragraphs of WikiText-2, the text on which pretrained encoders are looked at."""

from itertools import islice

from experiments.data.catalogue import WIKITEXT
from experiments.data.files import content


def paragraphs(count: int, least_words: int = 1) -> list[str]:
    """The first paragraphs of the test split of at least so many words; headings are left out."""
    lines = (line.strip() for line in content(WIKITEXT).decode("utf-8").splitlines())
    long = (line for line in lines if len(line.split()) >= least_words and line[0] != "=")
    return list(islice(long, count))
