"""Orthogonal projections: the exact gain by quadrature, and by draws of the shipped sampler."""

import math
from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from scipy.special import betainc
from scipy.stats import chi2

import crt
from crt import formulas, projections
from verification.binomials import two_sided
from verification.checks import Check, Outcome, Setting
from verification.comparison import count
from verification.faults import planted
from verification.gains import by_quadrature, by_series, points, same_block, trig_signs, weight
from verification.moments import ExponentialProduct
from verification.statistics import MeanTest, influence, judge_law, worst
from verification.sums import EPS

BATCH = 4096
PAIRS = 2**15
"""Draws of the pair products at effort 1."""
MATRICES = 2**13
"""Orthogonal matrices of each size at effort 1."""


def _chunked(one: Callable[[Array], Array], keys: Array) -> np.ndarray:
    return np.asarray(jax.jit(lambda k: lax.map(one, k, batch_size=BATCH))(keys))


def pair_products(
    d: int, draws: int, x: Array, y: Array, rho: float, keys: Array, factor: float
) -> np.ndarray:
    """For each key the means of X, of pairs in full blocks, in the cut one, and across blocks.

    `factor` multiplies all products, for planted errors.
    """
    mechanism, full = crt.OPRF(rho), draws // d
    across = draws**2 - full * d**2 - (draws % d) ** 2

    def one(key: Array) -> Array:
        omega = projections.orthogonal(key, draws, d, jnp.float64)
        logs = [mechanism.log_features(p[None], omega, s)[0][0] for p, s in ((x, "x"), (y, "y"))]
        products = factor * jnp.exp(logs[0] + logs[1])
        blocks = products[: full * d].reshape(full, d)
        cut = products[full * d :]
        inside = [jnp.sum(b, -1) ** 2 - jnp.sum(b**2, -1) for b in (blocks, cut)]
        sums = [jnp.sum(b, -1) for b in (blocks, cut)]
        other = jnp.sum(products) ** 2 - jnp.sum(sums[0] ** 2) - sums[1] ** 2
        in_full = jnp.mean(inside[0]) / (d * (d - 1))
        in_cut = inside[1] / (cut.size * (cut.size - 1))
        return jnp.stack([jnp.mean(products), in_full, in_cut, other / across])

    return _chunked(one, keys)


def pair_tests(law: ExponentialProduct, draws: int, setting: Setting) -> list[MeanTest]:
    """Tests of the four means; K² - G comes from the shipped formulas, variances are exact."""
    d, f = law.d, law.joint
    k, full = f(1), draws // law.d
    in_block = k**2 - float(jnp.exp(formulas.log_orthogonal_gain(law.z, law.n, d)))
    chosen = d * (d - 1) / 2
    square = chosen * f(2, 2) + d * (d - 1) * (d - 2) * f(2, 1, 1)
    square += d * (d - 1) * (d - 2) * (d - 3) / 4 * f(1, 1, 1, 1)
    pairs = square / chosen**2 - f(1, 1) ** 2
    mean = (f(2) - k**2) / draws + same_block(draws, d) / draws**2 * (f(1, 1) - k**2)
    samples, level = count(PAIRS, setting), setting.false_alarm / 4
    return [
        MeanTest(k, mean, samples, level),
        MeanTest(in_block, pairs / full, samples, level),
        MeanTest(in_block, f(2, 2) - f(1, 1) ** 2, samples, level),
        MeanTest(k**2, f(2) ** 2 - k**4, samples, level),  # at most that of one pair
    ]


def by_draws(setting: Setting, loss: float = 0.0) -> Outcome:
    """Means of products of pairs from the shipped sampler, d = 4, M = 10 = 2·4 + 2.

    For a planted error features are so small that pairs in full blocks lose `loss` detectable
    parts.
    """
    d, draws, z, n = 4, 10, 2.0, 1.2
    names = ("X", "pairs in full blocks", "pairs in the cut block", "pairs across blocks")
    with jax.enable_x64(True):
        x, y = (jnp.asarray(p) for p in points(d, z, n))
        rho = float(formulas.rho_star(z, d))
        tests = pair_tests(ExponentialProduct((1 - 1 / rho) / 8, 1, d, z, n), draws, setting)
        keys = jax.random.split(jax.random.key(setting.seed), tests[0].samples)
        factor = math.sqrt(1 - loss * tests[1].detects / tests[1].mean)
        values = pair_products(d, draws, x, y, rho, keys, factor)
        outcomes = [
            test.judge(float(jnp.sum(influence(test.scale * (values[:, i] - test.mean)))), names[i])
            for i, test in enumerate(tests)
        ]
        gain = tests[3].mean - outcomes[1].observed
        least = float(formulas.orthogonal_gain_bound(z, n, d))
    seen = [
        [name, o.observed, o.predicted, o.allowed] for name, o in zip(names, outcomes, strict=True)
    ]
    data = {"means": seen, "gain": gain, "gain allowed": outcomes[1].allowed, "gain bound": least}
    return replace(worst(outcomes), data=data)


