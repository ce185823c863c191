import json
import subprocess
import sys
from pathlib import Path

import pytest

from paper_figures.__main__ import STOPPED, USAGE, WRITTEN, main


def test_writes_the_page_and_the_figures(put, found, capsys: pytest.CaptureFixture[str]) -> None:
    folder = put(found)
    assert main(["--results", str(folder)]) == WRITTEN
    said = capsys.readouterr().out
    for name in ("report.html", "figures/gain.svg", "figures/gain.png", "figures/variance.svg"):
        assert (folder / name).stat().st_size > 1000 and name in said
    assert not list(folder.rglob("*.part"))


def test_json_and_another_folder(put, found, capsys: pytest.CaptureFixture[str]) -> None:
    folder = put(found)
    out = folder.parent / "elsewhere"
    (folder / "verification.manifest.json").unlink()
    assert main(["--results", str(folder), "--out", str(out), "--json"]) == WRITTEN
    said = json.loads(capsys.readouterr().out)
    assert (out / "report.html").as_posix() in said["written"]
    assert said["left_out"] == {
        "environment": "verification.manifest.json",
        "reproduction": "variance.PRESET.json",
    }
    assert not (folder / "report.html").exists()


def test_quiet_says_nothing(put, words, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--results", str(put(words)), "--quiet"]) == WRITTEN
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "is not JSON"),
        ("[1]", "holds no JSON object but a list"),
        ("{}", "has no list 'claims'"),
        ('{"claims": [{"id": "x"}]}', "an entry of 'claims' has no 'paper'"),
        ('{"claims": [3]}', "has no list 'claims'"),
    ],
)
def test_damaged_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, sentence: str
) -> None:
    (tmp_path / "verification.json").write_text(content, "utf-8")
    assert main(["--results", str(tmp_path)]) == STOPPED
    said = capsys.readouterr().err
    assert sentence in said and "verification.json" in said and said.count("\n") == 1


def test_bytes_that_are_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "verification.json").write_bytes(b"\xff\xfe\x00")
    assert main(["--results", str(tmp_path)]) == STOPPED
    assert "is not JSON" in capsys.readouterr().err


def test_absent_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--results", str(tmp_path / "none")]) == STOPPED
    assert "there is no folder" in capsys.readouterr().err
    assert main(["--results", str(tmp_path)]) == STOPPED
    assert "python -m verification makes them" in capsys.readouterr().err


def test_an_output_folder_that_cannot_be_made(
    put, words, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = put(words)
    taken = folder.parent / "file"
    taken.write_text("in the way", "utf-8")
    assert main(["--results", str(folder), "--out", str(taken)]) == STOPPED
    said = capsys.readouterr().err
    assert "cannot be written" in said and said.count("\n") == 1


def test_wrong_usage_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=str(USAGE)):
        main(["--nonsense"])
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    assert "exit codes" in capsys.readouterr().out


def test_nothing_of_the_other_rooms_is_loaded() -> None:
    """The page is made where neither JAX nor SymPy nor the shipped code is at hand."""
    program = (
        "import sys, paper_figures.__main__\n"
        "print([m for m in ('crt', 'jax', 'sympy', 'verification', 'derivations') "
        "if m in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"
