"""Faults of the samplers."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from crt import projections
from crt.mechanisms import discrete
from verification.faults.fault import Fault, with_argument


def _directions(key: Any, blocks: int, d: int, dtype: Any) -> Any:
    return jax.random.orthogonal(key, d, (blocks,), dtype).reshape(-1, d)


def _lengths(key: Any, m: int, d: int, dtype: Any) -> Any:
    return jnp.linalg.norm(jax.random.normal(key, (m, d), dtype), axis=-1, keepdims=True)


def raw_qr(_: Any) -> Any:
    def orthogonal(key: Any, m: int, d: int, dtype: Any = None) -> Any:
        first, second = jax.random.split(key)
        q, _ = jnp.linalg.qr(jax.random.normal(first, (-(-m // d), d, d), dtype))
        return _lengths(second, m, d, dtype) * q.reshape(-1, d)[:m]

    return orthogonal


def one_key(_: Any) -> Any:
    def orthogonal(key: Any, m: int, d: int, dtype: Any = None) -> Any:
        return _lengths(key, m, d, dtype) * _directions(key, -(-m // d), d, dtype)[:m]

    return orthogonal


def one_block(_: Any) -> Any:
    def orthogonal(key: Any, m: int, d: int, dtype: Any = None) -> Any:
        first, second = jax.random.split(key)
        same = jnp.tile(_directions(first, 1, d, dtype), (-(-m // d), 1))[:m]
        return _lengths(second, m, d, dtype) * same

    return orthogonal


def equal_lengths(_: Any) -> Any:
    def orthogonal(key: Any, m: int, d: int, dtype: Any = None) -> Any:
        return d**0.5 * _directions(key, -(-m // d), d, dtype)[:m]

    return orthogonal


def longer_lengths(_: Any) -> Any:
    def orthogonal(key: Any, m: int, d: int, dtype: Any = None) -> Any:
        first, second = jax.random.split(key)
        return _lengths(second, m, d + 1, dtype) * _directions(first, -(-m // d), d, dtype)[:m]

    return orthogonal


def repeated_rows(original: Any) -> Any:
    def iid(key: Any, m: int, d: int, dtype: Any = None) -> Any:
        rows = original(key, min(m, 64), d, dtype)
        return jnp.tile(rows, (-(-m // 64), 1))[:m]

    return iid


def shared_counts(original: Any) -> Any:
    def draw(key: Any, rates: Any, num_features: int, dim: int, dtype: Any) -> Any:
        return jnp.repeat(original(key, rates, num_features, dim, dtype)[:, :1], dim, axis=1)

    return draw


def first_entry(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Projections whose first coordinate is changed."""

    def faulty(original: Any) -> Any:
        def draw(*args: Any, **rest: Any) -> Any:
            omega = original(*args, **rest)
            return omega.at[:, 0].set(change(omega[:, 0]))

        return draw

    return faulty


def first_parameter(original: Any) -> Any:
    """Counts whose first coordinate has a parameter that is too large by 1 %."""

    def draw(key: Any, parameter: Any, num_features: int, dim: int, dtype: Any) -> Any:
        factors = jnp.ones(dim).at[0].set(1.01)
        return original(key, parameter * factors, num_features, dim, dtype)

    return draw


SAMPLERS = (
    Fault("raw-qr", "Q of QR without signs of R", projections, "orthogonal", raw_qr),
    Fault("one-key", "lengths drawn with the directions' key", projections, "orthogonal", one_key),
    Fault(
        "one-block",
        "one key for all blocks: the same directions in each",
        projections,
        "orthogonal",
        one_block,
    ),
    Fault("equal-lengths", "every length is √d", projections, "orthogonal", equal_lengths),
    Fault(
        "longer-lengths",
        "lengths of d+1 degrees of freedom",
        projections,
        "orthogonal",
        longer_lengths,
    ),
    Fault("repeated-rows", "one key for every 64 rows", projections, "iid", repeated_rows),
    Fault(
        "geometric-from-1",
        "counts of the geometric law start at 1",
        discrete,
        "geometric",
        lambda original: lambda *args: original(*args) + 1,
    ),
    Fault(
        "geometric-swapped",
        "p and 1-p swapped in the geometric law",
        discrete,
        "geometric",
        with_argument(1, lambda p: 1 - p),
    ),
    Fault(
        "shared-counts", "one Poisson count for all coordinates", discrete, "poisson", shared_counts
    ),
    Fault(
        "reversed-rates",
        "rates in the wrong order of coordinates",
        discrete,
        "poisson",
        with_argument(1, lambda rates: rates[::-1]),
    ),
    Fault(
        "rate-percent",
        "Poisson counts of rates too large by 1 %",
        discrete,
        "poisson",
        with_argument(1, lambda rates: 1.01 * rates),
    ),
    Fault(
        "chance-percent",
        "geometric counts of a p too large by 1 %",
        discrete,
        "geometric",
        with_argument(1, lambda p: 1.01 * p),
    ),
    Fault(
        "entries-percent",
        "independent rows too long by 1 %",
        projections,
        "iid",
        lambda original: lambda *args, **rest: 1.01 * original(*args, **rest),
    ),
    Fault(
        "lengths-percent",
        "orthogonal rows too long by 1 %",
        projections,
        "orthogonal",
        lambda original: lambda *args, **rest: 1.01 * original(*args, **rest),
    ),
    Fault(
        "first-entry-percent",
        "the first coordinate of independent rows too long by ½ %, its variance by 1 %",
        projections,
        "iid",
        first_entry(lambda x: 1.005 * x),
    ),
    Fault(
        "first-entry-shifted",
        "the first coordinate of independent rows moved by 1 % of its σ",
        projections,
        "iid",
        first_entry(lambda x: x + 0.01),
    ),
    Fault(
        "first-axis-percent",
        "the first coordinate of orthogonal rows too long by ½ %, its variance by 1 %",
        projections,
        "orthogonal",
        first_entry(lambda x: 1.005 * x),
    ),
    Fault(
        "first-rate-percent",
        "a rate too large by 1 % in the first coordinate alone",
        discrete,
        "poisson",
        first_parameter,
    ),
    Fault(
        "first-chance-percent",
        "a geometric law's p too large by 1 % in the first coordinate alone",
        discrete,
        "geometric",
        first_parameter,
    ),
)
