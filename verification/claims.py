"""The registry: every statement of the paper and beyond, with its proof, formulas and checks.

Statements that a notebook proves come from that notebook. Those that only an experiment can answer
are listed here. `LABELS` maps the paper's own labels to claims.
"""

import functools
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from derivations.library import load_handovers
from verification.registry import load_checks

Kind = Literal["theorem", "identity", "definition", "figure", "table", "remark"]


@dataclass(frozen=True)
class Claim:
    """A statement, where the paper makes it, and what stands behind it."""

    id: str
    paper: str
    text: str
    kind: Kind
    status: str
    notebook: str | None = None
    formulas: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


LABELS: Mapping[str, str] = {
    "fig:varratio": "fig-utility",
    "eq:rf": "eq-rfappr",
    "eq:rfappr": "eq-rfappr",
    "eq:sadef": "eq-sfm",
    "eq:f-func": "thm-gerf",
    "lemma:gerfs": "thm-gerf",
    "eq:abcd": "thm-gerf",
    "lemma:gevar": "thm-gerf-var",
    "eq:gexpvar": "thm-gerf-var",
    "lemma:minvar": "thm-minvar",
    "eq:rho1": "thm-minvar",
    "eq:gestat": "eq-gestat",
    "dirfs": "eq-dirf",
    "lemma:pois": "thm-pois",
    "eq:poisvar": "thm-pois",
    "eq:poisstat": "eq-poisstat",
    "lemma:geom": "thm-geom",
    "eq:geomvar1": "thm-geom",
    "eq:geomstat": "eq-geomstat",
    "thm-orthoprfs": "thm-ortho",
    "fig:log_vars": "fig-log-vars",
    "thm:tails": "thm-tails-iid",
    "thm:uniform": "thm-uniform",
    "tab:uci": "tab-uci",
    "tab:glue_dev": "tab-glue",
    "fig:speech": "fig-speech",
    "fig:img": "fig-img",
    "eq:cint1": "thm-gerf",
    "eq:cgauss": "eq-cgauss",
    "eq:abcd2": "thm-gerf",
    "eq:varder1": "thm-gerf-var",
    "eq:varder2": "thm-gerf-var",
    "eq:varder3": "thm-gerf-var",
    "eq:roots": "thm-minvar",
    "thm-ortho": "thm-ortho-general",
    "z-bound": "hoeffding-oprf",
    "tab:ucistd": "tab-ucistd",
    "tab:app_mlm_param": "tab-text-settings",
    "tab:mlm_data": "tab-text-settings",
    "tab:app_speech_param": "tab-speech-settings",
    "tab:vitpretrain": "tab-vision-settings",
    "tab:vitfinetune": "tab-vision-settings",
    "tab:vitscratch": "tab-vision-settings",
    "tab:vitlarge": "tab-vision-settings",
    "tab:vittiny": "tab-vision-settings",
    "tab:vitpatch": "tab-vision-settings",
}
"""The paper's labels of theorems, equations, figures, tables; a step of a proof has its claim."""

KINDS: Mapping[Kind, tuple[str, ...]] = {
    "theorem": (
        *("thm-gerf", "thm-gerf-var", "thm-minvar", "thm-pois", "thm-geom"),
        *("thm-ortho", "thm-ortho-general", "thm-tails-iid", "thm-tails-ort", "thm-uniform"),
        *("trig-var", "pos-var", "positivity", "clamp-bias", "plug-in-optima"),
        *("gerf-real-optimum", "gerf-optimum", "gerf-optimum-plus", "gerf-optimum-minus"),
        *("geom-optimum", "opt-dirf", "ortho-exact", "ortho-trig"),
        *("hoeffding-oprf", "bernstein-oprf", "lower-tail-positive", "lower-tail-ort"),
        *("thm-uniform-corrected", "fixed-pairs"),
    ),
    "identity": (
        *("eq-rfappr", "eq-sfm", "eq-dirf", "eq-gestat", "eq-poisstat", "eq-geomstat"),
        *("eq-cgauss", "gaussian-mean", "chi-square-moments"),
        *("sphere-average", "sphere-length-average", "stable-oprf", "stable-dirf"),
    ),
    "figure": ("fig-utility",),
    "table": ("table-1-sizes", "table-1-trig"),
    "remark": (
        *("gerf-roots", "kernel-sign", "gerf-infinite-variance", "variance-of-one"),
        *("minvar-sign", "pois-rate-zero", "geom-cites-poisvar"),
        *("classification-cost", "learning-rates"),
    ),
}
"""What each of the notebooks' statements is; remarks correct the text or add to it."""

