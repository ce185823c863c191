"""Projections: shapes, blocks, lengths and distribution."""

import math
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import crt

KEY = jax.random.key(7)


@pytest.mark.parametrize(("m", "d"), [(4, 4), (10, 4), (3, 8), (5, 1)])
def test_blocks_are_orthogonal_and_blocks_differ(m: int, d: int) -> None:
    with jax.enable_x64(True):
        omega = np.asarray(crt.projections.orthogonal(KEY, m, d, jnp.float64))
    assert omega.shape == (m, d)
    lengths = np.linalg.norm(omega, axis=1)
    cosines = omega @ omega.T / np.outer(lengths, lengths)
    same = np.arange(m)[:, None] // d == np.arange(m) // d
    # A Householder QR is orthogonal within a few d·eps; the rows are rescaled exactly once.
    assert abs(cosines - np.eye(m))[same].max() <= 16 * d * np.finfo(float).eps
    assert len(set(lengths)) == m
    if m > d > 1:
        assert abs(cosines[~same]).max() > 1e-3


def test_rows_are_normal_with_haar_directions() -> None:
    """Mean of 1{ω·v > 0} and of exp(-‖ω‖²/2), both in [0, 1]: Hoeffding over independent blocks.

    With n blocks P(|mean - E| ≥ t) ≤ 2exp(-2nt²) = 1e-11 each. A QR without the correction of signs
    tilts the first by more than 0.02.
    """
    d, blocks = 6, 60_000
    bound = math.sqrt(math.log(2e11) / (2 * blocks))
    assert bound < 0.02
    raw = np.linalg.qr(np.random.default_rng(0).normal(size=(blocks, d, d)))[0].reshape(-1, d)
    for draw, fair in (
        (crt.projections.orthogonal(KEY, blocks * d, d), True),
        (crt.projections.iid(KEY, blocks * d, d), True),
        (raw, False),
    ):
        omega = np.asarray(draw, float).reshape(blocks, d, d)
        above = np.mean(omega.sum(-1) > 0)
        short = np.mean(np.exp(-(omega**2).sum(-1) / 2))
        assert (abs(above - 0.5) <= bound) == fair
        assert (abs(short - 2 ** (-d / 2)) <= bound) == fair


def test_dtype_and_key() -> None:
    for draw in (crt.projections.iid, crt.projections.orthogonal):
        assert draw(KEY, 3, 2, jnp.float32).dtype == jnp.float32
        other = draw(jax.random.key(8), 3, 2)
        assert (np.asarray(draw(KEY, 3, 2)) != np.asarray(other)).all()


def test_matrices_are_factored_one_at_a_time() -> None:
    """Batches of QR in one program can wait for each other for ever in a CPU's pool of threads."""

    def factored(draw) -> set[str]:
        keys = jax.random.split(KEY, 3)
        text = jax.jit(jax.vmap(draw)).lower(keys).as_text()
        calls = [line for line in text.splitlines() if "lapack_sgeqrf" in line]
        assert calls
        return {line.rpartition("->")[2].strip(" ()").split(",")[0] for line in calls}

    assert factored(lambda key: crt.projections.orthogonal(key, 8, 4)) == {"tensor<4x4xf32>"}
    assert factored(lambda key: jax.random.orthogonal(key, 4, (2,))) != {"tensor<4x4xf32>"}


def test_many_draws_in_one_program_come_to_an_end() -> None:
    code = (
        "import jax, crt\n"
        "attend = crt.FavorAttention(128)\n"
        "draw = jax.jit(lambda: [attend.sample(jax.random.key(i), 64, 3) for i in range(12)])\n"
        "jax.block_until_ready(draw())"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
