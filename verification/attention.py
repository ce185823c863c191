"""`FavorAttention` against its definition: outputs, gradients, masks, causality, cost, dtypes.

Comparisons are made in float64, where a rounding is 2^-29 of float32's: what the statement allows
there, an RMS of 1e-5 of the RMS at unit scale, is held to as many roundings here.
"""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import crt
from verification import attention_definition as definition
from verification import attention_means
from verification.attention_definition import Given
from verification.checks import Check, Outcome, Setting
from verification.comparison import Row, outcome
from verification.faults import planted
from verification.operations import largest_array, operations

EPS = float(np.finfo(np.float64).eps)
LIMITS = {"float32": 1e-5, "bfloat16": 5e-3, "float16": 1e-3}
"""RMS of the difference over RMS that the statement allows at unit scale."""
LIMIT = LIMITS["float32"] * EPS / float(np.finfo(np.float32).eps)
MECHANISMS = ("oprf", "pos", "relu", "trig", "elu")
BATCH, KEY_HEADS, HEADS, DIM, VALUES, FEATURES = 2, 2, 4, 3, 2, 5
QUERIES, KEYS, BLOCK = 9, 13, 4
LARGE = 60.0
STEEP = 50.0
"""A rise of keys whose exponential has no square in float32."""
CAUSAL = 131
"""Tokens of causal checks: a chunk of 128 and the beginning of another."""
LONG = 1100
"""Rows of a sequence whose statistics are gathered in lanes of 64: 17 rounds, and 12 rows more."""

Run = Callable[[Setting], Outcome]


@dataclass(frozen=True)
class Shape:
    """One family of calls."""

    queries: int
    keys: int
    is_causal: bool

    def draw(self, name: str, rng: np.random.Generator, size: float = 1.0) -> Given:
        """Gaussian q, k times a size, and v; a third of the keys masked, in one element all.

        Trigonometric features see small inputs: their denominators then stay away from 0.
        """
        size = 0.3 * size if name == "trig" else size
        q = size * rng.normal(size=(BATCH, self.queries, HEADS, DIM))
        k = size * rng.normal(size=(BATCH, self.keys, KEY_HEADS, DIM))
        # Features of small keys outgrow those of large ones: a late rise of every maximum.
        k[:, -3:] /= size
        mask = rng.random((BATCH, self.keys)) < 0.67
        mask[0, [0, -1]], mask[-1] = True, False
        return Given(
            name,
            q,
            k,
            rng.normal(size=(BATCH, self.keys, KEY_HEADS, VALUES)),
            rng.normal(size=(HEADS, FEATURES, DIM)),
            rng.uniform(0.3, 0.9, size=(BATCH, HEADS)),
            mask,
            self.is_causal,
            0.8,
        )


BIDIRECTIONAL = Shape(QUERIES, KEYS, False)
CAUSAL_SHAPE = Shape(CAUSAL, CAUSAL, True)


def call(given: Given, q: Any, k: Any, v: Any, mask: Any = None) -> Array:
    """The shipped attention on the arrays, with everything else as given."""
    made = crt.FavorAttention(given.omega.shape[-2], given.name, block_size=BLOCK)
    omega = None if given.name == "elu" else given.omega.astype(_wide(q))
    rho = given.rho.astype(_wide(q)) if given.name == "oprf" else None
    mask = given.mask if mask is None else mask
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "trigonometric features", UserWarning)
        return made(q, k, v, omega, mask, given.is_causal, rho, scale=given.scale)


def _wide(array: Any) -> Any:
    return jnp.promote_types(jnp.asarray(array).dtype, jnp.float32)


def rms(array: Any) -> float:
    return float(np.sqrt(np.mean(np.abs(np.asarray(array, np.float64)) ** 2)))


def apart(label: str, got: Any, exact: Any, limit: float) -> Row:
    """RMS of the difference over RMS of the exact values."""
    difference = np.asarray(got, np.float64) - np.asarray(exact)
    return Row(label, rms(difference) / rms(exact), 0.0, limit)


def roundings(given: Given) -> float:
    """What may be lost: LIMIT, or more where logarithms are so large that their roundings weigh.

    Signed features cancel in the denominators: a rounding of each term then weighs `cancellation`
    times as much in the output, which no order of summation avoids.
    """
    logs = [definition.log_features(given, each)[0] for each in (given.q, given.k)]
    largest = sum(float(np.max(np.abs(each))) for each in logs)
    return max(LIMIT, 4 * EPS * largest) * definition.cancellation(given)


