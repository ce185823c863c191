"""The kernel operator of the shipped code against all pairs, and its cost."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Complex, Float

import crt
from crt.kernels import KERNELS
from crt.mechanisms.base import Mechanism
from verification import pair_statistics
from verification.checks import Check, Outcome, Setting
from verification.comparison import Row, outcome
from verification.definitions import definitions, fitted
from verification.faults import planted
from verification.operations import largest_array, operations
from verification.shipped import log_features

EPS = float(np.finfo(np.float64).eps)
Matrix = Float[np.ndarray, "b n d"]


FEATURES, ROWS, COLUMNS, DIM = 24, 9, 13, 3


def _features(
    mechanism: Mechanism, omega: Any, points: Matrix, side: str, kernel: str
) -> Complex[np.ndarray, "b n m"]:
    """f (b, n, M) from the shipped logarithms."""
    logs, phase = map(np.asarray, log_features(mechanism, points, omega, side, kernel))
    return np.exp(logs) * (phase + 0j)


@dataclass(frozen=True)
class Evaluated:
    """One mechanism at given points, its estimates of all pairs (b, n, l), and their rounding."""

    label: str
    given: tuple[Any, Any, Any, Any]
    kernel: str
    chunk: int
    entries: Float[np.ndarray, "b n l"]
    allowed: Float[np.ndarray, "b n l"]


def evaluated(setting: Setting) -> Iterator[Evaluated]:
    """All pairs of two batches, for mechanisms of every kind.

    Rows of y grow from chunk to chunk, so that scales do. Both routes round sums of M·L terms,
    whose logarithms of size T carry errors of their own: they differ by at most (M + L + 16·T)·eps
    times the sum of absolute values.
    """
    rng = np.random.default_rng(setting.seed)
    growth = np.linspace(0.3, 2, COLUMNS)[:, None]
    x, y = rng.normal(size=(2, ROWS, DIM)), rng.normal(size=(2, COLUMNS, DIM)) * growth
    for i, (name, mechanism) in enumerate(fitted(x[0], y[0], setting).items()):
        omega = mechanism.sample(jax.random.key(setting.seed % 2**31), FEATURES, DIM)
        kernel, chunk = str(rng.choice(KERNELS)), (4, 5, 1, 100)[i % 4]
        left = _features(mechanism, omega, x, "x", kernel)
        right = _features(mechanism, omega, y, "y", kernel).swapaxes(-1, -2)
        logs = [np.log(np.abs(f), where=f != 0, out=np.zeros(f.shape)) for f in (left, right)]
        terms = FEATURES + COLUMNS + 16 * (1 + max(np.max(np.abs(v)) for v in logs))
        yield Evaluated(
            f"{name}, {kernel}",
            (mechanism, omega, x, y),
            kernel,
            chunk,
            np.real(left @ right) / FEATURES,
            terms * EPS * (np.abs(left) @ np.abs(right)) / FEATURES,
        )


def operator(setting: Setting, apply: Callable[..., Any] = crt.apply_kernel) -> Outcome:
    """apply_kernel against all pairs: every mechanism, chunk, batch and kernel."""
    rng, rows = np.random.default_rng(setting.seed + 1), []
    with jax.enable_x64(True):
        c = rng.normal(size=(2, COLUMNS, 2))
        for case in evaluated(setting):
            got = apply(*case.given, c, kernel=case.kernel, chunk=case.chunk)
            label = f"{case.label}, chunks of {case.chunk}"
            rows.append(worst_entry(label, got, case.entries @ c, case.allowed @ np.abs(c)))
    return outcome(rows, "the operator against all pairs")


def entries(setting: Setting) -> Outcome:
    """estimate_kernel against all pairs: every mechanism, batch and kernel."""
    rows = []
    with jax.enable_x64(True):
        for case in evaluated(setting):
            got = crt.estimate_kernel(*case.given, kernel=case.kernel)
            rows.append(worst_entry(case.label, got, case.entries, case.allowed))
    return outcome(rows, "estimates against all pairs")


def worst_entry(label: str, got: Any, exact: np.ndarray, allowed: np.ndarray) -> Row:
    """The row of the entry that is furthest off; NaN counts as infinitely far."""
    apart = np.abs(np.asarray(got) - exact) / allowed
    at = np.unravel_index(np.argmax(np.where(np.isnan(apart), np.inf, apart)), apart.shape)
    return Row(label, float(np.asarray(got)[at]), float(exact[at]), float(allowed[at]))


def _added(mechanism: Any, omega: Any, x: Any, y: Any, c: Any, **names: Any) -> Any:
    """The operator with ε = 1e-6 added to every feature of x."""
    means = np.asarray(mechanism.features(y, omega, "y")).mean(-1).real
    extra = 1e-6 * np.einsum("bl,blk->bk", means, c)[:, None]
    return crt.apply_kernel(mechanism, omega, x, y, c, **names) + extra


def _one_batch(mechanism: Any, omega: Any, x: Any, y: Any, c: Any, **names: Any) -> Any:
    """The operator with the first batch element's y for all."""
    return crt.apply_kernel(mechanism, omega, x, np.broadcast_to(y[:1], y.shape), c, **names)


