"""Certified accuracy of the generated formulas, in float32 and float64.

At every point the error of the compiled JAX function, measured against Arb, must stay below
`8·eps·(|f| + Σ_i |x_i·∂f/∂x_i|)`: a small multiple of what rounding the inputs alone would cause.
Two kinds of formula have another scale: the gain of orthogonality for s = -1 is accurate
absolutely, and the variance of a GERF with complex A relative to its second moment. A value that
Arb cannot decide, or that is not finite, counts as a failure. After the random points a hill climb
looks for a worse one.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass

import jax
import numpy as np
from flint import arb

from crt import formulas
from derivations.domain import Complex, Vector
from derivations.library import load_formulas
from verification.reference import Reference, reference_of
from verification.sampling import SHARES, clip, sample

FACTOR = 8
DTYPES = ("float32", "float64")
ABSOLUTE = ("orthogonal_gain_trig",)
RELATIVE_TO_MOMENT = ("variance_gerf", "log_variance_gerf")
CLIMBERS, PROPOSALS = 6, 12
ROWS = CLIMBERS * PROPOSALS
FEWEST = 15
"""A dimension with fewer points than that as its share is left to larger budgets."""

Columns = list[np.ndarray]
"""One array per argument, points on the first axis."""


@dataclass(frozen=True)
class Accuracy:
    """The outcome for one formula and dtype; `worst` is the error in units of the bound."""

    name: str
    dtype: str
    points: int
    worst: float
    at: str
    passed: bool

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


class Probe:
    """One formula in one dtype: its compiled function and the error ratio at any points."""

    def __init__(self, name: str, dtype: str):
        self.name, self.dtype = name, dtype
        self.formula = load_formulas()[name]
        self.vector_valued = self.formula.vector_valued  # found anew, slowly, at each asking
        self.ranges = list(self.formula.domain.values())
        self.reference = reference_of(name)
        self.eps = float(np.finfo(dtype).eps)
        self.scale = _scale_of(name, self.reference)
        self._compiled = jax.jit(getattr(formulas, name))

    def draw(self, number: int, dimension: int, rng: np.random.Generator) -> Columns:
        """`number` random points; in some of them the second vector equals the first."""
        columns = []
        for allowed in self.ranges:
            size = (number, dimension) if isinstance(allowed, Vector) else (number,)
            columns.append(sample(allowed, size, self.dtype, rng))
        vectors = [i for i, allowed in enumerate(self.ranges) if isinstance(allowed, Vector)]
        if len(vectors) > 1 and self.ranges[vectors[0]] == self.ranges[vectors[1]]:
            same = rng.random(number) < 0.25
            columns[vectors[1]][same] = columns[vectors[0]][same]
        return columns

    def compute(self, columns: Columns) -> np.ndarray:
        """The compiled function's values, always ROWS points at a time: one shape to compile."""
        size = len(columns[0])
        parts = []
        for start in range(0, size, ROWS):
            at = np.minimum(np.arange(start, start + ROWS), size - 1)
            parts.append(self._compute([column[at] for column in columns]))
        return np.concatenate(parts)[:size]

    def _compute(self, columns: Columns) -> np.ndarray:
        given = []
        for allowed, column in zip(self.ranges, columns, strict=True):
            whole = column[..., 0] + 1j * column[..., 1] if isinstance(allowed, Complex) else column
            given.append(whole)
        with jax.enable_x64(self.dtype == "float64"):
            return np.asarray(self._compiled(*given))

    def ratios(self, columns: Columns) -> np.ndarray:
        """Error over bound at every point; infinite where nothing can be certified."""
        computed = self.compute(columns)
        if self.vector_valued:
            computed = computed[..., 0]
        return np.array(
            [self._ratio(computed[k], *self.point(columns, k)) for k in range(len(computed))]
        )

    def point(self, columns: Columns, k: int) -> tuple[list[float], list[list[float]]]:
        """Scalars (complex ones by their parts) and vectors of point k."""
        scalars: list[float] = []
        vectors: list[list[float]] = []
        for allowed, column in zip(self.ranges, columns, strict=True):
            entry = column[k].tolist()
            if isinstance(allowed, Vector) and not self.vector_valued:
                vectors.append(entry)
            elif isinstance(allowed, Vector):
                scalars.append(entry[0])
            else:
                scalars += entry if isinstance(entry, list) else [entry]
        return scalars, vectors

    def _ratio(self, computed: complex, scalars: list[float], vectors: list[list[float]]) -> float:
        if not np.isfinite(computed):
            return np.inf
        try:
            value = self.reference.value(scalars, vectors)
            scale = self.scale(scalars, vectors)
        except ArithmeticError:
            return np.inf
        number = complex(computed)
        error = abs(value - type(value)(number.real, number.imag)).upper()
        bound = (FACTOR * self.eps * scale).lower()
        if error < arb(2) ** -1000:  # below every float: no error
            return 0.0
        ratio = error / bound if bound > 0 else arb("inf")
        return float(ratio.upper()) if ratio.is_finite() else np.inf

    def describe(self, columns: Columns, k: int) -> str:
        names = [str(getattr(arg, "label", arg)) for arg in self.formula.args]
        parts = []
        for name, column in zip(names, columns, strict=True):
            entries = np.atleast_1d(column[k])
            text = ", ".join(f"{entry:.9g}" for entry in entries[:4])
            parts.append(f"{name} = {text}" + (", ..." if len(entries) > 4 else ""))
        return "; ".join(parts)


