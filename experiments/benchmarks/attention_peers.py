"""What FAVOR++ is timed against: each peer as its own library is meant to be called.

A peer takes q, k and v once, and gives a task without arguments that runs and waits for the result.
PyTorch's peers get their tensors in the layout they like best.
"""

import contextlib
import importlib
import io
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

import crt

Task = Callable[[], Any]
Call = Callable[[Array, Array, Array, Array], Array]
"""(q, k, v, ω) ↦ outputs; ω is an argument, so that nothing is folded into the compiled program."""

EXACT_LIMIT = {False: 16384, True: 8192}
"""Largest L, forward and with gradients: beyond it all pairs take minutes or all memory."""
STATES_LIMIT = {False: 16384, True: 4096}
"""The same for peers that keep a state of M·d numbers for every token."""


@dataclass(frozen=True)
class Inputs:
    """Unit-scale Gaussian q, k, v (B, L, N, H) in float32 and projections ω (M, H)."""

    q: Array
    k: Array
    v: Array
    omega: Array


def inputs(length: int, heads: int, dim: int, features: int) -> Inputs:
    rng = np.random.default_rng(length)
    shape = (1, length, heads, dim)
    q, k, v = (jnp.asarray(rng.standard_normal(shape, dtype=np.float32)) for _ in range(3))
    omega = crt.projections.orthogonal(jax.random.key(length), features, dim)
    return Inputs(q, k, v, omega)


def favor(name: str, given: Inputs, is_causal: bool) -> Call:
    """The shipped attention; ρ is fitted in the call, or given where it must be."""
    attend = crt.FavorAttention(given.omega.shape[0], name)
    rho = attend.calibrate(given.q, given.k) if name == "oprf" and is_causal else None
    return lambda q, k, v, omega: attend(q, k, v, omega, is_causal=is_causal, rho=rho)


def _features(x: Array, omega: Array, axes: tuple[int, ...]) -> Array:
    """exp(ω·x - ½‖x‖²) of x/d^¼, (B, L, N, M), relative to one maximum over the axes."""
    x = x * x.shape[-1] ** -0.25
    log = jnp.einsum("blnh,mh->blnm", x, omega) - jnp.sum(x**2, axis=-1, keepdims=True) / 2
    return jnp.exp(log - lax.stop_gradient(jnp.max(log, axis=axes, keepdims=True)))


def textbook(q: Array, k: Array, v: Array, omega: Array) -> Array:
    """FAVOR+ as papers print it: all features at once, one product with v, a division."""
    left, right = _features(q, omega, (3,)), _features(k, omega, (1, 3))
    sums = jnp.einsum("blnm,blnv->bnmv", right, v)
    total = jnp.einsum("blnm,bnm->bln", left, jnp.sum(right, axis=1))
    return jnp.einsum("blnm,bnmv->blnv", left, sums) / total[..., None]


def token_scan(q: Array, k: Array, v: Array, omega: Array) -> Array:
    """Causal FAVOR+ with a state that takes one token after the other."""
    left, right = _features(q, omega, (3,)), _features(k, omega, (1, 3))
    batch, _, heads, dim = v.shape

    def step(state: tuple[Array, Array], token: tuple[Array, ...]):
        sums, total = state
        one, other, value = token
        sums = sums + other[..., None] * value[..., None, :]
        total = total + other
        out = jnp.einsum("bnm,bnmv->bnv", one, sums)
        return (sums, total), out / jnp.einsum("bnm,bnm->bn", one, total)[..., None]

    shape = (batch, heads, omega.shape[0])
    tokens = tuple(jnp.moveaxis(each, 1, 0) for each in (left, right, v))
    _, out = lax.scan(step, (jnp.zeros((*shape, dim)), jnp.zeros(shape)), tokens)
    return jnp.moveaxis(out, 0, 1)


def exact(is_causal: bool) -> Call:
    """JAX's own softmax attention."""
    return lambda q, k, v, omega: jax.nn.dot_product_attention(q, k, v, is_causal=is_causal)


def jax_task(call: Call, given: Inputs, gradients: bool) -> Task:
    """The compiled call, or its gradients in q, k and v."""

    def slopes(*arrays: Array) -> tuple[Array, ...]:
        return jax.grad(lambda *a: jnp.sum(call(*a) ** 2), (0, 1, 2))(*arrays)

    arrays = (given.q, given.k, given.v, given.omega)
    compiled = jax.jit(slopes if gradients else call, keep_unused=True).lower(*arrays).compile()
    return lambda: jax.block_until_ready(compiled(*arrays))


def _module(name: str) -> Any:
    """A module, None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def torch_tasks(given: Inputs, is_causal: bool, gradients: bool) -> dict[str, Task]:
    """performer-pytorch and PyTorch's own attention, where they are installed and can cope."""
    torch = _module("torch")
    if torch is None:
        return {}
    torch.set_num_threads(os.cpu_count() or 1)
    length, dim = given.q.shape[1], given.q.shape[3]
    # A copy: PyTorch warns of memory that it may not write.
    q, k, v = (
        torch.tensor(np.swapaxes(np.array(each), 1, 2).copy(), requires_grad=gradients)
        for each in (given.q, given.k, given.v)
    )
    calls: dict[str, Callable[..., Any]] = {}
    library = _module("performer_pytorch")
    if library and (not is_causal or length <= min(4096, STATES_LIMIT[gradients])):
        # It says on standard output that there is no CUDA.
        with contextlib.redirect_stdout(io.StringIO()):
            made = library.FastAttention(dim, nb_features=given.omega.shape[0], causal=is_causal)
        made.projection_matrix.copy_(torch.tensor(np.array(given.omega)))
        calls["performer-pytorch"] = made
    if length <= EXACT_LIMIT[gradients]:
        calls["torch SDPA"] = lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=is_causal
        )

    def forward(call: Callable[..., Any]) -> Any:
        with torch.no_grad():
            return call(q, k, v)

    def both(call: Callable[..., Any]) -> Any:
        for each in (q, k, v):
            each.grad = None
        (call(q, k, v) ** 2).sum().backward()
        return q.grad, k.grad, v.grad

    run = both if gradients else forward
    return {name: (lambda call=call: run(call)) for name, call in calls.items()}


def product_tasks(size: int) -> dict[str, Task]:
    """A product of two square matrices, size³ multiplications, by every library that is here."""
    given = np.random.default_rng(0).standard_normal((size, size), dtype=np.float32)
    x, multiply = jnp.asarray(given), jax.jit(jnp.matmul)
    found: dict[str, Task] = {"JAX": lambda: jax.block_until_ready(multiply(x, x))}
    torch = _module("torch")
    if torch is not None:
        torch.set_num_threads(os.cpu_count() or 1)
        other = torch.tensor(given)
        found["PyTorch"] = lambda: other @ other
    return found


def tasks(given: Inputs, is_causal: bool, gradients: bool) -> Mapping[str, Task]:
    """Every contestant at this length, by name."""
    length = given.q.shape[1]
    calls: dict[str, Call] = {
        "FAVOR++": favor("oprf", given, is_causal),
        "FAVOR+": favor("pos", given, is_causal),
    }
    if not is_causal:
        calls["textbook FAVOR+"] = textbook
    elif length <= STATES_LIMIT[gradients]:
        calls["per-token scan"] = token_scan
    # JAX forms the matrix of all pairs.
    if length <= min(8192, EXACT_LIMIT[gradients]):
        calls["exact, JAX"] = exact(is_causal)
    found = {name: jax_task(call, given, gradients) for name, call in calls.items()}
    return found | torch_tasks(given, is_causal, gradients)
