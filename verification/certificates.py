"""Pointwise certificates: identities in ω that prove moments of the shipped features exactly.

For exponential features W = f1·f2 and the density φ of N(0, I),

    W^a W̄^b · φ = E[W^a W̄^b] · N(ω; μ, I/q),   q = 1 - 4(aA + bĀ),   μ = (aB + bB̄)v/q,

pointwise, with Re q > 0. The last factor integrates to 1, so agreement at every ω, the tails
included, proves the moment, and there is no Monte-Carlo error. For discrete features
f1·f2·p(ω) = Π c_l^{ω_l}/ω_l! · e^{-n/2}, whose sum over ω is the Taylor series of K.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import numpy as np
from jax import Array
from scipy import stats
from scipy.special import gammaln

from crt import kernels
from crt.mechanisms import Mechanism
from verification.cases import DISCRETE, EPSILON, EXPONENTIAL, discrete_points, mechanism_of
from verification.checks import Check, Outcome, Setting
from verification.faults import planted
from verification.moments import ExponentialProduct

TOLERANCE = 1e-11
"""Of a log residual in float64: logarithms here reach 1e3, and a few roundings of 1e-16 each."""
POINTS = 100_000
"""Random ω of one mechanism at the quick budget, over all dimensions."""
EXPONENTIAL_SHARES, DISCRETE_SHARES = {1: 0.5, 3: 0.4, 64: 0.1}, {1: 0.3, 3: 0.4, 8: 0.3}
"""Of the points, by dimension."""
STRETCH = (1.0, 2.0, 5.0)
"""Standard deviations of ω: ordinary, and far out in the tails."""
POWERS = ((1, 0), (2, 0), (1, 1), (4, 0), (2, 2))


@jax.jit
def log_products(
    mechanism: Mechanism, x: Array, y: Array, omega: Array
) -> dict[str, tuple[Array, Array]]:
    """log|f1 f2| and the phase for pairs of rows, (L, M) each, for both kernels."""
    found = {}
    for kernel in kernels.KERNELS:
        x_logs, x_phase = mechanism.log_features(x, omega, "x", kernel=kernel)
        y_logs, y_phase = mechanism.log_features(y, omega, "y", kernel=kernel)
        found[kernel] = x_logs + y_logs, x_phase * y_phase
    return found


def random_pair(dim: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """x and y (1, d) of norms up to 1.5."""
    x, y = rng.normal(size=(2, 1, dim))
    x *= rng.uniform(0.5, 1.5) / np.linalg.norm(x)
    return x, y * rng.uniform(0.5, 1.5) / np.linalg.norm(y)


def density_residual(
    product: ExponentialProduct,
    powers: tuple[int, int],
    v: np.ndarray,
    omega: np.ndarray,
    logs: np.ndarray,
    phases: np.ndarray,
    log_moment: complex,
) -> float:
    """The largest |log| of the two sides' ratio, and |e^{i·angle} - 1| for its phase."""
    a, b = powers
    q = 1 - 4 * (a * product.A + b * np.conj(product.A))
    beta = a * product.b + b * np.conj(product.b)
    apart = omega - beta * v / q
    normal = product.d / 2 * (np.log(q) - np.log(2 * np.pi)) - q / 2 * np.sum(apart**2, axis=-1)
    standard = -0.5 * (product.d * np.log(2 * np.pi) + np.sum(omega**2, axis=-1))
    ratio = (a + b) * logs + standard - log_moment - normal
    turn = phases**a * np.conj(phases) ** b * np.exp(1j * np.imag(ratio))
    return float(np.max(np.maximum(np.abs(np.real(ratio)), np.abs(turn - 1))))


