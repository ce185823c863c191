"""grad, vmap, jit, pytrees and lowering for other platforms, for every mechanism."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

import crt
from tests.crt import cases

EPS = np.finfo(float).eps
# No zero coordinate, and none at the shift: there discrete features have no gradient.
X = np.array([[0.4, -0.5, 0.2], [0.3, 0.5, -0.3]])
Y = np.array([[0.3, 0.1, -0.4], [-0.2, 0.6, 0.7], [0.5, -0.4, 0.1]])
C = np.array([[1.0], [-0.5], [2.0]])


@pytest.mark.parametrize("name", cases.MECHANISMS)
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    mechanism, omega = cases.MECHANISMS[name], cases.projections(name, 6)
    leaves, tree = jax.tree.flatten(mechanism)

    def value(point):
        x, y = point[:6].reshape(2, 3), point[6:15].reshape(3, 3)
        by = 1 + point[15]
        moved = [
            leaf * (jax.lax.complex(by, 0 * by) if np.iscomplexobj(leaf) else by) for leaf in leaves
        ]
        if name.startswith("gerf"):
            moved[1] = leaves[1]
        changed = jax.tree.unflatten(tree, moved)
        kernel = crt.apply_kernel(changed, omega, x, y, jnp.asarray(C), chunk=2)
        logs, _ = crt.log_estimate_kernel(changed, omega, x, y)
        return jnp.sum(kernel) + jnp.sum(jnp.sin(logs))

    # Central differences at the best step: eps^{2/3} times third derivatives, which are below 1e4.
    step, bound = EPS ** (1 / 3), 1e4 * EPS ** (2 / 3)
    point = np.concatenate([X.ravel(), Y.ravel(), [0.0]])
    with jax.enable_x64(True):
        slope = np.asarray(jax.jit(jax.grad(value))(jnp.asarray(point)))
        moves = step * np.eye(len(point))
        values = np.asarray(
            jax.jit(jax.vmap(value))(np.concatenate([point + moves, point - moves]))
        )
    numeric = (values[: len(point)] - values[len(point) :]) / (2 * step)
    assert (abs(numeric - slope) <= bound * (1 + abs(slope))).all()
    assert (abs(slope[:15]) > 1e-3).any() and (abs(slope[15]) > 1e-6 or not leaves)


@pytest.mark.parametrize("name", cases.MECHANISMS)
def test_round_trip_as_a_pytree(name: str) -> None:
    mechanism = cases.MECHANISMS[name]
    paths, tree = jax.tree_util.tree_flatten_with_path(mechanism)
    assert [path[0].name for path, _ in paths] == list(vars(mechanism))
    again = jax.tree.unflatten(tree, [leaf for _, leaf in paths])
    assert type(again) is type(mechanism) and vars(again).keys() == vars(mechanism).keys()
    # Transformations put placeholders into the fields; no check may look at them.
    assert jax.tree.leaves(jax.tree.map(lambda _: None, mechanism)) == []


@pytest.mark.parametrize("name", cases.MECHANISMS)
def test_equality_is_identity(name: str) -> None:
    mechanism = cases.MECHANISMS[name]
    again = jax.tree.map(np.copy, mechanism)
    assert mechanism == mechanism and again != mechanism
    assert len({mechanism, again}) == 2


@pytest.mark.parametrize("name", ["oprf", "geom+"])
def test_a_batch_of_mechanisms_under_vmap(name: str) -> None:
    x = jnp.stack([jnp.asarray(X, "f4"), 2 * jnp.asarray(X, "f4")])
    y = jnp.stack([jnp.asarray(Y, "f4"), -jnp.asarray(Y, "f4")])
    omega = jnp.asarray(cases.projections(name, 6), "f4")
    batch = jax.vmap(crt.MECHANISMS[name].fit)(x, y)
    many = jax.vmap(crt.estimate_kernel, (0, None, 0, 0))(batch, omega, x, y)
    for i in range(2):
        one = crt.estimate_kernel(crt.MECHANISMS[name].fit(x[i], y[i]), omega, x[i], y[i])
        np.testing.assert_allclose(many[i], one, rtol=256 * float(np.finfo("f4").eps))


@pytest.mark.parametrize("name", cases.MECHANISMS)
def test_lowering_for_accelerators(name: str) -> None:
    mechanism = cases.MECHANISMS[name]
    arrays = [
        jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((8, 3), (5, 3), (6, 3), (6, 2))
    ]
    apply = jax.jit(lambda *arrays: crt.apply_kernel(mechanism, *arrays))
    for platform in ("tpu", "cuda"):
        exported = export.export(apply, platforms=[platform])(*arrays)
        assert exported.platforms == (platform,) and exported.out_avals[0].shape == (5, 2)
