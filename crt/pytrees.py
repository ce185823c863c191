"""Frozen dataclasses as pytrees whose fields are all leaves."""

from dataclasses import dataclass, fields
from typing import Any, TypeVar, dataclass_transform

import jax

Class = TypeVar("Class", bound=type)


@dataclass_transform(frozen_default=True)
def pytree(cls: Class) -> Class:
    """Makes a class a frozen dataclass and a pytree, every field a child.

    A pytree is rebuilt without `__init__`: transformations put tracers, batched arrays and
    placeholders into the fields, and none of them is the user's input, which `__init__` checks.
    Two instances are equal only if they are one object: fields that are arrays have no truth value.
    """
    made = dataclass(frozen=True, eq=False)(cls)
    names = tuple(field.name for field in fields(made))

    def flatten(tree: Any) -> tuple[tuple[Any, ...], None]:
        return tuple(getattr(tree, name) for name in names), None

    def flatten_with_keys(tree: Any) -> tuple[tuple[tuple[Any, Any], ...], None]:
        return tuple((jax.tree_util.GetAttrKey(n), getattr(tree, n)) for n in names), None

    def unflatten(_: None, children: Any) -> Any:
        tree = object.__new__(made)
        for name, child in zip(names, children, strict=True):
            object.__setattr__(tree, name, child)
        return tree

    jax.tree_util.register_pytree_with_keys(made, flatten_with_keys, unflatten, flatten)
    return made
