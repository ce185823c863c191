"""Attention before it is divided: unbiased numerators and denominators, and Theorem 4.3 on them.

The shipped state holds Σ_j f_m(k_j)·(v_j, 1) for every feature m. Times the query's feature this is
one draw X_m of numerator and denominator, but for constants that the division removes and that are
put back here. Its moments are Gaussian integrals: with u_j = q + k_j

    E X = Σ_j v_j e^{q·k_j},    E X² = Σ_{jl} v_j v_l·E X_j X_l,
    E X_j X_l = D⁴(1-8A)^{-d/2}·exp(B²‖u_j+u_l‖²/(2(1-8A)) - ½(2‖q‖²+‖k_j‖²+‖k_l‖²))

for exponential features; for trigonometric ones, from the mean of a cosine,

    E X_j X_l = ½(e^{-‖k_j-k_l‖²/2} + e^{-‖2q-k_j-k_l‖²/2})·exp(½(2‖q‖²+‖k_j‖²+‖k_l‖²)).
"""

import math
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

import crt
from crt import formulas
from crt.attention import bidirectional, features
from verification.balls import best_ball
from verification.checks import Check, Outcome, Setting
from verification.comparison import Row, count, outcome
from verification.faults import planted
from verification.statistics import MeanTest, influence, worst
from verification.sufficiency import DELTA, Sufficient, log_at_point

DIM, QUERIES, KEYS, RHO, SCALE = 3, 2, 3, 0.6, 0.5
DRAWS, CHUNKS = 2**14, 32
"""Projections of one call, and calls at effort 1."""
TOKENS, EPSILON = 4, 1.0

Estimating = features.Exponential | features.Trigonometric
"""Maps that estimate the softmax kernel."""


@partial(jax.jit, static_argnames="block")
def products(
    made: Estimating, q: Array, k: Array, v: Array, block: int
) -> Float[Array, "n t m columns"]:
    """X_m of every head, query and feature: the numerators' columns, then the denominator.

    Sine and cosine of one projection are one draw.
    """
    state = bidirectional.summarise(made, k, v, None, q.shape[2], block)
    log, factor = made.query(jnp.swapaxes(q, 1, 2))
    columns = bidirectional.weigh(log + state.log_scale[..., None, :], factor)
    found = columns[0, ..., None] * state.sums[0][:, None]
    half = 0.5 * made.scale * jnp.sum(q[0] ** 2, axis=-1).T[..., None, None]
    if isinstance(made, features.Trigonometric):
        cosines, sines = jnp.split(found, 2, axis=2)
        return jnp.exp(half) * (cosines + sines)
    return jnp.exp(-half) * found


