"""The model: its size, what it refuses, and its attention against softmax."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from crt.integrations.flax import convert
from experiments.data import Origin
from experiments.training import ConfigError, Trained
from experiments.training.optimizer import keys
from experiments.training.step import outline
from experiments.vision import configs, paper, weights
from experiments.vision.attention import MECHANISMS, Projections, attend
from experiments.vision.errors import projections_key
from experiments.vision.mae import MAE, Painting
from experiments.vision.presets import PRESETS
from experiments.vision.vit import SIZES, Shape, ViT, patches, positions

pytestmark = pytest.mark.usefixtures("usual_promotion")

SMALL = Shape(side=8, patch=2, width=16, depth=2, heads=2, features=16)


def parameters(config) -> int:
    model = nnx.eval_shape(lambda: config.model(nnx.Rngs(0)))
    return sum(leaf.size for leaf in jax.tree.leaves(nnx.state(model, nnx.Param)))


def test_vit_large_has_the_known_number_of_parameters() -> None:
    """304,326,632 with a class token and its position (timm), 1024 each less without."""
    assert parameters(paper.scratch("softmax")) == 304_326_632 - 2 * 1024


def test_vit_tiny_has_the_known_number_of_parameters() -> None:
    """5,717,416 with a class token and its position (timm), 192 each less without."""
    tiny = replace(paper.LARGE, **SIZES["tiny"])
    for name in ("softmax", "favor++"):
        assert parameters(paper.scratch(name, shape=tiny)) == 5_717_416 - 2 * 192


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"attention": "sofmax"}, "there is no attention 'sofmax'; known are softmax, favor+"),
        ({"patch": 3}, "patch is 3, which does not divide the side, 8"),
        ({"heads": 3}, "heads is 3, which does not divide the width, 16"),
        ({"patch": 0}, "patch is 0; it must be at least 1"),
        ({"depth": -1}, "depth is -1; it must be at least 1"),
    ],
)
def test_a_wrong_shape_is_one_sentence(change: dict, sentence: str) -> None:
    with pytest.raises(ConfigError, match=r"attention|divide|at least") as caught:
        replace(SMALL, **change)
    assert str(caught.value).startswith(sentence)


def test_images_of_another_size_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"images have shape \(6, 6, 1\); this model takes"):
        patches(SMALL, jnp.zeros((1, 6, 6, 1)))


def test_patches_are_squares_of_the_image() -> None:
    image = jnp.arange(64.0).reshape(1, 8, 8, 1)
    found = patches(SMALL, image)
    assert found.shape == (1, 16, 4)
    np.testing.assert_array_equal(found[0, 5], image[0, 2:4, 2:4, 0].ravel())


def test_positions_differ_and_are_bounded() -> None:
    found = positions(16, 16)
    assert found.shape == (16, 16) and np.abs(found).max() <= 1
    apart = np.linalg.norm(found[:, None] - found[None], axis=-1) + np.eye(16)
    assert apart.min() > 0.1


def built(shape: Shape, seed: int = 0) -> ViT:
    return ViT(shape, 10, 0.5, nnx.Rngs(seed))


@pytest.fixture(scope="module")
def images() -> jax.Array:
    return jax.random.normal(jax.random.key(9), (3, 8, 8, 1))


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_attention_gives_finite_gradients(name: str, images) -> None:
    shape = replace(SMALL, depth=1, attention=name)
    graph, params, fixed = nnx.split(built(shape), nnx.Param, ...)

    @jax.jit
    def gradient(params):
        def total(params):
            return jnp.sum(nnx.merge(graph, params, fixed)(images, jax.random.key(1)) ** 2)

        return jax.grad(total)(params)

    leaves = jax.tree.leaves(gradient(params))
    assert all(bool(jnp.all(jnp.isfinite(leaf))) for leaf in leaves)
    assert sum(float(jnp.sum(jnp.abs(leaf))) for leaf in leaves) > 0
    # What is fixed are the projections; softmax and ELU have none.
    assert len(jax.tree.leaves(fixed)) == (0 if name in ("softmax", "elu") else 1)


def test_own_projections_are_those_of_a_conversion(images) -> None:
    """A model trained with FAVOR++ converted to it by the same key is the same model."""
    model = built(replace(SMALL, attention="favor++"))
    again, other = (
        convert(model, attend("favor++", 16), projections_key(SMALL, seed)).model for seed in (0, 1)
    )
    np.testing.assert_array_equal(model(images), again(images))
    assert np.abs(np.asarray(model(images) - other(images))).max() > 1e-6


def test_more_features_come_closer_to_softmax(images) -> None:
    exact = built(SMALL)
    far = []
    for features in (4, 4096):
        swapped = convert(exact, attend("favor++", features), jax.random.key(0)).model
        far.append(float(jnp.max(jnp.abs(swapped(images) - exact(images)))))
    assert far[1] < far[0] / 4


def test_branches_are_dropped_in_training_alone(images) -> None:
    model = built(SMALL)
    np.testing.assert_array_equal(model(images), model(images))
    dropped = [model(images, jax.random.key(seed)) for seed in range(4)]
    assert any(not np.array_equal(each, dropped[0]) for each in dropped[1:])


def test_recomputation_changes_nothing(images) -> None:
    def gradients(remat: bool) -> list:
        model = built(replace(SMALL, attention="favor++", remat=remat))
        graph, params, fixed = nnx.split(model, nnx.Param, ...)

        def total(params):
            logits = nnx.merge(graph, params, fixed)(images, jax.random.key(1))
            return jnp.sum(logits**2)

        text = str(jax.make_jaxpr(jax.grad(total))(params))
        assert ("checkpoint" in text or "remat" in text) == remat
        return jax.tree.leaves(jax.jit(jax.value_and_grad(total))(params))

    for one, other in zip(gradients(False), gradients(True), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


def params(model: nnx.Module) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(nnx.state(model, nnx.Param))]


def test_uptraining_starts_from_the_pretrained_encoder(monkeypatch) -> None:
    """The head and the projections stay the model's own."""
    data = Origin("fashion_mnist", "digits", "0")
    run = configs.classification(PRESETS["smoke"], data, "uptrain", "favor++", 0)
    assert run.pretraining is not None
    pretrained = run.pretraining.model(nnx.Rngs(7))
    asked = []

    def trained(config):
        asked.append(config)
        return Trained(pretrained, [])

    monkeypatch.setattr(weights, "trained", trained)
    before, model = run.model(nnx.Rngs(0)), run.model(nnx.Rngs(0))
    run.start(model)
    assert asked == [run.pretraining]
    for one, other in zip(params(model.encoder), params(pretrained.encoder), strict=True):
        np.testing.assert_array_equal(one, other)
    assert any(
        not np.array_equal(one, other)
        for one, other in zip(params(model.encoder), params(before.encoder), strict=True)
    )
    for kind in (nnx.Param, Projections):
        parts = ((each.head if kind is nnx.Param else each) for each in (model, before))
        states = [jax.tree.leaves(nnx.state(part, kind)) for part in parts]
        assert states[0] and all(map(np.array_equal, *states))


