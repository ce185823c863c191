"""Every refusal is one sentence that names the argument, what came and what is accepted."""

import re
from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest

import crt
from crt import errors

X, Y, C = np.ones((4, 3)), np.ones((5, 3)), np.ones((5, 2))
OMEGA = np.ones((6, 3))
KEY = jax.random.key(0)
BAD = np.array([[1.0, np.nan, 0.0]])
SUMMARY = crt.summarise(crt.PosRF(), OMEGA, Y, C)
PAIR = crt.summarise(crt.PosRF(), OMEGA, np.stack([Y, Y]), np.stack([C, C]))


@pytest.fixture(autouse=True)
def _plain_calls() -> Iterator[None]:
    """Users have no shape checker installed; here it would answer first."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


REFUSALS: dict[str, tuple[Callable[[], object], str]] = {
    "unknown mechanism": (lambda: crt.MECHANISMS["rff"], r"no mechanism 'rff'; known are 'trig'"),
    "unknown kernel": (
        lambda: crt.apply_kernel(crt.PosRF(), OMEGA, X, Y, C, kernel="laplace"),
        r"kernel is 'laplace'; accepted are 'gaussian', 'softmax'",
    ),
    "unknown side": (
        lambda: crt.PosRF().features(X, OMEGA, "z"),
        r"side is 'z'; accepted are 'x', 'y'",
    ),
    "no mechanism": (
        lambda: crt.apply_kernel("oprf", OMEGA, X, Y, C),  # pyright: ignore[reportArgumentType]
        r"mechanism is 'oprf'; it must be a mechanism",
    ),
    "one axis": (
        lambda: crt.PosRF().features(np.ones(3), OMEGA),
        r"x has shape \(3,\); it must be \(\.\.\., rows, dim\)",
    ),
    "three axes in fit": (
        lambda: crt.OPRF.fit(np.ones((2, 4, 3)), Y),
        r"x has shape \(2, 4, 3\); it must be \(rows, dim\)",
    ),
    "no coordinates": (lambda: crt.OPRF.fit(np.ones((4, 0)), Y), r"x has shape \(4, 0\)"),
    "no rows in fit": (lambda: crt.OPRF.fit(X[:0], Y), r"x has shape \(0, 3\).* at least one row"),
    "no rows of y": (
        lambda: crt.apply_kernel(crt.PosRF(), OMEGA, X, Y[:0], C[:0]),
        r"y has shape \(0, 3\); it must have at least one row",
    ),
    "no rows of x": (
        lambda: crt.estimate_kernel(crt.PosRF(), OMEGA, X[:0], Y),
        r"x has shape \(0, 3\); it must have at least one row",
    ),
    "no features": (lambda: crt.PosRF().sample(KEY, 0, 3), r"num_features is 0; it must be an int"),
    "half a feature": (
        lambda: crt.PosRF().sample(KEY, 2.5, 3),  # pyright: ignore[reportArgumentType]
        r"num_features is 2\.5; it must be an integer of at least 1",
    ),
    "no dimension": (lambda: crt.projections.iid(KEY, 3, 0), r"d is 0; it must be an integer"),
    "no chunk": (
        lambda: crt.apply_kernel(crt.PosRF(), OMEGA, X, Y, C, chunk=0),
        r"chunk is 0; it must be an integer of at least 1",
    ),
    "NaN": (lambda: crt.OPRF.fit(BAD, Y), r"x holds NaN or infinity; every entry must be finite"),
    "infinity": (
        lambda: crt.kernels.gaussian(X, np.inf * Y),
        r"y holds NaN or infinity; every entry must be finite",
    ),
    "complex": (lambda: crt.PosRF().features(1j * X, OMEGA), r"x has dtype complex.*real numbers"),
    "text": (
        lambda: crt.OPRF.fit("data", Y),  # pyright: ignore[reportArgumentType]
        r"x is a str; it must be an array of real numbers",
    ),
    "dim of y": (
        lambda: crt.OPRF.fit(X, np.ones((5, 2))),
        r"x has 3 coordinates and y has 2; they must have the same number",
    ),
    "dim of omega": (
        lambda: crt.PosRF().features(X, np.ones((6, 4))),
        r"x has 3 coordinates and omega has 4",
    ),
    "dim of a pair": (lambda: crt.PosRF().variance(X[0], Y[0, :2]), r"x has 3 .* y has 2"),
    "dim of rates": (
        lambda: crt.OptPoisRF(np.ones(2)).features(X, OMEGA),
        r"rates has shape \(2,\) and the data have 3 coordinates",
    ),
    "scalar rates": (
        lambda: crt.OptPoisRF(2.0).variance(X[0], Y[0]),
        r"rates has shape \(\) and the data have 3 coordinates",
    ),
    "dim of shift": (
        lambda: crt.PoisRFPlus(1.0, np.zeros(4)).features(X, OMEGA),
        r"shift has shape \(4,\) and the data have 3 coordinates",
    ),
    "batch of mechanisms": (
        lambda: crt.OPRF(np.array([0.5, 0.6])).features(X, OMEGA),
        r"rho has shape \(2,\); it must be one number.*vmap",
    ),
    "batch of mechanisms in sample": (
        lambda: crt.PoisRF(np.array([0.5, 0.6])).sample(KEY, 4, 3),
        r"rate has shape \(2,\); it must be one number.*vmap",
    ),
    "dim of shift in sample": (
        lambda: crt.GeomRFPlus(0.5, np.zeros(4)).sample(KEY, 4, 3),
        r"shift has shape \(4,\) and the data have 3 coordinates",
    ),
    "narrow projections": (
        lambda: crt.PoisRF(1.0).sample(KEY, 4, 3, dtype=jnp.bfloat16),
        r"dtype is bfloat16; it must be float32 or float64",
    ),
    "narrow normals": (
        lambda: crt.projections.iid(KEY, 4, 3, np.dtype("float16")),
        r"dtype is float16; it must be float32 or float64",
    ),
    "whole projections": (
        lambda: crt.projections.orthogonal(KEY, 4, 3, int),
        r"dtype is int; it must be float32 or float64",
    ),
    "no dtype": (lambda: crt.PosRF().sample(KEY, 4, 3, dtype="wide"), r"dtype is wide; it must"),
    "orthogonal discrete": (
        lambda: crt.PoisRF(1.0).sample(KEY, 4, 3, orthogonal=True),
        r"orthogonal is True, but PoisRF .* must be False",
    ),
    "orthogonal variance": (
        lambda: crt.GeomRF(0.5).estimator_variance(X[0], Y[0], 4, orthogonal=True),
        r"orthogonal is True, but GeomRF .* must be False",
    ),
    "rate 0": (lambda: crt.PoisRF(0.0), r"rate is 0\.0; it must be positive and finite"),
    "rate < 0": (lambda: crt.PoisRFPlus(-1.0, np.zeros(3)), r"rate is -1\.0; .* positive"),
    "a rate of 0": (lambda: crt.OptPoisRF(np.array([1.0, 0.0])), r"rates is .*; it must be pos"),
    "rates in a list": (
        lambda: crt.OptPoisRF([1.0, 2.0]),  # pyright: ignore[reportArgumentType]
        r"rates is a list; it must be a number or an array, positive and finite",
    ),
    "complex rho": (lambda: crt.OPRF(0.5 + 0j), r"rho has dtype complex128; .* real numbers, in"),
    "bool rate": (lambda: crt.PoisRF(True), r"rate has dtype bool; it must hold real numbers"),
    "text as p": (
        lambda: crt.GeomRF(np.array("a")),  # pyright: ignore[reportArgumentType]
        r"p has dtype <U1; it must hold real numbers",
    ),
    "bool A": (lambda: crt.GERF(False, 1.0), r"A has dtype bool; it must hold numbers, finite"),
    "p = 1": (lambda: crt.GeomRF(1.0), r"p is 1\.0; it must be strictly between 0 and 1"),
    "p NaN": (lambda: crt.GeomRFPlus(np.nan, np.zeros(3)), r"p is nan; it must be strictly"),
    "shift NaN": (lambda: crt.GeomRFPlus(0.5, np.array([np.nan])), r"shift is \[nan\]; .* finite"),
    "rho 0": (lambda: crt.OPRF(0.0), r"rho is 0\.0; it must be in \(0, 1\]"),
    "rho > 1": (lambda: crt.OPRF(1.5), r"rho is 1\.5; it must be in \(0, 1\]"),
    "A at the edge": (lambda: crt.GERF(0.125, 1.0), r"A is 0\.125; .* Re\(1-8A\) > 0"),
    "complex A": (lambda: crt.GERF(0.2 + 1j, 1.0), r"A is \(0\.2\+1j\); .* Re\(1-8A\) > 0"),
    "s": (lambda: crt.GERF(0.0, 2.0), r"s is 2\.0; it must be \+1 or -1"),
    "mask shape": (
        lambda: crt.OPRF.fit(X, Y, x_mask=np.ones(3, bool)),
        r"x_mask has shape \(3,\) and dtype bool; .* of the 4 rows",
    ),
    "mask dtype": (
        lambda: crt.OPRF.fit(X, Y, y_mask=np.ones(5)),
        r"y_mask has shape \(5,\) and dtype float32; .* one bool",
    ),
    "rows of c": (
        lambda: crt.apply_kernel(crt.PosRF(), OMEGA, X, Y, C[:4]),
        r"c has 4 rows and y has 5; there must be one row of c for each row of y",
    ),
    "leading axes": (
        lambda: crt.estimate_kernel(crt.PosRF(), OMEGA, X[None][[0, 0]], Y[None][[0, 0, 0]]),
        r"x has leading axes \(2,\) and y has \(3,\); they must be equal or broadcast",
    ),
    "pairs that do not match": (
        lambda: crt.PosRF().variance(np.ones((6, 4)), np.ones((5, 4))),
        r"x has leading axes \(6,\) and y has \(5,\); they must be equal or broadcast",
    ),
    "leading axes of exact kernels": (
        lambda: crt.kernels.softmax(X[None][[0, 0]], Y[None][[0, 0, 0]]),
        r"x has leading axes \(2,\) and y has \(3,\); they must be equal or broadcast",
    ),
    "huge integer": (
        lambda: crt.PosRF().features([[10**30, 0, 0]], OMEGA),  # pyright: ignore[reportArgumentType]
        r"x holds an integer too large for JAX; it must be an array of real numbers",
    ),
    "no summary": (
        lambda: crt.read(crt.PosRF(), OMEGA, X, X),  # pyright: ignore[reportArgumentType]
        r"summary is a ndarray; it must be what crt\.summarise returns",
    ),
    "summary of other features": (
        lambda: crt.read_scaled(crt.PosRF(), OMEGA[:4], X, SUMMARY),
        r"summary has 6 features in 6 rows; for PosRF and this omega it must have 4 in 4",
    ),
    "summary of real features": (
        lambda: crt.read(crt.TrigRF(), OMEGA, X, SUMMARY),
        r"summary has 6 features in 6 rows; for TrigRF .* must have 6 in 12",
    ),
    "leading axes of a summary": (
        lambda: crt.read(crt.PosRF(), OMEGA, X[None][[0, 0, 0]], PAIR),
        r"x has leading axes \(3,\) and summary has \(2,\); they must be equal or broadcast",
    ),
    "merge with no summary": (
        lambda: SUMMARY.merge(None),  # pyright: ignore[reportArgumentType]
        r"other is a NoneType; it must be what crt\.summarise returns",
    ),
    "merge with other columns": (
        lambda: SUMMARY.merge(crt.summarise(crt.PosRF(), OMEGA, Y, C[:, :1])),
        r"other has features, rows and columns \(6, 6, 1\) and this summary has \(6, 6, 2\); both",
    ),
    "labels in words": (
        lambda: crt.classify(crt.PosRF(), OMEGA, X, Y, np.array(["a"] * 5), 2),
        r"labels has dtype <U1; it must be an array of integers",
    ),
    "leading axes of labels": (
        lambda: crt.classify(crt.PosRF(), OMEGA, X, Y[None][[0, 0]], np.zeros((3, 5), int), 2),
        r"labels has leading axes \(3,\) and y has \(2,\); they must be equal or broadcast",
    ),
    "labels": (
        lambda: crt.classify(crt.PosRF(), OMEGA, X, Y, np.ones(5), 2),
        r"labels has dtype float32 and shape \(5,\); .* one integer for each of the 5 rows",
    ),
    "label too large": (
        lambda: crt.classify(crt.PosRF(), OMEGA, X, Y, np.full(5, 2), 2),
        r"labels must lie in 0, \.\.\., num_classes - 1 = 1",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusal_is_one_clear_sentence(case: str) -> None:
    call, sentence = REFUSALS[case]
    with pytest.raises(ValueError, match=sentence) as caught:
        call()
    message = str(caught.value)
    assert message.endswith(".") and "\n" not in message and not re.search(r"\. [A-Z]", message)


def test_unknown_names_are_key_errors_too() -> None:
    with pytest.raises(KeyError, match="known are"):
        crt.MECHANISMS["rff"]


def test_shapes_and_names_are_checked_at_trace_time_and_values_are_not() -> None:
    fit = jax.jit(lambda x, y: crt.OPRF.fit(x, y).rho)
    with pytest.raises(ValueError, match="x has 3 coordinates and y has 2"):
        fit(X, np.ones((5, 2)))
    with pytest.raises(ValueError, match="side is 'z'"):
        jax.jit(lambda x: crt.PosRF().features(x, OMEGA, "z"))(X)
    assert np.isnan(fit(BAD, Y))
    variance = jax.jit(lambda rho: crt.OPRF(rho).variance(jnp.ones(3), jnp.ones(3)))
    assert variance(1.5).shape == ()


def test_good_input_passes_every_check() -> None:
    assert errors.real("x", np.arange(3)).dtype == jnp.float32
    assert errors.real("x", np.array([2**40])) == 2.0**40
    assert errors.points("x", X).shape == X.shape
    assert errors.points("x", X[:0], empty=True).shape == (0, 3)
    errors.same_batch("x", jnp.ones((2, 1, 4, 3)), "y", jnp.ones((5, 4, 3)))
    errors.parameter("p", np.float32(0.5), "positive", lambda p: p > 0)
    errors.parameter("p", jnp.bfloat16(0.5), "positive", lambda p: p > 0)
    for dtype in (None, float, jnp.float32, "float64"):
        errors.floating("dtype", dtype)
