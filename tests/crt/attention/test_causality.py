"""No later token changes an earlier output by a bit, on the fast route and on the exact one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

import crt
from crt.attention import causal
from tests.crt.attention.setups import FLOAT32, MECHANISMS, Setup, error

pytestmark = pytest.mark.filterwarnings("ignore:trigonometric features")

# Two chunks: positions within one, on both sides of the border, and the last but one.
SETUP = Setup(queries=200, keys=200, features=16)
POSITIONS = (0, 5, 126, 127, 128, 198)


def caller(name: str):
    """A compiled causal call on q, k, v."""
    attend = crt.FavorAttention(SETUP.features, name)
    omega, rho = SETUP.omega(attend), 0.5 if name == "oprf" else None
    return jax.jit(lambda q, k, v: attend(q, k, v, omega, is_causal=True, rho=rho))


def disturbed(arrays: tuple[Array, ...], after: int, size: float) -> list[Array]:
    """The arrays with everything after a position drawn anew."""
    rng = np.random.default_rng(after)
    new = (jnp.asarray(size * rng.normal(size=each.shape), each.dtype) for each in arrays)
    later = (jnp.arange(SETUP.keys) > after)[None, :, None, None]
    return [jnp.where(later, other, each) for each, other in zip(arrays, new, strict=True)]


def leaks(name: str, scale: float) -> bool:
    """Whether any earlier output feels a later token."""
    call, arrays = caller(name), SETUP.arrays(7, scale)
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


@pytest.mark.parametrize("name", MECHANISMS)
def test_gradients_to_the_future_are_exactly_zero(name: str) -> None:
    call, at = caller(name), 130

    @jax.jit
    def gradients(q: Array, k: Array, v: Array) -> tuple[Array, ...]:
        return jax.grad(lambda *a: jnp.sum(call(*a)[:, at] ** 2), (0, 1, 2))(q, k, v)

    for found in gradients(*SETUP.arrays(8)):
        assert not found[:, at + 1 :].any()
        assert found[:, : at + 1].any()


@pytest.mark.parametrize("rise", [0.0, 50.0, 1e3])
def test_keys_that_outgrow_their_past_are_summed_exactly(rise: float) -> None:
    """Logarithms of keys that rise along the chunk, beyond the headroom and far beyond float32."""
    attend = crt.FavorAttention(16, "elu")
    q, k, v = SETUP.arrays(9)
    # elu's logarithms are the coordinates themselves where these are negative.
    slope = rise * jnp.linspace(-1, 0, SETUP.keys)[None, :, None, None]
    k = (jnp.minimum(k, 0) + slope) * 8**0.25
    out = attend(q, k, v, None, is_causal=True)
    rows = attend.rows(q, k, None, is_causal=True)
    # Rounding of logarithms of size `rise` is rise·ε; it moves every weight by as much.
    limit = max(FLOAT32, 4 * rise * float(jnp.finfo(jnp.float32).eps))
    assert error(out, jnp.einsum("bnts,bsnv->btnv", rows, v)) <= limit
