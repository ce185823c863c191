"""Packed sequences see themselves alone, at linear cost, whatever stands beside them."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

import crt
from tests.crt.attention.setups import FLOAT32, MECHANISMS, Setup, error, with_gradients
from tests.crt.refusals import refuses

pytestmark = pytest.mark.filterwarnings("ignore:trigonometric features")

SETUP = Setup(batch=2, queries=300, keys=300, heads=2, key_heads=1, value_dim=5, features=16)
# Three chunks of 128. One row has a segment over all borders, many within a chunk, and single
# tokens; the other has borders where the chunks have theirs.
LENGTHS = ((3, 1, 1, 20, 200, 60, 15), (128, 128, 44))
IDS = jnp.asarray([np.repeat(np.arange(len(row)), row) for row in LENGTHS])


OTHERS = [name for name in MECHANISMS if name not in ("oprf", "trig")]


def setting(
    name: str, seed: int
) -> tuple[crt.FavorAttention, Any, tuple[Array, Array, Array], Any]:
    attend = crt.FavorAttention(SETUP.features, name)
    rho = jnp.linspace(0.4, 0.9, SETUP.heads) if name == "oprf" else None
    return attend, SETUP.omega(attend), SETUP.arrays(seed, 0.3 if name == "trig" else 1.0), rho


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize(
    "name", ["oprf", "trig", *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)]
)
def test_rows_are_what_the_call_applies(name: str, is_causal: bool) -> None:
    attend, omega, (q, k, v), rho = setting(name, 1)
    mask = jnp.asarray(np.random.default_rng(5).random(IDS.shape) < 0.7)
    rows = attend.rows(q, k, omega, rho, mask, is_causal, segment_ids=IDS)
    expected = jnp.einsum("bnts,bsv->btnv", rows, v[:, :, 0])
    assert error(attend(q, k, v, omega, mask, is_causal, rho, segment_ids=IDS), expected) <= FLOAT32
    apart = np.asarray(IDS)[:, :, None] != np.asarray(IDS)[:, None, :]
    assert not np.asarray(rows)[np.broadcast_to(apart[:, None], rows.shape)].any()


@pytest.mark.parametrize("is_causal", [False, True])
def test_gradients(is_causal: bool) -> None:
    attend, omega, arrays, rho = setting("oprf", 2)

    def packed(q: Array, k: Array, v: Array) -> Array:
        return attend(q, k, v, omega, None, is_causal, rho, segment_ids=IDS)

    def by_rows(q: Array, k: Array, v: Array) -> Array:
        rows = attend.rows(q, k, omega, rho, None, is_causal, segment_ids=IDS)
        return jnp.einsum("bnts,bsv->btnv", rows, v[:, :, 0])

    found, expected = with_gradients(packed)(*arrays), with_gradients(by_rows)(*arrays)
    assert max(error(a, b) for a, b in zip(found, expected, strict=True)) <= FLOAT32


@pytest.mark.parametrize("is_causal", [False, True])
def test_each_sequence_is_as_if_alone(is_causal: bool) -> None:
    """Sequences of very different scales in one row, against a call of their own."""
    attend, omega, (q, k, v), rho = setting("oprf", 3)
    k = k * jnp.asarray([1.0, 30.0, 0.1, 1e3, 1.0, 1e3, 1.0])[IDS][:, :, None, None]
    out = attend(q, k, v, omega, None, is_causal, rho, segment_ids=IDS)
    # The long one lies between two whose keys are a thousand times as large.
    own = slice(25, 225)
    alone = attend(q[:1, own], k[:1, own], v[:1, own], omega, None, is_causal, rho)
    assert error(out[:1, own], alone) <= FLOAT32
    assert jnp.isfinite(out).all()


@pytest.mark.parametrize("is_causal", [False, True])
def test_other_sequences_change_no_bit(is_causal: bool) -> None:
    attend, omega, arrays, rho = setting("oprf", 4)
    call = jax.jit(lambda q, k, v: attend(q, k, v, omega, None, is_causal, rho, segment_ids=IDS))
    own = (IDS == 4)[:, :, None, None]
    loud = [jnp.where(own, each, 50 * each + 1) for each in arrays]
    out, other = call(*arrays), call(*loud)
    np.testing.assert_array_equal(out[:1, 25:225], other[:1, 25:225])
    assert not jnp.allclose(out[:1, :25], other[:1, :25])


Q, K, V = SETUP.arrays(5)
ATTEND = crt.FavorAttention(SETUP.features)
OMEGA = SETUP.omega(ATTEND)
REFUSED = {
    r"segment_ids has shape \(300, 2\)": lambda: ATTEND(Q, K, V, OMEGA, segment_ids=IDS.T),
    "dtype float32; it must hold integers": lambda: ATTEND(
        Q, K, V, OMEGA, segment_ids=IDS.astype(float)
    ),
    "rho is None with segment_ids.*calibrate": lambda: ATTEND(Q, K, V, OMEGA, segment_ids=IDS),
    "with segment_ids they must be equal": lambda: ATTEND(
        Q, K[:, 1:], V[:, 1:], OMEGA, rho=0.5, segment_ids=IDS
    ),
    "segment_ids has dtype <U1; it must be an array of integers": lambda: ATTEND(
        Q, K, V, OMEGA, rho=0.5, segment_ids=np.full(IDS.shape, "a")
    ),
    "must stand together": lambda: ATTEND(Q, K, V, OMEGA, rho=0.5, segment_ids=IDS % 2),
    "packed sequences are not spread": lambda: ATTEND(
        Q, K, V, OMEGA, rho=0.5, segment_ids=IDS, axis_name="seq"
    ),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_refusals_are_one_sentence(sentence: str, unchecked) -> None:
    refuses(REFUSED[sentence], sentence)
