"""Optimal parameters: no better ones nearby, transformations, gradients and extreme data."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import crt
from crt import formulas, parameters
from crt.statistics import collect

EPS = np.finfo(float).eps
FACTORS = (0.5, 0.9, 0.999, 1.001, 1.1, 2.0)


def data(seed: int, d: int, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    centre = draw.normal(size=d)
    return tuple(scale * (draw.normal(size=(n, d)) + centre) / d**0.25 for n in (6, 8))


def mean_log_moment(mechanism: crt.Mechanism, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(mechanism.log_second_moment(x[:, None], y)).mean()


@pytest.mark.parametrize("d", [1, 5])
def test_no_better_parameters_for_the_mean_over_pairs(d: int) -> None:
    x, y = data(d, d)
    with jax.enable_x64(True):
        for name in ("oprf", "pois", "optpois"):
            best = crt.MECHANISMS[name].fit(x, y)
            least = mean_log_moment(best, x, y)
            values = []
            for factor in FACTORS:
                scaled = jax.tree.map(lambda leaf, by=factor: leaf * by, best)
                if name == "oprf" and scaled.rho > 1:
                    continue
                values.append(mean_log_moment(scaled, x, y))
            # Means of 48 values, each a few eps off in a sum of d terms.
            assert min(values) >= least - 64 * d * EPS * (1 + abs(least))
            assert max(values) > least + 1e-3


@pytest.mark.parametrize("d", [1, 5])
def test_no_better_gerf_at_the_mean_statistics(d: int) -> None:
    shifts = [0.1 * step for step in (1, -1, 1j, -1j, 1 + 1j, 0.01j, -0.01j, 0.01, -0.01)]
    with jax.enable_x64(True):
        for seed in range(4):
            statistics = collect(*data(seed, d))
            n = statistics.norms()
            a, sign = (float(value) for value in parameters.gerf(statistics))

            def objective(a, s, statistics=statistics, n=n) -> float:
                z = statistics.squared_norm(s)
                return float(formulas.log_second_moment_gerf(a, s, d, z, n))

            least = objective(a, sign)
            slack = 64 * EPS * (1 + abs(least) + float(n))
            inside = [a + h / d for h in shifts if 1 - 8 * (a + h / d).real > 0]
            others = [objective(moved, s) for moved in inside for s in (1.0, -1.0)]
            assert min(others) >= least - slack and max(others) > least + 1e3 * slack


@pytest.mark.parametrize("d", [1, 5])
def test_no_better_chance_at_the_mean_statistics(d: int) -> None:
    with jax.enable_x64(True):
        for scale in (0.03, 1.0, 3.0):
            r = np.asarray(collect(*data(3, d, scale)).geometric())
            p = float(parameters.chance(jnp.asarray(r)))

            root = np.sqrt(r)

            def objective(p, root=root) -> float:
                return float(formulas.log_second_moment_geom(root, root, p))

            least = objective(p)
            slack = 64 * d * EPS * (1 + abs(least) + r.sum())
            odds = [by * p / (1 - p) for by in FACTORS]
            values = [objective(each / (1 + each)) for each in odds]
            assert min(values) >= least - slack and max(values) > least + 1e3 * slack


@jax.jit
def fit_all(x, y):
    """Parameters of every mechanism, and the gradient in x of their sum."""

    def fitted(x):
        return {name: each.fit(x, y) for name, each in crt.MECHANISMS.items()}

    def total(x):
        return {
            name: sum(jnp.sum(leaf) for leaf in jax.tree.leaves(each))
            for name, each in fitted(x).items()
            if jax.tree.leaves(each)
        }

    return fitted(x), jax.jacrev(total)(x)


def test_heads_by_vmap_and_gradients_by_finite_differences() -> None:
    x, y = data(5, 2)
    # Least error of central differences, eps^{2/3} times third derivatives; these are below 1e3.
    step, bound = EPS ** (1 / 3), 1e3 * EPS ** (2 / 3)
    moves = step * np.eye(x.size).reshape(x.size, *x.shape)
    with jax.enable_x64(True):
        many = jax.jit(jax.vmap(fit_all, (0, None)))
        fitted, slopes = many(np.concatenate([x[None], x + moves, x - moves]), y)
        single = crt.GeomRF.fit(x, y).p
        assert abs(single - fitted["geom"].p[0]) <= 64 * EPS
        for name, slope in slopes.items():
            leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(fitted[name])]
            sums = np.sum([leaf.reshape(len(leaf), -1).sum(1) for leaf in leaves], axis=0)
            numeric = (sums[1 : 1 + x.size] - sums[1 + x.size :]) / (2 * step)
            exact = np.asarray(slope[0]).ravel()
            if not name.endswith("+"):
                assert abs(exact).max() > 1e-3
            assert (abs(numeric - exact) <= bound * (1 + abs(exact))).all(), name


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize(("n", "d"), [(1, 1), pytest.param(3, 16, marks=pytest.mark.slow)])
def test_extreme_data(n: int, d: int, x64: bool) -> None:
    draw = np.random.default_rng(n)
    scales = np.array([0, 1e-6, 1e-3, 1, 30, 1e4])[:, None, None] / d**0.5
    dtype = "f8" if x64 else "f4"
    x, y = ((scales * draw.normal(size=(6, n, d))).astype(dtype) for _ in range(2))
    with jax.enable_x64(x64):
        fitted, slopes = jax.vmap(fit_all)(x, y)
        for leaf in jax.tree.leaves((fitted, slopes)):
            assert np.isfinite(np.asarray(leaf)).all() and leaf.dtype == dtype
        rho, a, p = (
            np.asarray(each) for each in (fitted["oprf"].rho, fitted["gerf"].A, fitted["geom"].p)
        )
        assert (
            ((rho > 0) & (rho <= 1)).all() and (1 - 8 * a > 0).all() and ((p > 0) & (p < 1)).all()
        )
        assert (np.asarray(fitted["pois"].rate) > 0).all()
        assert (np.asarray(fitted["optpois"].rates) > 0).all()
        assert set(np.asarray(fitted["gerf"].s)) <= {1.0, -1.0}
        assert rho[0] == 1 and rho[-1] < 1e-5


def test_rho_stays_positive_where_squares_overflow() -> None:
    for norm in (1e12, 1e30):
        points = np.full((2, 3), norm)
        assert 0 < np.asarray(crt.OPRF.fit(points, points).rho) <= 1
