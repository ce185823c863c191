"""The report: one page that needs nothing but itself, made of the sections that have results."""

from pathlib import Path
from string import Template

from paper_figures.gallery import drawings
from paper_figures.markup import Markup, element, join
from paper_figures.results import Results, ResultsError, reason
from paper_figures.sections import SECTIONS

HERE = Path(__file__).parent
TITLE = "Chefs’ Random Tables: the numerical record"


def render(results: Results) -> tuple[str, dict[str, str]]:
    """The page, and the sections that are left out with what they would need."""
    parts: dict[str, Markup] = {}
    left_out: dict[str, str] = {}
    for section in SECTIONS:
        content = section.render(results)
        if content is None:
            left_out[section.id] = section.source
        else:
            parts[section.id] = element("section", content, id=section.id)
    if not parts:
        raise ResultsError(f"{results.folder} holds no results; python -m verification makes them")
    return _page(parts, left_out), left_out


def _page(parts: dict[str, Markup], left_out: dict[str, str]) -> str:
    links = [element("a", s.name, href=f"#{s.id}") for s in SECTIONS if s.id in parts]
    footer = "Made by python -m paper_figures from the files beside this page, and nothing else."
    if left_out:
        names = ", ".join(f"{name} (needs {source})" for name, source in left_out.items())
        footer += f" Left out, for want of results: {names}."
    template = Template((HERE / "page.html").read_text("utf-8"))
    return template.substitute(
        title=TITLE,
        style=(HERE / "page.css").read_text("utf-8").strip(),
        nav=join(links),
        body=join(parts.values(), "\n"),
        footer=element("span", footer),
    )


def write(results: Results) -> tuple[list[Path], dict[str, str]]:
    """Write the page and the figures where the page belongs; the files, and what was left out."""
    page, left_out = render(results)
    files = {Path("report.html"): page.encode()}
    for drawing in drawings(results):
        files[Path("figures", f"{drawing.name}.svg")] = drawing.svg
        files[Path("figures", f"{drawing.name}.png")] = drawing.png()
    written = []
    for name, content in files.items():
        _put(results.page / name, content)
        written.append(results.page / name)
    return written, left_out


def _put(path: Path, content: bytes) -> None:
    """Write a file as a whole: what was there stays until the new one is complete."""
    scratch = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch.write_bytes(content)
        scratch.replace(path)
    except OSError as error:
        raise ResultsError(f"{path} cannot be written: {reason(error)}") from error
