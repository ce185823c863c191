"""No later token changes an earlier output by a bit, on the fast route and on the exact one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

import crt
from crt.attention import causal
from tests.crt.attention.setups import (
    FLOAT32,
    MECHANISMS,
    Setup,
    double,
    error,
    with_gradients,
)

pytestmark = pytest.mark.filterwarnings("ignore:trigonometric features")

# Two chunks: positions within one, on both sides of the border, and the last but one.
SETUP = Setup(queries=200, keys=200, features=16)
POSITIONS = (0, 5, 126, 127, 128, 198)


def caller(name: str, mask: Array | None = None):
    """A compiled causal call on q, k, v."""
    attend = crt.FavorAttention(SETUP.features, name)
    omega, rho = SETUP.omega(attend), 0.5 if name == "oprf" else None
    return jax.jit(lambda q, k, v: attend(q, k, v, omega, mask, is_causal=True, rho=rho))


def disturbed(arrays: tuple[Array, ...], after: int, size: float) -> list[Array]:
    """The arrays with everything after a position drawn anew."""
    rng = np.random.default_rng(after)
    new = (jnp.asarray(size * rng.normal(size=each.shape), each.dtype) for each in arrays)
    later = (jnp.arange(SETUP.keys) > after)[None, :, None, None]
    return [jnp.where(later, other, each) for each, other in zip(arrays, new, strict=True)]


def leaks(name: str, scale: float, mask: Array | None = None) -> bool:
    """Whether any earlier output feels a later token."""
    call, arrays = caller(name, mask), SETUP.arrays(7, scale)
    out = np.asarray(call(*arrays))
    assert np.sqrt(np.mean(out**2)) > 0
    for at in POSITIONS:
        for size in (0.0, 1.0, 1e4):
            other = np.asarray(call(*disturbed(arrays, at, size)))
            if not np.array_equal(out[:, : at + 1], other[:, : at + 1]):
                return True
    return False


@pytest.mark.parametrize("scale", [1.0, 1e3])
@pytest.mark.parametrize("name", MECHANISMS)
def test_later_tokens_change_nothing(name: str, scale: float) -> None:
    assert not leaks(name, scale)


@pytest.mark.parametrize("name", ["oprf", "relu"])
def test_later_tokens_change_nothing_among_pads(name: str) -> None:
    """Pads before the first token, in its chunk, over the border and between the others."""
    places = jnp.arange(SETUP.keys)
    mask = (places >= 4) & (places % 7 > 0) & ((places < 120) | (places > 131))
    assert not leaks(name, 1.0, mask[None])


@pytest.fixture
def forgetful():
    """Forgets what was compiled with a planted error."""
    jax.clear_caches()
    yield
    jax.clear_caches()


def test_a_leaked_future_is_caught(monkeypatch, forgetful) -> None:
    monkeypatch.setattr(causal, "_seen", lambda n: jnp.tril(jnp.ones((n, n), bool), 1))
    assert leaks("oprf", 1.0)


def test_a_scale_made_of_the_whole_chunk_is_caught(monkeypatch, forgetful) -> None:
    monkeypatch.setattr(causal, "_first", lambda log, mask: jnp.max(log, axis=-1))
    assert leaks("oprf", 1.0)


def test_a_scale_made_of_a_later_key_is_caught_among_pads(monkeypatch, forgetful) -> None:
    monkeypatch.setattr(causal, "_first", lambda log, mask: log[..., 20])
    assert leaks("oprf", 1.0, (jnp.arange(SETUP.keys) >= 4)[None])


@pytest.mark.parametrize("name", MECHANISMS)
def test_gradients_to_the_future_are_exactly_zero(name: str) -> None:
    call, at = caller(name), 130

    @jax.jit
    def gradients(q: Array, k: Array, v: Array) -> tuple[Array, ...]:
        return jax.grad(lambda *a: jnp.sum(call(*a)[:, at] ** 2), (0, 1, 2))(q, k, v)

    for found in gradients(*SETUP.arrays(8)):
        assert not found[:, at + 1 :].any()
        assert found[:, : at + 1].any()


SHAPES = {
    "slope": jnp.linspace(-1, 0, SETUP.keys),
    "step": jnp.where(jnp.arange(SETUP.keys) < 1, -1.0, 0.0),
}


def strayed(rise: float, shape: str, size: float = 1.0) -> tuple[float, float]:
    """The largest error of output and gradients over what rounding allows, the output's first.

    Logarithms of keys rise along the chunk; elu's are the coordinates themselves where negative.
    """
    attend = crt.FavorAttention(16, "elu")
    q, k, v = SETUP.arrays(9)
    k = (jnp.minimum(k, 0) + rise * SHAPES[shape][None, :, None, None]) * 8**0.25
    v = size * v

    def by_pairs(q: Array, k: Array, v: Array) -> Array:
        return jnp.einsum("bnts,bsnv->btnv", attend.rows(q, k, None, is_causal=True), v)

    found = with_gradients(lambda q, k, v: attend(q, k, v, None, is_causal=True))(q, k, v)
    with jax.enable_x64(True):
        exact = with_gradients(by_pairs)(*double((q, k, v)))
    # Rounding of logarithms of size `rise` is rise·ε; it moves every weight by as much.
    limit = max(FLOAT32, 4 * rise * float(jnp.finfo(jnp.float32).eps))
    first, *others = (error(*each) / limit for each in zip(found, exact, strict=True))
    return first, max(others)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rise", [0.0, 45.0, 59.0, 1e3])
def test_keys_that_outgrow_their_past_are_summed_exactly(rise: float, shape: str) -> None:
    """Up to the headroom, beyond it and far beyond float32."""
    assert max(strayed(rise, shape)) <= 1


def test_large_values_of_keys_that_outgrow_their_past() -> None:
    assert max(strayed(59.0, "step", 1e30)) <= 1


def slopes(size: float) -> Array:
    """Gradients in q, over the size of the values, where a feature that no query sees outgrows."""
    setup = Setup(queries=8, keys=8, dim=3, features=3, heads=1, key_heads=1)
    attend = crt.FavorAttention(3, "elu")
    q, k, v = setup.arrays(3)
    # elu's logarithms are the coordinates where these are negative; √scale is 3^-¼.
    q = jnp.concatenate([-jnp.abs(q[..., :2]), jnp.full_like(q[..., :1], -70)], -1)
    rise = jnp.linspace(-59, 0, 8)[None, :, None, None]
    k = jnp.concatenate([-jnp.abs(k[..., :2]), rise], -1)
    q, k = 3**0.25 * q, 3**0.25 * k
    _, pull = jax.vjp(lambda q: attend(q, k, size * v, None, is_causal=True), q)
    return pull(jnp.ones_like(v))[0] / size


def test_gradients_of_large_values_where_an_unseen_feature_outgrows_its_past() -> None:
    """The row is not brought down for it, and e^59 times such a value has no place in float32."""
    assert error(slopes(1e20), slopes(1.0)) <= FLOAT32


def test_products_with_values_beyond_their_range_are_caught(monkeypatch, forgetful) -> None:
    def plain(log_q: Array, log_k: Array) -> Array:
        return jnp.exp(log_q) @ jnp.exp(log_k)

    monkeypatch.setattr(causal, "_products", plain)
    assert not np.isfinite(slopes(1e20)).all() and np.isfinite(slopes(1.0)).all()


def test_a_denominator_whose_square_overflows_is_caught(monkeypatch, forgetful) -> None:
    """Rows that stay relative to their first key: right outputs, and wrong gradients."""
    monkeypatch.setattr(causal, "_lowered", lambda matrix: jnp.zeros_like(matrix[..., :1]))
    output, gradients = strayed(59.0, "step")
    assert output <= 1 < gradients
