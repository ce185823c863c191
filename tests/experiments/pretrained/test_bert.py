"""The Flax model computes what the plain functions of the same weights compute."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.pretrained import bert, minilm
from tests.experiments.pretrained.test_minilm import HEADS, IDS, MASK, made, real_weights

# Flax relies on the usual promotion of dtypes.
pytestmark = pytest.mark.usefixtures("usual_promotion")


@pytest.fixture
def usual_promotion():
    with jax.numpy_dtype_promotion("standard"):
        yield


def test_it_is_the_same_encoder() -> None:
    weights = {name: jnp.asarray(each, jnp.float32) for name, each in made().items()}
    ids, mask = jnp.asarray(IDS), jnp.asarray(MASK)
    found = bert.load(weights, HEADS)(ids, mask)
    expected = minilm.embed(weights, ids, mask, heads=HEADS)
    # Embeddings have length 1; two layers of sums over 10 terms round by far less than this.
    np.testing.assert_allclose(found, expected, atol=100 * float(np.finfo(np.float32).eps))
    wrong = minilm.embed(weights, ids, mask, heads=HEADS // 2)
    assert float(jnp.abs(found - wrong).max()) > 1e-3


def test_a_missing_weight_is_named() -> None:
    weights = {name: jnp.asarray(each, jnp.float32) for name, each in made().items()}
    del weights["encoder.layer.1.output.dense.bias"]
    with pytest.raises(KeyError, match=r"encoder\.layer\.1\.output\.dense\.bias"):
        bert.load(weights, HEADS)


def test_real_weights_are_the_same_encoder() -> None:
    weights = real_weights()
    ids, mask = (jnp.asarray(each) for each in minilm.tokenize(["A man plays.", "Shares fell."], 8))
    found, expected = bert.load(weights)(ids, mask), minilm.embed(weights, ids, mask)
    # Embeddings of length 1 after six layers of sums over up to 1536 terms.
    np.testing.assert_allclose(found, expected, atol=1e-5)
