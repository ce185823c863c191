"""Theorem 4.2: tail probabilities of the shipped estimator beside printed and corrected bounds."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jaxtyping import Float

import crt
from crt.mechanisms import Mechanism
from verification import tail_bounds
from verification.binomials import Above, faulty_share, one_sided, two_sided
from verification.checks import Check, Outcome, Setting
from verification.comparison import count
from verification.faults import planted
from verification.gains import points
from verification.statistics import clopper_pearson, worst
from verification.sums import Pos
from verification.tail_bounds import CASES, FAR, NEAR, Case, exact

BATCH = 2**18
"""Coordinates of projections drawn at a time."""
SPOILED = 10.0
"""Logarithm by which planted features are too large: far beyond every ε."""
SHORT = 0.01
"""Factor of points that are planted too short."""
ORTHOGONAL_CASES = (
    CASES[3],
    Case(4, 2.0, 1.2, 10, (0.2, 0.4, 0.6)),
    CASES[4],
    replace(FAR, repetitions=2**7),
)
"""With 512 blocks in each estimate of the last one, its repetitions are few."""


def selected(cases: tuple[Case, ...], setting: Setting) -> tuple[Case, ...]:
    """Every second case at the quick budget, a counterexample among them; else all."""
    return cases if setting.effort > 1 else cases[1::2]


@partial(jax.jit, static_argnames=("draws", "orthogonal", "batch"))
def _estimates(
    mechanism: Mechanism,
    x: Array,
    y: Array,
    keys: Array,
    draws: int,
    orthogonal: bool,
    batch: int,
    faulty: float | Array,
) -> Array:
    def one(key: Array) -> Array:
        omega = mechanism.sample(key, draws, x.shape[-1], orthogonal, dtype=jnp.float64)
        logs = [mechanism.log_features(p, omega, s)[0] for p, s in ((x, "x"), (y, "y"))]
        struck = jax.random.uniform(jax.random.fold_in(key, 1)) < faulty
        return jnp.mean(jnp.exp(logs[0] + logs[1] + jnp.where(struck, SPOILED, 0)))

    return lax.map(one, keys, batch_size=batch)


def estimates(
    mechanism: Mechanism,
    case: Case,
    setting: Setting,
    orthogonal: bool = False,
    faulty: float = 0.0,
) -> Float[np.ndarray, " repetitions"]:
    """K̂ of the case's pair from M draws, again and again, in float64.

    For a planted fault a share of the repetitions has features e^SPOILED times too large.
    """
    x, y = (p[None] for p in points(case.d, case.z, case.n))
    rng = np.random.default_rng([setting.seed, *repr((case, mechanism.name)).encode()])
    key = jax.random.key(rng.integers(2**63))
    keys = jax.random.split(key, count(case.repetitions, setting))
    batch = max(1, BATCH // (case.draws * case.d))
    return np.asarray(_estimates(mechanism, x, y, keys, case.draws, orthogonal, batch, faulty))


def exceedances(case: Case, values: np.ndarray) -> dict[str, Float[np.ndarray, " eps"]]:
    """How often K̂-K ≥ ε and K̂ ≤ K-ε; the latter never for ε ≥ K, whatever rounding says."""
    upper, lower = (case.levels(side)[:, None] for side in (+1, -1))
    below = (values <= lower) & (lower > 0)
    return {"upper": np.sum(values >= upper, axis=1), "lower": np.sum(below, axis=1)}


def curve(case: Case, values: np.ndarray, false_alarm: float) -> dict[str, object]:
    """For the plot: probabilities with limits, enclosures and bounds, by ε."""
    tails, seen = exact(case, case.law), exceedances(case, values)
    size, parts = (
        len(values),
        [tail_bounds.log_upper_bounds(case), tail_bounds.log_lower_bounds(case)],
    )
    found: dict[str, object] = {"case": case.label, "eps": list(case.eps)}
    found["log printed"] = tail_bounds.log_printed(case).tolist()
    for side, bounds in zip(("upper", "lower"), parts, strict=True):
        limits = [clopper_pearson(int(k), size, false_alarm) for k in seen[side]]
        best = np.min(list(bounds.values()), axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            loose = np.where(tails[side][0] > 0, best / np.log(tails[side][0]), np.nan)
        found[side] = {
            "observed": (seen[side] / size).tolist(),
            "limits": [list(pair) for pair in limits],
            "exact": np.stack(tails[side], axis=1).tolist(),
            "log bounds": {name: bound.tolist() for name, bound in bounds.items()},
            "bound over probability, logarithms": [None if v != v else v for v in loose.tolist()],
        }
    return found


def independent(setting: Setting, shift: float = 0.0) -> Outcome:
    """Tails of M independent draws beside their exact probabilities, OPRF and PosRF.

    For a planted error features are too large so often that the probability of an upper tail is
    exceeded by `shift` times what is detected.
    """
    outcomes, curves = [], []
    level = setting.false_alarm / (4 * sum(len(case.eps) for case in CASES))
    with jax.enable_x64(True):
        for case in selected(CASES, setting):
            laws = [(crt.OPRF(case.rho), case.law)]
            laws += [(crt.PosRF(), Pos(case.z, case.n))] if case in CASES[1:4] else []
            for mechanism, law in laws:
                tails, samples = exact(case, law), count(case.repetitions, setting)
                tops = tails["upper"][1]
                # A test on two sides has half the level above.
                shares = [faulty_share(samples, float(top), level / 2, shift) for top in tops]
                values = estimates(mechanism, case, setting, faulty=min(shares))
                for side, seen in exceedances(case, values).items():
                    for i, k in enumerate(seen):
                        ends = float(tails[side][0][i]), float(tails[side][1][i])
                        note = f"{side} tail of {mechanism.name}, {case.label}, ε = {case.eps[i]:g}"
                        outcomes.append(two_sided(int(k), len(values), ends, level, note))
                if mechanism.name == "oprf":
                    curves.append(curve(case, values, setting.false_alarm))
    return replace(worst(outcomes), data={"curves": curves})


def shortened(case: Case) -> Case:
    """The case at points too short by the factor SHORT, where products hardly vary."""
    return replace(case, z=SHORT**2 * case.z, n=SHORT**2 * case.n)


def printed(setting: Setting, log_bound=tail_bounds.log_printed, shift: float = 0.0) -> Outcome:
    """The printed bound lies below the lower confidence limit at both counterexamples.

    Right code fails with the probability that fewer draws than needed exceed ε, from the exact law.
    A planted error is one of the points: in a share of the repetitions they are too short, the fit
    of ρ included, so that the estimate errs by less than ε.
    """
    outcomes, level = [], setting.false_alarm / 2
    rng = np.random.default_rng(setting.seed)
    with jax.enable_x64(True):
        for case, i in ((NEAR, 3), (FAR, 1)):
            bound, short = float(np.exp(log_bound(case)[i])), shortened(case)
            tails = exact(case, case.law)
            truth = float(tails["upper"][0][i] + tails["lower"][0][i])
            test = Above(count(case.repetitions, setting), bound, truth, level)
            values = estimates(crt.OPRF(case.rho), case, setting)
            if shift:
                struck = rng.random(len(values)) < test.share(shift)
                values = np.where(struck, estimates(crt.OPRF(short.rho), short, setting), values)
            seen = sum(int(k[i]) for k in exceedances(case, values).values())
            judged = test.judge(seen, "")
            note = f"{case.label}, ε = {case.eps[i]:g}: seen {seen / len(values):.3g}, exact "
            note += f"{truth:.3g}, at least {judged.predicted:.3g}, printed {bound:.2g}"
            outcomes.append(replace(judged, note=note))
    failed = [o for o in outcomes if not o.passed]
    notes = "; ".join(o.note for o in failed or outcomes)
    return replace((failed or outcomes)[0], note=notes, samples=sum(o.samples for o in outcomes))


def orthogonal(setting: Setting, shift: float = 0.0) -> Outcome:
    """Tails of orthogonal draws beside Legendre's, Bennett's, Bernstein's and Cantelli's bounds.

    For a planted error features are too large so often that an upper bound is exceeded by `shift`
    times what is detected.
    """
    outcomes, curves = [], []
    level = setting.false_alarm / (2 * sum(len(case.eps) for case in ORTHOGONAL_CASES))
    with jax.enable_x64(True):
        for case in selected(ORTHOGONAL_CASES, setting):
            upper = tail_bounds.log_upper_bounds(case) | {
                "legendre": tail_bounds.log_legendre(case)
            }
            lower = tail_bounds.log_orthogonal_lower_bounds(case)
            samples = count(case.repetitions, setting)
            # Of the upper bounds, the one that is exceeded with least.
            tops = np.exp(np.min(list(upper.values()), axis=0))
            faulty = min(faulty_share(samples, float(top), level, shift) for top in tops)
            values = estimates(crt.OPRF(case.rho), case, setting, True, faulty)
            seen = exceedances(case, values)
            found: dict[str, object] = {"case": case.label, "eps": list(case.eps)}
            for side, bounds in (("upper", upper), ("lower", lower)):
                best = np.exp(np.min(list(bounds.values()), axis=0))
                for eps, k, bound in zip(case.eps, seen[side], best, strict=True):
                    note = f"{side} tail, {case.label}, ε = {eps:g}"
                    outcomes.append(one_sided(int(k), len(values), float(bound), level, note))
                shares = (seen[side] / len(values)).tolist()
                logs = {name: bound.tolist() for name, bound in bounds.items()}
                found[side] = {"observed": shares, "log bounds": logs}
            curves.append(found)
    chosen = max(outcomes, key=lambda o: (o.observed - o.predicted) / o.allowed)
    total = sum(o.samples for o in outcomes)
    return replace(chosen, samples=total, data={"curves": curves})


def checks() -> list[Check]:
    """All checks of this module."""
    true = ("hoeffding-oprf", "bernstein-oprf", "lower-tail-positive", "thm-tails-ort")
    exactly, largest = tail_bounds.by_convolution, tail_bounds.supremum
    return [
        Check(
            "tails-supremum",
            ("hoeffding-oprf",),
            "certificate",
            "the largest product of the shipped features",
            largest,
            planted(largest, "no-d-in-s", "s-off"),
        ),
        Check(
            "tails-exact",
            true,
            "quadrature",
            "no corrected bound is below the exact tail probability",
            exactly,
            planted(exactly, "no-d-in-s", "lower-bound-fourth-power"),
        ),
        Check(
            "tails-comparison",
            ("thm-tails-ort", "lower-tail-ort"),
            "quadrature",
            "orthogonality lowers E e^{θΣX} for θ = 1 and raises it for θ = -10",
            tail_bounds.comparison,
            (("the other way round", lambda s: tail_bounds.comparison(s, -1)),),
        ),
        Check(
            "tails-independent",
            (*true[:3], "thm-tails-iid"),
            "montecarlo",
            "tails of independent draws have their exact probabilities",
            independent,
            (
                ("twice the detectable error", lambda s: independent(s, 2.0)),
                *planted(independent, "d-exponent", "repeated-rows"),
            ),
        ),
        Check(
            "tails-printed",
            ("thm-tails-iid",),
            "montecarlo",
            "the printed bound is exceeded at both counterexamples",
            printed,
            (
                ("twice the detectable error", lambda s: printed(s, shift=2.0)),
                (
                    "the corrected bound in its place",
                    lambda s: printed(s, lambda c: tail_bounds.log_upper_bounds(c)["hoeffding"]),
                ),
            ),
        ),
        Check(
            "tails-orthogonal",
            ("thm-tails-ort", "lower-tail-ort", "bernstein-oprf"),
            "montecarlo",
            "tails of orthogonal draws stay below their bounds",
            orthogonal,
            (
                ("twice the detectable error", lambda s: orthogonal(s, 2.0)),
                *planted(orthogonal, "no-d-in-s", "cantelli-sixth-power"),
            ),
        ),
    ]
