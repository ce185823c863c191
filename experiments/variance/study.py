"""`variance`: the variances of all mechanisms (Section 5.1, Figures 1 and 2), and beyond.

variances   mean and spread of the log variance over all pairs, four regimes, every σ
optimisers  the paper's numerical optimisers beside closed forms and safeguarded Newton
errors      predicted and observed error of kernel matrices of real data, independent and
            orthogonal projections, and what an estimate costs in milliseconds
variants    what hangs on choices that the paper does not name
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import crt
from experiments.experiment import FEATURE_ROOMS, Experiment, Origins
from experiments.experiment import main as run
from experiments.variance import cost, errors, logs, methods, sensitivity
from experiments.variance.claims import judge
from experiments.variance.presets import PRESETS, Size
from experiments.variance.regimes import REGIMES
from verification.runs import Finished, Unit

SHARED = ("logs", "paper_optimisers", "regimes")
"""Modules that the units share."""


def units(size: Size, origins: Origins) -> list[Unit]:
    """All work of a preset; `kind` tells the sort, `part` is what `--only` names."""
    where = {name: vars(each) for name, each in origins.items()}
    return [
        Unit("map and utility", {"kind": "methods", "part": "methods", "seed": 0}, methods.unit),
        *_variances(size, where["mnist"]),
        *_errors(size, where),
        *_variants(size, where["mnist"]),
        Unit(
            "cost of the kernel operator",
            {
                "kind": "cost",
                "part": "cost",
                "seed": 0,
                "rows": size.operator_rows,
                "features": size.features,
                "repeats": size.repeats,
            },
            cost.measure,
        ),
    ]


def _variances(size: Size, images: Mapping[str, Any]) -> list[Unit]:
    return [
        Unit(
            f"{regime}, σ = {sigma}, draw {seed}",
            {
                "kind": "variances",
                "part": regime,
                "regime": regime,
                "sigma": sigma,
                "seed": seed,
                "rows": size.rows,
                "images": images if regime == "mnist" else {},
            },
            logs.variances,
        )
        for regime in REGIMES
        for sigma in size.sigmas
        for seed in size.seeds
    ]


def _errors(size: Size, where: Mapping[str, Mapping[str, Any]]) -> list[Unit]:
    return [
        Unit(
            f"error on {name}: {mechanism}{', orthogonal' if orthogonal else ''}",
            {
                "kind": "errors",
                "part": "errors",
                "set": name,
                "mechanism": mechanism,
                "orthogonal": orthogonal,
                "features": size.features,
                "rows": size.error_rows,
                "draws": size.draws,
                "seed": size.seeds[0],
                "origin": where[name],
            },
            errors.measure,
        )
        for name in size.data
        for mechanism, cls in crt.MECHANISMS.items()
        for orthogonal in ((False,) if cls.discrete else (False, True))
    ]


def _variants(size: Size, images: Mapping[str, Any]) -> list[Unit]:
    """Ways to resize need whole images; the stand-in has 8×8 pixels from the start."""
    shared = {"kind": "variants", "part": "variants", "seed": size.seeds[0]}
    resized = [] if images["stand_in"] else list(sensitivity.RESIZED)
    return [
        *(
            Unit(
                f"mnist, {variant}",
                {**shared, "variant": variant, "rows": size.rows, "images": images},
                sensitivity.by_image,
            )
            for variant in resized
        ),
        *(
            Unit(
                f"{regime}, L = {rows}",
                {**shared, "variant": f"L = {rows}", "regime": regime, "rows": rows},
                sensitivity.by_rows,
            )
            for regime in ("normal", "heterogen")
            for rows in sensitivity.ROWS
            if rows <= size.rows
        ),
    ]


def gather(size: Size, finished: Sequence[Finished]) -> dict[str, Any]:
    """The numbers: means over draws, and the verdicts that follow from them."""
    kinds: dict[str, list[Finished]] = {}
    for each in finished:
        kinds.setdefault(each.config["kind"], []).append(each)
    variances = _pooled(kinds.get("variances", []))
    shown = kinds["methods"][0].result if "methods" in kinds else None
    stand_ins = {
        each.config["regime"]
        for each in kinds.get("variances", [])
        if each.config["images"].get("stand_in")
    }
    variants = [
        {key: each.config.get(key, "mnist") for key in ("regime", "variant", "rows")} | each.result
        for each in kinds.get("variants", [])
    ]
    return {
        "variances": variances,
        "optimisers": _optimisers(kinds.get("variances", [])),
        "errors": [
            {key: each.config[key] for key in ("set", "mechanism", "orthogonal")} | row
            for each in kinds.get("errors", [])
            for row in each.result
        ],
        "variants": variants,
        "methods": shown,
        "verdicts": judge(variances, shown, sorted(stand_ins), variants),
    }


def _pooled(finished: Sequence[Finished]) -> list[dict[str, Any]]:
    """Over draws: the mean, the spread over pairs and draws together, and the log of the mean."""
    groups: dict[tuple[str, str, float], list[Mapping[str, Any]]] = {}
    for each in finished:
        for name, row in _ordered(each.result["mechanisms"]):
            key = (each.config["regime"], name, each.config["sigma"])
            groups.setdefault(key, []).append(row)
    rows = []
    for (regime, name, sigma), drawn in groups.items():
        count = len(drawn)
        mean = sum(row["mean"] for row in drawn) / count
        spread = sum(row["std"] ** 2 + (row["mean"] - mean) ** 2 for row in drawn) / count
        top = max(row["log_mean"] for row in drawn)
        total = sum(math.exp(row["log_mean"] - top) for row in drawn) / count
        pooled = {
            "regime": regime,
            "mechanism": name,
            "sigma": sigma,
            "draws": count,
            "mean": mean,
            "std": math.sqrt(spread),
            "log_mean": top + math.log(total),
        }
        if "orthogonal" in drawn[0]:
            pooled["orthogonal"] = sum(row["orthogonal"] for row in drawn) / count
        rows.append(pooled)
    return rows


def _optimisers(finished: Sequence[Finished]) -> list[dict[str, Any]]:
    return [
        {key: each.config[key] for key in ("regime", "sigma", "seed")} | {"mechanism": name} | row
        for each in finished
        for name, row in _ordered(each.result["optimisers"])
    ]


def _ordered(rows: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Rows by mechanism, in the order of the registry."""
    return [(name, rows[name]) for name in crt.MECHANISMS if name in rows]