def _scale_of(name: str, reference: Reference) -> Callable[..., arb]:
    """What the error is compared with: |f| + Σ|x_i ∂f/∂x_i|, or the exceptions named above."""

    def standard(scalars: list[float], vectors: list[list[float]]) -> arb:
        value = reference.value(scalars, vectors)
        return abs(value) + reference.sensitivity(scalars, vectors)

    if name in ABSOLUTE:
        return lambda scalars, vectors: arb(1)
    if name not in RELATIVE_TO_MOMENT:
        return standard
    moment = reference_of("log_second_moment_gerf")

    def relative_to_moment(scalars: list[float], vectors: list[list[float]]) -> arb:
        if scalars[1] == 0:  # A is real
            return standard(scalars, vectors)
        share = 1 + moment.sensitivity(scalars)
        log_moment, value = moment.value(scalars).real, reference.value(scalars).real
        if name == "variance_gerf":
            return log_moment.exp() * share
        return standard(scalars, vectors) + (log_moment - value).exp() * share

    return relative_to_moment


def measure(name: str, dtype: str, points: int, steps: int, seed: int) -> Accuracy:
    """Look at `points` random points of a formula and climb for `steps` steps from the worst."""
    rng = np.random.default_rng([seed, *name.encode(), *dtype.encode()])
    probe = Probe(name, dtype)
    has_vectors = any(isinstance(allowed, Vector) for allowed in probe.ranges)
    groups = [(1, 1.0)]
    if has_vectors and not probe.vector_valued:
        limit = min(allowed.limit for allowed in probe.ranges if isinstance(allowed, Vector))
        sizes = [(size, share) for size, share in SHARES.items() if size <= limit]
        sizes = [pair for pair in sizes if points * pair[1] >= FEWEST] or sizes[:1]
        whole = sum(share for _, share in sizes)
        groups = [(size, share / whole) for size, share in sizes]
    worst, where, seen = 0.0, "", 0
    for dimension, share in groups:
        columns = probe.draw(round(points * share), dimension, rng)
        ratios = probe.ratios(columns)
        seen += len(ratios)
        columns, ratios, climbed = _climb(probe, columns, ratios, steps, rng)
        seen += climbed
        top = int(np.argmax(ratios))
        if ratios[top] >= worst:
            worst, where = float(ratios[top]), probe.describe(columns, top)
    return Accuracy(name, dtype, seen, worst, where, worst <= 1)


def _climb(
    probe: Probe, columns: Columns, ratios: np.ndarray, steps: int, rng: np.random.Generator
) -> tuple[Columns, np.ndarray, int]:
    """The worst points after `steps` rounds of random moves, keeping what makes them worse."""
    order = np.argsort(ratios)[::-1][:CLIMBERS]
    columns, ratios = [column[order] for column in columns], ratios[order]
    looked = 0
    for _ in range(steps):
        moved = [_move(column, r, rng) for column, r in zip(columns, probe.ranges, strict=True)]
        again = probe.ratios(moved)
        looked += len(again)
        groups = again.reshape(len(ratios), PROPOSALS)
        best = np.argmax(groups, axis=1)
        for i, j in enumerate(best):
            if groups[i, j] > ratios[i]:
                ratios[i] = groups[i, j]
                for column, proposal in zip(columns, moved, strict=True):
                    column[i] = proposal[i * PROPOSALS + j]
    return columns, ratios, looked


def _move(column: np.ndarray, allowed: object, rng: np.random.Generator) -> np.ndarray:
    """PROPOSALS neighbours of every point: relative steps of all sizes, in some coordinates."""
    many = np.repeat(column, PROPOSALS, axis=0)
    if not np.issubdtype(many.dtype, np.floating):
        return many
    step = 10.0 ** rng.uniform(-7, -0.3, many.shape) * rng.choice([-1, 1], many.shape)
    factor = np.where(rng.random(many.shape) < 0.6, 1 + step, 1.0)
    return clip((many * factor).astype(many.dtype), allowed)  # type: ignore[arg-type]
