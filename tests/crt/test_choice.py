"""crt.choose: its predictions, its search, its verdicts and its refusals.

The statistical test draws a new seed each time; it fails a correct prediction with probability at
most 1e-9 over all its cases (Bernstein's inequality, non-asymptotic).
"""

import math
import secrets
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest

import crt
from crt import choice

EPS = float(np.finfo(np.float64).eps)


def normals(rows: int, d: int, norm: float, seed: int) -> jax.Array:
    values = np.random.default_rng(seed).normal(size=(rows, d)) * norm / math.sqrt(d)
    return jnp.asarray(values, jnp.float32)


def only(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    monkeypatch.setattr(choice, "MECHANISMS", {name: crt.MECHANISMS[name] for name in names})


def direct(mechanism: crt.Mechanism, x: jax.Array, y: jax.Array, m: int, orthogonal: bool) -> float:
    """(Σ Var K̂ / Σ K²)^{1/2} from estimator_variance, in float64 and without logarithms."""
    with jax.enable_x64(True):
        exact = jax.tree.map(lambda leaf: leaf.astype(jnp.float64), mechanism)
        one, other = x.astype(jnp.float64), y.astype(jnp.float64)
        pairs = one[:, None], other[None]
        total = jnp.sum(exact.estimator_variance(*pairs, m, orthogonal))
        return float(jnp.sqrt(total / jnp.sum(crt.kernels.gaussian(one, other) ** 2)))


@pytest.mark.parametrize("name", list(crt.MECHANISMS))
def test_prediction_and_least_count(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, name)
    x, y = normals(7, 3, 0.7, 1), normals(5, 3, 0.7, 2)
    best = crt.choose(x, y, error=1e-9, budget=8)
    kinds = [False] if best.mechanism.discrete else [False, True]
    table = {(m, o): direct(best.mechanism, x, y, m, o) for o in kinds for m in range(1, 9)}
    # Every logarithm here is below 30 and good to 8 eps of its terms; taking an orthogonal gain off
    # magnifies that at most by the ratio of the two variances.
    magnified = table[8, False] / min(table.values())
    assert best.predicted_error == pytest.approx(min(table.values()), rel=500 * EPS * magnified**2)
    for m in (2, 5):
        wanted = 1.01 * min(table[m, o] for o in kinds)
        chosen = crt.choose(x, y, error=wanted, budget=8)
        assert chosen.num_features == min(m for (m, _), each in table.items() if each <= wanted)
        assert chosen.predicted_error <= wanted
        assert chosen.predicted_error > 0


def test_all_mechanisms_together() -> None:
    x, y = normals(7, 3, 0.7, 1), normals(5, 3, 0.7, 2)
    fitted = {name: cls.fit(x, y) for name, cls in crt.MECHANISMS.items()}
    chosen = crt.choose(x, y, error=0.15, budget=64)
    needed = [
        m
        for mechanism in fitted.values()
        for orthogonal in ([False] if mechanism.discrete else [False, True])
        for m in range(1, chosen.num_features + 1)
        if direct(mechanism, x, y, m, orthogonal) <= 0.15
    ]
    assert min(needed) == chosen.num_features > 1
    assert chosen.verdict.startswith(f"{chosen.mechanism.name} with {chosen.num_features} ")
    # The choice is ready for use.
    omega = chosen.mechanism.sample(
        jax.random.key(0), chosen.num_features, 3, orthogonal=chosen.orthogonal
    )
    assert crt.estimate_kernel(chosen.mechanism, omega, x, y).shape == (7, 5)


def test_full_blocks_may_beat_larger_counts() -> None:
    candidate = choice.Candidate(crt.PosRF(), 4, math.log(1e-6), 0.0)
    errors = [candidate.log_error(m) for m in range(1, 10)]
    assert candidate.best(9) == 8 and min(errors) == errors[7]
    assert candidate.best(6) == 4 and errors[3] < errors[5]
    assert candidate.least(errors[3], 9) == 4 and candidate.least(errors[3], 3) is None
    assert candidate.least(-1000.0, 10**20) is None


def relative_squares(mechanism: crt.Mechanism, x, y, m: int, orthogonal: bool, draws: int):
    """‖K̂ - K‖_F²/‖K‖_F² of many independent estimates."""
    exact = crt.kernels.gaussian(x, y)

    @jax.jit
    @jax.vmap
    def once(key: jax.Array) -> jax.Array:
        omega = mechanism.sample(key, m, x.shape[-1], orthogonal)
        estimate = crt.estimate_kernel(mechanism, omega, x, y)
        return jnp.sum((estimate - exact) ** 2) / jnp.sum(exact**2)

    seed = secrets.randbits(32)
    return np.asarray(once(jax.random.split(jax.random.key(seed), draws)), np.float64), seed


def largest_square(mechanism: crt.Mechanism, x: jax.Array, y: jax.Array) -> float:
    """An upper bound of ‖K̂ - K‖_F²/‖K‖_F²: a mean of bounded products is as bounded."""
    kernel = crt.kernels.gaussian(x, y)
    top = jnp.ones_like(kernel)
    if isinstance(mechanism, crt.OPRF):
        z = jnp.sum((x[:, None] + y[None]) ** 2, axis=-1)
        n = jnp.sum(x**2, axis=-1)[:, None] + jnp.sum(y**2, axis=-1)
        top = jnp.exp(crt.formulas.log_supremum_oprf(mechanism.rho, x.shape[-1], z, n))
    least = jnp.zeros_like(top) if isinstance(mechanism, crt.OPRF) else -top
    apart = jnp.maximum(top - kernel, kernel - least)
    return float(jnp.sum(apart**2) / jnp.sum(kernel**2))


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("name", ["trig", "oprf"])
def test_simulated_errors(name: str, d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, name)
    x, y = normals(4, d, 0.8, 3), normals(4, d, 0.8, 4)
    best = crt.choose(x, y, error=1e-9, budget=3)
    assert best.orthogonal == (d == 2)
    draws, false_alarm = 200_000, 2.5e-10
    squares, seed = relative_squares(
        best.mechanism, x, y, best.num_features, best.orthogonal, draws
    )
    bound = largest_square(best.mechanism, x, y)
    assert squares.max() <= bound

    def allowed(mean: float) -> float:
        # Of Bernstein's tail exp(-Rt²/(2σ²+2Bt/3)), with σ² ≤ B·mean for values in [0, B].
        level = math.log(2 / false_alarm) * bound / draws
        return level / 3 + math.sqrt((level / 3) ** 2 + 2 * level * mean)

    mean = best.predicted_error**2
    assert abs(squares.mean() - mean) <= allowed(mean), f"seed {seed}"
    for planted in (1.2 * best.predicted_error, 0.8 * best.predicted_error, 0.0):
        assert abs(squares.mean() - planted**2) > allowed(planted**2), f"seed {seed}"


def test_monotone() -> None:
    x, y = normals(7, 3, 0.7, 1), normals(5, 3, 0.7, 2)
    counts = [crt.choose(x, y, error=e, budget=10**9).num_features for e in (1e-3, 0.01, 0.1, 1.0)]
    assert counts == sorted(counts, reverse=True) and counts[0] > 100 * counts[2]
    reached = [crt.choose(x, y, error=1e-6, budget=b).predicted_error for b in (1, 3, 4, 50, 51)]
    assert reached == sorted(reached, reverse=True) and reached[-1] > 0


@pytest.mark.parametrize("d", [4, pytest.param(64, marks=pytest.mark.slow)])
def test_regimes(d: int) -> None:
    x, y = normals(12, d, 1.0, 5), normals(9, d, 1.0, 6)
    wide = math.sqrt(d)
    tiny = crt.choose(1e-6 * x, 1e-6 * y, error=0.05, budget=64)
    assert (tiny.mechanism.name, tiny.num_features, tiny.orthogonal) == ("pos", 1, False)
    sphere = [each / jnp.linalg.norm(each, axis=-1, keepdims=True) for each in (x, y)]
    assert crt.choose(*sphere, error=0.05, budget=4096).predicted_error <= 0.05
    normal = crt.choose(wide * x, wide * y, error=0.05, budget=1024)
    assert ("lose even to a uniform average" in normal.verdict) == (d == 64)
    for scale in (100.0, 1e4):
        far = crt.choose(scale * x, scale * y, error=0.05, budget=1024)
        fitted = [cls.fit(scale * x, scale * y) for cls in crt.MECHANISMS.values()]
        assert all(jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(fitted))
        assert 0 < far.log_error < math.inf and far.num_features <= 1024
        assert 0.5 < far.uniform_error <= 1
        assert far.verdict.startswith("No mechanism reaches 0.05 within 1024 features: the best, ")
        assert far.verdict.endswith("so random features lose even to a uniform average here.")


def test_a_mechanism_whose_fit_overflows_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "pois", "trig")
    x, y = normals(12, 4, 1e12, 5), normals(9, 4, 1e12, 6)
    with pytest.raises(ValueError, match="rate is inf"):
        crt.PoisRF.fit(x, y)
    far = crt.choose(x, y, error=0.1, budget=9)
    assert (far.mechanism.name, far.predicted_error) == ("trig", math.inf)
    assert 0 < far.log_error < math.inf and "predicts 10^" in far.verdict


