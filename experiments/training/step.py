"""One update of the parameters, and the evaluation, as pure functions of arrays."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx
from jax import Array
from jaxtyping import PRNGKeyArray

from experiments.training.config import Batch, Config
from experiments.training.optimizer import schedule, transformation

State = dict[str, Any]
"""step (), params, ema (None without one), moments of the optimizer, and fixed: what is no
parameter, such as projections."""


def outline(config: Config) -> tuple[nnx.GraphDef, State]:
    """The structure of the model, and the shapes of its state."""
    model = nnx.eval_shape(lambda: config.model(nnx.Rngs(config.seed)))
    graph, params, fixed = nnx.split(model, nnx.Param, ...)
    return graph, jax.eval_shape(partial(begin, config), params, fixed)


def first(config: Config) -> State:
    """The state before the first step."""
    # One compilation in place of one for each parameter.
    model = nnx.jit(lambda: config.model(nnx.Rngs(config.seed)))()
    config.start(model)
    _, params, fixed = nnx.split(model, nnx.Param, ...)
    return begin(config, params, fixed)


def optimizer_of(config: Config) -> optax.GradientTransformation:
    rate = schedule(config.optimizer, config.batch, config.steps)
    return transformation(config.optimizer, rate, config.layer, config.layers)


def begin(config: Config, params: Any, fixed: Any) -> State:
    """The state before the first step, of given parameters."""
    return {
        "step": jnp.zeros((), jnp.int32),
        "params": params,
        "ema": None if config.ema is None else jax.tree.map(jnp.copy, params),
        "moments": optimizer_of(config).init(params),
        "fixed": fixed,
    }


def step_key(config: Config, step: Array) -> PRNGKeyArray:
    """The key of a step: whatever is random in it comes from here, also after a restart."""
    return jax.random.fold_in(jax.random.key(config.seed), step)


def update(
    config: Config, graph: nnx.GraphDef, state: State, batch: Batch
) -> tuple[State, dict[str, Array]]:
    """The next state, and the loss and the norm of its gradient at the present one."""

    def loss(params: Any) -> Array:
        model = nnx.merge(graph, params, state["fixed"])
        return config.loss(model, batch, step_key(config, state["step"]))

    value, gradient = jax.value_and_grad(loss)(state["params"])
    change, moments = optimizer_of(config).update(gradient, state["moments"], state["params"])
    params = optax.apply_updates(state["params"], change)
    ema = None
    if config.ema is not None:
        ema = optax.incremental_update(params, state["ema"], 1 - config.ema)
    after = {"step": state["step"] + 1, "params": params, "ema": ema, "moments": moments}
    measured = {"loss": value, "gradient_norm": optax.tree.norm(gradient)}
    return after | {"fixed": state["fixed"]}, measured


def compiled(
    config: Config, graph: nnx.GraphDef, whole: Any
) -> Callable[[State, Batch], tuple[State, dict[str, Array]]]:
    """`update` under jit, the state on every device; `whole` is its sharding."""
    return jax.jit(partial(update, config, graph), donate_argnums=0, out_shardings=(whole, whole))


def shown(state: State) -> Any:
    """The parameters that are evaluated: the moving average where there is one."""
    return state["params"] if state["ema"] is None else state["ema"]
