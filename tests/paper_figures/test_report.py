import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from paper_figures.report import render, write
from paper_figures.results import Results, ResultsError
from paper_figures.sections import SECTIONS
from paper_figures.sections.links import ROOT
from tests.paper_figures import sample

VOID = ("meta", "link", "br")


class Outline(HTMLParser):
    """Checks that elements close in order, and gathers what pages refer to."""

    def __init__(self, page: str):
        super().__init__()
        self.stack: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.feed(page)
        assert not self.stack

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids += filter(None, [given.get("id")])
        self.links += filter(None, (given.get(key) for key in ("href", "src", "xlink:href")))

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag


def page_of(folder: Path, page: Path | None = None) -> str:
    return render(Results(folder, page))[0]


def test_every_claim_check_fault_and_erratum_appears(put, words) -> None:
    page = page_of(put(words))
    for claim in words["claims"]:
        assert f'id="claim-{claim["id"]}"' in page and claim["status"] in page
        assert all(name in page for name in claim["formulas"])
    for check in words["checks"]:
        assert f'id="check-{check["id"]}"' in page and check["summary"] in page
        assert all(fault in page for fault in check["planted"])
    assert "the signs of a QR factorisation are left as they come" in page
    for erratum in words["errata"]:
        assert erratum["printed"] in page and erratum["why"] in page
    assert (
        "1 check not run" in page
        and "1 check was not part of it." in page
        and "rho_star" in page
        and "20221" in page
    )
    assert "Every check passed." in page and "M ≥ 1270" in page


def test_the_page_says_what_size_of_error_is_caught(put, words) -> None:
    page = page_of(put(words))
    assert words["regime"] in page
    del words["regime"]  # as in results of older runs
    assert "<h2>Checks</h2>" in page_of(put(words))


def test_the_page_is_whole_and_asks_for_nothing(put, found) -> None:
    outline = Outline(page_of(put(found)))
    assert len(outline.ids) == len(set(outline.ids))
    local = [link[1:] for link in outline.links if link.startswith("#")]
    assert local and set(local) <= set(outline.ids)
    assert [link for link in outline.links if not link.startswith("#")] == ["data:,"]


def test_sections_are_in_the_navigation(put, found, put_study, study) -> None:
    put_study(study)
    page = page_of(put(found))
    assert re.findall(r'<a href="#([a-z]+)">', page) == [section.id for section in SECTIONS]


def test_notebooks_are_linked_from_a_page_in_the_checkout(put, words) -> None:
    page = page_of(put(words), ROOT / "results")
    assert 'href="../derivations/10_uniform.ipynb"' in page


def test_verdicts_stand_beside_the_paper(put, words, put_study, study) -> None:
    put_study(study)
    page = page_of(put(words), ROOT / "results")
    assert "Of 2 statements that the experiments here can judge, 1 came out" in page
    for said in ("a below b", "&gt; 80", "83.6", "✓ reproduced", "✗ not reproduced"):
        assert said in page
    assert "not judged: a stand-in" in page and "because &lt;of&gt; that" in page
    assert "digits for mnist" in page and "variance.laptop.json" in page
    assert (
        "1 of 2 reductions are as large as it says" in page
        and "gives 0; by the better of both it is 1" in page
    )
    assert "gerf 0.25" in page and "L = 64" in page and "1.7 minutes" in page
    assert "5.0 minutes by the clock<" in page and "◇ drawn" in page
    Outline(page)


def test_a_claim_takes_its_status_from_the_verdicts(put, words, put_study, study) -> None:
    assert "○ not yet run" in page_of(put(words)).partition('id="claim-fig-img"')[2]
    put_study(study)
    claim = page_of(put(words)).partition('id="claim-fig-img"')[2]
    assert "◑ partly reproduced" in claim and "○ not yet run" not in claim
    study["verdicts"] = study["verdicts"][:1]
    put_study(study)
    assert "✓ reproduced" in page_of(put(words)).partition('id="claim-fig-img"')[2]


def test_what_our_numbers_cannot_tell_is_no_difference(put, words, put_study, study) -> None:
    verdicts = study["verdicts"][:2]
    for first, whole in (("reproduced", "✓ reproduced"), ("not decided", "≈ not decided")):
        verdicts[0]["verdict"], verdicts[1]["verdict"] = first, "not decided"
        put_study(study | {"verdicts": verdicts})
        page = page_of(put(words))
        assert whole in page.partition('id="claim-fig-img"')[2]
        assert "our numbers cannot tell" in page
    assert "Of 2 statements that the experiments here can judge, 0 came out" in page