def outputs(given: Given, out: Array | None = None) -> Row:
    """The shipped outputs against the definition's."""
    out = call(given, *given.arrays.values()) if out is None else out
    return apart(f"{given.label}: output", out, definition.attend(given), roundings(given))


def with_gradients(
    given: Given,
    setting: Setting,
    rng: np.random.Generator,
    arrays: Sequence[Array] | None = None,
    limit: float | None = None,
) -> list[Row]:
    """Outputs, and gradients along a Gaussian direction u of each argument.

    If a gradient g is off by e, ⟨e, u⟩ is Gaussian with deviation ‖e‖: it exceeds t·‖e‖ with
    probability 2e^{-t²/2}, so t = √(2·log(2/α)) keeps the false alarms below α. `arrays` are the
    given ones in another dtype, and `limit` is what it may lose.
    """
    arrays = [jnp.asarray(each) for each in given.arrays.values()] if arrays is None else arrays
    limit, label = limit or roundings(given), f"{given.label}, {arrays[0].dtype}"
    out, pull = jax.vjp(lambda *a: call(given, *a), *arrays)
    change = jnp.asarray(rng.normal(size=out.shape), out.dtype)
    rows = [apart(f"{label}: output", out, definition.attend(given), limit)]
    spread = math.sqrt(2 * math.log(2 * 3 * len(MECHANISMS) / setting.false_alarm))
    for name, gradient in zip(given.arrays, pull(change), strict=True):
        direction, found = rng.normal(size=gradient.shape), np.asarray(gradient, np.float64)
        exact = definition.slope(given, name, direction, np.asarray(change, np.float64))
        allowed = spread * limit * float(np.linalg.norm(found))
        seen = float(np.sum(found * direction))
        rows.append(Row(f"{label}: gradient in {name}", seen, exact, allowed))
    return rows


def mixed(rng: np.random.Generator) -> Given:
    """Causal: late keys exceed the scale of their feature by e^85, and the past still weighs.

    ω = ±30, q = -1.32: keys near 0 have weight e^39.6 by one feature, keys of 3 e^45.9 by the
    other. Rows from 130 on are summed pair by pair, and the first chunk holds 128 of their keys.
    """
    length, late = CAUSAL + 9, 130
    k = np.where(np.arange(length) < late, 0.01 * rng.normal(size=length), 3.0)
    return Given(
        "oprf",
        np.full((1, length, 1, 1), -1.32),
        k.reshape(1, length, 1, 1),
        rng.normal(size=(1, length, 1, VALUES)),
        np.array([30.0, -30.0]).reshape(1, 2, 1),
        np.ones((1, 1)),
        np.ones((1, length), bool),
        True,
        1.0,
    )


def steep(rng: np.random.Generator) -> Given:
    """Causal: the first key stands e^50 below all others."""
    given = CAUSAL_SHAPE.draw("elu", rng)
    k = -np.abs(given.k)
    k[:, 0] -= STEEP / given.scale**0.5
    return replace(given, k=k, mask=np.ones_like(given.mask))


def equality(shape: Shape, plain: tuple[str, ...]) -> Run:
    """A check of outputs, and gradients of FAVOR++; from effort 2 on, of every mechanism.

    One case has inputs so large that no exponential of a feature fits a float64. Under causality
    another has sums of both routes in one row.
    """

    def run(setting: Setting) -> Outcome:
        rng, rows = np.random.default_rng(setting.seed), []
        with jax.enable_x64(True):
            for name in ("oprf",) if setting.effort < 2 else MECHANISMS:
                rows += with_gradients(shape.draw(name, rng), setting, rng)
            rows += [outputs(shape.draw(name, rng)) for name in plain]
            rows.append(outputs(shape.draw("oprf", rng, LARGE)))
            if shape.is_causal:
                rows.append(outputs(mixed(rng)))
        return outcome(rows, "outputs and gradients against the definition in float64")

    return run


