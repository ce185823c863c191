"""Outputs and gradients equal the quadratic evaluation of the same estimator in float64."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import Array

import crt
from crt.attention import bidirectional, causal
from tests.crt.attention.setups import (
    FLOAT32,
    MECHANISMS,
    Setup,
    definition,
    double,
    error,
    with_gradients,
)

pytestmark = pytest.mark.filterwarnings("ignore:trigonometric features")

GROUPED = Setup(batch=2, heads=4, key_heads=2, value_dim=5, own_omega=True, padded=True)
BIDIRECTIONAL = {
    "plain": Setup(),
    "grouped": GROUPED,
    "cross": replace(GROUPED, queries=70, keys=131, key_heads=1, own_omega=False),
}
# 300 tokens are three chunks of 128; 140 features make a group of two chunks.
CAUSAL = {
    "plain": Setup(queries=300, keys=300, features=140),
    "grouped": replace(GROUPED, queries=300, keys=300),
}


def size_of(name: str) -> float:
    """Input scale: small for trigonometric features, so that every denominator is positive."""
    return 0.3 if name == "trig" else 1.0


def run(name: str, setup: Setup, is_causal: bool, seed: int, block: int = 64) -> list[float]:
    """Errors of the output and of the gradients in q, k, v."""
    attend = crt.FavorAttention(setup.features, name, block_size=block)
    q, k, v = setup.arrays(seed, size_of(name))
    omega, mask = setup.omega(attend), setup.mask()
    rho = jnp.linspace(0.4, 0.9, setup.heads) if name == "oprf" else None

    def call(q: Array, k: Array, v: Array) -> Array:
        return attend(q, k, v, omega, mask, is_causal, rho)

    found = with_gradients(call)(q, k, v)
    with jax.enable_x64(True):
        whole = None if rho is None else jnp.broadcast_to(rho, (setup.batch, setup.heads))
        fixed = double((omega, whole))

        def exact(q: Array, k: Array, v: Array) -> Array:
            return definition(name, q, k, v, fixed[0], mask, is_causal, fixed[1])

        expected = with_gradients(exact)(*double((q, k, v)))
    return [error(one, other) for one, other in zip(found, expected, strict=True)]


@pytest.mark.parametrize("setup", BIDIRECTIONAL)
@pytest.mark.parametrize("name", MECHANISMS)
def test_bidirectional(name: str, setup: str) -> None:
    assert max(run(name, BIDIRECTIONAL[setup], False, seed=1)) <= FLOAT32


@pytest.mark.parametrize("setup", CAUSAL)
@pytest.mark.parametrize("name", MECHANISMS)
def test_causal(name: str, setup: str) -> None:
    assert max(run(name, CAUSAL[setup], True, seed=2)) <= FLOAT32


def planted(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, wrong: Any) -> None:
    """Puts a wrong function in the place of one of the library's, and forgets what was compiled."""
    monkeypatch.setattr(module, name, wrong)
    jax.clear_caches()


@pytest.fixture
def forgetful():
    """Forgets what was compiled with a planted error."""
    yield
    jax.clear_caches()


SMALL = Setup(queries=40, keys=40, features=8)


def test_a_wrong_factor_in_the_backward_pass_is_caught(monkeypatch, forgetful) -> None:
    right = bidirectional.contribute
    planted(monkeypatch, bidirectional, "contribute", lambda *a: 1.0001 * right(*a))
    errors = run("oprf", SMALL, False, seed=3, block=16)
    assert errors[0] <= FLOAT32 and errors[1] <= FLOAT32
    assert min(errors[2:]) > FLOAT32


def test_a_stale_maximum_is_caught(monkeypatch, forgetful) -> None:
    """A state that takes a new scale without bringing its sums to it."""
    planted(monkeypatch, bidirectional.State, "rescaled", lambda self, top: self.sums)
    assert run("pos", SMALL, False, seed=3, block=16)[0] > FLOAT32


def test_an_added_epsilon_is_caught(monkeypatch, forgetful) -> None:
    right = bidirectional.weigh
    planted(monkeypatch, bidirectional, "weigh", lambda *a: right(*a) + 1e-4)
    assert run("pos", SMALL, False, seed=3, block=16)[0] > FLOAT32


def test_a_key_that_misses_its_own_query_is_caught(monkeypatch, forgetful) -> None:
    planted(monkeypatch, causal, "_seen", lambda n: jnp.tril(jnp.ones((n, n), bool), -1))
    assert run("oprf", SMALL, True, seed=3)[0] > FLOAT32


@pytest.mark.parametrize(("name", "is_causal"), [("oprf", True), ("trig", False), ("elu", False)])
def test_rows_are_what_the_call_applies(name: str, is_causal: bool) -> None:
    setup = replace(GROUPED, queries=30, keys=30, features=8)
    attend = crt.FavorAttention(setup.features, name)
    q, k, v = setup.arrays(4, size_of(name))
    omega, mask = setup.omega(attend), setup.mask()
    rho = 0.7 if name == "oprf" else None
    rows = attend.rows(q, k, omega, rho, mask, is_causal)
    applied = jnp.einsum("bnts,bsnv->btnv", rows, jnp.repeat(v, 2, axis=2))
    out = attend(q, k, v, omega, mask, is_causal, rho)
    assert error(out, applied) <= FLOAT32
    assert rows.shape == (2, 4, 30, 30)
    assert not rows[-1].any()


@pytest.mark.parametrize("name", ["oprf", "pos", "trig"])
def test_rows_are_the_normalised_kernel_estimates(name: str) -> None:
    setup = Setup(queries=9, keys=12, features=16)
    attend = crt.FavorAttention(setup.features, name)
    q, k, _ = setup.arrays(6, 0.3)
    omega = crt.projections.iid(jax.random.key(3), setup.features, setup.dim)
    mechanism = crt.OPRF(0.6) if name == "oprf" else crt.MECHANISMS[name]()
    x, y = (8**-0.25 * each[0, :, 1] for each in (q, k))
    kernel = crt.estimate_kernel(mechanism, omega, x, y, kernel="softmax")
    expected = kernel / kernel.sum(axis=-1, keepdims=True)
    rows = attend.rows(q, k, omega, 0.6 if name == "oprf" else None)
    assert error(rows[0, 1], expected) <= FLOAT32


def test_all_zeros_are_no_answer() -> None:
    assert error(jnp.zeros(3), jnp.ones(3)) == 1
    with pytest.raises(AssertionError):
        error(jnp.zeros(3), jnp.zeros(3))
