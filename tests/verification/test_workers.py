"""Work is shared out by groups, every item once, and a worker without work takes a half."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from verification.runs import Ledger, RunError, Unit, run_units
from verification.workers import Shares, run_in_processes, shared_programs

ROOT = Path(__file__).parents[2]


def test_a_worker_keeps_its_group_and_then_takes_the_end_of_the_longest() -> None:
    items = [("a", f"a{k}") for k in range(6)] + [("b", "b0")]
    shares = Shares(items)
    assert [shares.take(0), shares.take(1), shares.take(0)] == ["a0", "b0", "a1"]
    assert [shares.take(1), shares.take(1)] == ["a4", "a5"]
    assert [shares.take(0), shares.take(0), shares.take(1), shares.take(0)] == [
        "a2",
        "a3",
        None,
        None,
    ]


def test_programs_are_shared_in_a_folder_that_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    with shared_programs():
        folder = Path(os.environ["JAX_COMPILATION_CACHE_DIR"])
        assert folder.is_dir()
    assert not folder.exists() and "JAX_COMPILATION_CACHE_DIR" not in os.environ
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "mine")
    with shared_programs():
        assert os.environ["JAX_COMPILATION_CACHE_DIR"] == "mine"
    assert os.environ["JAX_COMPILATION_CACHE_DIR"] == "mine"


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_every_item_is_taken_once(workers: int) -> None:
    items = [(f"group {k % 4}", k) for k in range(23)]
    shares, taken = Shares(items), []
    for turn in range(23 * workers):
        item = shares.take(turn % workers)
        taken += [item] if item is not None else []
    assert sorted(taken) == list(range(23))


def process(_: int) -> int:
    """The process that does the work."""
    return os.getpid()


def test_the_work_is_done_in_as_many_processes() -> None:
    done = dict(run_in_processes([(str(k % 2), k) for k in range(6)], process, 2))
    assert set(done) == set(range(6))
    assert len(set(done.values())) <= 2 and os.getpid() not in done.values()


def killed(config: Any) -> None:
    """The work of a unit whose process is killed."""
    if config["k"]:
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_worker_is_one_sentence(tmp_path: Path) -> None:
    units = [Unit(str(k), {"k": k}, killed, "one") for k in range(2)]
    with pytest.raises(RunError, match=r"a worker process was killed.* finished units are kept"):
        run_units(units, Ledger(tmp_path / "a.jsonl"), jobs=2, quiet=True)


def report(folder: str) -> None:
    """Work that leaves its process's number and goes on for long."""
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(600)


LONG = """
import sys
from tests.verification.test_workers import report
from verification.workers import run_in_processes
if __name__ == "__main__":
    list(run_in_processes([("a", sys.argv[1]), ("b", sys.argv[1])], report, 2))
"""


def test_workers_end_with_a_killed_parent(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    seen.mkdir()
    (tmp_path / "long.py").write_text(LONG)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(tmp_path / "long.py"), str(seen)]
    # The workers hold the other end of the pipe: it is read to its end when the last has gone.
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as parent:
        while len(list(seen.iterdir())) < 2:
            assert parent.poll() is None, "the parent ended before it was killed"
            time.sleep(0.01)
        parent.kill()
        assert parent.communicate(timeout=60) == (b"", None)