def costs(finished: Sequence[Finished]) -> dict[str, Any]:
    """Milliseconds of the kernel operator; they belong to the timing, not to the numbers."""
    found = [each.result for each in finished if each.config["kind"] == "cost"]
    return {"milliseconds": found[0]} if found else {}


def show(numbers: Mapping[str, Any]) -> str:
    """The verdicts as a table."""
    lines = ["paper      ours  verdict"]
    for row in numbers["verdicts"]:
        verdict = row["verdict"] or "not judged: a stand-in"
        lines.append(f"{row['paper']:>6}  {row['ours']:8.2f}  {verdict:22}  {row['item']}")
    return "\n".join(lines)


EXPERIMENT = Experiment(
    name="variance",
    about=__doc__ or "",
    presets=PRESETS,
    data=("mnist", "fashion_mnist", "banknote"),
    parts=("part",),
    units=units,
    gather=gather,
    show=show,
    rooms=(
        *FEATURE_ROOMS,
        *("crt/estimate.py", "crt/sweep.py"),
        *(f"experiments/data/{name}.py" for name in ("encodings", "images", "sheets", "tables")),
        "experiments/benchmarks/clock.py",
        *(f"experiments/variance/{name}.py" for name in SHARED),
    ),
    times=costs,
)


def main(argv: list[str] | None = None) -> int:
    return run(EXPERIMENT, argv)
