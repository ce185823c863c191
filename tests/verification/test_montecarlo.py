"""Means and variances of the shipped estimators, at seeds of the system.

Every check has the share of FALSE_ALARM that it has in a whole run.
"""

import pytest

from verification import law_moments, montecarlo
from verification.cases import DIMS, DISCRETE, EXPONENTIAL
from verification.checks import Setting
from verification.montecarlo import BIAS, NOMINAL, VARIANCE_ERROR, Plan
from verification.plan import BUDGETS, FALSE_ALARM
from verification.registry import load_checks

CHECKS = {check.id: check for check in montecarlo.checks()}


def test_every_mechanism_is_looked_at_in_every_dimension() -> None:
    wanted = {f"mean-{name}-iid-d{dim}" for name in (*EXPONENTIAL, *DISCRETE) for dim in DIMS}
    wanted |= {f"mean-{name}-orthogonal-d{dim}" for name in EXPONENTIAL for dim in DIMS}
    assert wanted <= set(CHECKS)
    assert len(CHECKS) == len(montecarlo.checks())


@pytest.mark.parametrize("name", [*EXPONENTIAL, *DISCRETE])
def test_a_bias_of_one_percent_has_power(name: str) -> None:
    assert FALSE_ALARM / len(CHECKS) >= NOMINAL
    for dim in DIMS:
        for orthogonal in (False, True) if name in EXPONENTIAL else (False,):
            plan = Plan(name, dim, orthogonal)
            tests = plan.tests(plan.case, 1.0, FALSE_ALARM / len(CHECKS))
            assert len(tests) == 4
            assert all(test.detects <= BIAS * test.mean for test in tests), plan


def test_variances_are_sampled_where_an_error_shows() -> None:
    for name in ("trig", "pos", "pois"):
        plan = Plan(name, 8, False, square=True)
        tests = plan.tests(plan.case, 1.0, NOMINAL)
        assert tests and all(test.detects <= VARIANCE_ERROR * test.mean for test in tests)


def test_one_percent_of_a_rate_or_a_length_has_power_at_the_standard_budget() -> None:
    """A p of 0.6 moves its mean by 2.5 times as much, a length its square by twice."""
    setting = Setting(0, FALSE_ALARM / len(load_checks()), BUDGETS["standard"].effort)
    for name, sampler in law_moments.samplers().items():
        effect = {"geom": 0.025, "geom+": 0.025, "iid": 0.02, "orthogonal": 0.02}.get(name, 0.01)
        for mean, _ in sampler.tests(setting):
            assert mean.detects <= effect * mean.mean, name
