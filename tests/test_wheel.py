"""The wheel holds `crt` alone and works in an empty environment."""

import math
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
USE = """
import importlib.util
import crt
from crt import formulas

assert importlib.util.find_spec("sympy") is None
assert importlib.util.find_spec("derivations") is None
print(float(formulas.rho_star(100.0, 64.0)))
"""


def run(*command: str | Path, cwd: Path) -> str:
    """Standard output of a command that must succeed, free of this process's Python settings."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    result = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    options = ("--no-deps", "--no-build-isolation", "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", "wheel", *options, "-w", folder, ROOT, cwd=folder)
    (path,) = folder.glob("*.whl")
    return path


def test_wheel_holds_crt_alone(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    information = "-".join(wheel.name.split("-")[:2]) + ".dist-info"
    assert {name.split("/")[0] for name in names} == {"crt", information}
    assert {"crt/__init__.py", "crt/py.typed", f"{information}/licenses/LICENSE"} <= set(names)
    packaged = {name for name in names if name.endswith(".py")}
    assert packaged == {path.relative_to(ROOT).as_posix() for path in (ROOT / "crt").rglob("*.py")}


def test_wheel_works_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    empty = tmp_path / "empty"
    empty.mkdir()
    options = ("--disable-pip-version-check", "-c", ROOT / "constraints.txt")
    run(python, "-m", "pip", "install", *options, wheel, cwd=empty)
    rho = float(run(python, "-W", "error", "-c", USE, cwd=empty))
    z, d = 100.0, 64.0
    expected = 2 * d / (2 * z + d + math.sqrt((2 * z + d) ** 2 + 8 * d * z))
    assert rho == pytest.approx(expected, rel=1e-6)