def exponential_residuals(
    name: str, dim: int, points: int, rng: np.random.Generator
) -> list[tuple[str, float]]:
    """Residuals of means, second and fourth moments, for both kernels."""
    amplitude, s = EXPONENTIAL[name]
    mechanism = mechanism_of(name, dim)
    x, y = random_pair(dim, rng)
    omega = rng.normal(size=(points, dim)) * rng.choice(STRETCH, (points, 1))
    v, norms = (x + s * y)[0], float(np.sum(x**2 + y**2))
    found = []
    for kernel, (logs, phases) in log_products(mechanism, x, y, omega).items():
        product = ExponentialProduct(
            amplitude(dim), s, dim, float(v @ v), norms, kernel == "softmax"
        )
        side = np.asarray(logs)[0], np.asarray(phases)[0]
        shipped = float(np.log(np.asarray(getattr(kernels, kernel)(x, y))[0, 0]))
        for powers in POWERS:
            log_moment = np.log(product.mixed((powers,))) if powers != (1, 0) else shipped
            residual = density_residual(product, powers, v, omega, *side, log_moment)
            found.append((f"{kernel}, d = {dim}, powers {powers}", residual))
        found.append((f"{kernel}, d = {dim}, E X²", moment_residual(mechanism, product, x, y)))
    return found


def moment_residual(
    mechanism: Mechanism, product: ExponentialProduct, x: np.ndarray, y: np.ndarray
) -> float:
    """Shipped E X² against ½(E|W|² + Re E W²), relative to E|W|²: the parts may cancel."""
    kernel = "softmax" if product.softmax else "gaussian"
    size = product.mixed(((1, 1),)).real
    stated = 0.5 * (size + product.mixed(((2, 0),)).real)
    shipped = float(np.exp(mechanism.log_second_moment(x[0], y[0], kernel=kernel)))
    return abs(shipped - stated) / size


def run_exponential(name: str, setting: Setting) -> Outcome:
    """The worst residual of one exponential mechanism."""
    rng = np.random.default_rng([setting.seed, *name.encode()])
    found: list[tuple[str, float]] = []
    with jax.enable_x64(True):
        for dim, share in EXPONENTIAL_SHARES.items():
            points = round(share * POINTS * setting.effort)
            found += exponential_residuals(name, dim, points, rng)
    return judge(found, round(POINTS * setting.effort))


def judge(residuals: list[tuple[str, float]], points: int) -> Outcome:
    """The largest residual against TOLERANCE; NaN counts as infinite."""
    named = [(np.inf if np.isnan(size) else size, where) for where, size in residuals]
    size, where = max(named)
    return Outcome(size <= TOLERANCE, float(size), 0.0, TOLERANCE, points, None, where)


def discrete_mechanism(
    name: str, dim: int, x: np.ndarray, y: np.ndarray
) -> tuple[Mechanism, list[Any]]:
    """A discrete mechanism for these points, and its law per coordinate from SciPy."""
    low = np.minimum(x.min(axis=0), y.min(axis=0))
    shift = (low,) if name.endswith("+") else ()
    if name.startswith("geom"):
        return DISCRETE[name](0.4, *shift), [stats.nbinom(1, 0.4)] * dim
    if name == "optpois":
        rates = 0.3 + np.arange(dim) / dim
        return DISCRETE[name](rates), [stats.poisson(rate) for rate in rates]
    return DISCRETE[name](0.8, *shift), [stats.poisson(0.8)] * dim


