"""A small result set, made up: every kind of entry that the page shows, once or twice."""

import json
import math
from pathlib import Path
from typing import Any

from experiments.classification.gather import gather
from experiments.classification.presets import PRESETS
from experiments.vision import plan as vision_plan
from experiments.vision import presets as vision_presets
from experiments.vision import study as vision_study
from tests.experiments.classification import made
from tests.experiments.vision import made as vision_made
from verification.runs import Finished, plain


def check(name: str, module: str, **more: Any) -> dict[str, Any]:
    """A check that passed, unless told otherwise."""
    made = {
        "id": name,
        "claims": ["thm-gerf"],
        "kind": "montecarlo",
        "summary": f"what {name} looks at",
        "module": module,
        "passed": True,
        "ok": True,
        "observed": 1.002,
        "predicted": 1.0,
        "allowed": 0.01,
        "samples": 131072,
        "detects": 0.017,
        "note": "",
        "data": {},
        "planted": {"raw-qr": True},
    }
    return made | more


def claim(name: str, status: str, checks: list[str], notebook: str | None) -> dict[str, Any]:
    return {
        "id": name,
        "paper": "Theorem 3.1 (lemma:gerfs)",
        "text": f"the statement {name}, with x_l and e^(-z/2)",
        "kind": "theorem",
        "status": status,
        "notebook": notebook,
        "formulas": [f"formula_of_{name.replace('-', '_')}"] if notebook else [],
        "checks": checks,
        "labels": ["lemma:gerfs"],
    }


def gain_curve(d: int) -> list[list[float]]:
    return [[z, 1 - math.exp(-z / d), (1 - math.exp(-z / d)) / 2] for z in (0.1, 1.0, 10.0)]


def surface() -> dict[str, Any]:
    """Log variances on a small grid, as the formulas have them but for OPRF's."""
    plus = minus = [0.5, 2.0, 6.0]
    trig = [[math.log(0.5 * (1 - math.exp(-b)) ** 2) for b in minus] for _ in plus]
    pos = [[math.log(math.expm1(a)) - b for b in minus] for a in plus]
    oprf = [[log - a / 2 for log in row] for a, row in zip(plus, pos, strict=True)]
    logs = {"TrigRF": trig, "PosRF": pos, "OPRF, d = 64": oprf}
    kernel = [-b / 2 for b in minus]
    return {"plus": plus, "minus": minus, "log kernel": kernel, "log variance": logs}


def tail_curve(failing: bool) -> dict[str, Any]:
    """Shares and bounds at two errors; the printed bound lies below or above what was seen."""
    return {
        "case": "d = 1, M = 64",
        "eps": [0.5, 1.0],
        "log printed": [-9.0, -30.0] if failing else [0.5, 0.1],
        "upper": {
            "observed": [0.1, 0.01],
            "limits": [[0.05, 0.2], [0.001, 0.05]],
            "log bounds": {"hoeffding": [-0.5, -2.0], "bernstein": [-1.0, -3.0]},
        },
        "lower": {
            "observed": [0.05, 0.0],
            "limits": [[0.01, 0.1], [0.0, 0.01]],
            "log bounds": {"bernstein": [-1.5, "-inf"]},
        },
    }


def verification() -> dict[str, Any]:
    """The numbers of a run, in the form in which they are stored."""
    checks = [
        check("mean-pos-iid-d3", "montecarlo"),
        check("variance-pos-orthogonal-d8", "montecarlo", observed=0.97, allowed=0.1),
        check("variance-surface", "quadrature", kind="quadrature", data={"surface": surface()}),
        check("ortho-quadrature", "orthogonality", kind="quadrature", detects=None,
              data={"gain": {"2": gain_curve(2), "64": gain_curve(64)}}),
        check("ortho-pairs", "orthogonality",
              data={"means": [["X", 0.501, 0.5, 0.02], ["pairs in full blocks", 0.2, 0.21, 0.02]]}),
        check("tails-independent", "tails",
              data={"curves": [tail_curve(failing=False), tail_curve(failing=True)]}),
        check("uniform-slope", "uniform", observed=-0.497, predicted=-0.5, allowed=0.06,
              data={"columns": ["M", "median from", "median to", "median", "95 %"],
                    "suprema": [[64, 0.7, 0.9, 0.8, 1.6], [1024, 0.17, 0.23, 0.2, 0.4]]}),
    ]  # fmt: skip
    return {
        "passed": True,
        "false_alarm": 1e-9,
        "regime": "A change by 1 % of any coordinate is caught.",
        "budget": "quick",
        "seed": 20221,
        "claims": [
            claim("thm-gerf", "proved", [each["id"] for each in checks], "02_generalized"),
            claim("thm-uniform", "refuted as printed", [], "10_uniform"),
            claim("kernel-sign", "corrected", ["not-run"], "02_generalized"),
            claim("table-1-trig", "evidence only", [], "12_experiments_in_print"),
            claim("fig-img", "not yet run", [], None),
        ],
        "checks": checks,
        "formulas": [
            {"name": "rho_star", "dtype": "float32", "points": 60, "worst": 0.31,
             "at": "z = 2; d = 1", "passed": True, "ok": True},
        ],
        "mutants": {"killed": 118, "equivalent": 1, "survived": 0, "not killed": [
            {"formula": "rho_star", "change": "2*d -> d*2", "verdict": "equivalent",
             "evidence": "the difference is 0"}]},
        "faults": {"raw-qr": "the signs of a QR factorisation are left as they come"},
        "errata": [
            {"id": "thm-uniform", "place": "Theorem 4.3", "printed": "M = 95 suffices",
             "why": "D⁴ is dropped", "right": "M >= 1270", "evidence": "d = 1, R² = 10",
             "notebook": "10_uniform"},
        ],
    }  # fmt: skip


