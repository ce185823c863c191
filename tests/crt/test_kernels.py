"""The exact kernels against loops over pairs, and the memory they take."""

import math

import jax
import jax.numpy as jnp
import numpy as np

import crt
from tests.crt import cases

EPS = np.finfo(float).eps


def test_kernels_are_their_definitions() -> None:
    pairs = [[(x, y) for y in cases.Y] for x in cases.X]
    gaussian = np.array([[math.exp(-((x - y) @ (x - y)) / 2) for x, y in row] for row in pairs])
    softmax = np.array([[math.exp(x @ y) for x, y in row] for row in pairs])
    # An exponent below 2 in size with d + 2 roundings, and the exponential itself.
    bound = EPS * 2 * (cases.DIM + 4)
    with jax.enable_x64(True):
        assert (
            abs(np.asarray(crt.kernels.gaussian(cases.X, cases.Y)) / gaussian - 1) <= bound
        ).all()
        assert (abs(np.asarray(crt.kernels.softmax(cases.X, cases.Y)) / softmax - 1) <= bound).all()


def test_leading_axes_and_dtype() -> None:
    stack = np.stack([cases.X, 2 * cases.X])
    for kernel in (crt.kernels.gaussian, crt.kernels.softmax):
        assert kernel(stack, stack).shape == (2, 5, 5)
        assert kernel(jnp.asarray(cases.X, jnp.bfloat16), cases.Y.astype("f4")).dtype == jnp.float32
        half = jnp.asarray(cases.X, jnp.bfloat16)
        assert kernel(half, half).dtype == jnp.bfloat16


def test_no_digits_cancel_far_from_the_origin() -> None:
    x = np.array([[4096.0, 4096.0]])
    y = x + np.array([[0.5, -0.25]])
    value = float(crt.kernels.gaussian(x, y)[0, 0])
    assert abs(value / math.exp(-(0.25 + 0.0625) / 2) - 1) <= 4 * np.finfo("f4").eps


def test_differences_are_never_stored() -> None:
    rows, dim = 512, 64
    points = jax.ShapeDtypeStruct((rows, dim), jnp.float32)
    for kernel in (crt.kernels.gaussian, crt.kernels.softmax):
        compiled = jax.jit(kernel).lower(points, points).compile()
        memory = compiled.memory_analysis()
        assert memory and memory.temp_size_in_bytes <= 2 * rows * rows * 4
