"""What users call beside the estimators, against definitions in NumPy or the same ω by another way.

Columns for other libraries, features spread over devices, `choose`, and of attention `calibrate`,
`rows`, `redraw` and `report`. Nothing here is random but the points: every number has one value.
"""

import itertools
import math
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import crt
from crt import estimate
from crt.integrations.feature_map import FeatureMap
from verification import attention_definition as definition
from verification.attention import BIDIRECTIONAL, FEATURES, KEYS, LIMIT, Shape, apart
from verification.checks import Check, Outcome, Setting
from verification.comparison import Row, outcome
from verification.faults import planted
from verification.gains import same_block
from verification.moments import ExponentialProduct
from verification.shipped import estimator_variance

DIM, POINTS, WIDTH, STRETCH = 2, 4, 6, 0.8
WANTED, BUDGET = 0.01, 10**6
"""The error that `choose` is asked for, reached well within the budget at these points."""


def _mechanisms(effort: float) -> dict[str, Any]:
    """Of pairs of waves, and of plain columns; from effort 2 on signed and shifted ones too."""
    made: dict[str, Any] = {"trig": crt.TrigRF(), "oprf": crt.OPRF(0.7)}
    if effort < 2:
        return made
    return made | {
        "gerf": crt.GERF(0.02, -1.0),
        "pois": crt.PoisRF(0.6),
        "geom+": crt.GeomRFPlus(0.6, np.full(DIM, -3.0)),
    }


def columns(setting: Setting) -> Outcome:
    """φ(x)·φ(y) of a map's columns is the kernel's estimate with the map's own ω.

    An odd number of columns ends in a cosine with a phase b; then 2cos(ω·x+πb)cos(ω·y+πb)/width
    is what the last projection of TrigRF gives.
    """
    rng, rows = np.random.default_rng(setting.seed), []
    x = rng.uniform(-1, 1, size=(POINTS, DIM))
    for number, (name, mechanism) in enumerate(_mechanisms(setting.effort).items()):
        with jax.enable_x64(True):
            key = jax.random.key(setting.seed + number)
            made = FeatureMap.draw(mechanism, key, DIM, WIDTH, stretch=STRETCH)
            near = STRETCH * x
            exact = estimate.estimate_kernel(mechanism, made.omega, near, near)
        phi = made(x)
        rows.append(apart(f"{name}: Gram matrix of the columns", phi @ phi.T, exact, LIMIT))
    odd = FeatureMap.draw(crt.TrigRF(), jax.random.key(setting.seed), DIM, WIDTH - 1)
    angles, last = x @ odd.omega.T, np.pi * odd.phases[-1]
    pairs = np.cos(angles[:, None] - angles[None])[..., :-1].sum(axis=-1)
    wave = np.cos(angles[:, -1] + last)
    exact, phi = 2 / (WIDTH - 1) * (pairs + np.outer(wave, wave)), odd(x)
    rows.append(apart("trig: an odd number of columns", phi @ phi.T, exact, LIMIT))
    return outcome(rows, "columns against estimates with the same projections")


def shards(setting: Setting) -> Outcome:
    """Features over a mapped axis, two rows of ω each, give what all of them give together."""
    rng, rows = np.random.default_rng(setting.seed), []
    x, y = rng.normal(size=(2, POINTS, DIM))
    c = rng.normal(size=(POINTS, 1))

    def part(omega: Any, mechanism: Any) -> Any:
        summary = crt.summarise(mechanism, omega, y, c)
        scaled = crt.read_scaled(mechanism, omega, x, summary)
        return estimate.unscale(*estimate.mean_over_features(scaled, "part"))

    with jax.enable_x64(True):
        for mechanism in (crt.PosRF(), crt.TrigRF()):
            omega = jnp.asarray(rng.normal(size=(WIDTH, DIM)))
            parts = omega.reshape(-1, 2, DIM)
            found = jax.vmap(part, in_axes=(0, None), axis_name="part")(parts, mechanism)
            whole = estimate.estimate_kernel(mechanism, omega, x, y) @ c
            rows.append(apart(mechanism.name, found, np.broadcast_to(whole, found.shape), LIMIT))
    return outcome(rows, "features over a mapped axis against all together")


def _error(mechanism: Any, m: int, orthogonal: bool, x: np.ndarray, y: np.ndarray) -> float:
    """(Σ Var K̂ / Σ K²)^{1/2} over all pairs."""
    wide = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64), mechanism)
    near, far = (p.reshape(-1, DIM) for p in np.broadcast_arrays(x[:, None], y[None]))
    variance = estimator_variance(wide, near, far, m, orthogonal, "gaussian")
    kernel = np.exp(-0.5 * np.sum((near - far) ** 2, axis=-1))
    return float(np.sqrt(np.sum(np.asarray(variance)) / np.sum(kernel**2)))


