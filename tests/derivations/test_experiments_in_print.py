"""The line counts that notebook 12 reasons from are those of the data files, where they are."""

import ast
import os
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "derivations" / "12_experiments_in_print.py"
FILES = {
    "abalone": "abalone.data",
    "banknote": "data_banknote_authentication.txt",
    "car": "car.data",
    "yeast": "yeast.data",
    "cmc": "cmc.data",
    "nursery": "nursery.data",
    "wifi": "wifi_localization.txt",
    "chess": "krkopt.data",
}


def stated_lines() -> dict[str, int]:
    for node in ast.parse(SOURCE.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "LINES":
            return ast.literal_eval(node.value)
    raise AssertionError("the notebook has no LINES")


@pytest.mark.parametrize("name", FILES)
def test_line_counts(name: str) -> None:
    folder = os.environ.get("CRT_DATA")
    if not folder:
        pytest.skip("CRT_DATA names no data folder")
    text = (Path(folder) / "uci" / FILES[name]).read_bytes()
    assert len(text.splitlines()) == stated_lines()[name]
