"""Progress of long work: a bar with a time estimate on a terminal, plain lines elsewhere."""

import sys
import time
from typing import TextIO

WIDTH = 24


def duration(seconds: float) -> str:
    """A length of time for people: 42 s, 3 min 05 s, 1 h 20 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


class Progress:
    """Counts finished pieces of work; `done` of them were finished before."""

    def __init__(
        self, total: int, *, done: int = 0, quiet: bool = False, stream: TextIO | None = None
    ):
        self.total, self.before, self.done = total, done, done
        self.quiet = quiet
        self.stream = stream or sys.stderr
        self.live = self.stream.isatty()
        self.start = time.monotonic()
        self.label = ""

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        if self.live and not self.quiet:
            self.stream.write("\r\x1b[K")
            self.stream.flush()

    def say(self, sentence: str) -> None:
        """A sentence on a line of its own, also when quiet: it is news, not progress."""
        self.stream.write(("\r\x1b[K" if self.live else "") + sentence + "\n")
        self._draw()

    def advance(self, label: str, *, lasting: bool = False) -> None:
        """One more piece is finished; a `lasting` label stays on a line above the bar."""
        self.done, self.label = self.done + 1, label
        if not self.quiet:
            if not self.live:
                self.stream.write(f"[{self.done}/{self.total}] {label}, {self._left()}\n")
            elif lasting:
                self.stream.write(f"\r\x1b[K{label}\n")
            self._draw()

    def _left(self) -> str:
        fresh = self.done - self.before
        if not fresh:
            return "time left unknown"
        each = (time.monotonic() - self.start) / fresh
        return f"about {duration(each * (self.total - self.done))} left"

    def _draw(self) -> None:
        if self.live and not self.quiet:
            filled = WIDTH * self.done // max(self.total, 1)
            bar = "█" * filled + "░" * (WIDTH - filled)
            line = f"{bar} {self.done}/{self.total}  {self._left()}  {self.label}"
            self.stream.write(f"\r\x1b[K{line[:100]}")
        self.stream.flush()
