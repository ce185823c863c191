"""Rounds of timed tasks."""

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
