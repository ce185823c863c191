"""Every figure from the small result set, and from results with parts of it missing."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

from paper_figures import (
    attention_map,
    attention_speed,
    equal_cost,
    gain,
    log_vars,
    method_map,
    minilm,
    orthogonal,
    prediction,
    surface,
    tails,
    uniform,
    utility,
    variance,
    vision_accuracy,
    vision_error,
    vision_speed,
    vision_stability,
    vision_swap,
)
from paper_figures.gallery import MODULES, absent, drawings
from paper_figures.results import Results
from paper_figures.style import STYLE, inline, paper_style
from tests.paper_figures import sample

NAMES = [module.__name__.rpartition(".")[2] for module in MODULES]


STUDY = ["method_map", "utility", "log_vars", "orthogonal", "prediction", "equal_cost"]
"""Figures that are drawn from the variance study."""


def test_every_figure_is_drawn(put, found, put_study, study) -> None:
    put_study(study)
    folder = sample.store_classification(sample.store_attention(put(found)))
    results = Results(sample.store_vision(folder))
    assert [drawing.name for drawing in drawings(results)] == NAMES
    assert absent(results) == []
    for drawing in drawings(results):
        assert drawing.png().startswith(b"\x89PNG") and drawing.title and len(drawing.caption) > 80
        assert ElementTree.fromstring(drawing.svg).tag.endswith("svg")
        assert b"<dc:date>" not in drawing.svg


def test_the_numbers_of_a_study_reach_its_figures(put_study, study) -> None:
    before = {drawing.name: drawing.svg for drawing in drawings(Results(put_study(study)))}
    for row in study["variances"]:
        row |= {"mean": row["mean"] ** 2} | ({"orthogonal": -9.0} if "orthogonal" in row else {})
    for row in study["errors"]:
        row["observed"] **= 2
        row["predicted"] **= 1.5
    study["methods"]["methods"][0]["title"] = "another"
    study["methods"]["curves"]["utility"]["64"][-1] = -70.0
    after = {drawing.name: drawing.svg for drawing in drawings(Results(put_study(study)))}
    assert set(before) == set(after) == set(STUDY)
    assert not [name for name in before if before[name] == after[name]]


@pytest.mark.parametrize(
    ("part", "figures"),
    [
        ("variances", (log_vars, orthogonal)),
        ("errors", (orthogonal, prediction, equal_cost)),
        ("methods", (method_map, utility)),
    ],
)
def test_parts_of_a_study_that_are_missing_draw_nothing(
    put_study, study, part: str, figures: tuple[Any, ...]
) -> None:
    study[part] = None
    results = Results(put_study(study))
    assert [figure.draw(results) for figure in figures] == [None] * len(figures)


def test_captions_tell_the_numbers(put_study, study) -> None:
    results = Results(put_study(study))
    assert "the value is −61.22" in utility.caption(results)
    assert "2 draws" in log_vars.caption(results)
    assert "scikit-learn's digits stand in" in log_vars.caption(results)
    assert "(26 in all)" in prediction.caption(results)
    assert "26 lie within" in prediction.caption(results)


def heavy(study: dict[str, Any], mechanism: str, orthogonal: bool, factor: float) -> None:
    """Predict a larger error of a mechanism, which its draws do not show."""
    for row in study["errors"]:
        if (row["mechanism"], row["orthogonal"]) == (mechanism, orthogonal):
            row["predicted"] *= factor


def test_draws_that_are_lucky_choose_nothing_and_are_marked(put_study, study) -> None:
    before = "Open marks are 0 of 18"
    assert before in equal_cost.caption(Results(put_study(study)))
    heavy(study, "trig", True, 4.0)
    heavy(study, "geom", False, 4.0)
    results = Results(put_study(study))
    kinds = {row["mechanism"]: row["orthogonal"] for row in equal_cost.best(results, "mnist")}
    assert not kinds["trig"] and kinds["pos"]
    assert "are 2 of 18 whose draws show less than half" in equal_cost.caption(results)
    figure = equal_cost.draw(results)
    assert figure is not None
    lines = {line.get_label(): line for line in figure.axes[0].get_lines()}
    shown = [row["predicted"] for row in equal_cost.best(results, "mnist")]
    assert set(np.asarray(lines["geom"].get_ydata())) <= set(shown)


def test_a_mechanism_above_the_drawing_is_named(put_study, study) -> None:
    heavy(study, "optpois", False, 1e9)
    results = Results(put_study(study))
    figure = equal_cost.draw(results)
    assert figure is not None
    assert "above 3: optpois" in [text.get_text() for text in figure.axes[0].texts]
    assert "and the 2 above the drawing," in equal_cost.caption(results)


def test_ratios_of_errors_that_draws_do_not_show_are_predicted_alone(put_study, study) -> None:
    heavy(study, "pos", False, 1.3)
    heavy(study, "pos", True, 1.3)
    results = Results(put_study(study))
    found = results.experiment("variance")
    assert found is not None
    pairs = orthogonal.ratios(found)
    assert {pair.mechanism for pair in pairs if pair.observed is None} == {"pos"}
    assert {round(pair.predicted, 9) for pair in pairs} == {0.8}
    assert "the other 2 of 8 ratios are left out" in orthogonal.caption(results)


def test_predictions_beyond_the_drawing_stand_at_its_edge(put_study, study) -> None:
    heavy(study, "geom", False, 1e9)
    results = Results(put_study(study))
    figure = prediction.draw(results)
    assert figure is not None
    places = [x for line in figure.axes[0].get_lines() for x in np.asarray(line.get_xdata())]
    assert places.count(prediction.EDGE) == 2 and max(places) == prediction.EDGE
    assert "The 2 at the right edge have a predicted error above 10" in prediction.caption(results)


def test_lines_that_agree_are_drawn_one_inside_the_other(put_study, study) -> None:
    for row in study["variances"]:
        row |= {"mean": 0.0} | ({"orthogonal": 0.0} if "orthogonal" in row else {})
    results = Results(put_study(study))
    for module in (log_vars, orthogonal):
        figure = module.draw(results)
        assert figure is not None
        lines = figure.axes[0].get_lines()
        widths = [line.get_linewidth() for line in lines if line.get_linestyle() != "None"]
        # The line at 0, if there is one, is drawn last and thinnest.
        assert len(widths) >= 4 and widths == sorted(set(widths), reverse=True)


def test_the_better_projections_are_priced(put_study, study) -> None:
    results = Results(put_study(study))
    rows = equal_cost.best(results, "mnist")
    assert len(rows) == 2 * 9
    kinds = {row["mechanism"]: row["orthogonal"] for row in rows}
    assert kinds["trig"] and not kinds["geom"]
    found = results.experiment("variance")
    assert found is not None
    assert {round(pair.observed or 0, 9) for pair in orthogonal.ratios(found)} == {0.8}


def test_settings_of_the_user_change_nothing(put, found) -> None:
    folder = put(found)
    with mpl.rc_context({"lines.linewidth": 9, "font.size": 20, "svg.hashsalt": "other"}):
        theirs = drawings(Results(folder))
        assert mpl.rcParams["lines.linewidth"] == 9
    assert [drawing.svg for drawing in theirs] == [d.svg for d in drawings(Results(folder))]


def test_the_numbers_reach_the_figure(put, found) -> None:
    before = {drawing.name: drawing.svg for drawing in drawings(Results(put(found)))}
    for check in found["checks"]:
        if check["module"] == "montecarlo":
            check["observed"] += 0.004
    after = {drawing.name: drawing.svg for drawing in drawings(Results(put(found)))}
    assert [name for name in before if before[name] != after[name]] == ["variance"]


@pytest.mark.parametrize("data", [{}, {"curves": 3, "gain": [], "means": {}}, {"rows": []}, None])
def test_checks_without_series_draw_nothing(put, found, data: object) -> None:
    for check in found["checks"]:
        check["data"] = data
    results = Results(put(found))
    assert [drawing.name for drawing in drawings(results)] == ["variance"]


@pytest.mark.parametrize("missing", ["TrigRF", "PosRF", "OPRF, d = 64"])
def test_a_surface_with_a_mechanism_missing_is_not_drawn(put, found, missing: str) -> None:
    check = next(check for check in found["checks"] if check["id"] == surface.CHECK)
    del check["data"]["surface"]["log variance"][missing]
    assert surface.draw(Results(put(found))) is None


def test_the_surface_is_drawn_in_two_panels_with_a_scale(put, found) -> None:
    results = Results(put(found))
    figure = surface.draw(results)
    assert figure is not None and len(figure.axes) == 3
    assert len(figure.axes[0].get_lines()) == 4 and "all 9 nodes" in surface.caption(results)


def test_one_panel_of_two(put, found) -> None:
    found["checks"] = [check for check in found["checks"] if check["id"] != "ortho-pairs"]
    figure = gain.draw(Results(put(found)))
    assert figure is not None and len(figure.axes) == 1


def test_the_printed_bound_is_seen_to_fail_where_it_does(put, found) -> None:
    results = Results(put(found))
    assert [tails.refuted(curve) for _, curve in tails.curves(results)] == [False, True]
    assert "fails in 1 panel." in tails.caption(results)
    assert tails.caption(results).endswith("significantly above its own.")
    with paper_style():
        figure = tails.draw(results)
    assert figure is not None
    titles = [axis.get_title(loc="left") for axis in figure.axes if axis.get_visible()]
    assert ["fails" in title for title in titles] == [True, False]


@pytest.mark.parametrize(
    "rows", [[], [[64, 1, 1, 1, 1]], [[64, 1, 1], [2, 1, 1]], [[64, 1, 1, "nan", 1]] * 2, [3, 4]]
)
def test_suprema_that_cannot_be_drawn(put, found, rows: list[object]) -> None:
    check = next(check for check in found["checks"] if check["id"] == "uniform-slope")
    check["data"]["suprema"] = rows
    assert uniform.draw(Results(put(found))) is None


def test_the_slope_is_in_the_caption(put, found) -> None:
    assert "the slope seen is −0.497, and 0.060 is allowed" in uniform.caption(Results(put(found)))


def test_relative_errors(put, found) -> None:
    found["checks"][0] |= {"observed": 1.98, "predicted": 2.0, "allowed": 0.1}
    point = variance.points(Results(put(found)))[0]
    assert (point.what, point.mechanism, point.projections, point.dim) == ("mean", "pos", "iid", 3)
    assert point.error == pytest.approx(-0.01) and point.allowed == pytest.approx(0.05)


def test_a_figure_in_a_page_has_names_of_its_own_and_the_colours_of_the_page(put, found) -> None:
    drawing = drawings(Results(put(found)))[0]
    page = inline(drawing.svg, "one", "a &amp; b")
    assert page.startswith("<svg") and 'aria-label="a &amp; b"' in page and "<?xml" not in page
    root = ElementTree.fromstring(page)
    ids = [node.get("id") for node in root.iter() if node.get("id")]
    assert ids and all(str(name).startswith("one-") for name in ids)
    assert "currentColor" in page and "#1d2126" not in page


def test_the_style_file_is_read() -> None:
    assert Path(STYLE).is_file()
    style = mpl.rc_params_from_file(STYLE, use_default_template=False)
    assert style["svg.hashsalt"] and style["svg.fonttype"] == "path"


def test_attention_says_what_was_measured_and_what_was_missed(put, found) -> None:
    results = Results(sample.store_attention(put(found)))
    said = attention_speed.caption(results)
    assert "Forward: up to L = 4096, exact attention is faster at none." in said
    assert "exponent in L: 1.02." in said and "rate: 0.4 (target missed)." in said
    assert "causal: " not in said


def test_the_map_counts_the_cells_that_each_method_wins(put, found) -> None:
    results = Results(sample.store_attention(put(found)))
    said = attention_map.caption(results)
    assert "Gaussian inputs at 256 features: FAVOR+ 1, FAVOR++ 1." in said
    assert "heads of MiniLM at 256 features: FAVOR++ 2, uniform 2." in said


def test_the_encoder_is_drawn_with_its_numbers(put, found) -> None:
    folder = sample.store_attention(put(found))
    assert "32 MRPC pairs" in minilm.caption(Results(folder))
    assert "softmax 0.75." in minilm.caption(Results(folder))
    figure = minilm.draw(Results(folder))
    assert figure is not None
    shown = {text.get_text() for text in figure.axes[0].texts}
    assert shown == {"0.50"}
    assert figure.axes[0].get_legend_handles_labels()[1] == ["FAVOR+", "FAVOR++"]


def test_what_stands_in_for_a_set_is_named_over_its_panel(put_study, study) -> None:
    figure = equal_cost.draw(Results(put_study(study)))
    assert figure is not None
    assert "digits for mnist" in [axis.get_title() for axis in figure.axes]
    study["data"]["mnist"]["stand_in"] = None
    figure = equal_cost.draw(Results(put_study(study)))
    assert figure is not None and "mnist" in [axis.get_title() for axis in figure.axes]


def test_the_vision_study_tells_its_numbers(put, found) -> None:
    results = Results(sample.store_vision(put(found)))
    assert "FAVOR++ 86.1 (from scratch, 49 tokens)" in vision_accuracy.caption(results)
    assert "on Fashion-MNIST" in vision_accuracy.caption(results)
    assert "at most 2,000 test images" in vision_accuracy.caption(results)
    steady = vision_stability.caption(results)
    assert "a number: 0." in steady and "above 1.5: loss softmax 2.01 (12), FAVOR+ 4.01" in steady
    assert "88.0 %" in vision_swap.caption(results)
    assert "none of its 1000 weights changed" in vision_swap.caption(results)
    assert "with weights and the optimizer's state" in vision_speed.caption(results)
    assert "At 1936 tokens FAVOR++ makes 3.52 times" in vision_speed.caption(results)
    own = vision_error.own(results_of(results))
    assert all(row["estimate"] == row["attention"] for row in own)
    assert {row["start"] for row in own} == {"scratch", "uptrain"} and len(own) == 12


@pytest.mark.parametrize(
    ("correlation", "chance", "said"),
    [
        (-0.9, 0.01, "Yes: a smaller one goes with a higher accuracy."),
        (0.9, 0.01, "No: a smaller one goes with a lower accuracy."),
        (-0.9, 0.2, "These models do not tell."),
    ],
)
def test_whether_errors_explain_accuracy_is_answered(
    put, found, correlation: float, chance: float, said: str
) -> None:
    folder = sample.store_vision(put(found))
    numbers = json.loads((folder / "vision.laptop.json").read_text())
    for row in numbers["explained"]:
        row["predicted"] = {"correlation": correlation, "p": chance}
    (folder / "vision.laptop.json").write_text(json.dumps(numbers))
    caption = vision_error.caption(Results(folder))
    assert caption.count(said) == 2 and "for 3 of 3 seeds" in caption


def results_of(results: Results) -> list[Any]:
    found = results.experiment("vision")
    assert found is not None
    return found.numbers["errors"]


def test_a_changed_number_of_the_vision_study_reaches_its_figures(put, found) -> None:
    folder = sample.store_vision(put(found))
    names = ["vision_accuracy", "vision_stability", "vision_swap", "vision_error", "vision_speed"]
    before = {each.name: each.svg for each in drawings(Results(folder))}
    numbers = json.loads((folder / "vision.laptop.json").read_text())
    timing = json.loads((folder / "vision.laptop.timing.json").read_text())
    numbers["curves"][0]["end"]["most"] += 9
    numbers["stability"][0]["windows"][0]["loss_most"] += 1
    numbers["swap"]["rows"][0]["mean"] -= 9
    numbers["errors"][0]["kernel_fresh"] *= 2
    timing["speed"][0]["steps"]["softmax"]["most"] *= 2
    (folder / "vision.laptop.json").write_text(json.dumps(numbers))
    (folder / "vision.laptop.timing.json").write_text(json.dumps(timing))
    after = {each.name: each.svg for each in drawings(Results(folder))}
    assert [name for name in names if before[name] != after[name]] == names


@pytest.mark.parametrize("part", ["curves", "stability", "swap", "errors"])
def test_parts_of_the_vision_study_that_are_missing_draw_nothing(put, found, part: str) -> None:
    folder = sample.store_vision(put(found))
    numbers = json.loads((folder / "vision.laptop.json").read_text())
    (folder / "vision.laptop.json").write_text(json.dumps(numbers | {part: None}))
    module = {"curves": vision_accuracy, "stability": vision_stability, "swap": vision_swap}
    assert module.get(part, vision_error).draw(Results(folder)) is None
    (folder / "vision.laptop.timing.json").unlink()
    assert vision_speed.draw(Results(folder)) is None
