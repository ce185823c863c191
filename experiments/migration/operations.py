"""How many multiplications a compiled function makes in products of arrays."""

import math
from collections.abc import Callable
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr


def multiplications(call: Callable[..., Any], *arguments: Any) -> int:
    """Those of all `dot_general`, the steps of every scan counted; loops of unknown length refused.

    Sums, exponentials and maxima are left out: they are fewer by a factor of the head's dim.
    """
    return _count(jax.make_jaxpr(call)(*arguments).jaxpr)


def _shape(variable: Any) -> tuple[int, ...]:
    return variable.aval.shape


def _count(jaxpr: Jaxpr) -> int:
    total = 0
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        if name == "while":
            raise ValueError("the function holds a loop whose length is not known.")
        if name == "dot_general":
            (contracted, _), _ = equation.params["dimension_numbers"]
            shape, made = (_shape(x) for x in (equation.invars[0], equation.outvars[0]))
            total += math.prod(made) * math.prod(shape[axis] for axis in contracted)
        steps = equation.params["length"] if name == "scan" else 1
        for inner in jax.tree.leaves(
            list(equation.params.values()), is_leaf=lambda x: isinstance(x, Jaxpr | ClosedJaxpr)
        ):
            if isinstance(inner, ClosedJaxpr):
                total += steps * _count(inner.jaxpr)
            elif isinstance(inner, Jaxpr):
                total += steps * _count(inner)
    return total
