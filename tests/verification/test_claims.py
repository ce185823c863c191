"""Every label of the paper has a claim, every theorem and identity a proof and a check."""

import json
from pathlib import Path

import pytest

from derivations.codegen import ROOT
from derivations.library import load_formulas
from verification import claims, index
from verification.claims import LABELS, NOT_YET, load_claims
from verification.registry import load_checks

PAPER = (Path(__file__).parent / "paper_labels.txt").read_text("utf-8").split()
PROVED = [claim for claim in load_claims().values() if claim.kind in ("theorem", "identity")]
STATUSES = {"proved", "corrected", "refuted as printed", "evidence only", NOT_YET}


@pytest.mark.parametrize("label", PAPER)
def test_every_label_of_the_paper_has_a_claim(label: str) -> None:
    assert label in load_claims()[LABELS[label]].labels


def test_no_label_is_invented() -> None:
    assert set(LABELS) == set(PAPER) and len(PAPER) == len(set(PAPER))


@pytest.mark.parametrize("claim", PROVED, ids=lambda claim: claim.id)
def test_theorems_and_identities_have_a_cell_a_formula_and_a_check(claim: claims.Claim) -> None:
    source = (ROOT / "derivations" / f"{claim.notebook}.py").read_text("utf-8")
    assert f'"{claim.id}"' in source
    assert claim.formulas and set(claim.formulas) <= set(load_formulas())
    assert claim.checks and set(claim.checks) <= set(load_checks())


def test_kinds_and_statuses() -> None:
    every = load_claims()
    assert {claim.status for claim in every.values()} <= STATUSES
    listed = [name for names in claims.KINDS.values() for name in names]
    assert len(listed) == len(set(listed)) and set(listed) <= set(every)
    with pytest.raises(LookupError, match="'eq-new' has no kind"):
        claims.kind_of("eq-new")


def test_only_statements_on_print_and_experiments_go_without_a_check() -> None:
    experiments = {claim.id for claim in claims.EXPERIMENTS}
    left = {claim.id for claim in load_claims().values() if not claim.checks}
    assert left - experiments == set(claims.ON_PAPER)


def test_a_figure_is_not_yet_run_until_results_have_a_verdict_on_it(tmp_path: Path) -> None:
    for claim in claims.EXPERIMENTS:
        run = claim.id in claims.answered()
        assert load_claims()[claim.id].status == (claims.RUN if run else NOT_YET), claim.id
    assert {"fig-map", "fig-log-vars"} <= claims.answered()
    assert all(load_claims()[name].status == NOT_YET for name in ("tab-glue", "fig-speech"))
    assert claims.answered(tmp_path) == set()
    (tmp_path / "broken.json").write_text("[1")
    (tmp_path / "other.json").write_text("[1]")
    rows = [{"claim": "tab-uci", "verdict": "reproduced"}, {"claim": "fig-img", "verdict": ""}]
    (tmp_path / "classification.paper.json").write_text(json.dumps({"verdicts": rows}))
    assert claims.answered(tmp_path) == {"tab-uci"}


def test_a_check_of_an_unknown_claim_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    checks = dict(load_checks())
    name, check = next(iter(checks.items()))
    checks[name] = replace(check, claims=("thm-gref",))
    monkeypatch.setattr(claims, "load_checks", lambda: checks)
    with pytest.raises(LookupError, match="thm-gref"):
        load_claims.__wrapped__()


def test_every_stochastic_check_has_an_error_of_twice_the_detectable_size() -> None:
    drawn = [check for check in load_checks().values() if check.kind == "montecarlo"]
    assert all("twice the detectable error" in dict(check.planted) for check in drawn)


def test_every_claim_with_checks_keeps_one_in_the_quick_budget() -> None:
    checks = load_checks()
    checked = [claim for claim in load_claims().values() if claim.checks]
    left = [c.id for c in checked if not any(checks[name].quick for name in c.checks)]
    assert checked and not left


def test_optima_are_certified_by_inequalities() -> None:
    checks, every = load_checks(), load_claims()
    for name in ("thm-minvar", "gerf-optimum", "gerf-optimum-plus", "gerf-optimum-minus"):
        assert "inequality" in {checks[check].kind for check in every[name].checks}, name


def test_the_index_is_current() -> None:
    fix = "run python -m verification --index && python -m derivations"
    assert index.FILE.read_text("utf-8") == index.render(), fix
    assert json.loads(index.render())["thm-gerf"]