def directions(seed: int, number: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit rows (number, d, d) of `number` blocks, and all lengths."""
    with jax.enable_x64(True):
        omega = np.asarray(projections.orthogonal(jax.random.key(seed), number * d, d, jnp.float64))
    lengths = np.linalg.norm(omega, axis=-1)
    return (omega / lengths[:, None]).reshape(number, d, d), lengths


def haar(setting: Setting, stuck: float = 0.0) -> Outcome:
    """Lengths are χ_d; every entry of a block, and along (1, …, 1), has a coordinate's law.

    Determinants are ±1 with equal chances, rows orthogonal up to rounding: a product of d terms
    of a matrix from d reflections has an error below 8d²·eps. `stuck` as in `judge_law`.
    """
    outcomes, number = [], count(MATRICES, setting)
    dims = (2, 3, 5)
    level = setting.false_alarm / sum(d * (d + 1) + 2 for d in dims)
    for d in dims:
        rows, lengths = directions(setting.seed, number, d)
        squares = chi2(d).cdf
        outcomes.append(judge_law(lengths**2, squares, level, note="lengths", stuck=stuck))

        def cdf(t: np.ndarray, d: int = d) -> np.ndarray:
            return (1 + np.sign(t) * betainc(0.5, (d - 1) / 2, np.minimum(t**2, 1))) / 2

        along = np.concatenate([rows, np.sum(rows, -1, keepdims=True) / math.sqrt(d)], axis=-1)
        for i, j in np.ndindex(d, d + 1):
            note = f"d = {d}, entry {i}, {j}"
            outcomes.append(judge_law(along[:, i, j], cdf, level, note=note, stuck=stuck))
        positive = int(np.sum(np.linalg.det(rows) > 0))
        note = f"d = {d}, determinants"
        outcomes.append(two_sided(positive, number, (0.5, 0.5), level, note))
        product = np.abs(rows @ rows.swapaxes(1, 2) - np.eye(d))
        top, allowed = float(np.max(product)), 8 * d**2 * EPS
        outcomes.append(Outcome(top <= allowed, top, 0.0, allowed, number, None, "orthogonal rows"))
    return worst(outcomes)


SERIES_FAULTS = ("no-gain", "one-block-weight", "softmax-moment", "variance-percent")


def checks() -> list[Check]:
    """All checks of this module."""
    exact = ("ortho-exact", "thm-ortho", "thm-ortho-general")
    return [
        Check(
            "ortho-quadrature",
            (*exact, "ortho-trig"),
            "quadrature",
            "gain, its bound and variances beside integrals over lengths and directions",
            by_quadrature,
            planted(by_quadrature, "gain-off", "one-block-weight"),
        ),
        Check(
            "ortho-series",
            ("ortho-exact",),
            "quadrature",
            "orthogonal variances of every exponential mechanism beside series over lengths",
            by_series,
            planted(by_series, *SERIES_FAULTS),
        ),
        Check(
            "ortho-trig-signs",
            ("ortho-trig", "thm-ortho-general"),
            "quadrature",
            "where orthogonality helps TrigRF, and where it hurts",
            trig_signs,
            planted(trig_signs, "trig-gain-off"),
        ),
        Check(
            "ortho-weight",
            ("thm-ortho",),
            "quadrature",
            "the printed weight fails for M > d, the corrected one holds",
            weight,
            planted(weight, "one-block-weight"),
        ),
        Check(
            "ortho-pairs",
            exact,
            "montecarlo",
            "means of pair products in full, cut and different blocks",
            by_draws,
            (
                ("twice the detectable error", lambda s: by_draws(s, 2.0)),
                *planted(by_draws, "independent-directions", "one-block", "equal-lengths"),
            ),
        ),
        Check(
            "ortho-haar",
            ("ortho-exact",),
            "montecarlo",
            "lengths are χ_d, directions Haar and orthogonal",
            haar,
            (
                ("twice the detectable error", lambda s: haar(s, 2.0)),
                *planted(haar, "raw-qr", "longer-lengths", "equal-lengths"),
            ),
        ),
    ]
