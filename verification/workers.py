"""Processes that share out work by groups: what one group compiles is compiled once."""

import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import Any, TypeVar

Item = TypeVar("Item")


class Shares:
    """Items by group. A worker goes on with its own, then takes a whole group, then a half.

    The half is the end of what the worker with most has before it.
    """

    def __init__(self, items: Iterable[tuple[str, Any]]):
        groups: dict[str, deque[Any]] = {}
        for group, item in items:
            groups.setdefault(group, deque()).append(item)
        self._waiting = deque(groups.values())
        self._own: dict[int, deque[Any]] = {}

    def take(self, worker: int) -> Any:
        """The worker's next item, None if nothing is left."""
        if not self._own.get(worker):
            self._own[worker] = self._waiting.popleft() if self._waiting else self._half()
        own = self._own[worker]
        return own.popleft() if own else None

    def _half(self) -> deque[Any]:
        longest = max(self._own.values(), key=len, default=deque())
        kept = len(longest) // 2
        taken = deque(list(longest)[kept:])
        for _ in taken:
            longest.pop()
        return taken


@contextmanager
def shared_programs() -> Iterator[None]:
    """While processes that start share what they compile, in a folder that is gone afterwards.

    Planted faults make a process forget its programs, most of which have no fault in them and come
    back from the folder. XLA reports with every one that tuning hints are no features of the
    machine; that is not shown. What the user has set stays.
    """
    with tempfile.TemporaryDirectory(prefix="programs-") as folder:
        given = {
            "JAX_COMPILATION_CACHE_DIR": folder,
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        }
        before = dict(os.environ)
        # JAX has set a level of its own when it was imported.
        os.environ.update(given | before | {"TF_CPP_MIN_LOG_LEVEL": "3"})
        try:
            yield
        finally:
            for name in (*given, "TF_CPP_MIN_LOG_LEVEL"):
                os.environ.pop(name)
                os.environ.update({name: before[name]} if name in before else {})


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for work for ever."""
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def run_in_processes(
    items: Iterable[tuple[str, Item]], work: Callable[[Item], Any], jobs: int
) -> Iterator[tuple[Item, Any]]:
    """Every item with `work(item)`, as they come; items of a group run in one process, in order.

    An error of the work, or of whoever takes the results, ends all of it.
    """
    shares, running = Shares(items), dict[Future[Any], tuple[int, Item]]()
    with ExitStack() as stack:
        # JAX starts threads, which a forked process would inherit in an unusable state.
        spawn = get_context("spawn")
        made = (ProcessPoolExecutor(1, spawn, _end_with_parent) for _ in range(jobs))
        pools = [stack.enter_context(pool) for pool in made]

        def feed(worker: int) -> None:
            item = shares.take(worker)
            if item is not None:
                running[pools[worker].submit(work, item)] = worker, item

        try:
            for worker in range(jobs):
                feed(worker)
            while running:
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    worker, item = running.pop(future)
                    feed(worker)
                    yield item, future.result()
        except BaseException:
            for pool in pools:
                pool.shutdown(wait=False, cancel_futures=True)
            raise
