"""Prefill and steps give what the causal call gives, from a state that never grows."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

import crt
from crt.attention.state import State
from tests.crt.attention.setups import FLOAT32, MECHANISMS, Setup, error
from tests.crt.refusals import refuses

pytestmark = pytest.mark.filterwarnings("ignore:trigonometric features")

SETUP = Setup(batch=2, queries=40, keys=40, heads=4, key_heads=2, value_dim=5, features=16)


EVERY = slice(None)
Arrays = tuple[Array, Array, Array]
OTHERS = [name for name in MECHANISMS if name not in ("oprf", "trig")]


def cut(arrays: Arrays, *which: Any) -> Arrays:
    """The same part of queries, keys and values."""
    q, k, v = arrays
    return q[which], k[which], v[which]


def shapes(state: State) -> list[tuple[int, ...]]:
    return [leaf.shape for leaf in jax.tree.leaves(state)]


def streamed(
    attend: crt.FavorAttention, arrays: Arrays, omega: Any, rho: Any, first: int
) -> tuple[Array, State]:
    """Outputs of a prefill of `first` tokens and of one step for each of the others."""
    out, state = attend.prefill(*cut(arrays, EVERY, slice(first)), omega, rho=rho)
    tail = cut(arrays, EVERY, slice(first, None))

    @jax.jit
    def steps(state: State, q: Array, k: Array, v: Array) -> tuple[State, Array]:
        def one(state: State, token: Arrays) -> tuple[State, Array]:
            out, state = attend.step(state, *token, omega, rho=rho)
            return state, out

        tokens = jnp.moveaxis(q, 1, 0), jnp.moveaxis(k, 1, 0), jnp.moveaxis(v, 1, 0)
        return jax.lax.scan(one, state, tokens)

    state, later = steps(state, *tail)
    return jnp.concatenate([out, jnp.moveaxis(later, 0, 1)], axis=1), state


@pytest.mark.parametrize(
    "name", ["oprf", "trig", *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)]
)
def test_streams_equal_the_causal_call(name: str) -> None:
    attend = crt.FavorAttention(SETUP.features, name)
    arrays, omega = SETUP.arrays(1, 0.3 if name == "trig" else 1.0), SETUP.omega(attend)
    rho = jnp.linspace(0.4, 0.9, SETUP.heads) if name == "oprf" else None
    out, state = streamed(attend, arrays, omega, rho, 25)
    assert error(out, attend(*arrays, omega, is_causal=True, rho=rho)) <= FLOAT32
    none = attend.init_state(SETUP.batch, SETUP.heads, SETUP.dim, SETUP.value_dim)
    assert shapes(none) == shapes(state)


def test_four_thousand_tokens_leave_the_state_as_it_was() -> None:
    """Equal shapes are one compiled step for every position: its time cannot grow."""
    setup = Setup(queries=4096, keys=4096, heads=1, key_heads=1, dim=4, value_dim=4, features=8)
    attend = crt.FavorAttention(8)
    arrays, omega = setup.arrays(2), setup.omega(attend)
    rho = attend.calibrate(*arrays[:2])
    out, state = streamed(attend, arrays, omega, rho, 1024)
    assert error(out, attend(*arrays, omega, is_causal=True, rho=rho)) <= FLOAT32
    assert shapes(state) == shapes(attend.init_state(1, 1, 4))


def test_a_state_goes_on_in_a_second_prefill_and_through_a_file(tmp_path) -> None:
    attend = crt.FavorAttention(SETUP.features)
    arrays, omega = SETUP.arrays(3), SETUP.omega(attend)
    expected = attend(*arrays, omega, is_causal=True, rho=0.5)
    first, state = attend.prefill(*cut(arrays, EVERY, slice(17)), omega, rho=0.5)
    leaves, form = jax.tree.flatten(state)
    np.savez(tmp_path / "state.npz", *leaves)
    with np.load(tmp_path / "state.npz") as saved:
        again = jax.tree.unflatten(form, [saved[name] for name in saved.files])
    tail = cut(arrays, EVERY, slice(17, None))
    rest, _ = attend.prefill(*tail, omega, rho=0.5, state=again)
    assert error(jnp.concatenate([first, rest], axis=1), expected) <= FLOAT32


def test_masked_tokens_leave_no_trace() -> None:
    """Prompts of different lengths, padded at the end, go on from where each of them ends."""
    attend = crt.FavorAttention(SETUP.features)
    arrays, omega = SETUP.arrays(4), SETUP.omega(attend)
    mask = jnp.arange(SETUP.keys) < jnp.array([[12], [40]])
    _, state = attend.prefill(*arrays, omega, rho=0.5, key_mask=mask)
    _, short = attend.prefill(*cut(arrays, slice(1), slice(12)), omega, rho=0.5)
    token = cut(SETUP.arrays(5), EVERY, 0)
    out, _ = attend.step(state, *token, omega, rho=0.5)
    alone, _ = attend.step(short, *cut(token, slice(1)), omega, rho=0.5)
    assert error(out[:1], alone) <= FLOAT32


def test_a_step_takes_a_token_with_or_without_its_axis() -> None:
    attend = crt.FavorAttention(SETUP.features)
    arrays, omega = SETUP.arrays(6), SETUP.omega(attend)
    state = attend.init_state(SETUP.batch, SETUP.heads, SETUP.dim, SETUP.value_dim)
    bare, _ = attend.step(state, *cut(arrays, EVERY, 0), omega, rho=0.5)
    kept, _ = attend.step(state, *cut(arrays, EVERY, slice(1)), omega, rho=0.5)
    np.testing.assert_array_equal(bare, kept[:, 0])
    # A single token is all that it can look at.
    assert error(bare, jnp.repeat(arrays[2][:, 0], 2, axis=1)) <= FLOAT32


def test_redrawn_projections_are_a_function_of_their_place() -> None:
    attend, key = crt.FavorAttention(16), jax.random.key(9)

    def draw(step: Any, layer: Any, head: Any) -> Array:
        omega = attend.redraw(key, 8, step=step, layer=layer, head=head)
        assert omega is not None
        return omega

    both = draw(3, 1, jnp.arange(2))
    assert both.shape == (2, 16, 8)
    np.testing.assert_array_equal(both[1], draw(3, 1, 1))
    # Compiled as a whole, a Householder QR of 8 columns rounds otherwise, by 64 eps at most.
    apart = jnp.abs(both[1] - jax.jit(draw)(3, 1, 1))
    assert float(jnp.max(apart / jnp.max(jnp.abs(both[1])))) <= 64 * jnp.finfo(jnp.float32).eps
    others = [draw(*place) for place in ((3, 1, 0), (4, 1, 1), (3, 2, 1), (1, 3, 1))]
    assert all(not jnp.allclose(both[1], other) for other in others)
    assert crt.FavorAttention(mechanism="elu").redraw(key, 8, step=0, layer=0, head=0) is None


Q, K, V = SETUP.arrays(7)
ATTEND = crt.FavorAttention(SETUP.features)
OMEGA = SETUP.omega(ATTEND)
STATE = ATTEND.init_state(SETUP.batch, SETUP.heads, SETUP.dim, SETUP.value_dim)
TOKEN = (Q[:, 0], K[:, 0], V[:, 0])
REFUSED = {
    "state is a dict": lambda: ATTEND.step({}, *TOKEN, OMEGA, rho=0.5),  # pyright: ignore
    r"state has scales and sums of shapes \(2, 4, 16\) and \(2, 4, 16, 9\)": lambda: ATTEND.step(
        ATTEND.init_state(2, 4, 8), *TOKEN, OMEGA, rho=0.5
    ),
    "need": lambda: ATTEND.prefill(
        Q, K, V, OMEGA, rho=0.5, state=crt.FavorAttention(8).init_state(2, 4, 8, 5)
    ),
    "rho is None with prefill": lambda: ATTEND.prefill(Q, K, V, OMEGA),
    "rho is None with step.*calibrate": lambda: ATTEND.step(STATE, *TOKEN, OMEGA),
    "a step takes one token": lambda: ATTEND.step(STATE, Q, K, V, OMEGA, rho=0.5),
    r"rho has shape \(3,\)": lambda: ATTEND.step(STATE, *TOKEN, OMEGA, rho=jnp.full(3, 0.5)),
    "with prefill they must be equal": lambda: ATTEND.prefill(Q[:, :3], K, V, OMEGA, rho=0.5),
    "value_dim is -1": lambda: ATTEND.init_state(2, 4, 8, -1),
    "value_dim is 0": lambda: ATTEND.init_state(2, 4, 8, 0),
    r"batch is \[2\]": lambda: ATTEND.init_state([2], 4, 8),  # pyright: ignore
    r"shapes \(\) and \(\); these": lambda: ATTEND.step(State(None, None), *TOKEN, OMEGA, rho=0.5),  # pyright: ignore
    "dtype is float16": lambda: ATTEND.init_state(2, 4, 8, dtype=jnp.float16),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_refusals_are_one_sentence(sentence: str, unchecked) -> None:
    refuses(REFUSED[sentence], sentence)