def _last_chunk_twice(
    mechanism: Any, omega: Any, x: Any, y: Any, c: Any, *, chunk: int, **names: Any
) -> Any:
    """The operator with the rows that overlap the last chunk counted twice, one at least."""
    y, c = (np.concatenate([a, a[:, -(-a.shape[1] % chunk) - 1 :]], axis=1) for a in (y, c))
    return crt.apply_kernel(mechanism, omega, x, y, c, chunk=chunk, **names)


def linear(setting: Setting, apply: Callable[..., Any] = crt.apply_kernel) -> Outcome:
    """Arithmetic of the traced program: doubling L, M or d at most doubles it; no n × l array.

    Counted in the jaxpr, loops by their length; so exact, whatever the machine. The largest array
    may hold inputs, output or one chunk of features, not the n·l numbers of the matrix.
    """
    rows = []
    base = {"rows": 4096, "features": 64, "dim": 8}
    for name, mechanism in {
        "oprf": crt.OPRF(0.5),
        "trig": crt.TrigRF(),
        "pois": crt.PoisRF(0.5),
    }.items():

        def trace(rows: int, features: int, dim: int, mechanism: Any = mechanism) -> Any:
            omega, points = jnp.zeros((features, dim)), jnp.ones((rows, dim))
            values = jnp.ones((rows, 1))
            return jax.make_jaxpr(lambda *a: apply(mechanism, *a))(omega, points, points, values)

        once = trace(**base)
        for what, size in base.items():
            ratio = operations(trace(**base | {what: 2 * size})) / operations(once)
            rows.append(Row(f"{name}: operations, {what} doubled", ratio, 2.0, 0.0, one_sided=True))
        largest = base["rows"] ** 2 / 2
        rows.append(
            Row(f"{name}: largest array", largest_array(once), largest, 0.0, one_sided=True)
        )
    return outcome(rows, "operations in the traced program")


def _all_pairs(mechanism: Any, omega: Any, x: Any, y: Any, c: Any) -> Any:
    return crt.estimate_kernel(mechanism, omega, x, y) @ c


OPERATOR_FAULTS = (
    "half-sums",
    "no-conjugate",
    "no-rescale",
    "first-rows",
    "no-scale",
)


def checks() -> list[Check]:
    """The operator, and from their own modules the statistics and the definitions."""
    return [
        Check(
            "operator",
            ("eq-rfappr",),
            "certificate",
            "apply_kernel is the mean of feature products, exactly, for every mechanism",
            lambda setting: operator(setting),
            (
                ("ε = 1e-6 added to features", lambda setting: operator(setting, _added)),
                ("batch axis ignored", lambda setting: operator(setting, _one_batch)),
                ("last chunk counted twice", lambda setting: operator(setting, _last_chunk_twice)),
                *planted(operator, *OPERATOR_FAULTS),
            ),
        ),
        Check(
            "operator-entries",
            ("eq-rfappr",),
            "certificate",
            "estimate_kernel is the mean of feature products, exactly, for every mechanism",
            entries,
            planted(entries, "wrong-axis", "no-conjugate"),
        ),
        Check(
            "operator-linear",
            ("eq-rfappr", "classification-cost"),
            "certificate",
            "the operator's arithmetic grows linearly in L, M and d, and no n × l array appears",
            lambda setting: linear(setting),
            (("all pairs evaluated", lambda setting: linear(setting, _all_pairs)),),
        ),
        *pair_statistics.checks(),
        *definitions(),
    ]