def test_softmax_kernel() -> None:
    x, y = normals(12, 4, 1.0, 5), normals(9, 4, 1.0, 6)
    near = crt.choose(x, y, error=0.1, budget=4096, kernel="softmax")
    assert near.predicted_error <= 0.1
    far = crt.choose(1e4 * x, 1e4 * y, error=0.1, budget=4096, kernel="softmax")
    assert 0 < far.log_error < math.inf and far.predicted_error > far.uniform_error


def test_verdict_names_the_uniform_average_that_loses(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "trig")
    points = normals(9, 4, 3.0, 7)
    best = crt.choose(points, points, error=1e-3, budget=500)
    kernel = crt.kernels.gaussian(points, points)
    apart = jnp.linalg.norm(kernel - kernel.mean(1, keepdims=True)) / jnp.linalg.norm(kernel)
    # Sums of 81 float32 terms of size at most 1.
    assert best.uniform_error == pytest.approx(float(apart), rel=81 * 2**-23)
    assert best.predicted_error < best.uniform_error
    assert best.verdict.endswith(f"errs by {best.uniform_error:.3g}.")


def test_verdict_names_a_uniform_average_better_than_the_wanted_error() -> None:
    points = normals(9, 4, 0.3, 7)
    near = crt.choose(points, points, error=jnp.float32(0.5), budget=500)
    assert near.uniform_error < near.predicted_error <= 0.5
    assert near.verdict.startswith(f"{near.mechanism.name} with {near.num_features} ")
    assert f"errs by {near.uniform_error:.3g} only, so random features lose" in near.verdict
    for error in (0.5, np.float32(0.5), np.array(0.5)):
        assert crt.choose(points, points, error=error, budget=500).verdict == near.verdict


