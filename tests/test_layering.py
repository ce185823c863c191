"""Imports between the rooms of the repository run in one direction, and `crt` sets no JAX flag."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# What each room may import of the repository, beside itself.
ALLOWED = {
    "crt": (),
    "derivations": (),
    "verification": ("crt", "derivations"),
    "experiments": ("crt", "verification.runs"),
    "paper_figures": (),
}
LOCAL = (*ALLOWED, "tests")
FOREIGN = {"crt": ("sympy",), "derivations": ("jax", "jaxlib")}


def within(name: str, packages: tuple[str, ...]) -> bool:
    """Whether a dotted name is one of the packages or lies inside one."""
    return any(name == package or name.startswith(package + ".") for package in packages)


def bindings(tree: ast.AST, package: tuple[str, ...]) -> Iterator[tuple[int, str, str]]:
    """Line, bound name and full dotted name of everything imported in a module of `package`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                yield node.lineno, alias.asname or top, alias.name
        elif isinstance(node, ast.ImportFrom):
            # `from . import x` is level 1: the package itself.
            parent = package[: len(package) - node.level + 1] if node.level else ()
            source = ".".join((*parent, *filter(None, [node.module])))
            for alias in node.names:
                yield node.lineno, alias.asname or alias.name, f"{source}.{alias.name}".lstrip(".")
        elif (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) in ("importlib.import_module", "import_module", "__import__")
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            yield node.lineno, "", str(node.args[0].value)


def flag_writes(tree: ast.AST, aliases: dict[str, str]) -> Iterator[tuple[int, str]]:
    """Line and reason of everything that sets a global JAX flag."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and str(node.value).startswith("JAX_"):
            yield node.lineno, f"names the environment variable {node.value}"
        if not isinstance(node, ast.Attribute):
            continue
        base, _, rest = ast.unparse(node).partition(".")
        name = f"{aliases.get(base, base)}.{rest}"
        written = isinstance(node.ctx, ast.Store) and name.startswith("jax.config.")
        if name == "jax.config.update" or written:
            yield node.lineno, f"sets a global JAX flag through {name}"


def violations(source: str, path: str) -> list[str]:
    """Every breach of the rules in the module at `path`, relative to the root of the repository."""
    package = Path(path).parent.parts
    room = package[0]
    tree = ast.parse(source, path)
    imported = list(bindings(tree, package))
    found = []
    for line, _, name in imported:
        sibling = within(name, LOCAL) and not within(name, (room, *ALLOWED[room]))
        if sibling or within(name, FOREIGN.get(room, ())):
            found.append(f"{path}:{line}: {room} imports {name}")
    if room == "crt":
        # `import a.b` binds a; every other form binds the full name.
        aliases = {
            bound: bound if name.startswith(bound + ".") else name for _, bound, name in imported
        }
        found += [f"{path}:{line}: {reason}" for line, reason in flag_writes(tree, aliases)]
    return found


def test_rooms_keep_the_layering() -> None:
    paths = [path for room in ALLOWED for path in sorted((ROOT / room).rglob("*.py"))]
    assert paths
    breaches = [
        breach
        for path in paths
        for breach in violations(path.read_text("utf-8"), path.relative_to(ROOT).as_posix())
    ]
    assert not breaches, "\n".join(breaches)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("derivations/01_gerf.py", "import jax.numpy as jnp"),
        ("derivations/codegen.py", "def f():\n    from crt import formulas"),
        ("derivations/codegen.py", "import importlib\nimportlib.import_module('crt.formulas')"),
        ("derivations/codegen.py", "from tests import conftest"),
        ("crt/estimate.py", "import sympy"),
        ("crt/estimate.py", "from sympy.core import Expr"),
        ("crt/mechanisms/discrete.py", "from ... import derivations"),
        ("crt/mechanisms/discrete.py", "from ...derivations.symbols import rho"),
        ("crt/estimate.py", "import jax\njax.config.update('jax_enable_x64', True)"),
        ("crt/estimate.py", "import jax.numpy as n, jax as j\nj.config.update('a', 1)"),
        ("crt/estimate.py", "from jax import config as c\nc.update('jax_enable_x64', True)"),
        ("crt/estimate.py", "import jax\njax.config.jax_enable_x64 = True"),
        ("crt/estimate.py", "import os\nos.environ['JAX_ENABLE_X64'] = '1'"),
        ("verification/claims.py", "import experiments"),
        ("experiments/variance/run.py", "from verification import claims"),
        ("experiments/variance/run.py", "import verification"),
        ("experiments/variance/run.py", "from derivations.symbols import rho"),
        ("paper_figures/utility.py", "from crt import formulas"),
    ],
)
def test_planted_violation_is_flagged(path: str, source: str) -> None:
    assert len(violations(source, path)) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("derivations/01_gerf.py", "import sympy\nfrom derivations.symbols import rho"),
        ("derivations/codegen.py", "HEADER = 'import jax'\nimport jaxtyping"),
        ("crt/mechanisms/discrete.py", "from ..formulas import rho_star\nfrom . import trig"),
        ("crt/estimate.py", "import jax\nx64 = jax.config.jax_enable_x64\n{}.update(a=1)"),
        ("verification/claims.py", "import crt\nimport derivations.symbols\nimport jax, sympy"),
        ("experiments/variance/run.py", "import verification.runs\nfrom verification import runs"),
        ("experiments/variance/run.py", "from verification.runs import Unit\nimport crt"),
        ("paper_figures/utility.py", "import matplotlib.pyplot as plt\nfrom . import style"),
    ],
)
def test_permitted_imports_pass(path: str, source: str) -> None:
    assert violations(source, path) == []
