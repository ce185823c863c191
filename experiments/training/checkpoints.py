"""States on disk (Orbax): the last two of a run, each with a checksum of its own."""

import hashlib
from pathlib import Path
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp

from experiments.training.errors import TrainingError

KEPT = 2


def checksum(state: Any) -> str:
    """Hash of every number of a state that each device holds whole."""
    total = hashlib.sha256()
    for path, leaf in jax.tree_util.tree_leaves_with_path(state):
        total.update(jax.tree_util.keystr(path).encode())
        total.update(np.asarray(leaf.addressable_data(0)).tobytes())
    return total.hexdigest()


class Checkpoints:
    """The checkpoints of a folder. A damaged one is told of, removed, and the one before taken."""

    def __init__(self, folder: Path):
        options = ocp.CheckpointManagerOptions(max_to_keep=KEPT, enable_async_checkpointing=False)
        self.folder = folder
        self.manager = ocp.CheckpointManager(folder.resolve(), options=options)

    def __enter__(self) -> "Checkpoints":
        return self

    def __exit__(self, *_: object) -> None:
        self.manager.close()

    def save(self, step: int, state: Any, position: Any) -> None:
        """A state, and the position of the input after it."""
        about = {"position": position, "sha256": checksum(state)}
        args = ocp.args.Composite(
            state=ocp.args.StandardSave(state), about=ocp.args.JsonSave(about)
        )
        self.manager.save(step, args=args)

    def latest(self, like: Any) -> tuple[Any, Any, list[str]] | None:
        """State, position of the input, and sentences on what was damaged; None if there is none.

        `like` is a state of the same shapes and shardings.
        """
        said: list[str] = []
        for step in sorted(self.manager.all_steps(), reverse=True):
            try:
                return *self._read(step, like), said
            # Whatever a damaged file makes of Orbax and TensorStore; the sentence repeats it.
            except Exception as error:
                said.append(self._lost(step, error))
        if said:
            raise TrainingError(f"{'; '.join(said)}; no checkpoint is left, so remove the folder")
        return None

    def _read(self, step: int, like: Any) -> tuple[Any, Any]:
        args = ocp.args.Composite(
            state=ocp.args.StandardRestore(like), about=ocp.args.JsonRestore()
        )
        found = self.manager.restore(step, args=args)
        if checksum(found["state"]) != found["about"]["sha256"]:
            raise ValueError("its checksum differs")
        return found["state"], found["about"]["position"]

    def _lost(self, step: int, error: Exception) -> str:
        self.manager.delete(step)
        why = (str(error).splitlines() or [type(error).__name__])[0][:80]
        return f"checkpoint {step} in {self.folder} is damaged ({why})"
