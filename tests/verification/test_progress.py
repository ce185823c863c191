"""Progress: plain lines for files, a bar for terminals, only news when quiet."""

import io

import pytest

from verification.progress import Progress, duration


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "0 s"), (59.4, "59 s"), (185, "3 min 05 s"), (4800, "1 h 20 min")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_lines_for_a_file() -> None:
    stream = io.StringIO()
    with Progress(3, done=1, stream=stream) as progress:
        progress.say("hello")
        progress.advance("second")
        progress.advance("third")
    lines = stream.getvalue().splitlines()
    assert lines[0] == "hello"
    assert lines[1].startswith("[2/3] second, about") and lines[2] == "[3/3] third, about 0 s left"


def test_a_bar_for_a_terminal_is_cleared_at_the_end() -> None:
    stream = Terminal()
    with Progress(2, stream=stream) as progress:
        progress.advance("first")
    text = stream.getvalue()
    assert "█" * 12 + "░" * 12 + " 1/2" in text and text.endswith("\r\x1b[K")
    assert "\n" not in text


def test_a_lasting_line_stays_above_the_bar() -> None:
    stream = Terminal()
    with Progress(2, stream=stream) as progress:
        progress.advance("first: 2 for 1 ± 0.1 FAILED", lasting=True)
        progress.advance("second")
    lines = stream.getvalue().split("\n")
    assert len(lines) == 2 and lines[0].endswith("first: 2 for 1 ± 0.1 FAILED")


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_quiet_prints_news_alone(stream: io.StringIO) -> None:
    with Progress(1, stream=stream, quiet=True) as progress:
        progress.say("hello")
        progress.advance("first", lasting=True)
    assert stream.getvalue().removeprefix("\r\x1b[K") == "hello\n"
