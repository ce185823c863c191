"""Places among the methods, which splits can settle or leave open."""

import numpy as np
import pytest

from experiments.classification import verdicts
from experiments.classification.presets import SETS
from experiments.classification.printed import SPREAD
from experiments.classification.protocol.methods import PAPER


def rows(means: dict[str, float], spread: float) -> verdicts.Rows:
    """Ten splits of every set; the methods' chance is their own."""
    rng = np.random.default_rng(0)
    noise = {name: rng.standard_normal(10) for name in PAPER}
    noise = {name: spread * (each - each.mean()) for name, each in noise.items()}
    own = {name: {"splits": means.get(name, 50.0) + noise[name]} for name in PAPER}
    return dict.fromkeys(SETS, own)


@pytest.mark.parametrize(
    ("oprf", "spread", "expected"),
    [
        (55.0, 0.1, verdicts.REPRODUCED),
        (45.0, 0.1, verdicts.NOT_REPRODUCED),
        (49.9, 5.0, verdicts.NOT_DECIDED),
        (50.1, 5.0, verdicts.NOT_DECIDED),
    ],
)
def test_a_place_is_judged_by_the_lead_and_its_interval(
    oprf: float, spread: float, expected: str
) -> None:
    given = rows({"oprf": oprf, "trig": 20.0}, spread)
    ours = verdicts.averages(given, PAPER)
    first, last = verdicts._places(given, ours, stand_ins=False)
    assert first["verdict"] == expected and (first["ours"] == 1) == (oprf > 50)
    assert bool(first["note"]) == (expected != verdicts.REPRODUCED)
    assert last["verdict"] == verdicts.REPRODUCED and last["ours"] == 8


def test_stand_ins_have_no_verdict() -> None:
    given = rows({}, 1.0)
    found = verdicts._places(given, verdicts.averages(given, PAPER), stand_ins=True)
    assert [row["verdict"] for row in found] == [None, None]


def spread_rows(shift: float) -> verdicts.Rows:
    """Ten splits with spreads around the printed ones, half of the methods above by `shift`."""
    rng = np.random.default_rng(0)

    def own(name: str, k: int, method: str) -> dict:
        mean = SPREAD[name][method] + shift * (-1) ** k
        spreads = mean + rng.standard_normal(10)
        return {"spread": spreads.mean(), "spreads": spreads.tolist()}

    return {name: {m: own(name, k, m) for k, m in enumerate(PAPER)} for name in SETS}


@pytest.mark.parametrize(
    ("shift", "expected"), [(0.0, verdicts.REPRODUCED), (3.0, verdicts.NOT_REPRODUCED)]
)
def test_spreads_that_are_wrong_in_both_directions_do_not_cancel(
    shift: float, expected: str
) -> None:
    """The columns' mean is the printed one to within 3/7 + chance; the distance is near `shift`."""
    _, others = verdicts._spreads(spread_rows(shift), "", stand_ins=False)
    assert others["verdict"] == expected and bool(others["note"]) == (shift > 0)
    assert shift - 0.5 < others["ours"] < shift + 1.0
