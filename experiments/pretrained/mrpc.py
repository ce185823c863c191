"""Sentence pairs of MRPC, the sentences on which an encoder is compared with itself."""

from experiments.data.catalogue import MRPC
from experiments.data.files import content


def pairs(count: int) -> list[tuple[str, str]]:
    """The first pairs of the test split."""
    lines = content(MRPC).decode("utf-8-sig").splitlines()[1 : count + 1]
    rows = (line.split("\t") for line in lines)
    return [(one, other) for _, _, _, one, other in rows]