def test_layers_are_counted_from_the_patches() -> None:
    run = paper.finetuning("favor++", shape=replace(paper.LARGE, width=16, depth=2, heads=2))
    _, state = outline(run)
    paths = [keys(path) for path, _ in jax.tree_util.tree_leaves_with_path(state["params"])]
    found = {path[: 3 if path[1] == "blocks" else 2]: run.layer(path) for path in paths}
    assert found == {
        ("encoder", "patches"): 0,
        ("encoder", "positions"): 0,
        ("encoder", "blocks", 0): 1,
        ("encoder", "blocks", 1): 2,
        ("encoder", "norm"): 3,
        ("head", "kernel"): 3,
        ("head", "bias"): 3,
    }
    assert run.layers == 3


def test_the_autoencoder_is_judged_by_hidden_patches_alone(images, monkeypatch) -> None:
    model = MAE(SMALL, Painting(width=8, depth=1, heads=2), nnx.Rngs(0))
    assert model.seen == 4
    order = jnp.argsort(jax.random.uniform(jax.random.key(3), (3, 16)), axis=1)
    wanted = jax.nn.standardize(patches(SMALL, images), axis=-1, epsilon=1e-6)
    seen = jnp.argsort(order, axis=1) < model.seen

    def paint(right):
        monkeypatch.setattr(
            MAE, "decode", lambda self, x, order, key: jnp.where(right[..., None], wanted, 7.0)
        )
        return np.asarray(model(images, jax.random.key(3)))

    # Right where it is hidden and wrong where it was seen costs nothing, and the other way round.
    np.testing.assert_allclose(paint(~seen), 0, atol=1e-6)
    assert paint(seen).min() > 1


def test_blocks_are_computed_again_in_training_alone(images) -> None:
    """Where nothing is trained, whoever looks into the blocks must see numbers."""
    again = replace(SMALL, remat=True)
    model, painter = (
        ViT(again, 3, 0.0, nnx.Rngs(0)),
        MAE(again, Painting(width=8, depth=1, heads=2), nnx.Rngs(0)),
    )
    key = jax.random.key(0)
    assert str(jax.make_jaxpr(lambda x: model(x, key))(images)).count("remat") == 2
    assert str(jax.make_jaxpr(lambda x: painter(x, key))(images)).count("remat") == 3
    assert "remat" not in str(jax.make_jaxpr(model)(images))
    done = convert(model, attend("favor++", 16), jax.random.key(1), run=lambda each: each(images))
    assert len(done.reports) == 2
