"""CONTRIBUTING.md's example of a new mechanism does what the page says, and its faults are seen."""

import importlib.util
import itertools
import math
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import crt

PAGE = Path(__file__).parents[1] / "CONTRIBUTING.md"
NODES = 64


def example() -> str:
    """The one Python block of the page."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    return code


def load(code: str, folder: Path) -> type[crt.Mechanism]:
    """The example as a module of its own."""
    path = folder / "centred.py"
    path.write_text(code, "utf-8")
    spec = importlib.util.spec_from_file_location("centred", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.CentredPosRF


@pytest.fixture
def centred(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> type[crt.Mechanism]:
    """The example, registered."""
    cls = load(example(), tmp_path)
    monkeypatch.setitem(crt.MECHANISMS, cls.name, cls)
    return cls


def data(d: int, offset: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    """Points at most 1 away from (offset, …, offset) in all coordinates together."""
    rng = np.random.default_rng(d)
    x, y = rng.uniform(-1, 1, (3, d)) / math.sqrt(d), rng.uniform(-1, 1, (4, d)) / math.sqrt(d)
    return x + offset, y + offset


def moments(mechanism: crt.Mechanism, x, y, kernel: str) -> tuple[np.ndarray, np.ndarray]:
    """E X and E X² for all pairs by Gauss–Hermite quadrature with 64 nodes per coordinate.

    The rule is exact for degrees below 128 and below the integral for even powers beyond, so for
    E exp(v·ω) it misses less than Σ_{j≥64} (v²/2)^j/j!, under 1e-30 for v ≤ 4.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    d = x.shape[-1]
    omega = np.asarray(list(itertools.product(nodes, repeat=d)))
    weight = np.prod(list(itertools.product(weights, repeat=d)), axis=-1) / math.tau ** (d / 2)
    f1 = np.asarray(mechanism.features(x, omega, "x", kernel=kernel))
    f2 = np.asarray(mechanism.features(y, omega, "y", kernel=kernel))
    return (f1 * weight) @ f2.T, (f1**2 * weight) @ (f2**2).T


def biased(cls: type[crt.Mechanism], d: int, kernel: str) -> bool:
    """Whether the mean differs from K by more than the rounding of 64^d terms of one sign."""
    with jax.enable_x64(True):
        x, y = data(d)
        mean, _ = moments(cls.fit(x, y), x, y, kernel)
        exact = getattr(crt.kernels, kernel)(x, y)
        return bool((np.abs(mean / exact - 1) > NODES**d * np.finfo(float).eps).any())


@pytest.mark.parametrize("kernel", ["gaussian", "softmax"])
@pytest.mark.parametrize("d", [1, 2])
def test_unbiased_with_the_stated_second_moment(centred, d: int, kernel: str) -> None:
    assert not biased(centred, d, kernel)
    with jax.enable_x64(True):
        x, y = data(d)
        mechanism = centred.fit(x, y)
        mean, square = moments(mechanism, x, y, kernel)
        stated = mechanism.log_second_moment(x[:, None], y[None], kernel=kernel)
        tolerance = NODES**d * np.finfo(float).eps
        np.testing.assert_allclose(np.exp(stated), square, rtol=tolerance)
        variance = mechanism.variance(x[:, None], y[None], kernel=kernel)
        np.testing.assert_allclose(variance, square - mean**2, atol=tolerance * square.max())
        assert (variance > 0).all()


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("row_norms(moved, -1.0)", "row_norms(x, -1.0)"),
        ("row_norms(moved, -1.0)", "row_norms(moved, -0.5)"),
        ("project(moved, omega)", "project(x, omega)"),
        ('0.5 if kernel == "softmax"', '0.25 if kernel == "softmax"'),
    ],
)
def test_planted_faults_are_biased(right: str, wrong: str, tmp_path: Path) -> None:
    assert example().count(right) == 1
    assert biased(load(example().replace(right, wrong), tmp_path), 1, "softmax")


def test_orthogonal_variance_is_that_of_the_moved_points(centred) -> None:
    x, y = (jnp.asarray(each, jnp.float32) for each in data(3))
    mechanism = centred.fit(x, y)
    moved = x[:3] - mechanism.centre, y[:3] - mechanism.centre
    got = mechanism.estimator_variance(x[:3], y[:3], 7, orthogonal=True)
    assert (got == crt.PosRF().estimator_variance(*moved, 7, orthogonal=True)).all()
    assert (got < mechanism.estimator_variance(x[:3], y[:3], 7)).all()


def test_estimates(centred) -> None:
    x, y = (jnp.asarray(each, jnp.float32) for each in data(3))
    mechanism = centred.fit(x, y)
    omega = mechanism.sample(jax.random.key(1), 512, 3, orthogonal=True)
    estimate = crt.estimate_kernel(mechanism, omega, x, y)
    assert (estimate > 0).all()
    values = jnp.linspace(1.0, 2.0, 8).reshape(4, 2)
    applied = crt.apply_kernel(mechanism, omega, x, y, values)
    # Two orders of summing 4·512 positive float32 terms, of logarithms below 64.
    np.testing.assert_allclose(applied, estimate @ values, rtol=2**-23 * (2 * 4 * 512 + 2 * 64))


def test_transformations(centred) -> None:
    x, y = (jnp.asarray(each, jnp.float32) for each in data(3))
    heads = jnp.stack([x, x - 1.0]), jnp.stack([y, y + 1.0])
    omega = centred.fit(x, y).sample(jax.random.key(2), 32, 3)

    def estimate(x: jax.Array, y: jax.Array) -> jax.Array:
        return crt.estimate_kernel(centred.fit(x, y), omega, x, y)

    single = jnp.stack([estimate(*each) for each in zip(*heads, strict=True)])
    # Rounding of features whose logarithms stay below 64.
    close = {"rtol": 4 * 64 * 2**-23}
    np.testing.assert_allclose(jax.vmap(estimate)(*heads), single, **close)
    np.testing.assert_allclose(jax.jit(estimate)(x, y), single[0], **close)
    slope = jax.grad(lambda centre: crt.estimate_kernel(centred(centre), omega, x, y).sum())
    gradient = slope(centred.fit(x, y).centre)
    assert jnp.isfinite(gradient).all() and (gradient != 0).all()


def test_choose_finds_it_where_it_is_best(centred, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in set(crt.MECHANISMS) - {"pos", "oprf", centred.name}:
        monkeypatch.delitem(crt.MECHANISMS, name)
    x, y = (30 + 0.2 * each for each in data(2, offset=0.0))
    chosen = crt.choose(x, y, error=0.5, budget=4)
    # One feature is enough once the offset is gone; PosRF and OPRF do not see that.
    assert isinstance(chosen.mechanism, centred)
    assert (chosen.num_features, chosen.predicted_error <= 0.5) == (1, True)


def test_refusals(centred) -> None:
    with pytest.raises(ValueError, match=r"centre is .*nan.*; it must be finite\."):
        centred(jnp.asarray([0.0, jnp.nan]))
    with pytest.raises(ValueError, match="centre must have one entry per coordinate"):
        centred(jnp.zeros(2)).variance(jnp.ones(3), jnp.ones(3))