ON_PAPER: Mapping[str, str] = {
    "table-1-sizes": "a column of the printed table, recomputed in the notebook from public sizes",
    "table-1-trig": "the printed accuracies, compared in the notebook with a constant predictor's",
    "learning-rates": "misprints of exponents: no code computes them",
}
"""Statements on print alone: their notebook is the evidence, and no check of code applies."""

FORMULAS: Mapping[str, tuple[str, ...]] = {
    "eq-rfappr": ("log_gaussian_kernel", "log_softmax_kernel"),
    "eq-dirf": ("log_gaussian_kernel",),
    "eq-cgauss": ("log_gerf_d",),
    "gaussian-mean": ("log_second_moment_gerf",),
    "chi-square-moments": ("log_orthogonal_gain",),
    "sphere-average": ("orthogonal_gain_trig",),
    "sphere-length-average": ("log_orthogonal_gain",),
    "stable-oprf": ("rho_star", "a_star", "log_variance_oprf", "utility"),
    "stable-dirf": ("log_variance_pois", "log_variance_geom"),
    "plug-in-optima": ("rho_star", "lambda_star", "rates_star"),
    "thm-ortho-general": ("log_orthogonal_gain_bound", "orthogonal_weight"),
    "thm-tails-iid": ("log_supremum_oprf", "log_hoeffding"),
    "thm-tails-ort": ("bennett_rate", "log_bernstein_upper"),
    "thm-uniform": ("features_for_uniform", "log_features_for_uniform"),
    "gerf-optimum": ("a_star", "gerf_stationarity"),
    "gerf-optimum-plus": ("a_star",),
}
"""Formulas of claims whose notebook gives them under another claim, e.g. the corrected one.

Of the identities beneath every expectation, those that are computed by them.
"""

NOT_YET, RUN = "not yet run", "evidence only"
RESULTS = Path(__file__).parents[1] / "results"
EXPERIMENTS = (
    Claim(
        "fig-map",
        "Figure 1 (fig:varratio), left",
        "a map of random-feature methods for the Gaussian kernel",
        "figure",
        NOT_YET,
    ),
    Claim(
        "fig-log-vars",
        "Section 5.1, Figure 2 (fig:log_vars)",
        "variances of all mechanisms in four regimes; GERF below TrigRF by e^80, e^125, e^10 and "
        "OPRF, GeomRF+ below PosRF by e^75, e^125, e^7 at σ = 1 in normal, heterogen, mnist",
        "figure",
        NOT_YET,
    ),
    Claim(
        "tab-uci",
        "Section 5.2, Table 1 (tab:uci)",
        "non-parametric classification on eight sets: OPRF has the best average accuracy",
        "table",
        NOT_YET,
    ),
    Claim(
        "tab-ucistd",
        "Appendix, Table 5 (tab:ucistd)",
        "standard deviations of the accuracies of Table 1",
        "table",
        NOT_YET,
    ),
    Claim(
        "tab-glue",
        "Section 5.3.1, Table 2 (tab:glue_dev)",
        "on GLUE, FAVOR++ is above FAVOR+ in all eight tasks, and uptraining helps further",
        "table",
        NOT_YET,
    ),
    Claim(
        "fig-speech",
        "Section 5.3.2, Figure 3 (fig:speech)",
        "word error rate on LibriSpeech: FAVOR++ below FAVOR+ by 2.49 % (M = 8), 3.05 % (M = 16)",
        "figure",
        NOT_YET,
    ),
    Claim(
        "fig-img",
        "Section 5.3.3, Figure 4 (fig:img)",
        "Vision Transformers: FAVOR++ is more stable than FAVOR+ and more accurate, especially "
        "uptrained, so compatible with softmax; both take very similar time, linear in the length; "
        "above 1000 tokens softmax runs short of memory",
        "figure",
        NOT_YET,
    ),
    *(
        Claim(f"tab-{name}-settings", f"Appendix, {name}", text, "table", NOT_YET)
        for name, text in (
            ("text", "hyper-parameters and data of the text experiments"),
            ("speech", "hyper-parameters of the speech experiments"),
            ("vision", "hyper-parameters of the vision experiments and model sizes"),
        )
    ),
)

