"""`verification/index.json`: the checks of each claim, for the theorem index in `derivations/`."""

import json
from collections import Counter
from pathlib import Path

from verification.claims import load_claims
from verification.registry import load_checks
from verification.runs import write_text

FILE = Path(__file__).parent / "index.json"


def index() -> dict[str, dict[str, int]]:
    """For each claim with checks, how many each module has."""
    checks = load_checks()
    counts = {
        claim.id: Counter(checks[name].module for name in claim.checks)
        for claim in load_claims().values()
    }
    return {name: dict(sorted(count.items())) for name, count in counts.items() if count}


def render() -> str:
    """The file's text."""
    return json.dumps(index(), indent=1) + "\n"


def write() -> None:
    """Bring the file up to date."""
    write_text(FILE, render())
