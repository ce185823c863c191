"""What certificates are made of: residuals that see a wrong part, a sign, a zero, a NaN."""

import numpy as np

from verification import certificates
from verification.cases import DISCRETE, EXPONENTIAL
from verification.moments import ExponentialProduct

CHECKS = {check.id: check for check in certificates.checks()}


def test_every_mechanism_has_a_certificate() -> None:
    assert {f"certificate-{name}" for name in (*EXPONENTIAL, *DISCRETE)} <= set(CHECKS)
    assert all(check.planted for check in CHECKS.values() if check.kind == "certificate")


def test_a_wrong_moment_of_one_part_in_a_million_is_seen() -> None:
    product = ExponentialProduct(-0.1, 1, 1, 0.5, 0.7)
    omega = np.linspace(-9, 9, 1001)[:, None]
    v = np.array([np.sqrt(product.z)])
    logs = np.real(product.log_constant) - 0.2 * omega[:, 0] ** 2
    logs = logs + np.real(product.b) * (omega @ v)
    exact = np.log(product.mixed(((1, 0),)))
    given = (product, (1, 0), v, omega, logs, np.ones(len(omega)))
    assert certificates.density_residual(*given, exact) < certificates.TOLERANCE
    assert certificates.density_residual(*given, exact + 1e-6) > certificates.TOLERANCE


def test_signs_and_zeros_are_compared() -> None:
    logs, signs = np.array([[0.0, -np.inf]]), np.array([[1.0, 1.0]])
    assert certificates.term_residual(logs, signs, logs, np.array([[1.0, 0.0]])) == 0
    assert certificates.term_residual(logs, signs, logs, -signs) == np.inf
    assert certificates.term_residual(np.zeros((1, 2)), signs, logs, signs) == np.inf


def test_nan_fails() -> None:
    assert not certificates.judge([("somewhere", np.nan), ("else", 0.0)], 1).passed
