"""Rounds of timed tasks."""

from experiments.benchmarks import clock


def test_rounds_begin_with_each_task_in_turn() -> None:
    calls = []
    times = clock.interleaved({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 3)
    assert calls == ["a", "b", "b", "a"] * 2 and set(times) == {"a", "b"}