def future(setting: Setting) -> Outcome:
    """Every later token drawn anew, up to 1e4 times as large: earlier outputs keep every bit.

    And no gradient of an earlier output reaches a later token.
    """
    rng, rows = np.random.default_rng(setting.seed), []
    with jax.enable_x64(True):
        for name in ("oprf",) if setting.effort < 2 else MECHANISMS:
            given = CAUSAL_SHAPE.draw(name, rng)
            given = replace(given, mask=np.ones_like(given.mask))
            out, pull = jax.vjp(lambda *a, g=given: call(g, *a), *given.arrays.values())
            for at in (0, 5, 126, 127, 128):
                later = np.arange(CAUSAL)[None, :, None, None] > at
                size = 10.0 ** rng.integers(-1, 5)
                moved = [
                    np.where(later, size * rng.normal(size=each.shape), each)
                    for each in given.arrays.values()
                ]
                other = call(given, *moved)
                label = f"{name}: outputs up to {at} that change"
                changed = np.sum(np.asarray(out != other)[:, : at + 1])
                rows.append(Row(label, float(changed), 0.0, 0.0))
                change = jnp.where(later, 0, jnp.ones_like(out))
                reached = sum(float(jnp.sum((g != 0) & later)) for g in pull(change))
                rows.append(Row(f"{name}: gradients beyond {at}", reached, 0.0, 0.0))
    return outcome(rows, "later tokens and what feels them")


def _fitted(given: Given, q: Any, k: Any, v: Any) -> Array:
    """As `call`, with ρ fitted to the arrays."""
    made = crt.FavorAttention(FEATURES, block_size=BLOCK)
    return made(q, k, v, given.omega, given.mask, scale=given.scale)


def _squares(given: Given, q: Any, k: Any, v: Any) -> Array:
    """Squares of outputs, queries masked like keys."""
    made = crt.FavorAttention(FEATURES, block_size=BLOCK)
    rest = (given.omega, given.mask, given.is_causal, given.rho)
    return jnp.sum(made(q, k, v, *rest, scale=given.scale, query_mask=given.mask) ** 2)


def pads(setting: Setting) -> Outcome:
    """NaN in masked places reaches no bit of output or gradients, nor do ρ's statistics see it.

    Under `jit`, for a concrete NaN in a query that counts is refused before anything is computed.
    """
    rng, rows = np.random.default_rng(setting.seed), []
    with jax.enable_x64(True):
        for is_causal in (False, True):
            length = CAUSAL if is_causal else KEYS
            given = Shape(length, length, is_causal).draw("oprf", rng)
            shown = given.mask[:, :, None, None]
            loud = [np.where(shown, each, np.nan) for each in given.arrays.values()]
            run = jax.jit(partial(call, given) if is_causal else partial(_fitted, given))
            out, other = run(*given.arrays.values()), run(*loud)
            label = "causal" if is_causal else "fitted ρ"
            changed = np.sum(np.asarray((out != other) & shown))
            rows.append(Row(f"{label}: outputs that feel a pad", float(changed), 0.0, 0.0))
            hidden = float(np.sum(np.asarray(out)[-1] != 0))
            rows.append(Row(f"{label}: outputs of no keys that are not 0", hidden, 0.0, 0.0))
            pull = jax.jit(jax.grad(partial(_squares, given), (0, 1, 2)))
            pairs = zip(pull(*given.arrays.values()), pull(*loud), strict=True)
            felt = sum(float(jnp.sum(one != other)) for one, other in pairs)
            rows.append(Row(f"{label}: gradients that feel a pad", felt, 0.0, 0.0))
    return outcome(rows, "what stands in masked places")


