"""The README's Python examples run and print what they say."""

import doctest
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def run(text: str) -> doctest.TestResults:
    """Run the `>>>` lines of the fenced Python blocks."""
    code = text.replace("```", "")
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    test = doctest.DocTestParser().get_doctest(code, {}, "README", None, 0)
    return doctest.DocTestRunner(optionflags=options, verbose=False).run(test, out=lambda _: None)


def test_examples() -> None:
    results = run(README.read_text("utf-8"))
    assert results.attempted >= 20
    assert results.failed == 0


def test_a_wrong_number_is_noticed() -> None:
    text = README.read_text("utf-8").replace("-61.22", "-61.23")
    assert run(text).failed == 1
