"""Paragraphs of WikiText-2."""

import gzip
from pathlib import Path

import pytest

from experiments.data.catalogue import WIKITEXT
from experiments.data.errors import DataError
from experiments.pretrained import wikitext


@pytest.mark.usefixtures("real_data")
def test_paragraphs() -> None:
    assert len(wikitext.paragraphs(10_000)) == 2183
    assert len(wikitext.paragraphs(10_000, 200)) == 287
    (first,) = wikitext.paragraphs(1)
    assert first.startswith("Robert <unk> is an English film , television and theatre actor .")


def test_another_text_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / WIKITEXT.path
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(b" = A = \n"))
    monkeypatch.setenv("CRT_DATA", str(tmp_path))
    with pytest.raises(DataError, match="not the file that is wanted"):
        wikitext.paragraphs(1)
