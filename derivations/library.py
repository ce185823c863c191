"""The formulas of all notebooks, read back from the committed notebooks without running them.

A notebook's metadata keeps each formula as text that Python evaluates to an equal `Formula`.
"""

import functools
import json
from collections.abc import Mapping
from typing import Any

import sympy as sp
from sympy.functions.elementary.piecewise import ExprCondPair
from sympy.functions.special.hyper import TupleArg
from sympy.tensor.indexed import Indexed, IndexedBase

from derivations import domain, special
from derivations.formula import Formula
from derivations.notebooks import sources

_EXPRESSIONS = ("expr", "definition")
_TABLES = ("domain", "lemmas", "change")
_PAIRS = ("lets", "definition_lets")

_NAMES = {
    **{name: getattr(sp, name) for name in dir(sp) if not name.startswith("_")},
    **{k: v for k, v in vars(special).items() if isinstance(v, type)},
    **{k: v for k, v in vars(domain).items() if isinstance(v, type)},
    "ExprCondPair": ExprCondPair,
    "Indexed": Indexed,
    "IndexedBase": IndexedBase,
    "TupleArg": TupleArg,
}


def describe(formula: Formula) -> dict[str, Any]:
    """`formula` as JSON: expressions by SymPy's constructor calls, ranges by their own."""
    given: dict[str, Any] = {
        "name": formula.name,
        "statement": formula.statement,
        "summary": formula.summary,
    }
    given |= {"args": [sp.srepr(arg) for arg in formula.args]}
    for name in _EXPRESSIONS:
        value = getattr(formula, name)
        given[name] = None if value is None else sp.srepr(sp.sympify(value))
    for name in (*_TABLES, *_PAIRS):
        value = getattr(formula, name)
        items = value.items() if isinstance(value, Mapping) else value
        given[name] = [[sp.srepr(key), _text(entry)] for key, entry in items]
    return given


def restore(given: Mapping[str, Any]) -> Formula:
    """The formula that `describe` has written."""
    fields = {name: given[name] for name in ("name", "statement", "summary")}
    fields["args"] = tuple(_evaluate(text) for text in given["args"])
    for name in _EXPRESSIONS:
        fields[name] = None if given[name] is None else _evaluate(given[name])
    for name in (*_TABLES, *_PAIRS):
        items = [(_evaluate(key), _evaluate(entry)) for key, entry in given[name]]
        fields[name] = dict(items) if name in _TABLES else tuple(items)
    return Formula(**fields)


class LibraryError(LookupError):
    """A notebook whose formulas cannot be read."""


@functools.cache
def load_handovers() -> Mapping[str, dict[str, Any]]:
    """What every committed notebook handed over, by its stem; read once."""
    found = {}
    for source in sources():
        file = source.with_suffix(".ipynb")
        if not file.exists():
            raise LibraryError(f"{source.stem} was never run: run python -m derivations first")
        found[source.stem] = json.loads(file.read_text(encoding="utf-8"))["metadata"]["crt"]
    return found


@functools.cache
def load_formulas() -> Mapping[str, Formula]:
    """Every formula of the committed notebooks, by name; read once."""
    return {
        entry["name"]: restore(entry["formula"])
        for given in load_handovers().values()
        for entry in given["formulas"]
    }


def _text(value: Any) -> str:
    return repr(value) if isinstance(value, domain.Range) else sp.srepr(sp.sympify(value))


def _evaluate(text: str) -> Any:
    return eval(text, {"__builtins__": {}}, dict(_NAMES))
