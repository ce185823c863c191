"""What augmentation does to images and targets."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from experiments.training import augmentation

pytestmark = pytest.mark.usefixtures("usual_promotion")


@pytest.fixture
def images() -> jax.Array:
    return jax.random.uniform(jax.random.key(0), (64, 6, 6, 2))


def test_flips_mirror_about_half(images) -> None:
    flipped, images = np.asarray(augmentation.flip(jax.random.key(1), images)), np.asarray(images)
    mirrored = np.all(flipped == images[:, :, ::-1], axis=(1, 2, 3))
    same = np.all(flipped == images, axis=(1, 2, 3))
    assert np.logical_or(mirrored, same).all()
    # 64 fair coins: fewer than 12 or more than 52 heads have probability 1e-6.
    assert 12 <= mirrored.sum() <= 52


def test_a_crop_of_a_linear_image_is_linear() -> None:
    """Stretched ramps stay ramps inside, with a smaller slope: a part was enlarged."""
    ramp = jnp.broadcast_to(jnp.arange(32.0)[:, None, None], (16, 32, 32, 1))
    cut = np.asarray(augmentation.resized_crop(jax.random.key(2), ramp, 0.3))
    slopes = np.diff(cut[:, 4:-4, 16, 0], axis=1)
    np.testing.assert_allclose(slopes, slopes[:, :1].repeat(slopes.shape[1], 1), atol=1e-4)
    # Sides are at least (0.3·3/4)^{1/2} = 0.47 of the whole, and at most the whole.
    assert 0.47 < slopes.min() < 0.9 and slopes.max() < 1 + 1e-4
    assert cut.min() >= -1e-4 and cut.max() <= 31 + 1e-4


@pytest.mark.parametrize(("mixup", "cutmix"), [(0.8, 0.0), (0.0, 1.0), (0.8, 1.0)])
def test_targets_are_mixed_as_the_images_are(images, mixup: float, cutmix: float) -> None:
    """Images of their own label: the mean pixel of a mixture tells its target."""
    labels = jnp.arange(64) % 2
    flat = jnp.broadcast_to(labels[:, None, None, None], images.shape).astype(jnp.float32)
    targets = augmentation.smoothed(labels, 2, 0.0)
    mixed, aims = augmentation.mixed(jax.random.key(3), flat, targets, mixup, cutmix)
    np.testing.assert_allclose(mixed.mean((1, 2, 3)), aims[:, 1], atol=1e-5)
    np.testing.assert_allclose(aims.sum(1), 1, atol=1e-6)
    assert 0 < float(aims[0, 1]) < 1
    if not mixup:
        assert set(np.unique(mixed)) == {0.0, 1.0}


def test_nothing_is_mixed_where_both_are_off(images) -> None:
    targets = augmentation.smoothed(jnp.zeros(64, int), 10, 0.1)
    mixed, aims = augmentation.mixed(jax.random.key(0), images, targets, 0.0, 0.0)
    assert mixed is images and aims is targets
    np.testing.assert_allclose(targets[0, :2], [0.91, 0.01], atol=1e-6)


@pytest.mark.parametrize("size", [0.8, 1.0])
def test_shares_follow_their_beta_law(size: float) -> None:
    keys = jax.random.split(jax.random.key(4), 2000)
    found = np.asarray(jax.vmap(lambda key: augmentation.symmetric_beta(key, size))(keys))
    # A right sampler fails with probability 1e-6; a uniform one differs from Beta(0.3, 0.3).
    assert stats.kstest(found, stats.beta(size, size).cdf).pvalue > 1e-6
    assert stats.kstest(found, stats.beta(0.3, 0.3).cdf).pvalue < 1e-6


def test_drop_path_keeps_the_mean() -> None:
    branch = jnp.ones((4000, 2, 3))
    kept = augmentation.drop_path(jax.random.key(5), branch, 0.25)
    assert set(np.round(np.unique(kept), 5)) == {0.0, np.float32(1.33333)}
    # The mean of 4000 draws deviates by (1/3/4000)^{1/2} = 0.009; 0.05 is more than five of them.
    assert float(kept.mean()) == pytest.approx(1, abs=0.05)
