"""Faults of Nadaraya–Watson regression and classification."""

from typing import Any

import jax.numpy as jnp

from crt import regression
from verification.faults.fault import Fault


def altered_last(change: Any) -> Any:
    """The sums' last column, the normaliser of `regress`, changed."""

    def faulty(original: Any) -> Any:
        def read_scaled(*args: Any, **names: Any) -> Any:
            sums, log_scale = original(*args, **names)
            last = jnp.broadcast_to(change(sums[..., -1:]), sums[..., -1:].shape)
            return jnp.concatenate([sums[..., :-1], last], axis=-1), log_scale

        return read_scaled

    return faulty


def lost_chunk(original: Any) -> Any:
    """Without the first chunk, where there are several."""

    def summarise(mechanism: Any, omega: Any, y: Any, c: Any, *, chunk: int, **names: Any) -> Any:
        first = chunk if chunk < y.shape[-2] else 0
        return original(
            mechanism, omega, y[..., first:, :], c[..., first:, :], chunk=chunk, **names
        )

    return summarise


def same_side(original: Any) -> Any:
    """e^{iω·y} in place of e^{-iω·y}: keys take the features of queries."""

    def summarise(mechanism: Any, omega: Any, *rest: Any, **names: Any) -> Any:
        turned = -omega if mechanism.complex_features else omega
        return original(mechanism, turned, *rest, **names)

    return summarise


def reversed_values(original: Any) -> Any:
    """Values in the wrong order of the rows of y."""

    def summarise(mechanism: Any, omega: Any, y: Any, c: Any, **names: Any) -> Any:
        return original(mechanism, omega, y, c[..., ::-1, :], **names)

    return summarise


def one_query(original: Any) -> Any:
    """Every query read at the mean of the queries."""

    def read_scaled(mechanism: Any, omega: Any, x: Any, *rest: Any, **names: Any) -> Any:
        return original(mechanism, omega, x.mean(-2, keepdims=True) + 0 * x, *rest, **names)

    return read_scaled


REGRESSION = (
    Fault(
        "regression-no-normaliser",
        "the weights of regress are not divided by their sum",
        regression,
        "read_scaled",
        altered_last(jnp.ones_like),
    ),
    Fault(
        "regression-wrong-axis",
        "the normaliser summed over queries in place of keys",
        regression,
        "read_scaled",
        altered_last(lambda sums: jnp.sum(sums, axis=-2, keepdims=True)),
    ),
    Fault(
        "regression-lost-chunk",
        "the first chunk of y left out",
        regression,
        "summarise",
        lost_chunk,
    ),
    Fault(
        "regression-reversed-values",
        "values or labels in the wrong order of their rows",
        regression,
        "summarise",
        reversed_values,
    ),
    Fault(
        "regression-same-side",
        "complex features of queries taken for keys",
        regression,
        "summarise",
        same_side,
    ),
    Fault(
        "regression-one-query",
        "every query read as the mean of all",
        regression,
        "read_scaled",
        one_query,
    ),
)