ATTENTION = tuple(
    Claim(f"attention-{name}", "Section 5.3 (FAVOR++)", text, "definition", "evidence only")
    for name, text in (
        (
            "estimator",
            "FavorAttention returns Σ_j K̂(q,k_j)v_j / Σ_j K̂(q,k_j) with nothing added, whatever "
            "the mode, the mask, the grouping of heads and the size of the inputs",
        ),
        ("gradients", "its gradients are those of that quotient"),
        ("causality", "no later token changes an earlier causal output by a bit"),
        ("pads", "what stands in masked places reaches no bit of the output"),
        ("rho", "ρ is ρ* at the mean of scale·‖q_i+k_j‖², for each batch element and head"),
        ("linear", "time is linear in L, M and d, gradients included; no L × M array is kept"),
        ("unbiased", "numerator and denominator are unbiased before they are divided"),
        ("uniform", "with the M of the corrected Theorem 4.3 no entry of the matrix is off by ε"),
        ("streaming", "a prefill and one step for each later token give the causal outputs"),
        ("packing", "sequences packed into one row see themselves alone"),
        ("devices", "the length spread over devices gives what one device gives"),
    )
)
"""What `crt.FavorAttention` promises; checked, and proved as far as the theorems beneath it."""

INTERFACE = (
    Claim(
        "interface",
        "Section 2 (eq:rfappr)",
        "columns for other libraries, features spread over devices, `choose`, `redraw` and "
        "`report` give what the definitions of the estimates say",
        "definition",
        "evidence only",
    ),
)
"""What users call beside the estimators."""


def kind_of(name: str) -> Kind:
    """What a notebook's statement is; one that `KINDS` does not name is an error."""
    for kind, names in KINDS.items():
        if name in names:
            return kind
    raise LookupError(f"statement {name!r} has no kind; verification/claims.py must name one")


def answered(folder: Path = RESULTS) -> set[str]:
    """The claims on which an experiment has given a verdict, in the results that are here."""
    found: set[str] = set()
    for path in sorted(folder.glob("*.json")):
        try:
            rows = json.loads(path.read_text("utf-8")).get("verdicts") or []
            found |= {row["claim"] for row in rows if row["verdict"]}
        except (OSError, ValueError, AttributeError, TypeError, KeyError):
            continue  # not the numbers of an experiment
    return found


@functools.cache
def load_claims() -> Mapping[str, Claim]:
    """Every claim by its identifier: the notebooks' in order, attention's, the experiments'."""
    attached: dict[str, list[str]] = {}
    for check in load_checks().values():
        for claim in check.claims:
            attached.setdefault(claim, []).append(check.id)
    found = {}
    for stem, given in load_handovers().items():
        for statement in given["statements"]:
            name = statement["id"]
            own = tuple(f["name"] for f in given["formulas"] if f["statement"] == name)
            found[name] = Claim(
                name,
                statement["paper"],
                statement["text"],
                kind_of(name),
                statement["status"],
                stem,
                own + tuple(f for f in FORMULAS.get(name, ()) if f not in own),
                tuple(attached.get(name, ())),
                tuple(label for label, claim in LABELS.items() if claim == name),
            )
    run = answered()
    for claim in (*ATTENTION, *INTERFACE, *EXPERIMENTS):
        if claim.id in run:
            claim = replace(claim, status=RUN)
        labels = tuple(label for label, name in LABELS.items() if name == claim.id)
        checks = tuple(attached.get(claim.id, ()))
        found[claim.id] = replace(claim, checks=checks, labels=labels)
    unknown = set(attached) - set(found)
    if unknown:
        raise LookupError(f"checks are attached to claims that do not exist: {sorted(unknown)}")
    return found