def fitted_rho(setting: Setting) -> Outcome:
    """The ρ that a call fits is ρ* at the mean of scale·‖q_i + k_j‖² of its element and head.

    Seen through the outputs: those with ρ fitted are those of the definition with that ρ, and no
    gradient flows through it.
    """
    rng = np.random.default_rng(setting.seed)
    given = Shape(KEYS, KEYS, False).draw("oprf", rng)
    mask = given.mask | (np.arange(BATCH) == BATCH - 1)[:, None]
    sums = given.q[:, :, None] + given.per_query_head(given.k)[:, None]
    z = given.scale * np.sum(sums**2, axis=-1)
    counted = np.broadcast_to((mask[:, :, None] & mask[:, None, :])[..., None], z.shape)
    mean = np.mean(z, axis=(1, 2), where=counted)
    given = replace(given, rho=printed_rho(mean), mask=mask)
    with jax.enable_x64(True):
        out, pull = jax.vjp(lambda q: _fitted(given, q, given.k, given.v), given.q)
        change = rng.normal(size=out.shape)
        (gradient,) = pull(jnp.asarray(change))
        direction = rng.normal(size=given.q.shape)
        found = float(np.sum(np.asarray(gradient) * direction))
    exact = definition.slope(given, "q", direction, change)
    spread = math.sqrt(2 * math.log(2 / setting.false_alarm))
    allowed = spread * LIMIT * float(np.linalg.norm(gradient))
    rows = [
        apart("output with a fitted ρ", out, definition.attend(given), LIMIT),
        Row("gradient with ρ held", found, exact, allowed),
        long_rho(rng, given.scale),
    ]
    return outcome(rows, "ρ of each batch element and head")


def printed_rho(z: np.ndarray) -> np.ndarray:
    """ρ* = (√((2z+d)² + 8dz) - 2z - d)/(4z), Theorem 3.3 as printed."""
    root = np.sqrt((2 * z + DIM) ** 2 + 8 * DIM * z)
    return (root - 2 * z - DIM) / (4 * z)