def discrete_residuals(
    name: str, dim: int, points: int, rng: np.random.Generator
) -> list[tuple[str, float]]:
    """log residuals of f1·f2·p(ω) for both kernels, at points with zeros and all signs."""
    x, y = discrete_points(dim, rng.uniform(0.3, 1.5))
    mechanism, law = discrete_mechanism(name, dim, x, y)
    counts = np.concatenate(
        [rng.integers(0, 30, (points // 2, dim)), rng.poisson(1.0, (points - points // 2, dim))]
    )
    log_law = sum(each.logpmf(counts[:, i]) for i, each in enumerate(law))
    low = np.minimum(x.min(axis=0), y.min(axis=0))
    a, b = (x - low + EPSILON, y - low + EPSILON) if name.endswith("+") else (x, y)
    found = []
    for kernel, (logs, signs) in log_products(mechanism, x, y, counts.astype(float)).items():
        log_factor = -0.5 * np.sum(a**2 + b**2, axis=1)
        if kernel == "softmax":
            log_factor += 0.5 * np.sum(x**2 + y**2, axis=1)
        exact, exact_signs = taylor_terms(a * b, counts)
        found.append(
            (
                f"{kernel}, d = {dim}",
                term_residual(
                    np.asarray(logs) + log_law,
                    np.asarray(signs),
                    exact + log_factor[:, None],
                    exact_signs,
                ),
            )
        )
        shipped = np.log(np.diagonal(np.asarray(getattr(kernels, kernel)(x, y))))
        total = np.sum(a * b, axis=1) + log_factor
        found.append((f"{kernel}, d = {dim}, sum", float(np.max(np.abs(total - shipped)))))
    return found


def taylor_terms(c: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log|Π c_l^{ω_l}/ω_l!| and its sign, (L, M), with 0⁰ = 1."""
    logs = np.log(np.where(c == 0, 1, np.abs(c))) @ counts.T - gammaln(counts + 1).sum(axis=1)
    gone = (c == 0).astype(float) @ (counts > 0).T > 0
    flips = (c < 0).astype(float) @ counts.T
    return np.where(gone, -np.inf, logs), np.where(gone, 0, 1 - 2 * (flips % 2))


def term_residual(
    logs: np.ndarray, signs: np.ndarray, exact: np.ndarray, exact_signs: np.ndarray
) -> float:
    """The largest |difference of logs|; infinite where signs differ or one side alone is 0."""
    gone = np.isneginf(exact)
    if np.any(np.isneginf(logs) != gone) or np.any((signs != exact_signs) & ~gone):
        return np.inf
    return float(np.max(np.abs(np.where(gone, 0, logs) - np.where(gone, 0, exact))))


def run_discrete(name: str, setting: Setting) -> Outcome:
    """The worst residual of one discrete mechanism."""
    rng = np.random.default_rng([setting.seed, *name.encode()])
    found: list[tuple[str, float]] = []
    with jax.enable_x64(True):
        for dim, share in DISCRETE_SHARES.items():
            points = round(share * POINTS * setting.effort)
            found += discrete_residuals(name, dim, points, rng)
    return judge(found, round(POINTS * setting.effort))


PLANTED: Mapping[str, tuple[str, ...]] = {
    "trig": ("trig-same-side", "trig-softmax", "all-zero"),
    "pos": ("epsilon", "c-half"),
    "oprf": ("half-a", "b-root", "d-exponent"),
    "gerf+": ("gerf-b", "gerf-c", "gerf-d-phase"),
    "gerf-": ("gerf-same-side", "gerf-d-exponent"),
    "pois": ("no-poisson-constant", "no-signs", "zeros-ignored"),
    "geom": ("no-factorials",),
    "pois+": ("clamped-at-zero", "whole-unit"),
    "geom+": ("no-factorials",),
    "optpois": ("no-poisson-constant",),
}
CLAIMS: Mapping[str, tuple[str, ...]] = {
    "trig": ("trig-var", "thm-gerf", "eq-sfm"),
    "pos": ("pos-var", "thm-gerf", "eq-sfm"),
    "oprf": ("thm-gerf", "thm-gerf-var", "eq-sfm"),
    "gerf+": ("thm-gerf", "thm-gerf-var", "eq-sfm"),
    "gerf-": ("thm-gerf", "thm-gerf-var", "eq-sfm"),
    "pois+": ("eq-dirf", "positivity"),
    "geom+": ("eq-dirf", "positivity"),
}


def checks() -> list[Check]:
    """One certificate per mechanism."""
    made = []
    for name in (*EXPONENTIAL, *DISCRETE):
        run = partial(run_exponential if name in EXPONENTIAL else run_discrete, name)
        summary = f"density identities of {name}, pointwise in ω"
        claims = CLAIMS.get(name, ("eq-dirf",))
        faults = planted(run, *PLANTED[name])
        made.append(Check(f"certificate-{name}", claims, "certificate", summary, run, faults))
    return made
