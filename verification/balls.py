"""Enclosures of the largest error of the softmax estimate over a ball of queries and keys.

With m = (x+y)/2 the error at (x, y) is e^{-‖x-y‖²/4} ≤ 1 times that at (m, m), so the supremum over
pairs is that of g(m) = K̂(m, m) - e^{‖m‖²} over one ball. Here d = 1 or 2, and K̂(m, m) =
e^{-‖m‖²}F(m), F(m) = mean of w_i·e^{2Bω_i·m}. On a grid |g| is found up to its curvature: at an
inner maximum the gradient vanishes, so the nearest node, at distance at most t, loses at most
H·t²/2. On the rim the same holds along it. With F_k = mean of w_i(2B‖ω_i‖)^k e^{2B‖ω_i‖r},

    H ≤ F_2 + 4r·F_1 + (2+4r²)(F_0 + e^{r²}),    ‖∇g‖ ≤ F_1 + 2r(F_0 + e^{r²}).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jaxtyping import Float

import crt
from crt import formulas
from crt.mechanisms import Mechanism

BATCH = 2**21
"""Feature values held at a time."""
GROUPS = 16
"""Parts of one set of draws of which each gives a supremum of its own, at most."""


@dataclass(frozen=True)
class Ball:
    """Queries and keys of length at most R in d dimensions; A = -α."""

    d: int
    R: float
    alpha: float

    @property
    def r0(self) -> float:
        """The radius of x = d^{-1/4}q."""
        return self.R / self.d**0.25

    @property
    def mechanism(self) -> crt.OPRF:
        return crt.OPRF(1 / (1 + 8 * self.alpha))


def best_ball(d: int, R: float) -> Ball:
    """With the α for which S is least."""
    return Ball(d, R, float(formulas.uniform_alpha(R, d)))


def products(mechanism: Mechanism, omega: Array, m: Array) -> Float[Array, "points draws"]:
    """Terms of the estimate at (m, m), from the shipped features."""
    logs = [mechanism.log_features(m, omega, s, kernel="softmax")[0] for s in ("x", "y")]
    return jnp.exp(logs[0] + logs[1])


def curvature(ball: Ball, omega: Array, weights: Array, r: float) -> tuple[Array, Array]:
    """H and the bound of the gradient for these draws, on the ball of radius r."""
    slope = 2 * math.sqrt(1 + 4 * ball.alpha) * jnp.linalg.norm(omega, axis=-1)
    f0, f1, f2 = (jnp.mean(weights * slope**k * jnp.exp(slope * r)) for k in range(3))
    own = f0 + math.exp(r**2)
    return f2 + 4 * r * f1 + (2 + 4 * r**2) * own, f1 + 2 * r * own


def on_line(ball: Ball, omega: Array, nodes: int) -> tuple[Array, Array]:
    """d = 1: the ends are nodes."""
    grid = jnp.linspace(-ball.r0, ball.r0, nodes)[:, None]
    errors = jnp.abs(jnp.mean(products(ball.mechanism, omega, grid), -1) - jnp.exp(grid[:, 0] ** 2))
    weights = products(ball.mechanism, omega, jnp.zeros((1, 1)))[0]
    bend, _ = curvature(ball, omega, weights, ball.r0)
    seen = jnp.max(errors)
    return seen, seen + bend * (ball.r0 / (nodes - 1)) ** 2 / 2


def on_disc(ball: Ball, omega: Array, nodes: int) -> tuple[Array, Array]:
    """d = 2: a square grid, and as many nodes on the rim as give it the same spacing.

    On the grid terms multiply: X(a, b) = X(a, 0)·X(0, b)/X(0, 0), one matrix product for all nodes.
    """
    axis = jnp.linspace(-ball.r0, ball.r0, nodes)
    step, zero = 2 * ball.r0 / (nodes - 1), jnp.zeros(nodes)
    first = products(ball.mechanism, omega, jnp.stack([axis, zero], -1))
    second = products(ball.mechanism, omega, jnp.stack([zero, axis], -1))
    weights = products(ball.mechanism, omega, jnp.zeros((1, 2)))[0]
    squares = axis[:, None] ** 2 + axis**2
    # Terms that underflow at 0 vanish everywhere: only a planted ω is so long.
    ratio = jnp.where(weights > 0, first / weights, 0)
    errors = jnp.abs(ratio @ second.T / omega.shape[0] - jnp.exp(squares))
    reach = ball.r0 + step / math.sqrt(2)
    bend, slope = curvature(ball, omega, weights, reach)
    inner = jnp.max(jnp.where(squares <= reach**2, errors, 0)) + bend * step**2 / 4

    rim_nodes = math.ceil(math.pi * nodes)
    angles = 2 * np.pi * jnp.arange(rim_nodes, dtype=jnp.float64) / rim_nodes
    rim = ball.r0 * jnp.stack([jnp.cos(angles), jnp.sin(angles)], -1)
    on_rim = jnp.mean(products(ball.mechanism, omega, rim), -1) - math.exp(ball.r0**2)
    at_rim = jnp.max(jnp.abs(on_rim))
    along = (ball.r0**2 * bend + ball.r0 * slope) * (math.pi / rim_nodes) ** 2 / 2
    seen = jnp.maximum(at_rim, jnp.max(jnp.where(squares <= ball.r0**2, errors, 0)))
    return seen, jnp.maximum(inner, at_rim + along)


Fault = Callable[[Array, Array], Array]
"""Draws ω (M, d) of a key, with a fault planted in them."""


def as_drawn(key: Array, omega: Array) -> Array:
    """No fault."""
    return omega


def stretched(share: float) -> Fault:
    """A planted fault: with probability `share` all ω of a key are ten times as long.

    Nearly all features then vanish, and somewhere the estimate misses most of the kernel.
    """

    def change(key: Array, omega: Array) -> Array:
        struck = jax.random.uniform(jax.random.fold_in(key, 1)) < share
        return jnp.where(struck, 10 * omega, omega)

    return change


def repeated(distinct: int) -> Fault:
    """A planted fault: the first few draws again and again, so that more draws tell nothing new."""
    return lambda key, omega: omega[jnp.arange(omega.shape[0]) % distinct]


def nested_errors(
    ball: Ball,
    counts: tuple[int, ...],
    repetitions: int,
    seed: int,
    nodes: int,
    fault: Fault = as_drawn,
) -> list[tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]]:
    """Enclosures of the supremum for each M in `counts`, from the same sets of draws. float64.

    A set of max(counts) draws holds several of M, up to GROUPS of which are taken: they are
    independent.
    """
    over = on_line if ball.d == 1 else on_disc
    most = max(counts)

    def one(key: Array) -> list[tuple[Array, Array]]:
        omega = fault(key, ball.mechanism.sample(key, most, ball.d, dtype=jnp.float64))
        ends = []
        for draws in counts:
            groups = min(GROUPS, most // draws)
            parts = omega[: groups * draws].reshape(groups, draws, ball.d)
            ends.append(jax.vmap(lambda part: over(ball, part, nodes))(parts))
        return ends

    keys = jax.random.split(jax.random.key(seed), repetitions)
    batch = max(1, min(repetitions, BATCH // (most * nodes)))
    ends = jax.jit(lambda k: lax.map(one, k, batch_size=batch))(keys)
    return [(np.ravel(low), np.ravel(high)) for low, high in ends]


def largest_errors(
    ball: Ball, draws: int, repetitions: int, seed: int, nodes: int, fault: Fault = as_drawn
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Enclosures of the supremum for `repetitions` independent sets of draws."""
    return nested_errors(ball, (draws,), repetitions, seed, nodes, fault)[0]
