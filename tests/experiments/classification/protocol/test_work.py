"""The unit of the approach to the exact kernel, on a table that needs no download."""

import jax
import numpy as np
import pytest

from experiments.classification.protocol import work
from experiments.classification.protocol.accuracy import by_features, by_kernel
from experiments.classification.protocol.methods import METHODS
from experiments.classification.protocol.splits import split
from experiments.data import load_table, origin


@pytest.mark.usefixtures("offline")
def test_more_features_come_nearer_to_the_exact_kernel() -> None:
    """Iris stands in for yeast. In ten draws the means rise by six standard errors or more."""
    names = ["trig", "oprf"]
    config = {"set": "yeast", "split": 0, "draws": 10, "origin": vars(origin("yeast")),
              "scaling": "standard", "encoding": "ordinal", "methods": names}  # fmt: skip
    few, many = (work.converge(config | {"features": count}) for count in (8, 1024))
    parts = split(load_table("yeast"), 0, "standard", "ordinal")
    exact = by_kernel(parts, work.SIGMAS)[..., 0]
    best = exact[0].argmax()
    for found in (few, many):
        assert (found["sigma"], found["exact"]) == (work.SIGMAS[best], exact[1, best])
    for name in names:
        means = [np.mean(found["test"][name]) for found in (few, many)]
        assert means[0] < means[1] <= exact[1, best]
    keys = jax.random.split(jax.random.key(0), 10)
    method = METHODS["oprf"]._replace(num_features=8)
    assert few["test"]["oprf"] == by_features(method, parts, [few["sigma"]], keys)[1, 0].tolist()
