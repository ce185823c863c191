"""Monte Carlo: the mean and the variance of the shipped estimators, from the shipped samplers.

Draws come from `sample`, products from `log_features`, in float64, streamed in chunks. Means are
compared with `crt.kernels`, variances with `estimator_variance`; both by Catoni's test with exact
moments from `verification.moments`. With orthogonal projections one sample is a block's mean.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from crt import kernels
from crt.mechanisms import Mechanism
from verification import law_moments, laws
from verification.cases import DIMS, DISCRETE, EXPONENTIAL, LEAST_VARIANCE, SCALES, Case, case_of
from verification.checks import Check, Outcome, Setting
from verification.faults import planted
from verification.laws import CHUNK
from verification.shipped import estimator_variance, log_features
from verification.statistics import MeanTest, influence, relative, worst

CHUNKS, DISCRETE_CHUNKS = 4, 2
"""Chunks of the quick budget; a Poisson draw costs several normal ones."""
BIAS = 0.01
"""Relative error of a mean that is detected at the quick budget."""
VARIANCE_ERROR = 0.15
"""Relative error of a variance that is detected at the quick budget."""
REGIME = (
    f"The standard budget catches a change by {100 * law_moments.POINT:g} % of the mean of any "
    f"estimator in {', '.join(map(str, DIMS))} dimensions, at points whose products vary so little "
    f"that {100 * BIAS:g} % shows at the quick budget; of a rate, a chance or the variance of any "
    f"single coordinate that is drawn, in {law_moments.COUNT_DIM} dimensions for counts and in "
    f"{' and '.join(map(str, law_moments.GAUSSIAN_DIMS))} for Gaussian projections; and of any "
    "formula of a variance, by sums and integrals without draws. Draws alone show a variance that "
    f"is off by {100 * VARIANCE_ERROR:g} % at the quick budget."
)
"""What a change must be to be caught, with power 0.999; the report's page says it too."""
QUICK_DIM = 8
"""The quick budget looks at this one, and at OPRF in 64 dimensions."""
VARIANCE_DIMS, ORTHOGONAL_DIMS = (1, 8), (2, 8)
"""Where variances are sampled: elsewhere too few samples say too little."""
NOMINAL = 1e-12
"""False-alarm share of one check for which the points are chosen; the split gives more."""


@partial(jax.jit, static_argnames=("kernel", "block"))
def totals(
    mechanism: Mechanism,
    omega: Array,
    x: Array,
    y: Array,
    tests: Array,
    kernel: str,
    block: int,
    square: bool | Array,
    kept: Array,
) -> Array:
    """Σψ of every point (P,). `tests` (3, P): hypothesised mean, scale, and K for squares.

    `kept` (P,), 1 but for planted errors, is the share of the mean or of the variance that the
    features have. One program serves means and squares.
    """
    x_logs, x_phase = log_features(mechanism, x, omega, "x", kernel)
    y_logs, y_phase = log_features(mechanism, y, omega, "y", kernel)
    products = jnp.exp(x_logs + y_logs) * jnp.real(x_phase * y_phase)
    values = jnp.mean(products.reshape(len(x), -1, block), axis=-1)
    mean, scale, kernel_value = tests[..., None]
    values = kept[:, None] * jnp.where(square, (values - kernel_value) ** 2, values)
    return jnp.sum(influence(scale * (values - mean)), axis=-1)


