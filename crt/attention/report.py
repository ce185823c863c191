"""How well attention with M features estimates softmax on given data: predicted and observed.

Rows of the kernel are taken in units of their exact sums Z_i = Σ_j K_ij, so that every query counts
alike. To first order in the error of the estimate,

    out_i - softmax_i ≈ Σ_j (K̂_ij - K_ij)/Z_i · (v_j - softmax_i),

whose variance needs E[X_ij X_il], one feature with two keys. For positive features of exponential
type that is the second moment at the middle of the keys, times exp(-‖k_j - k_l‖²/4).
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from crt.estimate import log_estimate_kernel
from crt.mechanisms import OPRF, Mechanism, PosRF, TrigRF


@dataclass(frozen=True, eq=False)
class Report:
    """Errors of every head relative to exact softmax on a sample, RMS over RMS, (N,) each.

    `kernel_*` are those of the kernel matrix, its rows in units of their sums, `output_*` those of
    the outputs. The prediction of the output counts projections as independent, and is NaN for
    "trig". Observations are None where no ω was given. `uniform` is the error of a uniform average
    of the values, and `needed` the M from which the prediction is below that.
    """

    mechanism: str
    num_features: int
    kernel_predicted: np.ndarray
    output_predicted: np.ndarray
    uniform: np.ndarray
    needed: np.ndarray
    kernel_observed: np.ndarray | None = None
    output_observed: np.ndarray | None = None

    @property
    def wins(self) -> np.ndarray:
        """Whether a head is closer to softmax than a uniform average: observed, else predicted."""
        seen = self.output_predicted if self.output_observed is None else self.output_observed
        return seen < self.uniform

    @property
    def verdict(self) -> str:
        """One sentence on all heads."""
        wins, heads = int(self.wins.sum()), self.wins.size
        said = f"{self.mechanism} with M = {self.num_features} is closer to softmax than a uniform "
        if wins == heads:
            return f"{said}average is in all {heads} heads."
        loses = f"{said}average is in {wins} of {heads} heads and loses to it in {heads - wins}"
        most = np.max(self.needed[~self.wins])
        return f"{loses}; it needs M ≥ {most:.3g}." if math.isfinite(most) else f"{loses}."

    def plot(self, axis: Any = None) -> Any:
        """Bars of all errors by head, on a matplotlib axis, which is made unless it is given."""
        if axis is None:
            try:
                from matplotlib.figure import Figure
            except ImportError:
                raise ImportError(
                    "plot needs matplotlib, which is not installed; pip install matplotlib."
                ) from None
            axis = Figure(figsize=(7, 3), layout="constrained").subplots()
        series = {
            "output, predicted": self.output_predicted,
            "output, observed": self.output_observed,
            "kernel, predicted": self.kernel_predicted,
            "kernel, observed": self.kernel_observed,
        }
        shown = {name: each for name, each in series.items() if each is not None}
        places, width = np.arange(self.uniform.size), 0.8 / len(shown)
        for i, (name, each) in enumerate(shown.items()):
            axis.bar(places + i * width - 0.4, each, width, align="edge", label=name)
        axis.hlines(
            self.uniform, places - 0.4, places + 0.4, color="black", label="uniform average"
        )
        axis.set_yscale("log")
        axis.set_xticks(places)
        axis.set_xlabel("head")
        axis.set_ylabel("error relative to softmax")
        axis.set_title(f"{self.mechanism}, M = {self.num_features}")
        axis.legend(fontsize="small")
        return axis


def _sample(x: Array, size: int) -> np.ndarray:
    """At most `size` positions of x (B, L, …), evenly spaced."""
    count = min(size, x.shape[1])
    return np.asarray(x[:, np.arange(count) * x.shape[1] // count])


def _mechanism(name: str, rho: np.ndarray | None) -> Mechanism:
    return OPRF(rho) if rho is not None else {"pos": PosRF(), "trig": TrigRF()}[name]


def _output_variance(mechanism: Mechanism, q: Array, k: Array, away: Array, log_z: Array) -> Array:
    """Σ_jl E[X_ij X_il]/Z_i²·(v_j - out_i)·(v_l - out_i) of one query, `away` (S, V) from out_i.

    The mean of the linear form is Σ_j A_ij (v_j - out_i) = 0, so this is its variance.
    """
    middle = (k[:, None] + k[None, :]) / 2
    logs = mechanism.log_second_moment(q, middle, kernel="softmax") - 2 * log_z
    logs = logs - jnp.sum((k[:, None] - k[None, :]) ** 2, axis=-1) / 4
    return jnp.sum(jnp.exp(logs) * (away @ away.T))


@partial(jax.jit, static_argnames=("features", "orthogonal"))
def _head(
    mechanism: Mechanism,
    features: int,
    orthogonal: bool,
    omega: Array | None,
    q: Array,
    k: Array,
    v: Array,
    shown: Array,
) -> dict[str, Array]:
    """Sums of squares over the sample of one head: errors, and what they are relative to."""
    logs = jnp.where(shown, q @ k.T, -jnp.inf)
    log_z = jax.nn.logsumexp(logs, axis=-1, keepdims=True)
    rows = jnp.exp(logs - log_z)
    out = rows @ v
    mean = jnp.mean(v, axis=0, where=shown[:, None])
    found = {
        "kernel": jnp.sum(rows**2),
        "output": jnp.sum(out**2),
        "uniform": jnp.sum((out - mean) ** 2),
    }

    def of_query(each: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        point, log_z, own = each
        variance = mechanism.estimator_variance(point, k, features, orthogonal, kernel="softmax")
        kernel = jnp.sum(variance * jnp.exp(-2 * log_z), where=shown)
        if isinstance(mechanism, TrigRF):
            return kernel, jnp.full_like(kernel, jnp.nan)
        away = jnp.where(shown[:, None], v - own, 0)
        return kernel, _output_variance(mechanism, point, k, away, log_z) / features

    kernel, output = lax.map(of_query, (q, log_z[:, 0], out))
    found |= {"kernel_predicted": jnp.sum(kernel), "output_predicted": jnp.sum(output)}
    if omega is None:
        return found
    log_estimate, sign = log_estimate_kernel(mechanism, omega, q, k, kernel="softmax")
    estimate = jnp.where(shown, sign * jnp.exp(log_estimate - log_z), 0)
    applied = (estimate @ v) / jnp.sum(estimate, axis=-1, keepdims=True)
    return found | {
        "kernel_observed": jnp.sum((estimate - rows) ** 2),
        "output_observed": jnp.sum((applied - out) ** 2),
    }


def make(
    name: str,
    num_features: int,
    orthogonal: bool,
    arrays: tuple[Array, Array, Array],
    scale: Array,
    omega: Array | None,
    rho: Array | None,
    mask: Array | None,
    size: int,
) -> Report:
    """The report on queries (B, T, N, H), keys (B, S, K, H), values (B, S, K, V), with ρ (N,)."""
    q, k, v = (_sample(each, size) for each in arrays)
    shown = np.ones(k.shape[:2], bool) if mask is None else _sample(mask, size)
    heads = q.shape[2]
    sums: list[dict[str, float]] = [{} for _ in range(heads)]
    # float32 cannot hold second moments, which grow like the fourth power of the kernel.
    with jax.enable_x64(True):
        q, k = (float(scale) ** 0.5 * each.astype(np.float64) for each in (q, k))
        drawn = None if omega is None else np.asarray(omega, np.float64)
        for b, n in np.ndindex(q.shape[0], heads):
            if not shown[b].any():
                continue
            own = None if rho is None else np.asarray(rho, np.float64)[n, ...]
            projections = drawn if drawn is None or drawn.ndim == 2 else drawn[n]
            group = n * k.shape[2] // heads
            parts = q[b, :, n], k[b, :, group], v[b, :, group].astype(np.float64), shown[b]
            for key, value in _head(
                _mechanism(name, own), num_features, orthogonal, projections, *parts
            ).items():
                sums[n][key] = sums[n].get(key, 0.0) + float(value)
    return _gather(name, num_features, sums)


def _gather(name: str, num_features: int, sums: list[dict[str, float]]) -> Report:
    """The errors of all heads from their sums of squares."""

    def errors_of(key: str) -> np.ndarray | None:
        if not all(key in each for each in sums):
            return None
        relative = "kernel" if key.startswith("kernel") else "output"
        return np.sqrt([each[key] / each[relative] for each in sums])

    kernel, output, uniform = map(errors_of, ("kernel_predicted", "output_predicted", "uniform"))
    if kernel is None or output is None or uniform is None:
        raise ValueError("key_mask shows no key of the sample; at least one must count.")
    needed = np.ceil(num_features * (output / uniform) ** 2)
    observed = (errors_of(key) for key in ("kernel_observed", "output_observed"))
    return Report(name, num_features, kernel, output, uniform, needed, *observed)
