"""Times of several tasks by one clock."""

import random
import statistics
import time
from collections.abc import Callable, Mapping


def interleaved(tasks: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median seconds of every task over rounds that run all of them, after one round unmeasured.

    What else the machine does then hits all tasks alike. Every round has an order of its own, the
    same in every run, so that none is always measured in the wake of the same other.
    """
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    order, shuffle = list(tasks), random.Random(0).shuffle
    for _ in range(repeats + 1):
        shuffle(order)
        for name in order:
            start = time.perf_counter()
            tasks[name]()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(each[1:]) for name, each in seconds.items()}