MECHANISMS = ("trig", "pos", "gerf", "oprf", "pois", "geom", "pois+", "geom+", "optpois")


def spread(regime: str, mechanism: str, sigma: float) -> dict[str, Any]:
    place = MECHANISMS.index(mechanism)
    row = {"regime": regime, "mechanism": mechanism, "sigma": sigma, "draws": 2}
    row |= {"mean": -place * sigma, "std": 0.5 * sigma, "log_mean": 1 - place * sigma}
    return row | ({"orthogonal": -sigma / (place + 1)} if place < 4 else {})


def error(mechanism: str, orthogonal: bool, features: int) -> dict[str, Any]:
    size = (1 + MECHANISMS.index(mechanism)) * (0.8 if orthogonal else 1.0) / features**0.5
    row = {"set": "mnist", "mechanism": mechanism, "orthogonal": orthogonal, "features": features}
    return row | {"predicted": size, "observed": 0.95 * size, "low": 0.9 * size, "high": size}


def variance_study() -> dict[str, Any]:
    """The numbers of a variance study."""
    kinds = {name: "complex" if name in ("trig", "gerf") else "positive" if name in (
        "pos", "oprf", "pois+", "geom+") else "signed" for name in MECHANISMS}  # fmt: skip
    verdict = {"claim": "fig-img", "paper": "> 80", "note": "", "other": 3.0}
    return {
        "preset": "laptop",
        "data": {"mnist": {"name": "mnist", "stand_in": "digits", "sha256": "0" * 64}},
        "variances": [
            spread(regime, name, sigma)
            for regime in ("normal", "mnist")
            for name in MECHANISMS
            for sigma in (0.5, 1.0)
        ],
        "optimisers": [
            {"mechanism": "gerf", "ours_mean": 1.0, "paper_mean": 1.25, "regime": "normal"}
        ],
        "errors": [
            error(name, orthogonal, features)
            for name in MECHANISMS
            for orthogonal in ((False, True) if MECHANISMS.index(name) < 4 else (False,))
            for features in (16, 64)
        ],
        "variants": [
            {"regime": "normal", "variant": "L = 64", "rows": 64, "gerf / trig": 82.1,
             "gerf / pos": 83.0, "oprf / pos": 84.2, "geom+ / pos": "nan"},
        ],
        "methods": {
            "methods": [
                {"name": name, "title": name, "discrete": MECHANISMS.index(name) > 3,
                 "values": kinds[name],
                 "known": "before" if name in ("trig", "pos") else "paper"}
                for name in MECHANISMS
            ],
            "special_cases": [["trig", "gerf", "A = 0"], ["oprf", "gerf", "A real"],
                              ["pois", "optpois", "equal rates"]],
            "curves": {"z": [1.0, 50.0, 100.0],
                       "utility": {"4": [-0.5, -40.0, -92.0], "64": [-0.1, -24.0, -61.22]}},
        },
        "verdicts": [
            verdict | {"item": "a below b", "ours": 83.6, "verdict": "reproduced"},
            verdict | {"item": "a below c", "ours": -0.004, "verdict": "not reproduced",
                       "note": "because <of> that"},
            verdict | {"item": "a below d", "ours": 8, "verdict": None},
            verdict | {"item": "a map", "claim": "fig-map", "ours": 8,
                       "other": None, "verdict": "drawn"},
        ],
    }  # fmt: skip


MANIFEST = {
    "command": "python -m verification --budget quick",
    "config": {"budget": "quick", "seed": 20221, "units": 5},
    "versions": {"python": "3.11.9", "jax": "0.10.2"},
    "revision": "0123456789abcdef",
    "machine": {"cpu": "a processor", "cores": 2, "system": "Linux"},
    "finished": "2026-01-02T03:04:05Z",
    "seconds": 61.5,
}


