"""Statistics against means over all pairs; parts, masks, empty parts and mapped axes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import crt
from crt.statistics import Moments, Statistics, collect, moments

EPS = np.finfo(float).eps
DRAW = np.random.default_rng(11)
X, Y = DRAW.normal(size=(7, 3)) + 5, DRAW.normal(size=(9, 3)) - 2


def close(one: object, other: object) -> bool:
    """Whether all leaves agree within the rounding of sums of at most 16 terms near 50."""
    leaves = ([np.asarray(leaf) for leaf in jax.tree.leaves(tree)] for tree in (one, other))
    pairs = zip(*leaves, strict=True)
    # An empty part has an infinite minimum, equal to another's.
    return all(np.allclose(a, b, rtol=0, atol=32 * EPS * 50) for a, b in pairs)


def test_means_over_pairs() -> None:
    x, y = X[:, None], Y[None]
    with jax.enable_x64(True):
        statistics = collect(X, Y)
        for s in (1.0, -1.0):
            expected = np.mean(np.sum((x + s * y) ** 2, -1))
            assert abs(statistics.squared_norm(s) - expected) <= 32 * EPS * expected
        norms = np.mean(np.sum(x**2 + y**2, -1))
        poisson = np.mean(np.sum(x**2 * y**2, -1))
        geometric = np.mean(abs(x * y), axis=(0, 1))
        assert abs(statistics.norms() - norms) <= 32 * EPS * norms
        assert abs(statistics.poisson() - poisson) <= 32 * EPS * poisson
        assert (abs(np.asarray(statistics.geometric()) - geometric) <= 32 * EPS * geometric).all()
        np.testing.assert_array_equal(statistics.low(), np.minimum(X.min(0), Y.min(0)))


def test_squared_norm_keeps_its_digits_far_from_the_origin() -> None:
    """‖x - y‖² of nearby points at distance 4096: sums of squares alone would lose 24 bits."""
    x = np.array([[4096.0, 0.0], [4096.5, 0.0]])
    value = float(collect(x, x).squared_norm(-1.0))
    assert abs(value - 0.125) <= 16 * np.finfo("f4").eps


def test_parts_merge_in_any_order_and_empty_parts_are_neutral() -> None:
    with jax.enable_x64(True):
        whole = collect(X, Y)
        parts = [collect(X[:2], Y[:5]), collect(X[2:], Y[5:])]
        empty = collect(X[:0], Y[:0])
        assert close(parts[0].merge(parts[1]), whole) and close(parts[1].merge(parts[0]), whole)
        assert close(empty.merge(parts[0]).merge(empty).merge(parts[1]), whole)
        assert not close(parts[0], whole)
        assert float(empty.merge(empty).x.count) == 0 and (np.asarray(empty.low()) == 0).all()


def test_masked_rows_do_not_count() -> None:
    keep_x, keep_y = np.arange(7) % 3 > 0, np.arange(9) % 2 == 0
    spoiled = np.where(keep_x[:, None], X, 1e6)
    with jax.enable_x64(True):
        masked = collect(spoiled, Y, x_mask=keep_x, y_mask=keep_y)
        assert close(masked, collect(X[keep_x], Y[keep_y]))
        assert close(moments(X, np.zeros(7, bool)), moments(X[:0]))
        shifted = masked.positive(masked.low(), 1e-8)
        low = np.minimum(X[keep_x].min(0), Y[keep_y].min(0))
        moved = collect(X[keep_x] - low + 1e-8, Y[keep_y] - low + 1e-8)
        assert close(shifted, moved)
        empty = moments(X[:0])
        assert close(empty.shift(jnp.asarray(low), 1e-8).mean, empty.mean)


@pytest.mark.parametrize("name", [name for name in crt.MECHANISMS if name not in ("trig", "pos")])
def test_nan_in_masked_rows_reaches_neither_parameters_nor_gradients(name: str) -> None:
    keep = np.arange(7) != 3
    clean, spoiled = (jnp.asarray(np.where(keep[:, None], 0.3 * X, by)) for by in (0, np.nan))

    def total(x):
        fitted = crt.MECHANISMS[name].fit(x, 0.3 * Y, x_mask=keep)
        return sum(jnp.sum(jnp.real(leaf)) for leaf in jax.tree.leaves(fitted))

    for value in (total, jax.grad(total)):
        np.testing.assert_array_equal(value(spoiled), value(clean))
    slope = np.asarray(jax.grad(total)(spoiled))
    assert (slope[3] == 0).all() and (slope != 0).any()


def test_nan_in_a_kept_row_is_refused() -> None:
    spoiled = np.where(np.arange(7)[:, None] == 3, np.nan, X)
    with pytest.raises(ValueError, match="x holds NaN or infinity"):
        collect(spoiled, Y, x_mask=np.arange(7) != 2)


@pytest.mark.parametrize("name", crt.MECHANISMS)
def test_masked_fit_is_the_fit_of_the_kept_rows(name: str) -> None:
    keep = np.arange(7) != 3
    mechanism = crt.MECHANISMS[name]
    with jax.enable_x64(True):
        masked = mechanism.fit(np.where(keep[:, None], 0.3 * X, 77), 0.3 * Y, x_mask=keep)
        kept = mechanism.fit(0.3 * X[keep], 0.3 * Y)
        for one, other in zip(jax.tree.leaves(masked), jax.tree.leaves(kept), strict=True):
            assert np.all(abs(np.asarray(one - other)) <= 256 * EPS * abs(np.asarray(other)))


def test_all_reduce_has_the_derivatives_of_one_set() -> None:
    """The least value's too, shared by those that hold it; a part without rows holds nothing."""
    keep = np.array([[True, True], [False, False], [True, True]])
    rows = np.array([[[1.0, 2.0], [3.0, 0.0]], [[-9.0, -9.0], [-9.0, -9.0]], [[1.0, 4.0], [5, 6]]])

    def total(moments: Moments) -> jax.Array:
        return sum((jnp.sum(leaf) for leaf in jax.tree.leaves(moments)), jnp.zeros(()))

    def by_parts(x: jax.Array) -> jax.Array:
        part = jax.vmap(lambda x, mask: moments(x, mask).all_reduce("parts"), axis_name="parts")
        return total(jax.tree.map(lambda leaf: leaf[0], part(x, keep)))

    with jax.enable_x64(True):
        one = jax.grad(by_parts)(jnp.asarray(rows))
        other = jax.grad(lambda x: total(moments(x.reshape(-1, 2), keep.ravel())))(rows)
    np.testing.assert_allclose(one, other, rtol=0, atol=16 * EPS)


def test_all_reduce_over_a_mapped_axis() -> None:
    parts_x, parts_y = X[:6].reshape(3, 2, 3), Y.reshape(3, 3, 3)
    keep = np.array([[True, True], [False, False], [True, False]])

    def part(x, y, mask) -> Statistics:
        return collect(x, y, x_mask=mask).all_reduce("parts")

    with jax.enable_x64(True):
        mapped = jax.vmap(part, axis_name="parts")(parts_x, parts_y, keep)
        expected = collect(X[:6][keep.ravel()], Y)
        for i in range(3):
            assert close(jax.tree.map(lambda leaf, i=i: leaf[i], mapped), expected)
