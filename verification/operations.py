"""Arithmetic and memory of a traced program: counted in its jaxpr, so exact on any machine."""

import math
from collections.abc import Iterator
from typing import Any


def _inner(equation: Any) -> Iterator[Any]:
    """Programs inside an equation: loop bodies, branches, calls."""
    for value in equation.params.values():
        for each in value if isinstance(value, tuple | list) else (value,):
            program = getattr(each, "jaxpr", each)
            if hasattr(program, "eqns"):
                yield program


def operations(program: Any) -> int:
    """Multiplications of every product, and one for each entry of other results.

    Writing into a slice counts the slice: in a loop it is done in place. The body of a scan counts
    as often as it runs. A while loop, whose length is unknown, is refused.
    """
    total = 0
    for equation in getattr(program, "jaxpr", program).eqns:
        name = equation.primitive.name
        if name == "while":
            raise ValueError("a while loop has no length that could be counted")
        inner = sum(map(operations, _inner(equation)))
        if inner:
            total += inner * (equation.params["length"] if name == "scan" else 1)
        elif name == "dot_general":
            (contracted, _), _ = equation.params["dimension_numbers"]
            shared = math.prod(equation.invars[0].aval.shape[axis] for axis in contracted)
            total += shared * equation.outvars[0].aval.size
        elif name == "dynamic_update_slice":
            total += equation.invars[1].aval.size
        else:
            total += sum(variable.aval.size for variable in equation.outvars)
    return total


def largest_array(program: Any) -> int:
    """Entries of the largest array that any equation, however deep, computes."""
    largest = 0
    for equation in getattr(program, "jaxpr", program).eqns:
        own = (math.prod(variable.aval.shape) for variable in equation.outvars)
        largest = max(largest, *own, *map(largest_array, _inner(equation)))
    return largest
