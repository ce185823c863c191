"""The README's table is made from the committed results."""

import json
from pathlib import Path

import pytest

from paper_figures import readme
from paper_figures.__main__ import main
from paper_figures.results import Results, ResultsError
from tests.paper_figures import sample

ROOT = Path(__file__).parents[2]
FRAME = "\n".join(
    [
        "before",
        *(f"{begin}\nold\n{end}" for begin, end in map(readme.marks, readme.BLOCKS)),
        "after\n",
    ]
)


def test_the_table_is_up_to_date() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    new = readme.updated(text, Results(ROOT / "results"))
    assert new == text, "run `python -m paper_figures --readme README.md`"


def test_a_changed_number_is_noticed(put_study, study) -> None:
    text = readme.updated(FRAME, Results(put_study(study)))
    study["verdicts"][0]["ours"] = 83.9
    assert readme.updated(text, Results(put_study(study))) != text


def test_a_row_for_every_verdict(put_study, study) -> None:
    text = readme.updated(FRAME, Results(put_study(study)))
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    rows = [line for line in text.splitlines() if line.startswith("| Section 5.3.3")]
    command = "`python -m experiments variance --preset laptop`"
    assert rows[0] == (
        f"| Section 5.3.3, Figure 4: a below b | {command} | 5 min on 2 cores | > 80 | 83.6 "
        "| reproduced |"
    )
    assert "of work" not in text.lower() and text.count(command) == 1
    assert (
        "|  |  | > 80 | 0.0 | not reproduced |" in rows[1]
        and "| 8 | not judged (stand-in) |" in rows[2]
    )


def test_aims_of_attention_are_told_with_what_was_measured(tmp_path: Path) -> None:
    text = readme.updated(FRAME, Results(sample.store_attention(tmp_path)))
    assert "| forward, exponent in L | 1.02 | ≥ 0.95, ≤ 1.1 | met |" in text
    assert "| share of the rate | 0.4 | ≥ 0.45 | missed |" in text
    assert "Forward: up to L = 4096, exact attention is faster at none." in text
    assert "Missed: share of the rate. Bottleneck: exponentials." in text


def test_the_work_of_a_resumed_run_is_told_and_explained(put_study, study) -> None:
    folder = put_study(study)
    path = folder / "variance.laptop.manifest.json"
    about = json.loads(path.read_text("utf-8"))
    for resumed in ({"resumed": 3}, {}):
        del about["resumed"]
        about |= resumed
        path.write_text(json.dumps(about), "utf-8")
        text = readme.updated(FRAME, Results(folder))
        assert "| 2 min of work |" in text and text.count(readme.OF_WORK) == 1


def test_a_readme_without_a_place_for_it_is_refused(put_study, study) -> None:
    with pytest.raises(ResultsError, match="the README has no lines"):
        readme.updated("nothing", Results(put_study(study)))


def test_the_command_writes_the_readme(put_study, study, tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text(FRAME, "utf-8")
    arguments = ["--results", str(put_study(study)), "--quiet", "--readme", str(path)]
    assert main(arguments) == 0
    assert "a below b" in path.read_text("utf-8")
