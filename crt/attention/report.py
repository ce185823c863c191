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

from crt.attention.features import with_ones
from crt.attention.state import divide, finite
from crt.estimate import log_estimate_kernel
from crt.mechanisms import OPRF, Mechanism, PosRF, TrigRF


@dataclass(frozen=True, eq=False)
class Report:
    """Errors of every head relative to exact softmax on a sample, RMS over RMS, (N,) each.

    `kernel_*` are those of the kernel matrix, its rows in units of their sums, `output_*` those of
    the outputs. The prediction of the output counts projections as independent, and is NaN for
    "trig". Observations are None where no ω was given. `uniform` is the error of a uniform average
    of the values that a query sees.
    """

    mechanism: str
    num_features: int
    kernel_predicted: np.ndarray
    output_predicted: np.ndarray
    uniform: np.ndarray
    kernel_observed: np.ndarray | None = None
    output_observed: np.ndarray | None = None

    @property
    def output(self) -> np.ndarray:
        """The output errors that the verdict goes by: observed, else predicted; NaN if neither."""
        return self.output_predicted if self.output_observed is None else self.output_observed

    @property
    def wins(self) -> np.ndarray:
        """Whether a head is closer to softmax than a uniform average."""
        return self.output < self.uniform

    @property
    def loses(self) -> np.ndarray:
        """Whether it is not; a head whose error is not known neither wins nor loses."""
        return self.output >= self.uniform

    @property
    def needed(self) -> np.ndarray:
        """The least M at which `output`, as it falls like 1/√M, is below the uniform average."""
        return np.floor(self.num_features * (self.output / self.uniform) ** 2) + 1

    @property
    def verdict(self) -> str:
        """One sentence on all heads."""
        wins, loses, heads = int(self.wins.sum()), int(self.loses.sum()), self.uniform.size
        name = f"{self.mechanism} with M = {self.num_features}"
        than = "closer to softmax than a uniform average"
        if wins == heads:
            return f"{name} is {than} is in all {heads} heads."
        if wins + loses == 0:
            return (
                f"Whether {name} is {than} is not known, for its error is neither predicted nor "
                "observed."
            )
        said = f"{name} is {than} is in {wins} of {heads} heads"
        if wins + loses < heads:
            said += f", which is not known of {heads - wins - loses},"
        if not loses:
            return f"{said.removesuffix(',')}."
        most = np.max(self.needed[self.loses])
        needs = f"; it needs M ≥ {_rounded_up(most)}" if math.isfinite(most) else ""
        return f"{said} and loses to it in {loses}{needs}."

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


def _rounded_up(number: float) -> str:
    """A whole number, from 1e6 on the next one of three digits, which is at least as large."""
    if number < 1e6:
        return str(int(number))
    unit = 10 ** (int(math.log10(number)) - 2)
    return f"{-(-int(number) // unit) * unit:.2e}"


def _places(length: int, size: int) -> np.ndarray:
    """At most `size` positions of a sequence, evenly spaced."""
    count = min(size, length)
    return np.arange(count) * length // count


def _sample(x: Array, size: int) -> np.ndarray:
    """x (B, L, …) at those positions."""
    return np.asarray(x[:, _places(x.shape[1], size)])


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
    seen: Array,
) -> dict[str, Array]:
    """Sums of squares over the sample of one head: errors, and what they are relative to.

    A query that sees no key, by `seen` (T, S), gives zeros and adds nothing to any sum.
    """
    logs = jnp.where(seen, q @ k.T, -jnp.inf)
    log_z = finite(jax.nn.logsumexp(logs, axis=-1, keepdims=True))
    rows = jnp.exp(logs - log_z)
    out = rows @ v
    ones = seen.astype(v.dtype)
    mean = ones @ v / jnp.maximum(jnp.sum(ones, axis=-1, keepdims=True), 1)
    found = {
        "kernel": jnp.sum(rows**2),
        "output": jnp.sum(out**2),
        "uniform": jnp.sum((out - mean) ** 2),
    }

    def of_query(each: tuple[Array, Array, Array, Array]) -> tuple[Array, Array]:
        point, log_z, own, shown = each
        variance = mechanism.estimator_variance(point, k, features, orthogonal, kernel="softmax")
        kernel = jnp.sum(variance * jnp.exp(-2 * log_z), where=shown)
        if isinstance(mechanism, TrigRF):
            return kernel, jnp.full_like(kernel, jnp.nan)
        away = jnp.where(shown[:, None], v - own, 0)
        return kernel, _output_variance(mechanism, point, k, away, log_z) / features

    kernel, output = lax.map(of_query, (q, log_z[:, 0], out, seen))
    found |= {"kernel_predicted": jnp.sum(kernel), "output_predicted": jnp.sum(output)}
    if omega is None:
        return found
    log_estimate, sign = log_estimate_kernel(mechanism, omega, q, k, kernel="softmax")
    estimate = jnp.where(seen, sign * jnp.exp(log_estimate - log_z), 0)
    applied = divide(estimate @ with_ones(v))
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
    is_causal: bool,
    size: int,
) -> Report:
    """The report on queries (B, T, N, H), keys (B, S, K, H), values (B, S, K, V), with ρ (N,)."""
    q, k, v = (_sample(each, size) for each in arrays)
    shown = np.ones(k.shape[:2], bool) if mask is None else _sample(mask, size)
    seen = np.broadcast_to(shown[:, None], (*q.shape[:2], k.shape[1]))
    if is_causal:
        # T = S, so queries and keys are sampled at the same positions.
        seen = np.tril(seen)
    heads = q.shape[2]
    sums: list[dict[str, float]] = [{} for _ in range(heads)]
    # float32 cannot hold second moments, which grow like the fourth power of the kernel.
    with jax.enable_x64(True):
        q, k = (float(scale) ** 0.5 * each.astype(np.float64) for each in (q, k))
        drawn = None if omega is None else np.asarray(omega, np.float64)
        for b, n in np.ndindex(q.shape[0], heads):
            if not seen[b].any():
                continue
            own = None if rho is None else np.asarray(rho, np.float64)[n, ...]
            projections = drawn if drawn is None or drawn.ndim == 2 else drawn[n]
            group = n * k.shape[2] // heads
            parts = q[b, :, n], k[b, :, group], v[b, :, group].astype(np.float64), seen[b]
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
    observed = (errors_of(key) for key in ("kernel_observed", "output_observed"))
    return Report(name, num_features, kernel, output, uniform, *observed)