@dataclass(frozen=True)
class Plan:
    """What one check looks at: a mechanism, its projections, and its mean or its variance."""

    name: str
    dim: int
    orthogonal: bool
    square: bool = False

    @property
    def block(self) -> int:
        return self.dim if self.orthogonal else 1

    def samples(self, effort: float) -> int:
        """Independent samples: whole chunks of blocks."""
        chunks = DISCRETE_CHUNKS if self.name in DISCRETE else CHUNKS
        return max(1, round(chunks * effort)) * (CHUNK // self.block)

    def tests(self, case: Case, effort: float, false_alarm: float) -> list[MeanTest]:
        """Of E K̂ = K, or of E (K̂ - K)² = Var K̂, at every point; they share the false alarms."""
        made = []
        for m in case.moments:
            mean, variance = (
                (m.variance, m.square_variance) if self.square else (m.mean, m.variance)
            )
            variance = max(variance, LEAST_VARIANCE * mean**2)
            share = false_alarm / len(case.moments)
            made.append(MeanTest(mean, variance, self.samples(effort), share))
        return made

    def able(self, case: Case) -> list[int]:
        """The points of a case at which the wanted error is detected at the quick budget."""
        wanted = VARIANCE_ERROR if self.square else BIAS
        tests = self.tests(case, 1.0, NOMINAL)
        noisy = [m.variance > LEAST_VARIANCE * m.mean**2 for m in case.moments]
        return [
            i
            for i, (test, seen) in enumerate(zip(tests, noisy, strict=True))
            if test.detects <= wanted * test.mean and (seen or not self.square)
        ]

    @functools.cached_property
    def case(self) -> Case:
        """The points at which the wanted error is detected, at the largest scale with most."""
        best, chosen = None, []
        for scale in SCALES:
            case = case_of(self.name, self.dim, self.orthogonal, scale)
            able = self.able(case)
            if len(able) > len(chosen):
                best, chosen = case, able
            if len(able) == len(case.moments):
                break
        if best is None:
            raise LookupError(f"no scale gives {self} the power that is asked for")
        return best.keep(chosen)

    def predicted(self) -> np.ndarray:
        """What the shipped code says, in units of the exact moments (P,)."""
        case = self.case
        if not self.square:
            exact = np.diagonal(np.asarray(getattr(kernels, case.kernel)(case.x, case.y)))
            return exact / [m.mean for m in case.moments]
        shipped = estimator_variance(
            case.mechanism, case.x, case.y, self.block, self.orthogonal, case.kernel
        )
        return np.asarray(shipped) / [m.variance for m in case.moments]

    def sums(self, tests: list[MeanTest], kept: np.ndarray, seed: int) -> np.ndarray:
        """Σψ of every point (P,), over all chunks."""
        case, total = self.case, np.zeros(len(tests))
        rng = np.random.default_rng([seed, *repr(self).encode()])
        pairs = zip(tests, case.moments, strict=True)
        numbers = np.array([[t.mean, t.scale, m.mean] for t, m in pairs]).T
        rows = CHUNK // self.block * self.block
        for _ in range(tests[0].samples * self.block // rows):
            key = jax.random.key(rng.integers(2**63))
            omega = case.mechanism.sample(key, rows, self.dim, self.orthogonal, dtype=jnp.float64)
            total += np.asarray(
                totals(
                    case.mechanism,
                    omega,
                    case.x,
                    case.y,
                    numbers,
                    case.kernel,
                    self.block,
                    self.square,
                    kept,
                )
            )
        return total

    def run(self, setting: Setting, loss: float = 0.0) -> Outcome:
        """The worst point, in units of its exact moment.

        For a planted error the products lose `loss` times the detectable part of their mean, or of
        their squared distance from K.
        """
        with jax.enable_x64(True):
            exact = self.tests(self.case, setting.effort, setting.false_alarm)
            tests = [
                replace(t, mean=float(share) * t.mean)
                for share, t in zip(self.predicted(), exact, strict=True)
            ]
            kept = np.array([1 - loss * t.detects / t.mean for t in exact])
            sums = self.sums(tests, kept, setting.seed)
        judged = zip(tests, sums, exact, strict=True)
        return worst([relative(test.judge(float(total)), t.mean) for test, total, t in judged])


CLAIMS: Mapping[str, tuple[str, str]] = {
    "trig": ("thm-gerf", "trig-var"),
    "pos": ("thm-gerf", "pos-var"),
    "oprf": ("thm-gerf", "thm-minvar"),
    "gerf+": ("thm-gerf", "thm-gerf-var"),
    "gerf-": ("thm-gerf", "thm-gerf-var"),
    "pois": ("eq-dirf", "thm-pois"),
    "geom": ("eq-dirf", "thm-geom"),
    "pois+": ("positivity", "thm-pois"),
    "geom+": ("positivity", "thm-geom"),
    "optpois": ("eq-dirf", "opt-dirf"),
}
"""The statement on the mean, and the one on the variance."""

PLANTED: Mapping[str, tuple[str, ...]] = {
    "mean-pos-orthogonal-d3": ("one-key",),
    "mean-pos-orthogonal-d8": ("raw-qr",),
    "mean-pos-orthogonal-d64": ("raw-qr",),
    "mean-pos-iid-d3": ("c-half", "all-zero", "two-percent"),
    "mean-oprf-iid-d64": ("two-percent",),
    "mean-oprf-iid-d1": ("half-a", "d-exponent"),
    "mean-gerf+-iid-d8": ("gerf-c", "gerf-d-exponent"),
    "mean-gerf--iid-d8": ("gerf-same-side",),
    "mean-trig-iid-d2": ("trig-same-side", "trig-softmax"),
    "mean-geom-iid-d3": ("geometric-from-1", "geometric-swapped"),
    "mean-pois-iid-d8": ("no-poisson-constant", "no-signs"),
    "variance-pos-iid-d8": ("softmax-moment", "thirty-percent"),
    "variance-oprf-orthogonal-d2": ("no-gain", "thirty-percent"),
    "variance-trig-iid-d1": ("thirty-percent",),
}
"""Faults of the catalogue, beside an error of twice the detectable size in every check."""


def _check(plan: Plan) -> Check:
    kind, projections = (
        "variance" if plan.square else "mean",
        "orthogonal" if plan.orthogonal else "iid",
    )
    name = f"{kind}-{plan.name}-{projections}-d{plan.dim}"
    claims = CLAIMS[plan.name][1:] if plan.square else CLAIMS[plan.name][:1]
    if plan.orthogonal and plan.square:
        claims = (*claims, "ortho-exact")
    summary = f"{kind} of {plan.name} with {projections} projections in {plan.dim} dimensions"
    quick = plan.dim == QUICK_DIM or (plan.name == "oprf" and plan.dim == 64)
    twice = ("twice the detectable error", lambda setting: plan.run(setting, 2.0))
    faults = (twice, *planted(plan.run, *PLANTED.get(name, ())))
    return Check(name, claims, "montecarlo", summary, plan.run, faults, quick)


def checks() -> list[Check]:
    """Means in all dimensions, variances where samples show them, the samplers' laws and moments.

    Those that share compiled programs stand side by side.
    """
    every = [*EXPONENTIAL, *DISCRETE]
    plans = [Plan(name, dim, False) for name in every for dim in DIMS]
    plans += [Plan(name, dim, False, True) for name in every for dim in VARIANCE_DIMS]
    plans += [Plan(name, dim, True) for name in EXPONENTIAL for dim in DIMS]
    plans += [Plan(name, dim, True, True) for name in EXPONENTIAL for dim in ORTHOGONAL_DIMS]
    plans.sort(key=lambda plan: (plan.dim, plan.orthogonal, every.index(plan.name)))
    return [*map(_check, plans), *laws.checks(), *law_moments.checks()]
