"""The order of the data: every example once an epoch, and the same after a restart."""

import jax
import numpy as np
import pytest

from experiments.training import inputs

pytestmark = pytest.mark.usefixtures("usual_promotion")


class Numbers:
    def __len__(self) -> int:
        return 10

    def load(self, indices: np.ndarray) -> dict[str, np.ndarray]:
        return {"number": indices}


def taken(count: int, seed: int = 0) -> list[list[int]]:
    stream = inputs.batches(Numbers(), 5, seed)
    return [next(stream)["number"].tolist() for _ in range(count)]


def test_every_epoch_is_another_permutation() -> None:
    first, second, third, fourth = taken(4)
    assert sorted(first + second) == sorted(third + fourth) == list(range(10))
    assert first + second != third + fourth
    assert taken(4) == [first, second, third, fourth] != taken(4, seed=1)


def test_the_position_can_be_taken_up() -> None:
    stream = inputs.batches(Numbers(), 5, 0)
    before = [next(stream)["number"].tolist() for _ in range(3)]
    position = stream.get_state()
    after = [next(stream)["number"].tolist() for _ in range(3)]
    again = inputs.batches(Numbers(), 5, 0)
    again.set_state(position)
    assert [next(again)["number"].tolist() for _ in range(3)] == after != before


@pytest.mark.parametrize("processes", [1, 5])
def test_processes_share_out_one_order(processes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax, "process_count", lambda: processes)
    parts = []
    for number in range(processes):
        monkeypatch.setattr(jax, "process_index", lambda number=number: number)
        parts.append(taken(3))
    whole = [[each for part in parts for each in part[i]] for i in range(3)]
    monkeypatch.undo()
    assert whole == taken(3)
