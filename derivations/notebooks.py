"""Notebooks: find them, run them in a Jupyter kernel, and bring the result into one normal form."""

import json
import tempfile
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from jupyter_client.kernelspec import NoSuchKernel
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

FOLDER = Path(__file__).parent
KERNEL = "python3"
CELL_TIMEOUT = 600
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": KERNEL},
    "language_info": {"name": "python"},
}


class NotebookError(RuntimeError):
    """A notebook that could not be run to its end."""


def sources() -> list[Path]:
    """The notebooks' sources `NN_topic.py`, in order."""
    return sorted(FOLDER.glob("[0-9][0-9]_*.py"))


def read(source: Path) -> Any:
    """The notebook of a percent-format source, not yet run, with fixed cell ids and metadata."""
    notebook = jupytext.read(source, fmt="py:percent")
    notebook.metadata.clear()
    notebook.metadata.update(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for number, cell in enumerate(notebook.cells, start=1):
        cell.id = f"cell-{number:02d}"
        cell.metadata = {}
    return notebook


async def run(source: Path, kernel: str = KERNEL) -> str:
    """Run one notebook and give its normal form: the bytes of the committed `.ipynb`.

    What the notebook hands over (formulas, statements, errata, certificates) is computed by an
    extra last cell in the same kernel and kept in the metadata under `crt`.
    """
    notebook = read(source)
    handover = (
        f"from derivations.codegen import handover; print(handover(globals(), {source.name!r}))"
    )
    notebook.cells.append(nbformat.v4.new_code_cell(handover, id="handover"))
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        kernel_name=kernel,
        record_timing=False,
        # Printed lines arrive in as many pieces as the clock decides.
        coalesce_streams=True,
        shutdown_kernel="immediate",
        resources={"metadata": {"path": str(FOLDER.parent)}},
    )
    try:
        await _execute(client)
    except NoSuchKernel:
        raise NotebookError(
            f"there is no Jupyter kernel named {kernel!r}: install the extra 'derivations'"
        ) from None
    except CellExecutionError as error:
        reason = f"{error.ename}: {_first_line(error.evalue)}"
        raise NotebookError(f"{source.name} raised {reason}") from None
    except (OSError, RuntimeError) as error:  # a timeout, a kernel that died or did not start
        raise NotebookError(f"{source.name} did not finish: {_first_line(str(error))}") from None
    outputs = notebook.cells.pop().outputs
    printed = "".join(output["text"] for output in outputs if output.get("name") == "stdout")
    # Before its JSON the cell prints a certificate for each formula it had to check itself.
    handed_over = json.loads(printed.splitlines()[-1])
    # The kernel has written its own description, with its version, over the fixed one.
    notebook.metadata = nbformat.from_dict({**METADATA, "crt": handed_over})
    return nbformat.writes(notebook, indent=1, sort_keys=True) + "\n"


async def _execute(client: NotebookClient) -> None:
    """Run over sockets in a folder of its own: a TCP port may be taken before the kernel has it."""
    with tempfile.TemporaryDirectory() as folder:
        manager = client.create_kernel_manager()
        manager.transport, manager.connection_file = "ipc", f"{folder}/kernel.json"
        await client.async_execute()


def _first_line(text: str) -> str:
    return next(iter(text.strip().splitlines()), "no message")