def long_rho(rng: np.random.Generator, scale: float) -> Row:
    """The ρ that is calibrated on a sequence of LONG rows, some of them masked, which grow."""
    q, k = (rng.normal(size=(1, LONG, n, DIM)) for n in (HEADS, KEY_HEADS))
    growing = np.linspace(0.5, 2, LONG)[:, None, None]
    q, k, mask = growing * q, growing * k, rng.random((1, LONG)) < 0.67
    with jax.enable_x64(True):
        made = crt.FavorAttention(FEATURES)
        found = made.calibrate(jnp.asarray(q), jnp.asarray(k), jnp.asarray(mask), scale=scale)
    x, y = q[mask], np.repeat(k[mask], HEADS // KEY_HEADS, axis=1)
    means = [np.mean(np.sum(each**2, axis=-1), axis=0) for each in (x, y)]
    z = means[0] + means[1] + 2 * np.sum(np.mean(x, axis=0) * np.mean(y, axis=0), axis=-1)
    return apart("ρ of a long sequence", found, printed_rho(scale * z), LIMIT)


def rounded(
    given: Given, dtype: str, limit: float, setting: Setting, rng: np.random.Generator
) -> list[Row]:
    """Outputs and gradients in a dtype, against the definition at what is left after rounding."""
    arrays = [jnp.asarray(each, dtype) for each in given.arrays.values()]
    wide = [np.asarray(each, np.float64) for each in arrays]
    narrow = {
        name: None if value is None else value.astype(np.float32).astype(float)
        for name, value in (("omega", given.omega), ("rho", given.rho))
    }
    left = replace(given, **dict(zip(given.arrays, wide, strict=True)), **narrow)
    return with_gradients(left, setting, rng, arrays, limit)


def precision(setting: Setting) -> Outcome:
    """Each dtype against the definition in float64 on the same rounded inputs, unit scale.

    Gradients too; sums are in float32, so a narrower dtype adds the rounding of the result alone.
    Every dtype in one mode at effort 1, in both from effort 2 on. One case has steep keys.
    """
    rng, rows = np.random.default_rng(setting.seed), []
    cases = [(shape, *each) for shape in (BIDIRECTIONAL, CAUSAL_SHAPE) for each in LIMITS.items()]
    for shape, dtype, limit in cases:
        if setting.effort >= 2 or shape.is_causal == (dtype == "float16"):
            rows += rounded(shape.draw("oprf", rng), dtype, limit, setting, rng)
    # Logarithms of this size are rounded by as much, and every weight with them.
    limit = max(LIMITS["float32"], 4 * STEEP * float(np.finfo(np.float32).eps))
    rows += rounded(steep(rng), "float32", limit, setting, rng)
    return outcome(rows, "half and single precision against float64")


def linear(setting: Setting, attend: Callable[..., Any] = crt.FavorAttention.__call__) -> Outcome:
    """Arithmetic of the traced programs: doubling L, M or d at most doubles it.

    Forward and backward, counted in the jaxpr, loops by their length. No array has L × M entries.
    """
    rows = []
    base = {"length": 2048, "features": 128, "dim": 16}
    for is_causal in (False, True):

        def trace(length: int, features: int, dim: int, is_causal: Any = is_causal) -> Any:
            made = crt.FavorAttention(features, "pos", block_size=128)
            x, omega = jnp.ones((1, length, 1, dim)), jnp.ones((features, dim))

            def total(q: Array, k: Array, v: Array) -> Array:
                return jnp.sum(attend(made, q, k, v, omega, is_causal=is_causal))

            return jax.make_jaxpr(jax.grad(total, (0, 1, 2)))(x, x, x)

        once, mode = trace(**base), "causal" if is_causal else "bidirectional"
        for what, size in base.items():
            ratio = operations(trace(**base | {what: 2 * size})) / operations(once)
            rows.append(Row(f"{mode}: operations, {what} doubled", ratio, 2.0, 0.0, one_sided=True))
        limit = base["length"] * base["features"] / 2
        rows.append(Row(f"{mode}: largest array", largest_array(once), limit, 0.0, one_sided=True))
    return outcome(rows, "operations in the traced programs, gradients included")


def _all_pairs(made: Any, q: Any, k: Any, v: Any, omega: Any, is_causal: bool) -> Any:
    return jnp.einsum("bnts,bsnv->btnv", made.rows(q, k, omega, is_causal=is_causal), v)


def checks() -> list[Check]:
    """All checks of attention."""
    bidirectional = equality(BIDIRECTIONAL, ("trig", "elu"))
    causal = equality(CAUSAL_SHAPE, ("relu",))
    return [
        Check(
            "attention-bidirectional",
            ("attention-estimator", "attention-gradients"),
            "certificate",
            "outputs and gradients are those of the normalised estimates, pair by pair",
            bidirectional,
            planted(
                bidirectional,
                "attention-epsilon",
                "attention-denominator-epsilon",
                "attention-stale-maximum",
                "attention-wrong-axis",
                "attention-no-maximum",
                "attention-vjp-factor",
                "attention-query-vjp-factor",
                "attention-lost-rest",
                "attention-wrong-group",
                "attention-unsummed-group",
                "attention-pads-seen",
                "attention-half-offset",
                "attention-no-key-norm",
                "attention-scale-for-root",
                "attention-one-wave",
                "attention-elu-for-relu",
            ),
        ),
        Check(
            "attention-causal",
            ("attention-estimator", "attention-gradients"),
            "certificate",
            "causal outputs and gradients are those of the masked, normalised estimates",
            causal,
            planted(
                causal,
                "attention-missed-own-key",
                "attention-forgotten-past",
                "attention-causal-vjp-factor",
                "attention-rise-ignored",
                "attention-exact-percent",
                "attention-no-relu-offset",
            ),
        ),
        Check(
            "attention-future",
            ("attention-causality",),
            "certificate",
            "no later token changes an earlier output by a bit; gradients to the future are 0",
            future,
            planted(future, "attention-leaked-future", "attention-chunk-scale"),
        ),
        Check(
            "attention-pads",
            ("attention-pads",),
            "certificate",
            "what stands in masked places reaches no bit of output or gradients",
            pads,
            planted(
                pads,
                "attention-pads-in-statistics",
                "attention-pads-in-sums",
                "attention-pads-in-gradients",
            ),
        ),
        Check(
            "attention-rho",
            ("attention-rho",),
            "certificate",
            "ρ is fitted to each batch element and head, and held in the gradient",
            fitted_rho,
            planted(
                fitted_rho,
                "attention-one-rho",
                "attention-batch-rho",
                "attention-rho-in-gradient",
                "attention-rho-lane",
                "attention-rho-rest",
                "blocks-fit",
            ),
        ),
        Check(
            "attention-precision",
            ("attention-estimator",),
            "certificate",
            "float32, bfloat16 and float16 stay within 1e-5, 5e-3 and 1e-3 of float64",
            precision,
            planted(precision, "attention-half-sums", "attention-lost-square"),
            quick=False,
        ),
        Check(
            "attention-linear",
            ("attention-linear",),
            "certificate",
            "arithmetic, gradients included, grows linearly in L, M and d; no L × M array appears",
            lambda setting: linear(setting),
            (("all pairs evaluated", lambda setting: linear(setting, _all_pairs)),),
        ),
        *attention_means.checks(),
    ]