def choice(setting: Setting, size: float = 1.0) -> Outcome:
    """`choose` predicts the formula's error, reaches what is asked, and does not with M-1.

    `size` times what it predicts is compared.
    """
    rng = np.random.default_rng(setting.seed)
    x, y = rng.uniform(-0.8, 0.8, size=(2, POINTS, DIM)).astype(np.float32)
    made = crt.choose(x, y, error=WANTED, budget=BUDGET)
    m = made.num_features
    with jax.enable_x64(True):
        exact, before = (
            _error(made.mechanism, n, made.orthogonal, x.astype(float), y.astype(float))
            for n in (m, max(m - 1, 1))
        )
    allowed = 1e-6 * WANTED
    rows = [
        Row("predicted error", size * made.predicted_error, exact, allowed),
        Row("error above what was asked for", exact, WANTED, allowed, one_sided=True),
        Row("what was asked for, above the error with M-1", WANTED, before, allowed, True),
    ]
    return outcome(rows, f"a choice of {made.mechanism.name} with M = {m}")


def calibrate(setting: Setting) -> Outcome:
    """ρ of each head is ρ* at the mean of scale·‖q_i+k_j‖² over the shown pairs of the batch."""
    rng, rows = np.random.default_rng(setting.seed), []
    given = Shape(KEYS, KEYS, False).draw("oprf", rng)
    attend, d = crt.FavorAttention(FEATURES), given.q.shape[-1]
    q, k = (each.reshape(-1, *each.shape[2:]) for each in (given.q, given.per_query_head(given.k)))
    z = given.scale * np.sum((q[:, None] + k[None]) ** 2, axis=-1)
    with jax.enable_x64(True):
        for label, mask in (("no mask", np.ones_like(given.mask)), ("masked", given.mask)):
            shown = mask.ravel()
            mean = np.mean(z[np.ix_(shown, shown)], axis=(0, 1))
            # ρ* = (√((2z+d)² + 8dz) - 2z - d)/(4z), Theorem 3.3 as printed.
            exact = (np.sqrt((2 * mean + d) ** 2 + 8 * d * mean) - 2 * mean - d) / (4 * mean)
            arrays = (jnp.asarray(given.q), jnp.asarray(given.k))
            found = attend.calibrate(*arrays, jnp.asarray(mask), scale=given.scale)
            rows.append(apart(f"ρ of the batch, {label}", found, exact, LIMIT))
    return outcome(rows, "ρ pooled over the batch, for each head")


def attention_rows(setting: Setting) -> Outcome:
    """`rows` are the definition's weights over their sum, both ways of looking."""
    rng, rows = np.random.default_rng(setting.seed), []
    for name, is_causal in (("oprf", False), ("oprf", True), ("relu", True)):
        shape = Shape(KEYS, KEYS, True) if is_causal else BIDIRECTIONAL
        given = shape.draw(name, rng)
        total = np.sum(matrix := definition.weights(given), axis=-1, keepdims=True)
        with jax.enable_x64(True):
            found = crt.FavorAttention(FEATURES, name).rows(
                jnp.asarray(given.q),
                jnp.asarray(given.k),
                jnp.asarray(given.omega),
                given.rho if name == "oprf" else None,
                given.mask,
                is_causal,
                scale=given.scale,
            )
        exact = matrix / np.where(total == 0, 1, total)
        rows.append(apart(f"{given.label}: rows", found, exact, LIMIT))
    return outcome(rows, "attention rows against the definition")


def redraw(setting: Setting) -> Outcome:
    """Projections of a step, a layer and a head: the same bits again, and others elsewhere.

    For one head as for many, and at steps and layers that a sum of the two would confuse.
    """
    attend, rows = crt.FavorAttention(2 * DIM), []
    key, heads = jax.random.key(setting.seed), jnp.arange(2)
    places = list(itertools.product(range(2), range(2)))
    drawn = {
        (step, layer): np.asarray(attend.redraw(key, DIM, step=step, layer=layer, head=heads))
        for step, layer in places
    }
    single = attend.redraw(key, DIM, step=0, layer=1, head=1)
    changed = float(np.sum(np.asarray(single) != drawn[0, 1][1]))
    rows.append(Row("entries of one head that differ from those among others", changed, 0.0, 0.0))
    every = np.concatenate([drawn[place] for place in places])
    alike = sum(float(np.all(a == b)) for a, b in itertools.combinations(every, 2))
    rows.append(Row("pairs of places with the same projections", alike, 0.0, 0.0))
    blocks = every.reshape(-1, DIM, DIM)
    products = np.sum(blocks[:, 0] * blocks[:, 1], axis=-1)
    rows.append(Row("product of two rows of a block", float(np.max(np.abs(products))), 0.0, 1e-5))
    return outcome(rows, "projections by step, layer and head")


