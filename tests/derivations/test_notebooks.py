"""The committed notebooks are what a run of their sources gives, and every cell was run."""

import copy
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from derivations.notebooks import FOLDER, METADATA, read, sources

# Joined here so that this file does not match itself.
MACHINE = re.compile(
    r"(?<![\w.~-])/(?:" + "|".join(["home", "root", "tmp", "usr", "work", "Users"]) + r")/"
    r"|\bat 0x[0-9a-f]{6,}"
)


def codes(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def printed(cell: Any) -> str:
    """The text that a code cell printed."""
    return "".join(out.text for out in cell.outputs if out.output_type == "stream")


def strings(node: Any) -> Iterator[str]:
    """Every text in a notebook, without the escapes of its file."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict | list):
        for child in node.values() if isinstance(node, dict) else node:
            yield from strings(child)


def is_stale(notebook: Any, source: Any) -> bool:
    """Whether the cells differ from those of the source."""
    return [(c.cell_type, c.source) for c in notebook.cells] != [
        (c.cell_type, c.source) for c in source.cells
    ]


def is_unrun(notebook: Any, _: Any) -> bool:
    """Whether a code cell was not run, or not in order from the first to the last."""
    counts = [cell.execution_count for cell in codes(notebook)]
    return not counts or counts != list(range(1, len(counts) + 1))


def has_errors(notebook: Any, _: Any) -> bool:
    return any(out.output_type == "error" for cell in codes(notebook) for out in cell.outputs)


def has_warnings(notebook: Any, _: Any) -> bool:
    """Whether anything went to the error stream."""
    return any(out.get("name") == "stderr" for cell in codes(notebook) for out in cell.outputs)


def has_empty_cells(notebook: Any, _: Any) -> bool:
    return not all(cell.source.strip() for cell in notebook.cells)


def lacks_planted_errors(notebook: Any, _: Any) -> bool:
    """Whether no cell plants an error and shows that a check rejects it."""
    return not any(
        re.search(r"\b(reject|must_fail)\(", cell.source) and "REJECTED [" in printed(cell)
        for cell in codes(notebook)
    )


def lacks_certificates(notebook: Any, _: Any) -> bool:
    return not any("CERTIFIED [" in printed(cell) for cell in codes(notebook))


def is_not_normal(notebook: Any, _: Any) -> bool:
    """Whether ids or metadata could differ between two runs."""
    ids = [f"cell-{number:02d}" for number in range(1, len(notebook.cells) + 1)]
    fixed = {key: value for key, value in notebook.metadata.items() if key != "crt"}
    return (
        [cell.id for cell in notebook.cells] != ids
        or any(cell.metadata for cell in notebook.cells)
        or "crt" not in notebook.metadata
        or fixed != METADATA
    )


def names_a_machine(notebook: Any, _: Any) -> bool:
    """Whether a folder of one machine or an address in memory was printed."""
    return any(MACHINE.search(text) for text in strings(notebook))


GUARDS: list[Callable[[Any, Any], bool]] = [
    is_stale,
    is_unrun,
    has_errors,
    has_warnings,
    has_empty_cells,
    lacks_planted_errors,
    lacks_certificates,
    is_not_normal,
    names_a_machine,
]


def faults(notebook: Any, source: Any) -> set[str]:
    """The names of the guards that refuse `notebook` as the result of running `source`."""
    return {guard.__name__ for guard in GUARDS if guard(notebook, source)}


@pytest.mark.parametrize("source", sources(), ids=lambda source: source.stem)
def test_committed_notebook(source: Path) -> None:
    path = source.with_suffix(".ipynb")
    assert path.exists(), "run: python -m derivations"
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert not faults(notebook, read(source))


def test_every_notebook_has_its_source() -> None:
    assert sources()
    assert {p.stem for p in FOLDER.glob("*.ipynb")} <= {s.stem for s in sources()}


SOURCE = """# %% [markdown]
# # Title

# %%
certify("thm", "identity", first, second, where={})

# %%
reject("thm", "fault", first, wrong, where={})
"""


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Any, Any]:
    """A notebook as a run would leave it, and its source."""
    path = tmp_path / "01_probe.py"
    path.write_text(SOURCE, "utf-8")
    source = read(path)
    notebook = copy.deepcopy(source)
    for count, cell in enumerate(codes(notebook), start=1):
        cell.execution_count = count
        word = ("CERTIFIED", "REJECTED")[count - 1]
        cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=f"{word} [thm] …\n")]
    notebook.metadata["crt"] = {"formulas": []}
    return notebook, source


def test_a_sound_notebook_has_no_fault(pair: tuple[Any, Any]) -> None:
    assert faults(*pair) == set()


def plant(kind: str, notebook: Any) -> None:
    """Break a sound notebook in one way."""
    first, second = codes(notebook)
    match kind:
        case "edited":
            first.source += "\nmore()"
        case "cell removed":
            del notebook.cells[0]
        case "cell never run":
            second.execution_count = None
        case "run out of order":
            first.execution_count, second.execution_count = 2, 1
        case "nothing run":
            notebook.cells = notebook.cells[:1]
        case "error":
            first.outputs.append(
                nbformat.v4.new_output("error", ename="E", evalue="", traceback=[])
            )
        case "warning":
            first.outputs.append(nbformat.v4.new_output("stream", name="stderr", text="careful"))
        case "empty cell":
            second.source = "\n"
        case "planted error not run":
            second.outputs = []
        case "planted error elsewhere":
            second.source = "print('REJECTED [thm]')"
        case "no certificate":
            first.outputs = []
        case "random id":
            first.id = "1f2e3d"
        case "timing":
            first.metadata["execution"] = {"iopub.execute_input": "12:00"}
        case "version":
            notebook.metadata["language_info"] = {"name": "python", "version": "3.11.7"}
        case "nothing handed over":
            del notebook.metadata["crt"]
        case "path":
            first.outputs[0].text += "/" + "home/me/main/derivations/algebra.py:12"
        case "address":
            first.outputs[0].text += "<function f at 0x7f0012ab34cd>"


@pytest.mark.parametrize(
    ("kind", "guards"),
    [
        ("edited", {"is_stale"}),
        ("cell removed", {"is_stale", "is_not_normal"}),
        ("cell never run", {"is_unrun"}),
        ("run out of order", {"is_unrun"}),
        ("nothing run", {"is_stale", "is_unrun", "lacks_planted_errors", "lacks_certificates"}),
        ("error", {"has_errors"}),
        ("warning", {"has_warnings"}),
        ("empty cell", {"is_stale", "has_empty_cells", "lacks_planted_errors"}),
        ("planted error not run", {"lacks_planted_errors"}),
        ("planted error elsewhere", {"is_stale", "lacks_planted_errors"}),
        ("no certificate", {"lacks_certificates"}),
        ("random id", {"is_not_normal"}),
        ("timing", {"is_not_normal"}),
        ("version", {"is_not_normal"}),
        ("nothing handed over", {"is_not_normal"}),
        ("path", {"names_a_machine"}),
        ("address", {"names_a_machine"}),
    ],
)
def test_a_broken_notebook_is_found(pair: tuple[Any, Any], kind: str, guards: set[str]) -> None:
    notebook, source = pair
    plant(kind, notebook)
    assert faults(notebook, source) == guards
