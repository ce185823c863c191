"""One fault: an attribute of the shipped code, replaced while it runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax


@dataclass(frozen=True)
class Fault:
    """`target.attribute` replaced by `change(original)`."""

    name: str
    summary: str
    target: Any
    attribute: str
    change: Callable[[Any], Any]

    @contextmanager
    def active(self) -> Iterator[None]:
        """The shipped code with this fault.

        Compiled code is forgotten on entry and on exit, so that what is traced in between has the
        fault and nothing else has.
        """
        original = vars(self.target)[self.attribute]
        setattr(self.target, self.attribute, self.change(original))
        jax.clear_caches()
        try:
            yield
        finally:
            setattr(self.target, self.attribute, original)
            jax.clear_caches()


def scaled(factor: float) -> Callable[[Any], Any]:
    """The function's result times a factor."""
    return lambda original: lambda *args: original(*args) * factor


def with_argument(position: int, change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function with one of its arguments changed."""

    def faulty(original: Any) -> Any:
        def call(*args: Any, **rest: Any) -> Any:
            given = list(args)
            given[position] = change(given[position])
            return original(*given, **rest)

        return call

    return faulty
