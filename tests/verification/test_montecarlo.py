"""Means and variances of the shipped estimators, at seeds of the system.

Every check has the share of FALSE_ALARM that it has in a whole run.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import crt
from verification import law_moments, montecarlo
from verification.cases import DIMS, DISCRETE, EXPONENTIAL
from verification.checks import Setting
from verification.law_moments import POINT
from verification.montecarlo import BIAS, NOMINAL, REGIME, VARIANCE_ERROR, Plan
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


def test_one_percent_of_one_coordinate_has_power_at_the_standard_budget() -> None:
    """Of a rate or a variance; a p of 0.6 moves its mean by 2.5 times as much."""
    setting = Setting(0, FALSE_ALARM / len(load_checks()), BUDGETS["standard"].effort)
    for name, sampler in law_moments.samplers().items():
        effect = POINT * (2.5 if name.startswith("geom") else 1)
        tests = dict(zip((g.what for g in sampler.groups), sampler.tests(setting), strict=True))
        wanted = tests.get("count") or tests["squared coordinate"]
        assert len(wanted) == sampler.dim
        assert all(test.detects <= effect * test.mean for test in wanted), name
        if name.startswith("iid"):
            assert all(test.detects <= POINT for test in tests["coordinate"]), name


def test_the_mean_of_an_orthogonal_block_has_the_stated_variance() -> None:
    """Of squares 6/(d(d+2)), of values 1/d: 2¹⁵ blocks leave the variances within 2 %."""
    dim, blocks = 4, 2**15
    with jax.enable_x64(True):
        omega = crt.projections.orthogonal(jax.random.key(5), dim * blocks, dim, jnp.float64)
    drawn = np.asarray(omega).reshape(blocks, dim, dim)
    found = [np.mean(drawn**k, axis=1).var(axis=0) for k in (1, 2)]
    groups = law_moments.gaussian_groups(dim, dim)[1:]
    for seen, group in zip(found, groups, strict=True):
        np.testing.assert_allclose(seen, [v for _, v in group.exact], rtol=0.1)


def test_the_regime_names_the_sizes_that_are_tested() -> None:
    wanted = (BIAS, VARIANCE_ERROR, POINT)
    assert all(f"{100 * size:g} %" in REGIME for size in wanted)
    assert all(f"{dim}" in REGIME for dim in (*DIMS, *law_moments.GAUSSIAN_DIMS))
