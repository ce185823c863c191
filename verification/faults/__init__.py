"""Faults planted in the shipped code while it runs, each one to be caught by a named check."""

from collections.abc import Callable, Mapping

from verification.checks import Outcome, Setting
from verification.faults.attention import ATTENTION
from verification.faults.bounds import BOUNDS, GAINS
from verification.faults.estimators import MOMENTS, OPERATOR
from verification.faults.fault import Fault
from verification.faults.features import FEATURES
from verification.faults.fitting import PARAMETERS, STATISTICS
from verification.faults.interface import INTERFACE
from verification.faults.regression import REGRESSION
from verification.faults.samplers import SAMPLERS
from verification.faults.streaming import STREAMING

Run = Callable[[Setting], Outcome]

AREAS: Mapping[str, tuple[Fault, ...]] = {
    "samplers": SAMPLERS,
    "features": FEATURES,
    "moments": (*MOMENTS, *GAINS),
    "bounds": BOUNDS,
    "operator": OPERATOR,
    "regression": REGRESSION,
    "statistics": STATISTICS,
    "parameters": PARAMETERS,
    "attention": ATTENTION,
    "streaming": STREAMING,
    "interface": INTERFACE,
}
FAULTS: Mapping[str, Fault] = {fault.name: fault for area in AREAS.values() for fault in area}
CATALOGUE: Mapping[str, str] = {name: fault.summary for name, fault in FAULTS.items()}
"""What each fault is, in one line."""


def planted(run: Run, *names: str) -> tuple[tuple[str, Run], ...]:
    """For a check's `planted`: the run on code with each of these faults."""

    def with_fault(name: str) -> Run:
        def faulty(setting: Setting) -> Outcome:
            with FAULTS[name].active():
                return run(setting)

        return faulty

    return tuple((name, with_fault(name)) for name in names)