@dataclass(frozen=True)
class Plan:
    """Numerator and denominator of one mechanism at a few queries, by Monte Carlo."""

    name: str
    orthogonal: bool

    @property
    def attend(self) -> crt.FavorAttention:
        return crt.FavorAttention(DRAWS // DIM * DIM, self.name, self.orthogonal)

    @property
    def a(self) -> float:
        """A of the features; PosRF has 0."""
        return (1 - 1 / RHO) / 8 if self.name == "oprf" else 0.0

    def points(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Queries, keys of length up to 0.8 and positive values, (1, L, 1, ·) each."""
        q, k = (rng.normal(size=(1, size, 1, DIM)) for size in (QUERIES, KEYS))
        q, k = (
            0.8
            * rng.uniform(0.5, 1, size=(*x.shape[:-1], 1))
            * x
            / np.linalg.norm(x, axis=-1, keepdims=True)
            for x in (q, k)
        )
        return q, k, rng.uniform(0.5, 1.5, size=(1, KEYS, 1, 1))

    def moments(self, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of X, (T, 2) each: numerator and denominator."""
        x, y = (math.sqrt(SCALE) * each[0, :, 0] for each in (q, k))
        values = np.stack([v[0, :, 0, 0], np.ones(KEYS)], axis=-1)
        mean = np.exp(x @ y.T) @ values
        x, one, other = x[:, None, None], y[None, :, None], y[None, None]
        half = (2 * x**2 + one**2 + other**2).sum(-1) / 2
        if self.name == "trig":
            near, far = ((one - other) ** 2).sum(-1), ((2 * x - one - other) ** 2).sum(-1)
            pairs = (np.exp(half - near / 2) + np.exp(half - far / 2)) / 2
        else:
            b, c = 1 - 4 * self.a, 1 - 8 * self.a
            z = ((2 * x + one + other) ** 2).sum(-1)
            pairs = np.exp(DIM * math.log(b) - DIM / 2 * math.log(c) + b * z / (2 * c) - half)
        square = np.einsum("tjl,jc,lc->tc", pairs, values, values)
        return mean, square - mean**2

    def run(self, setting: Setting, loss: float = 0.0) -> Outcome:
        """The worst of all means; for a planted error products lose `loss` detectable parts.

        With orthogonal projections a sample is a block's mean, whose variance is at most one
        draw's.
        """
        rng = np.random.default_rng(setting.seed)
        q, k, v = self.points(rng)
        mean, variance = self.moments(q, k, v)
        chunks, block = count(CHUNKS, setting), DIM if self.orthogonal else 1
        samples = chunks * (self.attend.num_features // block)
        tests = [
            MeanTest(m, s, samples, setting.false_alarm / mean.size)
            for m, s in zip(mean.ravel(), variance.ravel(), strict=True)
        ]
        means, scales = np.array([(t.mean, t.scale) for t in tests]).T
        kept = np.array([1 - loss * t.detects / t.mean for t in tests])
        total = np.zeros(len(tests))
        with jax.enable_x64(True):
            for _ in range(chunks):
                draws = self.draw(jax.random.key(rng.integers(2**63)), q, k, v)
                blocks = draws.reshape(QUERIES, -1, block, 2).mean(axis=2).swapaxes(1, 2)
                values = kept[:, None] * blocks.reshape(len(tests), -1) - means[:, None]
                total += np.asarray(influence(scales[:, None] * values)).sum(axis=-1)
        return worst([test.judge(float(sum_)) for test, sum_ in zip(tests, total, strict=True)])

    def draw(self, key: Array, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
        """X of one set of projections, (T, M, 2), with D² put back."""
        omega = self.attend.sample(key, DIM, dtype=jnp.float64)
        assert omega is not None
        rho = jnp.full((1, 1), RHO) if self.name == "oprf" else None
        made = features.make(self.name, omega, rho, jnp.asarray(SCALE), (1, 1, DIM))
        assert isinstance(made, Estimating)
        return (1 - 4 * self.a) ** (DIM / 2) * np.asarray(products(made, q, k, v, KEYS)[0])


def uniform(setting: Setting, shift: float = 0.0) -> Outcome:
    """Theorem 4.3, corrected, on the attention matrix: d = 2, R = 1, ε = 1, the formula's M.

    That an entry errs by ε with probability at most δ is shown, as `sufficiency` says.
    One head for each repetition, one-hot values, so that the numerators are K̂(q_t, k_j). If
    sup|K̂ - K| = e, an output errs by at most 2e·max|v|/mean_j K(q, k_j): positive features give
    weights that sum to 1, and N/D - N̂/D̂ = (N - N̂)/D + (N̂/D̂)·(D̂ - D)/D. The outputs of the
    call itself are held to that. A planted error is one of the sampler: ω of some heads is ten
    times too long.
    """
    rng = np.random.default_rng(setting.seed)
    with jax.enable_x64(True):
        ball = best_ball(2, 1.0)
        needed = math.ceil(formulas.features_for_uniform(EPSILON, 1.0, 2, DELTA, ball.alpha))
        shown = Sufficient.of(setting)
        repetitions, attend = shown.test.samples, crt.FavorAttention(needed, orthogonal=False)
        angles = rng.uniform(0, 2 * np.pi, size=(2, TOKENS))
        q, k = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
        v, rho = np.eye(TOKENS)[None, :, None], 1 / (1 + 8 * ball.alpha)
        q_heads = np.broadcast_to(q[None, :, None], (1, TOKENS, repetitions, 2))
        key = jax.random.key(rng.integers(2**63))
        omega = attend.sample(key, 2, repetitions, dtype=jnp.float64)
        assert omega is not None
        struck = rng.random((repetitions, 1, 1)) < shown.test.share(shift)
        omega = jnp.where(struck, 10 * omega, omega)
        scale = jnp.asarray(2**-0.5)
        shape = (1, repetitions, 2)
        made = features.make("oprf", omega, jnp.full(shape[:2], rho), scale, shape)
        assert isinstance(made, Estimating)
        draws = products(made, q_heads, k[None, :, None], v, TOKENS)[..., :-1]
        estimates = (1 + 4 * ball.alpha) * np.asarray(draws.mean(axis=2))
        rows = attend(q_heads, k[None, :, None], v, omega, rho=rho)
    truth = np.exp(q @ k.T / math.sqrt(2))
    errors = np.max(np.abs(estimates - truth), axis=(1, 2))
    exact = truth / truth.sum(axis=1, keepdims=True)
    off = np.abs(np.asarray(rows)[0].swapaxes(0, 1) - exact).max(axis=2)
    allowed = 2 * errors[:, None] / truth.mean(axis=1)
    worst_share = float(np.max(off / allowed))
    held = outcome([Row("output error", worst_share, 1.0, 0.0, one_sided=True)], "")
    if not held.passed:
        return held
    note = f"M = {needed}, outputs err by at most {worst_share:.2g} of the bound, 95 % of the "
    note += f"largest errors below {np.quantile(errors, 0.95):.3g}"
    bound = TOKENS**2 * math.exp(log_at_point(ball, ball.r0, needed, EPSILON))
    return shown.judge(int(np.sum(errors >= EPSILON)), bound, note)


FAULTS = {
    ("oprf", False): ("attention-one-root", "attention-half-offset", "attention-no-key-norm"),
    ("trig", False): ("attention-one-wave",),
}


def _check(plan: Plan) -> Check:
    kind = "orthogonal" if plan.orthogonal else "iid"
    name = f"attention-mean-{plan.name}-{kind}"
    summary = f"numerator and denominator of {plan.name} with {kind} projections are unbiased"
    twice = ("twice the detectable error", lambda setting: plan.run(setting, 2.0))
    faults = (twice, *planted(plan.run, *FAULTS.get((plan.name, plan.orthogonal), ())))
    return Check(name, ("attention-unbiased",), "montecarlo", summary, plan.run, faults)


def checks() -> list[Check]:
    """Means of three mechanisms, and the uniform error."""
    plans = [Plan(name, False) for name in ("oprf", "pos", "trig")] + [Plan("oprf", True)]
    return [
        *map(_check, plans),
        Check(
            "attention-uniform",
            ("attention-uniform",),
            "montecarlo",
            "the formula's M keeps the attention matrix within ε, and its outputs accordingly",
            uniform,
            (
                ("twice the detectable error", lambda setting: uniform(setting, 2.0)),
                *planted(uniform, "attention-one-root", "hundredth-of-m"),
            ),
        ),
    ]
