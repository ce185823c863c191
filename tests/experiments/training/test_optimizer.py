"""The schedule, the decay by layers and the weights that decay."""

import jax.numpy as jnp
import numpy as np
import pytest

from experiments.training.optimizer import Optimizer, schedule, transformation

pytestmark = pytest.mark.usefixtures("usual_promotion")


def test_warm_up_and_cosine() -> None:
    rate = schedule(Optimizer(rate=0.1, warmup=10), batch=512, steps=110)
    found = [float(rate(step)) for step in (0, 5, 10, 60, 110)]
    # Halfway along the cosine the rate is half its peak, 0.1·512/256.
    np.testing.assert_allclose(found, [0, 0.1, 0.2, 0.1, 0], atol=1e-7)


def test_layers_near_the_input_learn_slower_and_only_matrices_decay() -> None:
    params = {
        "low": {"kernel": jnp.ones((2, 2)), "bias": jnp.ones(2)},
        "high": {"kernel": jnp.ones((2, 2)), "bias": jnp.ones((2, 2))},
    }
    settings = Optimizer(rate=1.0, warmup=0, weight_decay=0.5, layer_decay=0.25)
    depth = {"low": 0, "high": 2}
    change = transformation(settings, lambda step: 1.0, lambda path: depth[path[0]], 2)
    gradient = {key: {name: 0 * x for name, x in each.items()} for key, each in params.items()}
    updates, _ = change.update(gradient, change.init(params), params)
    # Without a gradient only the decay is left: -0.5, times 0.25² in the lowest layer.
    assert float(updates["high"]["kernel"][0, 0]) == -0.5
    assert float(updates["low"]["kernel"][0, 0]) == -0.5 / 16
    assert not np.any(updates["low"]["bias"]) and not np.any(updates["high"]["bias"])


def test_the_first_step_of_adam_has_the_size_of_the_rate() -> None:
    params = {"a": {"kernel": jnp.zeros((1, 2))}}
    change = transformation(Optimizer(rate=1, warmup=0), lambda step: 0.3, lambda path: 0, 0)
    updates, _ = change.update(
        {"a": {"kernel": jnp.array([[4.0, -1e-3]])}}, change.init(params), params
    )
    assert np.asarray(updates["a"]["kernel"]) == pytest.approx(np.array([[-0.3, 0.3]]), rel=1e-4)
