"""Times of several tasks by one clock."""

import random
import statistics
import time
from collections.abc import Callable, Mapping

LOOK, LONGEST = 0.01, 2.0
"""Seconds between two looks at the process, and of the longest wait for it."""


def settle() -> None:
    """Wait until this process is idle: less than a tenth of a core between two looks.

    A task that returned may still be at work: XLA gives gigabytes back to the system after the
    result is there, and thread pools spin for a while. That work would be charged to the next task
    (it doubled the time of one that followed exact attention).
    """
    end = time.perf_counter() + LONGEST
    while time.perf_counter() < end:
        used = time.process_time()
        time.sleep(LOOK)
        if time.process_time() - used < LOOK / 10:
            return


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
            settle()
            start = time.perf_counter()
            tasks[name]()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(each[1:]) for name, each in seconds.items()}