def store(folder: Path, found: dict[str, Any]) -> Path:
    """Write the numbers into a folder, with their manifest and timing."""
    folder.mkdir(parents=True, exist_ok=True)
    timing = {each["id"]: 0.5 for each in found["checks"]}
    files = {"": found, ".manifest": MANIFEST, ".timing": timing}
    for name, content in files.items():
        text = json.dumps(content, sort_keys=True)
        (folder / f"verification{name}.json").write_text(text, "utf-8")
    return folder


def attention_times() -> dict[str, Any]:
    """Times of two contestants at two lengths, and one target met, one missed."""
    times = [
        {
            "is_causal": is_causal,
            "gradients": gradients,
            "length": length,
            "seconds": {"FAVOR++": 1e-6 * length, "torch SDPA": 1e-9 * length**2},
        }
        for is_causal in (False, True)
        for gradients in (False, True)
        for length in (1024, 4096)
    ]
    targets = [
        {"target": "forward, exponent in L", "measured": 1.02, "met": True}
        | {"at_least": 0.95, "at_most": 1.1},
        {"target": "share of the rate", "measured": 0.4, "met": False, "at_least": 0.45}
        | {"bottleneck": "exponentials"},
        {"target": "causal", "measured": None, "met": None},
    ]
    exact = ["forward: up to L = 4096, exact attention is faster at none"]
    return {"times": times, "targets": targets, "exact": exact}


def attention_errors() -> dict[str, Any]:
    """One method is best in each cell of two small maps."""
    gaussian = [
        {"dim": 8, "features": 256, "sigma": sigma}
        | {"FAVOR": 3.0, "FAVOR+": 0.4, "FAVOR++": best, "uniform": 0.9}
        for sigma, best in ((0.5, 0.1), (2.0, 0.7))
    ]
    minilm = [
        {"layer": layer, "features": 256}
        | {"FAVOR": [2.0, 3.0], "FAVOR+": [0.9, 0.8], "FAVOR++": [0.5, 0.7], "uniform": [0.6, 0.6]}
        for layer in (0, 1)
    ]
    return {"gaussian": gaussian, "minilm": minilm}


def encoder_cosines() -> dict[str, Any]:
    """An encoder with two attentions in turn, at two numbers of features."""
    rows = [
        {"mechanism": mechanism, "name": name, "features": features, "hits": 0.5}
        | {"cosine": cosine, "least": cosine - 0.1, "most": cosine + 0.05}
        for mechanism, name, gain in (("pos", "FAVOR+", 0.0), ("oprf", "FAVOR++", 0.1))
        for features, cosine in ((128, 0.6 + gain), (512, 0.7 + gain))
    ]
    return {"rows": rows, "pairs": 32, "exact": {"hits": 0.75}}


def store_attention(folder: Path) -> Path:
    """Write times and errors of attention beside the rest."""
    for name, found in (
        ("bench_attention", attention_times()),
        ("attention_error", attention_errors()),
        ("minilm", encoder_cosines()),
    ):
        (folder / f"{name}.laptop.json").write_text(json.dumps(found), "utf-8")
    return folder


def store_study(folder: Path, found: dict[str, Any], preset: str = "laptop") -> Path:
    """Write the numbers of a variance study, with their manifest and what was timed."""
    costs = {name: {"16": 1.0, "64": 2.0 + k} for k, name in enumerate(MECHANISMS)}
    about = MANIFEST | {"config": {"seeds": [0, 1]}, "unit_seconds": 100.0, "seconds": 300.0}
    about |= {"resumed": 0}
    files = {"": found, ".manifest": about, ".timing": {"milliseconds": costs}}
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        text = json.dumps(content, sort_keys=True)
        (folder / f"variance.{preset}{name}.json").write_text(text, "utf-8")
    return folder


def store_classification(folder: Path) -> Path:
    """Write the numbers of a classification, gathered by the study itself from made-up units."""
    numbers = plain(gather(PRESETS["paper"], made.study()) | {"preset": "paper", "data": {}})
    (folder / "classification.paper.json").write_text(json.dumps(numbers), "utf-8")
    return folder


def store_vision(folder: Path) -> Path:
    """Write the numbers and times of a vision study, gathered by the study from made-up units."""
    done = vision_made.everything()
    numbers = plain(vision_study.numbers(vision_presets.PRESETS["laptop"], done) | {"data": {}})
    step = {"devices": 64, "batch": 4096, "parameters": 304_324_584, "arguments": 5_000_000_000}
    step |= {"temporary": 40_000_000_000, "flops": 2e15, "tpu_bytes": 700_000}
    planned = [
        Finished("", unit.config, step, 1.0)
        for unit in vision_plan.units(vision_plan.PRESETS["laptop"], {})
    ]
    for name, found in (
        ("vision.laptop", numbers),
        ("vision.laptop.timing", plain(vision_study.times(done))),
        ("vision-plan.laptop", plain(vision_plan.gather(vision_plan.PRESETS["laptop"], planned))),
    ):
        (folder / f"{name}.json").write_text(json.dumps(found), "utf-8")
    return folder
