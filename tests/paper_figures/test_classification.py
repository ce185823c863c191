"""Figures and tables of the classification, from a made-up study and from parts of it."""

import html
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from experiments.classification.gather import gather
from experiments.classification.presets import PRESETS
from paper_figures import accuracy, constant, convergence, ranks
from paper_figures.report import render
from paper_figures.results import Results, Run
from paper_figures.sections import classification
from paper_figures.style import paper_style
from tests.experiments.classification import made
from tests.paper_figures import sample
from verification.runs import plain

FIGURES = (accuracy, ranks, constant, convergence)


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The numbers of a whole study."""
    folder = sample.store_classification(tmp_path_factory.mktemp("results"))
    return json.loads((folder / "classification.paper.json").read_text("utf-8"))


@pytest.fixture
def store(tmp_path: Path) -> Callable[[dict[str, Any]], Results]:
    def put(numbers: dict[str, Any]) -> Results:
        (tmp_path / "classification.paper.json").write_text(json.dumps(numbers), "utf-8")
        return Results(tmp_path)

    return put


def test_every_figure_is_drawn(store, numbers) -> None:
    results = store(numbers)
    with paper_style():
        drawn = {module.__name__: module.draw(results) for module in FIGURES}
    assert all(drawn.values())
    panels = [axis.get_title(loc="left") for axis in drawn["paper_figures.accuracy"].axes]
    assert panels == list(numbers["printed"]["accuracy"])
    for module in FIGURES:
        assert len(module.caption(results)) > 80


@pytest.mark.parametrize("missing", ["accuracy", "ranks", "shares", "convergence"])
def test_what_is_missing_is_not_drawn(store, numbers, missing: str) -> None:
    results = store({key: value for key, value in numbers.items() if key != missing})
    by_part = {"accuracy": accuracy, "ranks": ranks, "shares": constant, "convergence": convergence}
    assert by_part[missing].draw(results) is None
    assert "experiment-classification" in render(results)[0] or missing == "accuracy"


def test_nothing_is_drawn_without_the_study(tmp_path: Path) -> None:
    assert [module.draw(Results(tmp_path)) for module in FIGURES] == [None] * len(FIGURES)


@pytest.mark.parametrize("best", [1.0, 2.5])
def test_labels_of_ranks_keep_clear_of_all_stems(store, numbers, best: float) -> None:
    """Also where a mechanism is best on every set."""
    ours = {name: best + 0.4 * k for k, name in enumerate(numbers["ranks"]["ours"])}
    with paper_style():
        figure = ranks.draw(store(numbers | {"ranks": numbers["ranks"] | {"ours": ours}}))
        assert figure
        figure.draw_without_rendering()
    axis = figure.axes[0]
    boxes = [text.get_window_extent() for text in axis.texts]
    stems = [axis.transData.transform((rank, 0.0))[0] for rank in ours.values()]
    assert len(boxes) == 8 and axis.get_xlim()[0] < 0
    for box in boxes:
        assert axis.bbox.x0 - 1 <= box.x0 and box.x1 <= axis.bbox.x1 + 1
        assert not [x for x in stems if box.x0 - 1 < x < box.x1 + 1]


@pytest.mark.parametrize("module", [accuracy, constant, convergence])
def test_legends_name_every_mark_and_cover_no_panel(store, numbers, module) -> None:
    with paper_style():
        figure = module.draw(store(numbers))
        figure.draw_without_rendering()
    (legend,) = figure.legends
    named = {text.get_text() for text in legend.get_texts()}
    assert named == {x for axis in figure.axes for x in axis.get_legend_handles_labels()[1]}
    assert not any(axis.get_legend() for axis in figure.axes)
    box = legend.get_window_extent()
    assert not any(box.overlaps(axis.get_window_extent()) for axis in figure.axes)


def test_the_exact_kernel_looks_the_same_in_both_figures(store, numbers) -> None:
    looks = []
    for module in (accuracy, convergence):
        with paper_style():
            figure = module.draw(store(numbers))
        found = [axis.get_legend_handles_labels() for axis in figure.axes]
        lines = [
            dict(zip(labels, handles, strict=True))["exact kernel"] for handles, labels in found
        ]
        looks.append({(line.get_color(), line.get_linestyle()) for line in lines})
    assert len(looks[0]) == 1 and looks[0] == looks[1]


def test_groups_are_the_longest_that_are_not_told_apart() -> None:
    found = ranks.groups({"a": 1.0, "b": 2.0, "c": 3.5, "d": 8.0}, 2.0)
    assert found == [(1.0, 2.0), (2.0, 3.5)]
    assert ranks.groups({"a": 1.0, "b": 5.0}, 2.0) == []


def test_the_report_has_both_tables_and_what_was_found(store, numbers) -> None:
    page = render(store(numbers))[0]
    for said in (
        "paper 57.8",
        "paper 13.1",
        "paper &lt; 0.05",
        "trig-128",
        "majority",
        "L = ",
        "Fisher",
    ):
        assert said in page
    assert "conjugate left out" in page and "raw, ordinal" in page
    assert page.count("average accuracy of") == 8


def section(numbers: dict[str, Any]) -> str:
    """The section of the report, without the rest of the page."""
    return html.unescape(classification.render(Run("classification", "paper", numbers, {}, {})))


def test_the_ranking_is_told_as_the_numbers_have_it(numbers) -> None:
    """First or not, by how much, and how small a p can be."""
    means = numbers["average"]
    order = sorted(numbers["ranks"]["ours"], key=lambda name: -means[name]["accuracy"])
    place = order.index("oprf") + 1
    assert place > 1 and f"is number {place}, " in section(numbers)
    better = means | {"oprf": means["oprf"] | {"accuracy": 99.0}}
    said = section(numbers | {"average": better})
    assert "is first, " in said and f"before {order[0]}. " in said
    assert "never below 0.055: at 5 % it can reject nothing" in said
    many = numbers["ranks"] | {"wilcoxon_floor": 0.004}
    assert "reject nothing" not in section(numbers | {"ranks": many})
    assert "uncorrected" in said


def test_the_preparation_in_use_is_told_even_if_another_fits_better(numbers) -> None:
    rows = [row | {"accuracy": 9.0 if row["used"] else 1.0} for row in numbers["preparations"]]
    rows = [row | {"constant": 0.0 if row["used"] else 1.0} for row in rows]
    said = section(numbers | {"preparations": rows})
    assert f"number {len(rows)} of {len(rows)} by distance (9.0 points; the least is 1.0" in said
    assert ". In use is “standard, one-hot words” (0 %" in said
    assert "no further evidence" in said and "no longer 0 and 1" in said


def test_cells_that_are_printed_constant_are_told_under_each_preparation(numbers) -> None:
    rows = [
        row | {"constant": row["splits"], "commonest": 0}
        if (row["set"], row["method"], row["part"]) == ("car", "geom", "table")
        else row
        for row in numbers["constants"]
    ]
    said = section(numbers | {"constants": rows})
    line = said[said.index("car, geom<") :].partition("</tr>")[0]
    assert "3 of 3" in line and "0 as the commonest class" in line and line.count("0 of 1") == 4
    for cell in ("car, pois<", "car, pois+<", "yeast, pois+<", "chess, trig<"):
        assert cell in said


def test_the_cause_of_the_column_is_told_by_shares(numbers) -> None:
    assert "in all sets at once, one split each, never" in section(numbers)
    flat = [row | {"constant": 0.5} for row in numbers["readings"]]
    assert "one split each, with probability = 0.0039" in section(numbers | {"readings": flat})


def told(numbers: dict[str, Any], **gerf: tuple[float, float]) -> str:
    """The section, with accuracy and interval of GERF's readings in nursery as given."""
    rows = [
        row
        | dict(zip(("accuracy", "prediction"), gerf[row["method"].replace("-", "_")], strict=True))
        if row["set"] == "nursery" and row["method"].replace("-", "_") in gerf
        else row
        for row in numbers["accuracy"]
    ]
    return section(numbers | {"accuracy": rows})


