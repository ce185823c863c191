"""The Flax model computes what the plain functions of the same weights compute."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.pretrained import bert, minilm
from tests.experiments.pretrained.test_minilm import HEADS, IDS, MASK, made

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


def test_a_weight_without_a_place_is_refused() -> None:
    weights = {name: jnp.asarray(each, jnp.float32) for name, each in made().items()}
    with pytest.raises(KeyError):
        bert.load({k: v for k, v in weights.items() if "layer.1.output" not in k}, HEADS)
