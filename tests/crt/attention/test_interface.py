"""Shapes, masks, fitted ρ and the sentences of refusal."""

from typing import Any

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest

import crt
from crt.attention import fit
from tests.crt.attention.setups import FLOAT32, Setup, error
from tests.crt.refusals import refuses

SETUP = Setup(batch=2, queries=20, keys=20, heads=4, key_heads=2, features=16)
ATTEND = crt.FavorAttention(SETUP.features)
OMEGA = crt.projections.orthogonal(jax.random.key(0), SETUP.features, SETUP.dim)
MASK = jnp.arange(SETUP.keys)[None, :] < jnp.array([[12], [20]])


@pytest.fixture
def unchecked():
    """Switches off the suite's own shape checks, which would speak before the library does."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def test_samples() -> None:
    key = jax.random.key(1)
    shared, heads = ATTEND.sample(key, 8), ATTEND.sample(key, 8, 3)
    assert shared is not None and shared.shape == (16, 8)
    assert heads is not None and heads.shape == (3, 16, 8)
    assert not jnp.allclose(heads[0], heads[1])
    products = heads[:, :8] @ jnp.swapaxes(heads[:, :8], 1, 2)
    lengths = jnp.sqrt(jnp.sum(heads[:, :8] ** 2, axis=-1))
    cosines = products / (lengths[:, :, None] * lengths[:, None, :])
    # A Householder QR of 8 columns is orthogonal to 8·8 roundings.
    assert float(jnp.abs(cosines - jnp.eye(8)).max()) <= 64 * jnp.finfo(jnp.float32).eps
    independent = crt.FavorAttention(16, orthogonal=False).sample(key, 8)
    assert independent is not None and independent.shape == (16, 8)
    assert crt.FavorAttention(mechanism="elu").sample(key, 8) is None


def test_fitted_rho_is_that_of_the_mechanism() -> None:
    q, k, _ = SETUP.arrays(1)
    found = fit.rho(q, k, MASK, MASK, jnp.float32(0.25))
    for batch, head in ((0, 0), (1, 3)):
        x, y = 0.5 * q[batch, :, head], 0.5 * k[batch, :, head // 2]
        each = crt.OPRF.fit(x, y, x_mask=MASK[batch], y_mask=MASK[batch])
        assert error(found[batch, head], each.rho) <= FLOAT32


@pytest.mark.parametrize(
    ("length", "dtype"), [(fit.SHORT + 1, jnp.float32), (3 * fit.SHORT + 70, jnp.bfloat16)]
)
def test_rho_of_long_sequences_far_from_the_origin(length: int, dtype) -> None:
    """Means 300 apart on either side of 0, which cancel in ‖q+k‖²: all but the spread, 1.

    A difference from a mean of 300 is rounded by 300·eps, and its square by twice that; each of the
    two sides and of the two steps, lanes and their merger, has a share.
    """
    setup = Setup(batch=2, queries=length, keys=length, heads=4, key_heads=2, dim=4)
    q, k, _ = setup.arrays(0)
    q, k = (q + 300).astype(dtype), (k - 300).astype(dtype)
    shown = jax.random.bernoulli(jax.random.key(1), 0.8, (2, length))
    found = fit.rho(q, k, shown, shown, jnp.float32(0.25))
    naive, exact = np.zeros((2, 2, 4))
    for batch, head in np.ndindex(2, 4):
        rows = (q[batch, :, head], k[batch, :, head // 2])
        x, y = (np.asarray(each, np.float64)[np.asarray(shown[batch])] for each in rows)
        mean = x.mean(0) + y.mean(0)
        z = np.sum(x.var(0) + y.var(0) + mean**2) / 4
        exact[batch, head] = crt.formulas.rho_star(jnp.float32(z), 4)
        x, y = x.astype(np.float32), y.astype(np.float32)
        z = sum(np.mean(np.sum(each**2, 1)) for each in (x, y)) + 2 * x.mean(0) @ y.mean(0)
        naive[batch, head] = crt.formulas.rho_star(jnp.float32(z / 4), 4)
    allowed = 8 * 300 * float(jnp.finfo(jnp.float32).eps)
    assert error(found, exact) <= allowed < error(naive, exact)


def test_gradients_of_rho_on_long_sequences() -> None:
    setup = Setup(queries=fit.SHORT + 70, keys=fit.SHORT + 70, dim=4)
    q, k, _ = setup.arrays(0)
    scale = jnp.float32(0.25)

    def written_out(q: jax.Array) -> jax.Array:
        """Of every head, ρ* at the mean over pairs, from norms and means."""
        norms = sum(jnp.mean(jnp.sum(each**2, axis=-1), axis=1) for each in (q, k))
        product = jnp.sum(jnp.mean(q, axis=1) * jnp.mean(k, axis=1), axis=-1)
        return jnp.sum(crt.formulas.rho_star(scale * (norms + 2 * product), setup.dim))

    found = jax.grad(lambda q: jnp.sum(fit.rho(q, k, None, None, scale)))(q)
    assert error(found, jax.grad(written_out)(q)) <= FLOAT32


def test_the_call_fits_each_element_and_head() -> None:
    q, k, v = SETUP.arrays(2)
    rho = fit.rho(q, k, None, None, jnp.float32(8**-0.5))
    assert error(ATTEND(q, k, v, OMEGA), ATTEND(q, k, v, OMEGA, rho=rho)) <= FLOAT32
    assert error(ATTEND(q, k, v, OMEGA), ATTEND(q, k, v, OMEGA, rho=0.5 * rho)) > FLOAT32


def test_calibration_pools_the_batch() -> None:
    q, k, _ = SETUP.arrays(3)
    found = ATTEND.calibrate(q, k, MASK)
    assert found.shape == (4,)
    shown = np.asarray(MASK).reshape(-1)
    for head in (0, 3):
        x = 8**-0.25 * q[:, :, head].reshape(-1, 8)[shown]
        y = 8**-0.25 * k[:, :, head // 2].reshape(-1, 8)[shown]
        assert error(found[head], crt.OPRF.fit(x, y).rho) <= FLOAT32


@pytest.mark.parametrize("is_causal", [False, True])
def test_pads_change_nothing(is_causal: bool) -> None:
    """What stands in padded places, and how many there are, does not reach the real rows."""
    q, k, v = SETUP.arrays(4)
    rho = ATTEND.calibrate(q, k, MASK) if is_causal else None
    out = ATTEND(q, k, v, OMEGA, MASK, is_causal, rho)
    shown = MASK[:, :, None, None]
    loud_q, loud_k, loud_v = (jnp.where(shown, each, 1e3) for each in (q, k, v))
    loud = ATTEND(loud_q, loud_k, loud_v, OMEGA, MASK, is_causal, rho)
    np.testing.assert_array_equal(jnp.where(shown, loud, 0), jnp.where(shown, out, 0))
    q, k, v = (each[:1, :12] for each in (q, k, v))
    assert error(out[:1, :12], ATTEND(q, k, v, OMEGA, None, is_causal, rho)) <= FLOAT32


def test_lengths_are_masks() -> None:
    q, k, v = SETUP.arrays(5)
    lengths = jnp.array([12, 20])
    by_length = ATTEND(q, k, v, OMEGA, query_seq_lengths=lengths, key_value_seq_lengths=lengths)
    by_mask = ATTEND(q, k, v, OMEGA, MASK, query_mask=MASK)
    np.testing.assert_array_equal(by_length, by_mask)
    assert not by_mask[0, 12:].any() and by_mask[0, :12].any()


def test_scale_multiplies_the_products() -> None:
    q, k, v = SETUP.arrays(6)
    by_scale = ATTEND(q, k, v, OMEGA, scale=0.7)
    by_hand = ATTEND(0.7**0.5 * q, 0.7**0.5 * k, v, OMEGA, scale=1.0)
    assert error(by_scale, by_hand) <= FLOAT32


def test_gradients_through_rho_flow_only_on_request() -> None:
    q, k, v = SETUP.arrays(7)
    rho = fit.rho(q, k, None, None, jnp.float32(8**-0.5))

    def gradient(attend: crt.FavorAttention, **given) -> jax.Array:
        return jax.grad(lambda q: jnp.sum(attend(q, k, v, OMEGA, **given) ** 2))(q)

    held = gradient(ATTEND)
    assert error(held, gradient(ATTEND, rho=rho)) <= FLOAT32
    assert error(gradient(crt.FavorAttention(16, rho_gradient=True)), held) > 100 * FLOAT32


def test_settings_are_a_static_argument() -> None:
    q, k, v = SETUP.arrays(8)
    call = jax.jit(lambda attend, *a: attend(*a), static_argnums=0)
    assert error(call(ATTEND, q, k, v, OMEGA), ATTEND(q, k, v, OMEGA)) <= FLOAT32


@pytest.mark.parametrize("method", ["__call__", "rows", "prefill", "step"])
def test_signed_denominators_are_warned_of(method: str) -> None:
    (q, k, v), attend = SETUP.arrays(10, 0.1), crt.FavorAttention(16, "trig")
    calls = {
        "rows": lambda: attend.rows(q, k, OMEGA),
        "step": lambda: attend.step(attend.init_state(2, 4, 8), q[:, 0], k[:, 0], v[:, 0], OMEGA),
    }
    with pytest.warns(UserWarning, match="denominator"):
        calls.get(method, lambda: getattr(attend, method)(q, k, v, OMEGA))()


def test_gradients_flow_through_calibrate_only_on_request() -> None:
    q, k, _ = SETUP.arrays(13)

    def gradient(attend: crt.FavorAttention) -> jax.Array:
        return jax.grad(lambda q: jnp.sum(attend.calibrate(q, k)))(q)

    assert not gradient(ATTEND).any()
    assert gradient(crt.FavorAttention(16, rho_gradient=True)).any()


Q, K, V = SETUP.arrays(11)
ANYTHING: Any = "no"
REFUSED = {
    "bias is given": lambda: ATTEND(Q, K, V, OMEGA, bias=jnp.zeros(1)),
    "local_window_size is 3": lambda: ATTEND(Q, K, V, OMEGA, local_window_size=3),
    "dropout_rate is 0.1": lambda: ATTEND(Q, K, V, OMEGA, dropout_rate=0.1),
    "and key has 20; with is_causal=True": lambda: ATTEND.rows(
        Q[:, :7], K, OMEGA, 0.5, is_causal=True
    ),
    "is_causal is 'no'; it must": lambda: ATTEND.rows(Q, K, OMEGA, 0.5, is_causal=ANYTHING),
    "is_causal is 'no'; it": lambda: ATTEND.report(Q, K, V, is_causal=ANYTHING),
    "calibrate": lambda: ATTEND(Q, K, V, OMEGA, is_causal=True),
    "they must be equal": lambda: ATTEND(Q[:, :7], K, V, OMEGA, is_causal=True, rho=0.5),
    "must divide the number of query heads": lambda: ATTEND(Q[:, :, :3], K, V, OMEGA),
    "batch, length and heads must agree": lambda: ATTEND(Q, K, V[:, 1:], OMEGA),
    r"query has shape \(20, 4, 8\)": lambda: ATTEND(Q[0], K, V, OMEGA),
    r"key_mask has shape \(20, 2\)": lambda: ATTEND(Q, K, V, OMEGA, MASK.T),
    "dtype float32; it must be bool": lambda: ATTEND(Q, K, V, OMEGA, MASK.astype(float)),
    r"query_mask has shape \(2, 19\)": lambda: ATTEND(Q, K, V, OMEGA, query_mask=MASK[:, 1:]),
    "key_mask has dtype <U1; it must be an array of booleans": lambda: ATTEND(
        Q, K, V, OMEGA, np.full((2, 20), "a")
    ),
    "query_seq_lengths has dtype <U1": lambda: ATTEND(
        Q, K, V, OMEGA, query_seq_lengths=np.array(["a", "b"])
    ),
    "key_value_seq_lengths has": lambda: ATTEND(Q, K, V, OMEGA, key_value_seq_lengths=3),
    "key_value_seq_lengths is": lambda: ATTEND(
        Q, K, V, OMEGA, key_value_seq_lengths=jnp.array([-1, 21])
    ),
    "is_causal is 'no'": lambda: ATTEND(Q, K, V, OMEGA, None, ANYTHING),
    "orthogonal is 'no'": lambda: crt.FavorAttention(16, "oprf", ANYTHING),
    r"omega has shape \(16, 7\)": lambda: ATTEND(Q, K, V, OMEGA[:, 1:]),
    "omega is None": lambda: ATTEND(Q, K, V, None),
    r"rho has shape \(3,\)": lambda: ATTEND(Q, K, V, OMEGA, rho=jnp.ones(3)),
    "rho is 1.5": lambda: ATTEND(Q, K, V, OMEGA, rho=1.5),
    "scale is -1": lambda: ATTEND(Q, K, V, OMEGA, scale=-1.0),
    "value holds NaN": lambda: ATTEND(Q, K, V * jnp.nan, OMEGA),
    "mechanism is 'favor'": lambda: crt.FavorAttention(mechanism="favor"),
    "num_features is 0": lambda: crt.FavorAttention(0),
    "block_size is 0": lambda: crt.FavorAttention(block_size=0),
    "mechanism 'pos' has no parameter": lambda: crt.FavorAttention(16, "pos")(
        Q, K, V, OMEGA, rho=0.5
    ),
    "calibrate needs 'oprf'": lambda: crt.FavorAttention(16, "pos").calibrate(Q, K),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_refusals_are_one_sentence(sentence: str, unchecked) -> None:
    refuses(REFUSED[sentence], sentence)