def test_gerf_is_told_with_its_interval_on_either_side(numbers) -> None:
    """63.8 is printed for nursery."""
    said = told(numbers, gerf=(84.4, 4.3), gerf_unconjugated=(60.8, 2.3))
    line = said[said.index("GERF, printed") :]
    line = line[line.index(">nursery<") :].partition("</tr>")[0]
    assert line.count("printed outside") == 2 and "84.4 ± 4.3" in line and "60.8 ± 2.3" in line
    said = told(numbers, gerf=(84.4, 4.3), gerf_unconjugated=(60.8, 3.3))
    line = said[said.index("GERF, printed") :]
    line = line[line.index(">nursery<") :].partition("</tr>")[0]
    assert line.count("printed outside") == 1 and line.count("printed inside") == 1


def causes(numbers: dict[str, Any], untuned: float, slip: float, bad: set[str]) -> str:
    """The section with shares of constant splits, and GERF outside in wifi for some readings."""
    shares = {"trig-untuned": untuned, "trig-unconjugated": slip}
    readings = [
        row | {"constant": shares.get(row["reading"], row["constant"])}
        for row in numbers["readings"]
    ]
    rows = []
    for row in numbers["accuracy"]:
        printed = numbers["printed"]["accuracy"][row["set"]]["gerf"]
        if row["method"].startswith("gerf"):
            far = row["set"] == "wifi" and row["method"] in bad
            row = row | {"accuracy": printed + 9.0 * far, "prediction": 1.0}
        rows.append(row)
    return section(numbers | {"readings": readings, "accuracy": rows})


