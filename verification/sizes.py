"""More points than one block holds: what is computed block by block, against parts or definitions.

Other checks look at few points, which fit into the first block of everything that is cut. Here the
rows of an estimate and the columns of a map are more than that, and `choose` looks at fewer rows
than the data has.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import crt
from crt.integrations import feature_map
from verification.attention import LIMIT, apart
from verification.checks import Check, Outcome, Setting
from verification.comparison import Row, outcome
from verification.faults import planted
from verification.shipped import estimator_variance

DIM, FEATURES, ROWS, COLUMNS = 2, 64, 70, 2100
"""64·2100 features of y leave room for 31 rows of x in one block of an estimate."""
WIDTH = 2**14
CHOSEN, POINTS, WANTED = 3, 8, 0.05


def estimates(rng: np.random.Generator) -> list[Row]:
    """Rows of K̂, together and in parts; and the operator in chunks of its own choice."""
    x, y = rng.normal(size=(ROWS, DIM)), rng.normal(size=(COLUMNS, DIM))
    omega, c = rng.normal(size=(FEATURES, DIM)), rng.normal(size=(COLUMNS, 1))
    mechanism = crt.OPRF(0.7)
    whole = crt.estimate_kernel(mechanism, omega, x, y)
    parts = np.concatenate(
        [crt.estimate_kernel(mechanism, omega, part, y) for part in np.split(x, 7)]
    )
    applied = crt.apply_kernel(mechanism, omega, x, y, c)
    # Sums of values with signs, of which a rounding each may be lost.
    allowed = COLUMNS * LIMIT
    return [
        apart("rows of an estimate", whole, parts, LIMIT),
        apart("the operator", applied, parts @ c, allowed),
    ]


def columns(rng: np.random.Generator) -> Row:
    """A map's columns of more rows than a block has, and of parts well within one."""
    x = rng.normal(size=(7 * (feature_map.BLOCK // WIDTH // 4), DIM))
    key = jax.random.key(int(rng.integers(2**31)))
    made = feature_map.FeatureMap.draw(crt.TrigRF(), key, DIM, WIDTH)
    parts = np.concatenate([made(part) for part in np.split(x, 7)])
    return apart("columns of a map", made(x), parts, LIMIT)


def chosen(setting: Setting) -> Outcome:
    """`choose` with few rows of a set against itself.

    A pair on the diagonal stands for one of n, another one for (n-1)/(rows-1) of n(n-1).
    """
    rng = np.random.default_rng(setting.seed)
    x = rng.uniform(-0.8, 0.8, size=(POINTS, DIM)).astype(np.float32)
    made = crt.choose(x, x, error=WANTED, budget=10**6, rows=CHOSEN)
    few = x[np.arange(CHOSEN) * POINTS // CHOSEN].astype(float)
    near, far = (p.reshape(-1, DIM) for p in np.broadcast_arrays(few[:, None], few[None]))
    same = np.eye(CHOSEN, dtype=bool).ravel()
    weights = np.where(same, 1.0, (POINTS - 1) / (CHOSEN - 1))
    with jax.enable_x64(True):
        wide: Any = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64), made.mechanism)
        given = made.num_features, made.orthogonal, "gaussian"
        variance = np.asarray(estimator_variance(wide, near, far, *given))
    squares = np.exp(-np.sum((near - far) ** 2, axis=-1))
    exact = float(np.sqrt(np.sum(weights * variance) / np.sum(weights * squares)))
    row = Row("predicted error", made.predicted_error, exact, 1e-6 * WANTED)
    return outcome([row], f"a choice by {CHOSEN} of {POINTS} rows")


def sizes(setting: Setting) -> Outcome:
    """Everything that is cut into blocks, with more than one block."""
    rng = np.random.default_rng(setting.seed)
    with jax.enable_x64(True):
        rows = [*estimates(rng), columns(rng)]
    return outcome(rows, "more points than one block holds")


def checks() -> list[Check]:
    """Blocks, and rows that stand for more."""
    return [
        Check(
            "interface-sizes",
            ("interface",),
            "certificate",
            "estimates and columns of more points than one block holds",
            sizes,
            planted(sizes, "blocks-estimate", "blocks-columns"),
            quick=False,
        ),
        Check(
            "interface-choice-rows",
            ("interface",),
            "certificate",
            "an error predicted from few rows of a set weighs its pairs as they are in the set",
            chosen,
            planted(chosen, "choice-weights"),
            quick=False,
        ),
    ]
