"""The command line on a checkout of two tiny notebooks: outcomes, exit codes, nothing half done."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from derivations.__main__ import DRIFT, FAILED, OK, USAGE, main, parser, report_drift
from derivations.codegen import COMMAND, ROOT
from derivations.notebooks import FOLDER

TINY = """# %% [markdown]
# # A tiny notebook

# %%
import time
from pathlib import Path

from sympy import exp, gamma, log

from derivations.certificate import certify, reject
from derivations.domain import Real
from derivations.formula import Formula, Statement
from derivations.symbols import z

unit = {z: Real(0, 1)}
certify("tiny", "identity", exp(z), exp(2 * z) * exp(-z), where=unit)
time.sleep(0.4)  # long enough for the kernel to send what was printed so far
reject("tiny", "sign lost", exp(z), exp(-z), where=unit)

# %%
STATEMENTS = [Statement("tiny", "nowhere", "says little")]
ERRATA = []
FORMULAS = [Formula("tiny", "tiny", "A tiny one.", (z,), unit, expr=exp(z))]
"""
OTHER = "# %%\nSTATEMENTS, ERRATA, FORMULAS = [], [], []\n"
GENERATED = [
    "ERRATA.md",
    "crt/formulas.py",
    "derivations/01_tiny.ipynb",
    "derivations/02_other.ipynb",
    "derivations/README.md",
]


@dataclass
class Checkout:
    """A checkout of its own, in which the command runs its own copy of the package."""

    root: Path

    def run(self, *options: str) -> subprocess.CompletedProcess[str]:
        """Run the command here; it must say what it has to say without a traceback."""
        command = [sys.executable, "-m", "derivations", *options]
        environment = {**os.environ, "PYTHONPATH": str(self.root)}
        done = subprocess.run(
            command, cwd=self.root, env=environment, capture_output=True, text=True, timeout=120
        )
        assert "Traceback" not in done.stderr
        return done

    def edit(self, notebook: str, change: Callable[[str], str]) -> None:
        path = self.root / "derivations" / notebook
        before = path.read_text("utf-8")
        after = change(before)
        assert after != before
        path.write_text(after, "utf-8")

    def files(self) -> dict[str, tuple[bytes, int]]:
        """Bytes and time of last change of every file but compiled ones."""
        paths = [p for p in self.root.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
        return {
            p.relative_to(self.root).as_posix(): (p.read_bytes(), p.stat().st_mtime_ns)
            for p in paths
        }


def sentence(done: subprocess.CompletedProcess[str]) -> str:
    """The last line of the error stream, which begins with the program's name."""
    start, _, text = done.stderr.splitlines()[-1].partition(": ")
    assert start == "derivations"
    return text


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The tiny checkout after its first run."""
    root = tmp_path_factory.mktemp("checkout")
    (root / "derivations").mkdir()
    (root / "crt").mkdir()
    shutil.copy(ROOT / "pyproject.toml", root)
    for module in FOLDER.glob("[!0-9]*.py"):
        shutil.copy(module, root / "derivations")
    (root / "derivations" / "01_tiny.py").write_text(TINY, "utf-8")
    (root / "derivations" / "02_other.py").write_text(OTHER, "utf-8")
    made = Checkout(root)
    done = made.run("--json")
    assert done.returncode == OK, done.stderr
    assert json.loads(done.stdout) == {
        "status": "generated",
        "written": GENERATED,
        "current": GENERATED,
    }
    return made


@pytest.fixture
def checkout(template: Checkout, tmp_path: Path) -> Checkout:
    """A copy of the generated checkout that a test may spoil."""
    shutil.copytree(template.root, tmp_path / "copy")
    return Checkout(tmp_path / "copy")


def test_the_first_run_generates_every_file(template: Checkout) -> None:
    assert set(GENERATED) <= set(template.files())
    code = template.files()["crt/formulas.py"][0].decode()
    assert "def tiny(z: " in code and "return jnp.exp(z)" in code
    assert "[01_tiny](01_tiny.ipynb)" in (template.root / "derivations/README.md").read_text(
        "utf-8"
    )


def test_a_notebook_depends_neither_on_the_kernel_nor_on_the_clock(template: Checkout) -> None:
    """Lines printed at different times are one output, and no version is written down."""
    notebook = json.loads((template.root / "derivations/01_tiny.ipynb").read_text("utf-8"))
    assert notebook["metadata"]["language_info"] == {"name": "python"}
    (output,) = notebook["cells"][1]["outputs"]
    assert [line.split()[0] for line in output["text"]] == ["CERTIFIED", "REJECTED"]


def test_a_check_after_the_run_finds_nothing_and_writes_nothing(template: Checkout) -> None:
    before = template.files()
    done = template.run("--check")
    assert done.returncode == OK, done.stdout
    assert done.stdout == f"{len(GENERATED)} generated files are current\n"
    assert {"[1/2]", "[2/2]"} <= set(done.stderr.split())
    assert template.files() == before


def test_a_file_edited_by_hand_is_shown_and_left_alone(checkout: Checkout) -> None:
    checkout.edit("../crt/formulas.py", lambda text: text.replace("jnp.exp(z)", "jnp.expm1(z)"))
    before = checkout.files()
    done = checkout.run("--check", "--only", "02")
    assert done.returncode == DRIFT
    lines = done.stdout.splitlines()
    assert "-    return jnp.expm1(z)" in lines and "+    return jnp.exp(z)" in lines
    assert lines[-1] == f"1 generated files have drifted; to mend them run: {COMMAND}"
    assert checkout.files() == before


def test_drift_as_json(checkout: Checkout) -> None:
    (checkout.root / "ERRATA.md").unlink()
    done = checkout.run("--check", "--only", "02", "--json", "--quiet")
    assert done.returncode == DRIFT
    assert json.loads(done.stdout) == {"status": "drift", "stale": ["ERRATA.md"]}
    assert done.stderr == ""
    assert not (checkout.root / "ERRATA.md").exists()


def test_no_drift_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    options = parser().parse_args(["--check", "--json"])
    assert report_drift({}, {"ERRATA.md": "text"}, options) == OK
    assert json.loads(capsys.readouterr().out) == {"status": "current", "stale": []}


def test_one_notebook_is_run_and_the_others_are_taken_as_they_are(checkout: Checkout) -> None:
    checkout.edit("01_tiny.py", lambda text: text.replace("expr=exp(z)", "expr=exp(-z)"))
    before = checkout.files()
    done = checkout.run("--only", "01", "--json")
    assert done.returncode == OK, done.stderr
    after = checkout.files()
    changed = [name for name in after if after[name] != before.get(name)]
    assert sorted(changed) == ["crt/formulas.py", "derivations/01_tiny.ipynb"]
    assert json.loads(done.stdout)["written"] == sorted(changed)
    assert b"return jnp.exp(-z)" in after["crt/formulas.py"][0]


def test_an_unknown_notebook_is_wrong_usage(template: Checkout) -> None:
    before = template.files()
    done = template.run("--only", "01", "unknown", "--json")
    assert done.returncode == USAGE
    assert sentence(done) == "there is no notebook 'unknown'; there are 01_tiny, 02_other"
    assert json.loads(done.stdout) == {"status": "failed", "error": sentence(done)}
    assert template.files() == before


def formula(text: str) -> Callable[[str], str]:
    """Put another formula into the tiny notebook."""
    return lambda source: source.replace("unit, expr=exp(z)", text)


FAILURES: dict[str, tuple[Callable[[str], str], list[str], str]] = {
    "a cell raises": (
        lambda text: text.replace("unit =", "raise RuntimeError('planted\\nand more')\nunit ="),
        [],
        r"01_tiny\.py raised RuntimeError: planted",
    ),
    "a check fails": (
        lambda text: text.replace("exp(2 * z)", "exp(3 * z)"),
        [],
        r"01_tiny\.py raised CertificateError: tiny: identity: the two derivations differ .*",
    ),
    "a formula is not finite": (
        formula("unit, expr=log(z)"),
        [],
        r"01_tiny\.py raised FormulaError: formula tiny is not finite at z = 0, .*",
    ),
    "a formula cannot be printed": (
        formula("{z: Real(1, 2)}, expr=gamma(z)"),
        [],
        r"01_tiny\.py raised PrintingError: no JAX form for gamma in gamma\(z\)",
    ),
    "nothing is offered": (
        lambda text: text.replace("FORMULAS", "FORMULAE"),
        [],
        r"01_tiny\.py raised ValueError: 01_tiny\.py does not define FORMULAS",
    ),
    "the kernel dies": (
        lambda text: text.replace("unit =", "import os\nos._exit(1)\nunit ="),
        [],
        r"01_tiny\.py did not finish: .*died.*",
    ),
    "there is no such kernel": (
        lambda text: text + "\n",
        ["--kernel", "nosuch"],
        r"there is no Jupyter kernel named 'nosuch': install the extra 'derivations'",
    ),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_one_sentence_and_touches_nothing(checkout: Checkout, name: str) -> None:
    change, options, expected = FAILURES[name]
    checkout.edit("01_tiny.py", change)
    before = checkout.files()
    done = checkout.run("--only", "01", "--json", *options)
    assert done.returncode == FAILED
    assert re.fullmatch(expected, sentence(done))
    assert json.loads(done.stdout) == {"status": "failed", "error": sentence(done)}
    assert checkout.files() == before


@pytest.mark.parametrize("damage", ["missing", "never run", "not JSON"])
def test_a_notebook_that_was_never_run_is_named(checkout: Checkout, damage: str) -> None:
    other = checkout.root / "derivations" / "01_tiny.ipynb"
    if damage == "missing":
        other.unlink()
    else:
        other.write_text({"never run": '{"metadata": {}}', "not JSON": "<<<<<<<"}[damage], "utf-8")
    before = checkout.files()
    done = checkout.run("--only", "02")
    assert done.returncode == FAILED
    assert "01_tiny" in sentence(done)
    assert checkout.files() == before


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_first_failure_stops_the_other_kernels(checkout: Checkout) -> None:
    """The other notebook would take longer than the limit on the command's time."""
    checkout.edit(
        "02_other.py",
        lambda text: (
            "# %%\nimport os, pathlib, time\n"
            "pathlib.Path('started').write_text(str(os.getpid()))\ntime.sleep(1000)\n"
        ),
    )
    wait = "while not Path('started').exists():\n    time.sleep(0.1)\nraise ValueError('planted')\n"
    checkout.edit("01_tiny.py", lambda text: text.replace("unit =", wait + "unit ="))
    done = checkout.run("--jobs", "2")
    assert done.returncode == FAILED
    assert sentence(done) == "01_tiny.py raised ValueError: planted"
    assert not is_running(int((checkout.root / "started").read_text()))


def test_the_help_documents_every_exit_code() -> None:
    text = parser().format_help()
    for code in (OK, DRIFT, USAGE, FAILED):
        assert re.search(rf"^  {code}  \S", text, re.MULTILINE)


def test_a_wrong_option_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--nosuch"])
    assert stopped.value.code == USAGE
    assert "unrecognized arguments: --nosuch" in capsys.readouterr().err