def test_the_conclusion_on_the_column_follows_the_numbers(numbers) -> None:
    said = causes(numbers, 0.97, 0.7, {"gerf", "gerf-unconjugated"})
    assert "column alone favours the smallest σ, which makes all sets constant at once with" in said
    assert "Neither explains both columns." in said
    assert "against the smallest σ in wifi (93.3 printed, 102.3 ± 1.0 for" in said
    said = causes(numbers, 0.97, 0.7, {"gerf-unconjugated"})
    assert "Both columns fit the smallest σ." in said
    assert "against the smallest σ in no set." in said
    said = causes(numbers, 0.7, 0.97, {"gerf"})
    assert "favours the missing conjugate" in said and "fit the missing conjugate." in said
    assert "favours neither cause" in causes(numbers, 0.9, 0.9, set())
    # Constant on too few splits: 0.6^8 is below 5 %.
    assert "Neither explains" in causes(numbers, 0.6, 0.5, set())


@pytest.mark.parametrize("reach", [0.01, 99.0])
def test_a_lead_within_its_interval_is_not_decided(numbers, reach: float) -> None:
    against = [each | {"confidence": reach} for each in numbers["against"]]
    said = section(numbers | {"against": against})
    assert ("which these splits do not decide" in said) == (reach > 1)


def test_distances_are_told_beside_chance(numbers) -> None:
    """Three splits of the sample allow for a chance from two others, not from three."""
    assert "had the paper done as we do" not in section(numbers)
    sets = dict.fromkeys(numbers["printed"]["accuracy"], 99.0) | {"chess": 0.1}
    chance = {"accuracy": 2.5, "spread": 0.5, "sets": sets}
    said = section(numbers | {"by_chance": chance})
    mine = next(row for row in numbers["preparations"] if row["used"])
    assert f"By set, ours is above that in chess ({mine['sets']['chess']:.1f} against 0.1)." in said
    assert "had the paper done as we do</" in said


def test_cells_outside_their_interval_are_counted(numbers) -> None:
    printed = numbers["printed"]["accuracy"]
    rows = [
        row
        | {"accuracy": printed[row["set"]][row["method"]] + 2.0 * (row["set"] == "car")}
        | {"prediction": 1.0}
        if row["method"] in printed[row["set"]]
        else row
        for row in numbers["accuracy"]
    ]
    assert "Of the 56 printed cells other than TrigRF’s, 7 lie outside" in section(
        numbers | {"accuracy": rows}
    )


def test_whole_counts_are_told_where_they_tell_something(numbers) -> None:
    sets = [
        row
        | {"whole": True, "whole_by_rows": row["set"] != "wifi", "coarse": row["set"] != "chess"}
        for row in numbers["shares"]["sets"]
    ]
    said = section(numbers | {"shares": numbers["shares"] | {"sets": sets}})
    assert "7 of 7 are with" in said and "and 6 with that from the rows (wifi would not be)" in said
    assert "in chess every value is one, which tells nothing" in said


def test_the_caption_names_the_lines_that_are_not_reached(store, numbers) -> None:
    rows = [
        row | {"exact": 90.0, "spread": 2.0, "accuracy": 89.0 if row["method"] == "oprf" else 50.0}
        for row in numbers["convergence"]
    ]
    more = [row | {"set": name} for name in ("banknote", "cmc") for row in rows]
    results = store(numbers | {"convergence": [*rows, *more]})
    said = convergence.caption(results)
    assert "wifi: trig 40.0, oprf 1.0" in said
    assert said.endswith("by trig on wifi; trig on banknote; trig on cmc.")
    with paper_style():
        figure = convergence.draw(results)
    assert figure and len(figure.axes) == 3


def test_parts_of_the_study_are_told_alone(numbers) -> None:
    """Whatever is missing: no sentence needs what was not run."""
    for part in ("accuracy", "ranks", "preparations", "constants", "first_class", "shares"):
        assert section({key: value for key, value in numbers.items() if key != part})
    units = [unit for unit in made.study(("wifi",)) if unit.config["part"] == "preparation"]
    assert "Preparation" in section(json.loads(json.dumps(plain(gather(PRESETS["paper"], units)))))


def test_one_split_has_no_interval_and_breaks_nothing(store) -> None:
    units = [unit for unit in made.study(("wifi", "car")) if unit.config.get("split", 0) == 0]
    found = plain(gather(PRESETS["paper"], units) | {"preset": "paper", "data": {}})
    results = store(json.loads(json.dumps(found)))
    page = render(results)[0]
    assert accuracy.draw(results) and "experiment-classification" in page and "nan" not in page
