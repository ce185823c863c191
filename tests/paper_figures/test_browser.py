"""The page in a real browser, wide and narrow, light and dark."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from paper_figures.report import write
from paper_figures.results import Results
from tests.paper_figures import sample
from tests.paper_figures.browser import Browser, executable

OVERFLOWING = """[...document.querySelectorAll('body *')].filter(e => {
    const box = e.getBoundingClientRect();
    return box.right > innerWidth + 1 && !e.closest('.scroll, .plot, nav, .skip');
}).map(e => e.tagName + '.' + e.className)"""

HEIGHTS = "[...document.querySelectorAll('figure svg')].map(e => e.getBoundingClientRect().height)"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = executable()
    if program is None:
        pytest.skip("no chromium or google-chrome is on the PATH")
    with Browser(program, tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of a page made from the small result set."""
    folder = sample.store(tmp_path_factory.mktemp("results"), sample.verification())
    write(Results(folder))
    return (folder / "report.html").as_uri()


@pytest.mark.parametrize("width", [390, 768, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_and_says_nothing_on_the_console(
    browser: Browser, address: str, width: int, scheme: str
) -> None:
    browser.open(address, width, scheme=scheme)
    assert browser.value("document.querySelector('h1').textContent") == "Every check passed."
    browser.value("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert browser.value(OVERFLOWING) == []
    assert browser.value("document.documentElement.scrollWidth") == width
    heights = browser.value(HEIGHTS)
    assert heights and min(heights) > 100
    assert browser.complaints() == []
    assert {link for link in browser.requests() if not link.startswith("data:")} == {address}


def test_a_broken_page_is_noticed(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "broken.html"
    page.write_text(
        "<body><p style='width: 2000px'>wide</p><script>undefined.x</script></body>", "utf-8"
    )
    browser.open(page.as_uri(), 390)
    assert browser.value(OVERFLOWING) == ["P."]
    assert browser.value("document.documentElement.scrollWidth") > 390
    assert len(browser.complaints()) == 1
