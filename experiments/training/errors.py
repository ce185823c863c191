"""What goes wrong in training, in one sentence each."""

from typing import Any


class ConfigError(ValueError):
    """A configuration makes no sense; the message is one sentence."""


class TrainingError(Exception):
    """A run cannot go on; the message is one sentence."""


class Diverged(TrainingError):
    """What is measured, such as the loss, is not finite any more."""

    def __init__(self, step: int, name: str, value: float):
        super().__init__(f"the {name} is {value} at step {step}; the run was stopped there")
        self.step, self.name, self.value = step, name, value

    def __reduce__(self) -> tuple[Any, ...]:
        """Sent between processes with what it was made of."""
        return Diverged, (self.step, self.name, self.value)