def test_rows_of_a_set_against_itself_keep_the_diagonal(monkeypatch: pytest.MonkeyPatch) -> None:
    # Corners of a simplex: all pairs are alike but for the diagonal, so no choice of rows matters.
    only(monkeypatch, "trig")
    x = 2.0 * jnp.eye(24)
    whole = crt.choose(x, x, error=1e-9, budget=10)
    part = crt.choose(x, x, error=1e-9, budget=10, rows=6)
    # Logarithms of sums of 576 terms.
    assert part.log_error == pytest.approx(whole.log_error, rel=1000 * EPS)
    assert part.uniform_error == pytest.approx(whole.uniform_error, rel=1000 * EPS)
    unaware = crt.choose(x, x.at[23].mul(0.5), error=1e-9, budget=10, rows=6)
    assert abs(unaware.log_error - whole.log_error) > 0.1


def test_equals_prefer_real_features_and_few_parameters() -> None:
    zero = jnp.zeros((3, 2))
    chosen = crt.choose(zero, zero, error=0.1, budget=5)
    assert (chosen.mechanism.name, chosen.predicted_error) == ("pos", 0.0)
    x, y = normals(12, 4, 100.0, 5), normals(9, 4, 100.0, 6)
    assert crt.choose(x, y, error=0.1, budget=5).mechanism.name != "gerf"


@pytest.fixture
def unhooked() -> Iterator[None]:
    """The package's own sentences, not those of the test suite's shape checker."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.mark.usefixtures("unhooked")
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"error": 0.0}, r"error is 0.0; it must be a positive finite number\."),
        ({"error": -1}, r"error is -1; it must be a positive finite number\."),
        ({"error": math.nan}, r"error is nan; it must be a positive finite number\."),
        ({"error": math.inf}, r"error is inf; it must be a positive finite number\."),
        ({"error": "5%"}, r"error is '5%'; it must be a positive finite number\."),
        ({"budget": 0}, r"budget is 0; it must be an integer of at least 1\."),
        ({"budget": 1.5}, r"budget is 1.5; it must be an integer of at least 1\."),
        ({"rows": 0}, r"rows is 0; it must be an integer of at least 1\."),
        ({"kernel": "laplace"}, r"kernel is 'laplace'; accepted are 'gaussian', 'softmax'\."),
        ({"x": np.full((2, 3), math.nan)}, r"x holds NaN or infinity"),
        ({"y": np.full((2, 3), math.inf)}, r"y holds NaN or infinity"),
        ({"x": np.ones(3)}, r"x has shape \(3,\); it must be \(rows, dim\)\."),
        ({"y": np.ones((2, 4))}, r"x has 3 coordinates and y has 4; they must have the same"),
        ({"y": np.ones((0, 3))}, r"y has shape \(0, 3\); it must have at least one row\."),
        ({"x": np.ones((2, 3)) + 1j}, r"x has dtype complex64; it must hold real numbers\."),
    ],
)
def test_refusals(change: dict, sentence: str) -> None:
    call = {"x": np.ones((2, 3)), "y": np.ones((2, 3)), "error": 0.1, "budget": 10} | change
    with pytest.raises(ValueError, match=sentence):
        crt.choose(**call)


def test_refuses_to_be_traced() -> None:
    with pytest.raises(ValueError, match="x is traced; choose looks at values"):
        jax.jit(lambda x: crt.choose(x, x, error=0.1, budget=10).predicted_error)(jnp.ones((2, 3)))
