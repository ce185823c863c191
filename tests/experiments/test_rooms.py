"""The rooms of an experiment are the files that its units import, directly or through others.

Imports are read, not run. A package is a namespace: what is taken from it counts as the module that
defines it, so that `import crt` alone is no dependence.
"""

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from experiments.__main__ import EXPERIMENTS
from experiments.data import Origin
from experiments.experiment import DELIVERY, NAMED, ROOT, RUNNING, Experiment

STUDIES = ("variance", "classification", "migration", "minilm", "vision", "vision-plan")


def study(name: str) -> Experiment:
    return importlib.import_module(EXPERIMENTS[name][0]).EXPERIMENT


def module(name: str) -> Path | None:
    """The file of a module of this repository, of a package its `__init__.py`."""
    place = ROOT.joinpath(*name.split("."))
    for path in (place.with_suffix(".py"), place / "__init__.py"):
        if name and path.is_file():
            return path
    return None


def source(node: ast.ImportFrom, path: Path) -> str:
    """The module that an import names, from the root."""
    above = path.relative_to(ROOT).parent.parts
    parent = above[: len(above) - node.level + 1] if node.level else ()
    return ".".join((*parent, *filter(None, [node.module])))


@cache
def imports(path: Path) -> dict[str, str]:
    """Every name that a file imports, anywhere in it, and what it stands for."""
    found = {}
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {each.asname or each.name: each.name for each in node.names}
            tops = (each.name.split(".")[0] for each in node.names if not each.asname)
            found |= {top: top for top in tops}
        elif isinstance(node, ast.ImportFrom):
            whole = source(node, path)
            found |= {each.asname or each.name: f"{whole}.{each.name}" for each in node.names}
    return found


def definer(name: str) -> Path | None:
    """The file that defines a dotted name; None for a package and for what is not ours."""
    path = module(name)
    if path is not None:
        return None if path.name == "__init__.py" else path
    parent, _, last = name.rpartition(".")
    package = module(parent)
    if package is None:
        return definer(parent) if parent else None
    given = imports(package).get(last) if package.name == "__init__.py" else None
    return definer(given) if given else package


@cache
def direct(path: Path) -> frozenset[Path]:
    """The files whose definitions a file uses."""
    known = imports(path)
    dotted = set(known.values())
    attributes = (
        node
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute)
    )
    for node in attributes:
        base, _, rest = ast.unparse(node).partition(".")
        if base in known and re.fullmatch(r"[\w.]+", rest):
            dotted.add(f"{known[base]}.{rest}")
    return frozenset(found for name in dotted if (found := definer(name)))


def reached(start: Path, outside: frozenset[Path]) -> set[Path]:
    """The files that one depends on, itself included; those outside are not looked into."""
    seen: set[Path] = set()
    waiting = {start}
    while waiting:
        path = waiting.pop()
        seen.add(path)
        waiting |= direct(path) - seen - outside
    return seen


def inside(experiment: Experiment) -> set[Path]:
    """Every file of the rooms."""
    places = (ROOT / room for room in experiment.rooms)
    return {path for each in places for path in ([each] if each.is_file() else each.rglob("*.py"))}


def closures(experiment: Experiment) -> Iterator[tuple[Path, set[Path]]]:
    """Every module with work of the units, and the files that it depends on."""
    outside = frozenset(
        ROOT / name for name in (*RUNNING, *DELIVERY, *(NAMED if experiment.data else ()))
    )
    origins = {name: Origin(name, None, "0" * 64) for name in experiment.data}
    units = experiment.units(experiment.presets["laptop"], origins)
    for name in sorted({unit.work.__module__ for unit in units}):
        path = module(name)
        assert path is not None
        yield path, reached(path, outside)


def missing(experiment: Experiment) -> set[str]:
    """What units depend on and neither the rooms nor the module of their work hold."""
    rooms = inside(experiment)
    lacking = (files - rooms - {own} for own, files in closures(experiment))
    return {path.relative_to(ROOT).as_posix() for path in set().union(*lacking)}


@pytest.mark.parametrize("name", STUDIES)
def test_the_rooms_hold_all_that_units_depend_on(name: str) -> None:
    assert missing(study(name)) == set()


@pytest.mark.parametrize("name", STUDIES)
def test_no_room_is_without_use(name: str) -> None:
    experiment = study(name)
    assert all((ROOT / room).exists() for room in experiment.rooms)
    used = set().union(*(files for _, files in closures(experiment)))
    idle = [
        room
        for room in experiment.rooms
        if not any(path.is_relative_to(ROOT / room) for path in used)
    ]
    assert idle == [] and len(set(experiment.rooms)) == len(experiment.rooms)


@pytest.mark.parametrize("name", STUDIES)
def test_a_room_that_is_left_out_is_noticed(name: str) -> None:
    experiment = study(name)
    for room in experiment.rooms:
        fewer = tuple(each for each in experiment.rooms if each != room)
        assert missing(replace(experiment, rooms=fewer)), room


@pytest.mark.parametrize("name", ["variance", "classification"])
def test_attention_and_integrations_are_no_rooms(name: str) -> None:
    places = [path.relative_to(ROOT).as_posix() for path in inside(study(name))]
    assert not [each for each in places if each.startswith(("crt/attention", "crt/integrations"))]


def test_names_are_followed_to_where_they_are_defined() -> None:
    where = {
        "crt": None,
        "numpy.linalg": None,
        "crt.OPRF": "crt/mechanisms/exponential.py",
        "crt.MECHANISMS.items": "crt/mechanisms/__init__.py",
        "crt.kernels.gaussian": "crt/kernels.py",
        "crt.FavorAttention": "crt/attention/favor.py",
        "experiments.data.one_hot": "experiments/data/encodings.py",
    }
    for name, path in where.items():
        assert definer(name) == (ROOT / path if path else None), name
