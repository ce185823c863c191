"""Guards of the repository itself: pins, hooks, versions, and no traces of a machine."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution, distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PIN = re.compile(r"([a-z0-9]+(?:-[a-z0-9]+)*)==([0-9][0-9a-z.+!]*)")
# Joined here so that this file does not match itself.
MACHINE_PATH = re.compile(r"(?<![\w.~-])/(?:" + "|".join(["home", "root", "tmp", "work"]) + ")/")


def pins() -> dict[str, str]:
    """Normalised name and version of every line of constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    matches = [PIN.fullmatch(line) for line in lines]
    bad = [line for line, match in zip(lines, matches, strict=True) if match is None]
    assert not bad, f"constraints.txt has lines other than name==version: {bad}"
    return {match[1]: match[2] for match in matches if match}


def named() -> list[Requirement]:
    """Every requirement in pyproject.toml, extras included, other than the project's own."""
    extras = PROJECT["optional-dependencies"].values()
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in extra)]
    requirements = [Requirement(line) for line in lines]
    return [r for r in requirements if canonicalize_name(r.name) != PROJECT["name"]]


def installed(requirements: list[Requirement]) -> set[str]:
    """Normalised names of the installed packages that the requirements bring in."""
    found: set[str] = set()
    pending = [(r.name, extra) for r in requirements for extra in ("", *r.extras)]
    seen = set(pending)
    while pending:
        name, extra = pending.pop()
        try:
            lines = distribution(name).requires or []
        except PackageNotFoundError:
            continue
        found.add(canonicalize_name(name))
        for r in map(Requirement, lines):
            if r.marker is None or r.marker.evaluate({"extra": extra}):
                new = {(r.name, e) for e in ("", *r.extras)} - seen
                seen |= new
                pending += new
    return found


def machine_paths(text: str) -> list[str]:
    """The lines that name a folder of one machine."""
    return [line for line in text.splitlines() if MACHINE_PATH.search(line)]


def project_files() -> list[Path]:
    """Every file of the checkout that git tracks or would offer to add."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("git is not installed")
    if result.returncode:
        pytest.skip("not a git checkout")
    paths = [ROOT / name for name in result.stdout.split("\0") if name]
    return [path for path in paths if path.is_file()]


def test_pins_are_sorted_and_cover_every_dependency() -> None:
    assert list(pins()) == sorted(pins())
    needed = {canonicalize_name(r.name) for r in named()} | installed(named())
    assert not needed - set(pins())


def test_pins_respect_the_lower_bounds() -> None:
    for requirement in named():
        assert pins()[canonicalize_name(requirement.name)] in requirement.specifier
        assert requirement.specifier, f"{requirement.name} has no lower bound"


def test_installed_packages_are_at_their_pins() -> None:
    versions = {canonicalize_name(d.name): d.version for d in distributions()}
    # A pin covers the builds of its version: torch for CPUs alone is 2.13.0+cpu.
    wrong = {n: v for n, v in versions.items() if n in pins() and v.split("+")[0] != pins()[n]}
    assert not wrong, f"run `make install`: {wrong} differ from constraints.txt"


def test_pre_commit_hooks_are_local() -> None:
    config = ROOT / ".pre-commit-config.yaml"
    repositories = re.findall(r"^\s*-\s*repo:\s*(\S+)", config.read_text("utf-8"), re.MULTILINE)
    assert repositories
    assert set(repositories) == {"local"}
    subprocess.run([sys.executable, "-m", "pre_commit", "validate-config", config], check=True)


@pytest.mark.parametrize("path", [".ci/run", ".github/workflows/ci.yml"])
def test_automation_runs_make_test(path: str) -> None:
    text = (ROOT / path).read_text("utf-8")
    assert re.search(r"^(make test|\s+- run: make test)$", text, re.MULTILINE)


def test_versions_agree() -> None:
    version = re.escape(PROJECT["version"])
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.search(rf"^version: {version}$", citation, re.MULTILINE)
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.search(rf"^## \[({version}|Unreleased)\]", changelog, re.MULTILINE)


def test_no_file_names_a_folder_of_one_machine() -> None:
    found = {}
    for path in project_files():
        if path.suffix == ".ipynb":
            continue
        try:
            lines = machine_paths(path.read_text("utf-8"))
        except UnicodeDecodeError:
            continue
        if lines:
            found[path.relative_to(ROOT).as_posix()] = lines
    assert not found


@pytest.mark.parametrize("folder", ["home", "root", "tmp", "work"])
def test_planted_machine_path_is_found(folder: str) -> None:
    assert machine_paths(f"open('/{folder}/me/file')")
    assert not machine_paths(f"https://example.org/{folder}/me and src/{folder}/me")
