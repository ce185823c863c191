"""Every figure from the small result set, and from results with parts of it missing."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import matplotlib as mpl
import pytest

from paper_figures import gain, surface, tails, uniform, variance
from paper_figures.gallery import MODULES, absent, drawings
from paper_figures.results import Results
from paper_figures.style import STYLE, inline, paper_style

NAMES = [module.__name__.rpartition(".")[2] for module in MODULES]


def test_every_figure_is_drawn(put, found) -> None:
    results = Results(put(found))
    assert [drawing.name for drawing in drawings(results)] == NAMES
    assert absent(results) == []
    for drawing in drawings(results):
        assert drawing.png().startswith(b"\x89PNG") and drawing.title and len(drawing.caption) > 80
        assert ElementTree.fromstring(drawing.svg).tag.endswith("svg")
        assert b"<dc:date>" not in drawing.svg


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
    assert [name for name in NAMES if before[name] != after[name]] == ["variance"]


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
