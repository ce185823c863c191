"""Rounds of timed tasks."""

import threading
import time
from itertools import pairwise

from experiments.benchmarks import clock


def test_rounds_run_every_task_once_and_in_the_wake_of_others() -> None:
    calls: list[str] = []
    names = "abcd"
    tasks = {name: (lambda name=name: calls.append(name)) for name in names}
    times = clock.interleaved(tasks, 24)
    assert set(times) == set(names) and len(calls) == 25 * len(names)
    rounds = [calls[start : start + len(names)] for start in range(0, len(calls), len(names))]
    assert all(sorted(each) == list(names) for each in rounds)
    before = {name: {a for a, b in pairwise(calls) if b == name} - {name} for name in names}
    assert all(before[name] == set(names) - {name} for name in names)


def test_what_a_task_leaves_running_is_not_charged_to_the_next() -> None:
    """A thread burns a core after its task has returned; the other task begins after its end."""
    left: list[threading.Thread] = []

    def burn() -> None:
        end = time.perf_counter() + 0.1
        while time.perf_counter() < end:
            pass

    def leave() -> None:
        left.append(threading.Thread(target=burn))
        left[-1].start()

    def look() -> None:
        found.extend(thread.is_alive() for thread in left)

    found: list[bool] = []
    clock.interleaved({"leave": leave, "look": look}, 4)
    assert found and not any(found)