def _pair_moments(
    q: np.ndarray, k: np.ndarray, omega: np.ndarray, a: float, orthogonal: bool
) -> dict[str, np.ndarray]:
    """For q (T, d), k (S, d): K, Var K̂, E[X_ij X_il] and the estimate with ω (M, d), A = a."""
    draws, d = omega.shape
    norms = np.sum(q**2, axis=-1)[:, None] + np.sum(k**2, axis=-1)
    sums = q[:, None] + k[None]

    def variance(z: float, n: float) -> float:
        law = ExponentialProduct(a, 1, d, z, n, True)
        pairs = same_block(draws, d) * (law.joint(1, 1) - law.joint(1) ** 2) if orthogonal else 0
        return law.single().variance / draws + pairs / draws**2

    both = np.sum((sums[:, :, None] + sums[:, None, :]) ** 2, axis=-1)
    b, c = 1 - 4 * a, 1 - 8 * a
    log_joint = d * math.log(b) - d / 2 * math.log(c) + b * both / (2 * c)
    own = 2 * a * np.sum(omega**2, axis=-1) + d / 2 * math.log(b)
    return {
        "kernel": np.exp(q @ k.T),
        "variance": np.vectorize(variance)(np.sum(sums**2, axis=-1), norms),
        "joint": np.exp(log_joint - (norms[:, :, None] + norms[:, None, :]) / 2),
        "estimate": np.mean(
            np.exp(own + math.sqrt(b) * sums @ omega.T - norms[..., None] / 2), axis=-1
        ),
    }


def attention_report(setting: Setting) -> Outcome:
    """Predicted and observed errors of one head, from moments pair by pair.

    FAVOR+ with independent projections, FAVOR++ with orthogonal ones.
    """
    rows = []
    for name, orthogonal in (("pos", False), ("oprf", True)):
        rng = np.random.default_rng(setting.seed)
        given = replace(BIDIRECTIONAL, queries=3, keys=4).draw(name, rng, 0.5)
        q, k, v = (each[:1, :, :1] for each in given.arrays.values())
        rho = given.rho[0, 0] if name == "oprf" else 1.0
        with jax.enable_x64(True):
            attend = crt.FavorAttention(FEATURES, name, orthogonal=orthogonal)
            own = np.full(1, rho) if name == "oprf" else None
            found = attend.report(q, k, v, given.omega[0], rho=own, scale=given.scale)
        root = np.sqrt(given.scale)
        parts = root * q[0, :, 0], root * k[0, :, 0], given.omega[0]
        m = _pair_moments(*parts, (1 - 1 / rho) / 8, orthogonal)
        wanted = _report_squares(m, v[0, :, 0])
        rows += [
            apart(f"{name}: {key.replace('_', ', ')}", getattr(found, key), np.sqrt([square]), 1e-9)
            for key, square in wanted.items()
        ]
    return outcome(rows, "a report's errors against moments pair by pair")


def _report_squares(m: dict[str, np.ndarray], v: np.ndarray) -> dict[str, float]:
    """Squares of a report's errors, from the moments of all pairs and values v (S, V)."""
    z = np.sum(m["kernel"], axis=-1, keepdims=True)
    exact, estimated = m["kernel"] / z, m["estimate"] / z
    out = exact @ v
    away = v[None] - out[:, None]
    spread = np.sum(m["joint"] / z[..., None] ** 2 * (away @ away.swapaxes(1, 2))) / FEATURES
    applied = estimated @ v / np.sum(estimated, axis=-1, keepdims=True)
    kernel, output = np.sum(exact**2), np.sum(out**2)
    return {
        "kernel_predicted": np.sum(m["variance"] / z**2) / kernel,
        "output_predicted": spread / output,
        "kernel_observed": np.sum((estimated - exact) ** 2) / kernel,
        "output_observed": np.sum((applied - out) ** 2) / output,
    }


def checks() -> list[Check]:
    """All checks of this module."""

    def check(name: str, claim: str, summary: str, run: Any, *faults: str, quick: bool = True):
        return Check(
            name, (claim,), "certificate", summary, run, planted(run, *faults), quick=quick
        )

    return [
        check(
            "interface-columns",
            "interface",
            "products of a feature map's columns are the kernel's estimates",
            columns,
            "columns-scaled",
            "waves-scaled",
        ),
        check(
            "interface-shards",
            "interface",
            "features spread over devices estimate what they estimate together",
            shards,
            "shards-scaled",
            "shards-unscaled",
        ),
        Check(
            "interface-choice",
            ("interface",),
            "certificate",
            "the least M for an error is chosen, and the error is the formula's",
            choice,
            (("predictions too large by 1 %", lambda setting: choice(setting, 1.01)),),
            quick=False,
        ),
        check(
            "attention-calibrate",
            "attention-rho",
            "a calibrated ρ is ρ* at the mean over the whole batch, masks and groups heeded",
            calibrate,
            "calibrate-scaled",
            "calibrate-first-element",
            "attention-pads-in-statistics",
        ),
        check(
            "attention-rows",
            "attention-estimator",
            "rows are the normalised estimates, pair by pair",
            attention_rows,
            "rows-wrong-group",
        ),
        check(
            "attention-redraw",
            "interface",
            "projections by step, layer and head repeat, and differ between places",
            redraw,
            "redraw-sum",
            "redraw-one-head",
        ),
        check(
            "attention-report",
            "interface",
            "a report's errors are those of the moments, pair by pair",
            attention_report,
            "report-percent",
            "report-no-gain",
            quick=False,
        ),
    ]