def test_the_paper_preset_is_preferred(put_study, study, tmp_path: Path) -> None:
    folder = put_study(study)
    study |= {"preset": "paper", "data": {}}
    sample.store_study(folder, study, "paper")
    page = page_of(folder)
    assert "Preset paper." in page and "variance.paper.json" in page and "digits for" not in page


def test_strange_text_is_escaped(put, words) -> None:
    bad = '<script>alert("x")</script>'
    for row in (words["claims"][0], words["checks"][0], words["errata"][0], words["formulas"][0]):
        for key, value in row.items():
            if isinstance(value, str) and key not in ("kind", "status", "dtype", "notebook"):
                row[key] = bad
    words["checks"][1]["planted"] = {bad: True}
    page = page_of(put(words))
    assert "<script" not in page and page.count("&lt;script&gt;") >= 10
    Outline(page)


def test_failures_are_said_first(put, words) -> None:
    words["checks"][1] |= {"ok": False, "passed": False, "observed": 3.0}
    words["checks"][2] |= {"ok": False, "planted": {"raw-qr": False}}
    page = page_of(put(words))
    assert "2 checks went wrong." in page and "Every check passed" not in page
    assert page.count("✗ failed") >= 2 and "✗ missed" in page
    assert page.index("variance-pos-orthogonal-d8</a>") < page.index("mean-pos-iid-d3</a>")


def test_survived_mutants_are_a_failure(put, words) -> None:
    words["mutants"]["survived"] = 2
    assert "2 planted errors went wrong." in page_of(put(words))


def test_absent_results_leave_their_sections_out(put, words) -> None:
    words |= {"errata": [], "formulas": [], "mutants": {}}
    for check in words["checks"]:
        check |= {"data": {}, "planted": {}, "module": "exactness"}
    folder = put(words)
    (folder / "verification.manifest.json").unlink()
    page, left_out = render(Results(folder))
    assert set(left_out) == {
        *("reproduction", "figures", "errata", "faults", "formulas", "environment")
    }
    assert all(name in page.rpartition("<footer>")[2] for name in left_out)
    Outline(page)


def test_figures_without_series_are_named(put, found) -> None:
    found["checks"] = found["checks"][:1]
    found["claims"][0]["checks"] = []
    missing = (
        "equal_cost, accuracy, ranks, constant, convergence, surface, gain, tails, uniform, "
        "attention_speed, attention_map, minilm, vision_accuracy, vision_stability, vision_swap, "
        "vision_error, vision_speed."
    )
    assert missing in page_of(put(found))


def test_the_same_results_give_the_same_bytes(put, found) -> None:
    folder = put(found)
    first = {path: path.read_bytes() for path in write(Results(folder))[0]}
    again = {path: path.read_bytes() for path in write(Results(folder))[0]}
    assert len(first) >= 5 and first == again


def test_no_results_at_all(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="holds no results"):
        render(Results(tmp_path))


def test_a_run_of_softmax_below_what_was_asked_is_told_of(put, words) -> None:
    folder = sample.store_vision(put(words))
    assert "88.10 %, uptrained 90.10 %. Of its 6 runs none ended below." in page_of(folder)
    numbers = json.loads((folder / "vision.laptop.json").read_text())
    row = next(each for each in numbers["accuracy"] if each["attention"] == "softmax")
    row["values"][2] = 84.51
    (folder / "vision.laptop.json").write_text(json.dumps(numbers))
    assert "Of its 6 runs 1 ended below: 84.51 %." in page_of(folder)


def test_the_vision_study_says_its_scale_and_what_was_not_run(put, words) -> None:
    page = page_of(sample.store_vision(put(words)))
    assert 'id="experiment-vision"' in page and 'id="experiment-vision-plan"' in page
    assert "The verdicts are about that scale" in page
    assert "Nothing of this was run: no accelerator was at hand." in page
    assert "none of its 1000 weights changed and nothing trained, at M = 4096: FAVOR+ 86.9" in page
    assert "FAVOR+ 0.8 predicted, 0.8 observed with fresh projections; FAVOR++ 0.3 predict" in page
    assert "0.3 observed with fresh projections, 0.3 with the model" in page
    assert "Does a smaller error explain accuracy? From scratch, the predicted" in page
    assert "parameters learns Fashion-MNIST on two cores" in page
    # The verdicts of the clock stand with the others.
    assert "time of a step, FAVOR++ over FAVOR+" in page
