"""The numbers of the study: rows for tables and figures, from whatever units are finished."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

from experiments.vision.attention import ESTIMATES, TITLES
from verification.runs import Finished

Row = dict[str, Any]
STARTS = ("scratch", "uptrain", "long")
COMPARED = STARTS[:2]
"""Those with all seeds, the same steps and the same tokens."""
SETS = {"fashion_mnist": "Fashion-MNIST", "mnist": "MNIST", "imagenet": "ImageNet"}


def of_kind(finished: Iterable[Finished], *parts: str) -> list[Finished]:
    return [each for each in finished if each.config["part"] in parts]


def setting(finished: Sequence[Finished]) -> Row | None:
    """The data and the size of the compared runs, as they were configured."""
    for each in of_kind(finished, *COMPARED):
        run = each.config["run"]
        name, other = SETS[run["data"]["name"]], run["data"]["stand_in"]
        return {
            "data": f"{other} in place of {name}" if other else name,
            "stand_in": other,
            **{key: run["shape"][key] for key in ("width", "depth")},
            **{key: run[key] for key in ("steps", "curve_examples", "test_examples")},
        }
    return None


def _groups(finished: Sequence[Finished]) -> dict[tuple[str, str], list[Finished]]:
    """Trainings by start and attention, those alone whose loss stayed finite."""
    found: dict[tuple[str, str], list[Finished]] = {}
    for each in of_kind(finished, *STARTS):
        if each.result["diverged"] is None:
            found.setdefault((each.config["part"], each.config["attention"]), []).append(each)
    return found


def _named(start: str, attention: str) -> Row:
    return {"start": start, "attention": attention, "name": TITLES[attention]}


def accuracies(finished: Sequence[Finished]) -> list[Row]:
    """Test accuracy at the end, in percent: of every seed, their mean and standard deviation."""
    rows = []
    for (start, attention), own in _groups(finished).items():
        values = [100 * each.result["test"]["accuracy"] for each in own]
        tokens = (own[0].config["run"]["shape"][key] for key in ("side", "patch"))
        side, patch = tokens
        rows.append(
            _named(start, attention)
            | {
                "tokens": (side // patch) ** 2,
                "seeds": [each.config["seed"] for each in own],
                "values": values,
                "mean": float(np.mean(values)),
                "std": float(np.std(values, ddof=1)) if len(values) > 1 else None,
            }
        )
    return rows


def curves(finished: Sequence[Finished]) -> list[Row]:
    """Accuracy in percent against steps: mean over seeds, the smallest and the largest.

    `end` is apart: the last evaluation is of more images than those on the way.
    """
    rows = []
    for (start, attention), own in _groups(finished).items():
        steps = [row["step"] for row in own[0].result["curve"]]
        values = np.array([[r["accuracy"] for r in each.result["curve"]] for each in own])
        last = np.array([each.result["test"]["accuracy"] for each in own])
        end = {"step": own[0].config["run"]["steps"]} | _over_seeds(last)
        rows.append(
            _named(start, attention)
            | {"steps": steps, "seeds": len(own), "end": end}
            | _over_seeds(values)
        )
    return rows


def _over_seeds(shares: np.ndarray) -> Row:
    """Shares, one row for each seed, in percent."""
    values = 100 * shares
    return {"mean": values.mean(0), "least": values.min(0), "most": values.max(0)}


def stability(finished: Sequence[Finished]) -> list[Row]:
    """Every run: its spikes, the windows of its losses and gradients, or where it diverged."""
    return [
        _named(each.config["part"], each.config["attention"])
        | {"seed": each.config["seed"], "diverged": each.result["diverged"]}
        | {key: each.result.get(key) for key in ("spikes", "windows")}
        for each in of_kind(finished, *STARTS)
    ]


def swaps(finished: Sequence[Finished]) -> Row | None:
    """Accuracy in percent against M before any training, over draws of the projections."""
    own = [each for each in of_kind(finished, "swap") if each.result]
    if not own:
        return None
    rows = []
    for each in own:
        attention, drawn = each.config["attention"], each.result["rows"]
        values = [100 * row["accuracy"] for row in drawn]
        rows.append(
            {"attention": attention, "name": TITLES[attention]}
            | {"features": each.config["features"], "values": values}
            | {"mean": float(np.mean(values)), "least": min(values), "most": max(values)}
            | {"agreement": 100 * float(np.mean([row["agreement"] for row in drawn]))}
        )
    return {
        "rows": rows,
        "softmax": 100 * own[0].result["softmax"],
        "examples": own[0].result["examples"],
        "draws": own[0].config["draws"],
        "weights": own[0].result["weights"],
        "changed": sum(each.result["changed"] for each in own),
    }


def errors(finished: Sequence[Finished]) -> list[Row]:
    """Errors relative to softmax inside trained models: RMS over layers and heads, and accuracy.

    `fresh` are RMS over draws of the projections too, None where none but the own was looked at.
    """
    rows = []
    fresh = {_model(each.config): each.result for each in of_kind(finished, "fresh")}
    for each in of_kind(finished, "errors"):
        start, attention, seed = _model(each.config)
        drawn = fresh.get((start, attention, seed)) or {}
        for estimate, found in each.result.items():
            rows.append(
                _named(start, attention)
                | {"seed": seed, "estimate": estimate, "estimate_name": TITLES[estimate]}
                | {"accuracy": _accuracy(finished, start, attention, seed)}
                | {key: _rms(found[key]) for key in found if key != "rho"}
                | {
                    f"{which}_fresh": _rms(drawn[estimate][which]) if drawn else None
                    for which in ("output", "kernel")
                }
            )
    return rows


def _model(config: Mapping[str, Any]) -> tuple[str, str, int]:
    return config["start"], config["attention"], config["seed"]


def own_errors(rows: Sequence[Row]) -> list[Row]:
    """Of the compared models, the error of the attention that each was trained with."""
    return [
        row
        for row in rows
        if row["estimate"] == row["attention"] and row["start"] in COMPARED and row["accuracy"]
    ]


def explained(rows: Sequence[Row]) -> list[Row]:
    """Whether a smaller error goes with a higher accuracy, among models of one start.

    Spearman's rank correlation of the model's own error and its accuracy over models with FAVOR+
    and FAVOR++, with the share of all orders that have one as large; and the seeds whose model
    with the smaller predicted error has the higher accuracy.
    """
    found = []
    for start in COMPARED:
        own = [row for row in own_errors(rows) if row["start"] == start]
        if len(own) < 4 or len({row["attention"] for row in own}) < 2:
            continue
        pairs = _pairs(own)
        agree = sum(
            (one["output_predicted"] < other["output_predicted"])
            == (one["accuracy"] > other["accuracy"])
            for one, other in pairs
        )
        row = {"start": start, "models": len(own), "pairs": len(pairs), "agree": agree}
        found.append(row | {key: _ranks(own, f"output_{key}") for key in ("predicted", "observed")})
    return found


def _pairs(rows: Sequence[Row]) -> list[tuple[Row, Row]]:
    """The rows of both estimates that have a seed in common."""
    by_seed = {(row["seed"], row["attention"]): row for row in rows}
    seeds = sorted({row["seed"] for row in rows})
    both = [[by_seed.get((seed, name)) for name in ESTIMATES] for seed in seeds]
    return [(one, other) for one, other in both if one and other]


def _ranks(rows: Sequence[Row], key: str) -> Mapping[str, float]:
    error, accuracy = (stats.rankdata([row[each] for row in rows]) for each in (key, "accuracy"))

    def correlation(errors: Any) -> float:
        return np.corrcoef(errors, accuracy)[0, 1]

    test = stats.permutation_test(
        (error,), correlation, permutation_type="pairings", n_resamples=9999, rng=0
    )
    return {"correlation": float(test.statistic), "p": float(test.pvalue)}


def _rms(values: Sequence[Any]) -> float:
    return float(np.sqrt(np.mean(np.square(np.array(values, float)))))


def _accuracy(finished: Sequence[Finished], start: str, attention: str, seed: int) -> float | None:
    for each in _groups(finished).get((start, attention), []):
        if each.config["seed"] == seed:
            return 100 * each.result["test"]["accuracy"]
    return None


def memory(finished: Sequence[Finished]) -> list[Row]:
    """Bytes of a step as compiled: all of them, and the temporary ones among them."""
    return [
        {"tokens": each.result["tokens"]}
        | {
            key: {name: size[part] for name, size in each.result["bytes"].items()}
            for key, part in (("bytes", "all"), ("temporary", "temporary"))
        }
        for each in of_kind(finished, "speed")
    ]


def speeds(finished: Sequence[Finished]) -> list[Row]:
    """Steps per second and ratios of them, medians over rounds with the smallest and largest."""
    rows = []
    for each in of_kind(finished, "speed"):
        seconds = {name: np.array(times) for name, times in each.result["seconds"].items()}
        rows.append(
            {
                "tokens": each.result["tokens"],
                "model": each.config["model"],
                "features": each.config["features"],
                "seconds": {name: times.tolist() for name, times in seconds.items()},
                "steps": {name: _spread(1 / times) for name, times in seconds.items()},
                "faster": {
                    name: _spread(seconds["softmax"] / times) for name, times in seconds.items()
                },
                "favor": _spread(seconds["favor++"] / seconds["favor+"]),
            }
        )
    return rows


def _spread(values: np.ndarray) -> Mapping[str, float]:
    return {
        "median": float(np.median(values)),
        "least": float(values.min()),
        "most": float(values.max()),
    }
