"""What every training needs to know, and how a configuration is read from plain JSON."""

import dataclasses
import difflib
import typing
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

import numpy as np
from flax import nnx
from jax import Array
from jaxtyping import Float, Int, PRNGKeyArray

from experiments.training.errors import ConfigError
from experiments.training.optimizer import Optimizer

Made = TypeVar("Made")
Batch = Mapping[str, Array]
"""Arrays by name, the examples along their first axis."""


class Source(Protocol):
    """Examples that can be had in any order."""

    def __len__(self) -> int: ...

    def load(self, indices: Int[np.ndarray, " b"]) -> dict[str, np.ndarray]:
        """The named examples, (B, …) each."""
        ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(ABC):
    """A run: how long and how it learns; a subclass says what.

    Attributes:
        steps: updates of the parameters in all.
        batch: examples of an update, over all devices.
        seed: of the parameters, the order of the data, and all that is random in a step, which is
            a function of the seed and the step alone.
        ema: decay of the moving average of the parameters that is evaluated; None for none.
        evaluate_every, checkpoint_every: steps between two of them; the last step has both.
        curve_examples, test_examples: test examples of an evaluation on the way and at the end, all
            that there are if there are fewer.
    """

    steps: int
    batch: int
    seed: int
    optimizer: Optimizer
    ema: float | None = None
    evaluate_every: int
    checkpoint_every: int
    curve_examples: int = 2000
    test_examples: int = 50_000

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "evaluate_every", "checkpoint_every"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if self.ema is not None and not 0 <= self.ema < 1:
            raise ConfigError(f"ema is {self.ema}; it must be None or lie in [0, 1)")

    @abstractmethod
    def source(self, split: str) -> Source:
        """The examples of "train" or "test"."""

    @abstractmethod
    def model(self, rngs: nnx.Rngs) -> nnx.Module:
        """The model before any training."""

    @abstractmethod
    def loss(self, model: Any, batch: Batch, key: PRNGKeyArray) -> Float[Array, ""]:
        """What is minimised; the key is that of the step."""

    @abstractmethod
    def measures(self, model: Any, batch: Batch) -> dict[str, Float[Array, " b"]]:
        """What is averaged over test examples, one number for each of them."""

    @abstractmethod
    def layer(self, path: tuple[Any, ...]) -> int:
        """How far from the input the parameter at a path is, 0 … `layers`."""

    @property
    @abstractmethod
    def layers(self) -> int:
        """The layer that is farthest from the input."""

    @abstractmethod
    def start(self, model: Any) -> None:
        """Put the weights of an earlier training, if one is wanted, into a new model."""


def read(cls: type[Made], values: Mapping[str, Any]) -> Made:
    """A dataclass from plain JSON, what is nested included.

    A wrong name and a value of a wrong type are a `ConfigError`.
    """
    known = {field.name: field for field in dataclasses.fields(typing.cast(Any, cls))}
    for name in values:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
            raise ConfigError(f"{cls.__name__} has no setting {name!r}; {hint}")
    required = [n for n, f in known.items() if _required(f) and n not in values]
    if required:
        raise ConfigError(f"{cls.__name__} needs {', '.join(map(repr, required))}")
    hints = typing.get_type_hints(cls)
    made = {name: _value(hints[name], value) for name, value in values.items()}
    for name, value in made.items():
        if not _fits(hints[name], value):
            kinds = " or ".join(
                _title(each) for each in typing.get_args(hints[name]) or [hints[name]]
            )
            raise ConfigError(f"{cls.__name__}: {name} is {value!r}; it must be {kinds}")
    return cls(**made)


def _required(field: dataclasses.Field) -> bool:
    missing = dataclasses.MISSING
    return field.default is missing and field.default_factory is missing


TITLES = {
    **{int: "a whole number", float: "a number", str: "a text", bool: "true or false"},
    **{type(None): "None"},
}


def _title(kind: Any) -> str:
    return TITLES.get(kind) or f"settings of {kind.__name__}"


def _fits(hint: Any, value: Any) -> bool:
    """Whether a value is of a type, or of one of several; whole numbers are numbers too."""
    kinds = typing.get_args(hint) or (hint,)
    if isinstance(value, bool):
        return bool in kinds
    if isinstance(value, int) and float in kinds:
        return True
    return isinstance(value, kinds)


def _value(hint: Any, value: Any) -> Any:
    """A value of a field: mappings become the dataclass that the field may hold, lists tuples."""
    if isinstance(value, Mapping):
        kinds = [each for each in (hint, *typing.get_args(hint)) if dataclasses.is_dataclass(each)]
        return read(typing.cast(Any, kinds[0]), value) if kinds else value
    return tuple(value) if isinstance(value, list) else value
