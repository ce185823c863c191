"""`migration`: what differs from performer-pytorch, fast_attention and RBFSampler, in numbers.

Each row plants one habit of those libraries into textbook FAVOR+ or takes the library itself, and
says what it changes. The table of docs/migrating.md is made of them. Under a minute.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.kernel_approximation import RBFSampler

import crt
from crt.integrations.sklearn import RandomFeatures
from experiments.experiment import FEATURE_ROOMS, Experiment, Origins
from experiments.experiment import main as run
from experiments.migration import textbook
from verification.runs import Finished, Unit

DIM, FEATURES = 64, 256


@dataclass(frozen=True)
class Size:
    """Blocks of projections, tokens, and draws."""

    blocks: int
    length: int
    seeds: tuple[int, ...]


PRESETS = {
    "smoke": Size(200, 32, (0,)),
    "laptop": Size(5_000, 256, tuple(range(4))),
    "paper": Size(200_000, 1024, tuple(range(20))),
}


def rms(one: Any, other: Any) -> float:
    """RMS of the difference over RMS of the second."""
    one, other = np.asarray(one, np.float64), np.asarray(other, np.float64)
    return float(np.sqrt(np.mean((one - other) ** 2) / np.mean(other**2)))


def _tokens(length: int, seed: int) -> tuple[np.ndarray, ...]:
    """q, k, v (L, 64) and ω (256, 64), all standard normal."""
    draw = np.random.default_rng(seed)
    return *draw.standard_normal((3, length, DIM)), draw.standard_normal((FEATURES, DIM))


def raw_qr(config: Mapping[str, Any]) -> dict[str, float]:
    """Mean of exp(ω·u)/e^{1/2} - 1 along u = (1, …, 1)/4 at d = 16: 0 for unbiased features."""
    draw, u = np.random.default_rng(config["seed"]), np.full(16, 0.25)
    means = {
        name: float(np.mean(np.exp(made(draw, config["blocks"], 16) @ u - 0.5)) - 1)
        for name, made in (("theirs", textbook.raw_qr), ("ours", textbook.haar))
    }
    omega = jax.vmap(lambda key: crt.projections.orthogonal(key, 16, 16))(
        jax.random.split(jax.random.key(config["seed"]), config["blocks"])
    )
    return means | {"ours": float(jnp.mean(jnp.exp(omega @ u.astype(np.float32) - 0.5)) - 1)}


def epsilon(config: Mapping[str, Any]) -> dict[str, float]:
    """Change of the output by ε in every feature, relative to the estimate without it."""
    q, k, v, omega = _tokens(config["length"], config["seed"])
    exact = textbook.attend(q, k, v, omega)
    theirs = rms(textbook.attend(q, k, v, omega, config["epsilon"]), exact)
    attend = crt.FavorAttention(FEATURES, "pos")
    rows = (jnp.asarray(each, jnp.float32)[None, :, None] for each in (q, k, v))
    out = attend(*rows, jnp.asarray(omega, jnp.float32))  # pyright: ignore[reportCallIssue]
    return {"theirs": theirs, "ours": rms(out[0, :, 0], exact)}


def masks(config: Mapping[str, Any]) -> dict[str, float]:
    """Half of the keys padded: values set to 0 while the keys still count, against leaving out."""
    q, k, v, omega = _tokens(config["length"], config["seed"])
    half = config["length"] // 2
    exact = textbook.attend(q, k[:half], v[:half], omega)
    shown = np.arange(len(k)) < half
    theirs = textbook.attend(q, k, v * shown[:, None], omega)
    attend = crt.FavorAttention(FEATURES, "pos")
    rows = (jnp.asarray(each, jnp.float32)[None, :, None] for each in (q, k, v))
    drawn, mask = jnp.asarray(omega, jnp.float32), jnp.asarray(shown)[None]
    out = attend(*rows, drawn, mask)  # pyright: ignore[reportCallIssue]
    return {"theirs": rms(theirs, exact), "ours": rms(out[0, :, 0], exact)}


def causality(config: Mapping[str, Any]) -> dict[str, float]:
    """Change of all earlier outputs when the last key turns towards a projection, ε = 1e-6."""
    q, k, v, omega = _tokens(config["length"], config["seed"])
    moved = k.copy()
    moved[-1] = np.linalg.norm(k[-1]) / np.linalg.norm(omega[0]) * omega[0]
    one, other = (textbook.attend(q, each, v, omega, 1e-6, True)[:-1] for each in (moved, k))
    attend = crt.FavorAttention(FEATURES, "pos")

    def ours(keys: np.ndarray) -> np.ndarray:
        rows = (jnp.asarray(each, jnp.float32)[None, :, None] for each in (q, keys, v))
        drawn = jnp.asarray(omega, jnp.float32)
        return np.asarray(attend(*rows, drawn, is_causal=True))[:, :-1]  # pyright: ignore

    return {"theirs": rms(one, other), "ours": rms(ours(moved), ours(k))}


def softmax_error(config: Mapping[str, Any]) -> dict[str, float]:
    """Output error against exact softmax at half scale: FAVOR+ with ε = 1e-4, and FAVOR++."""
    q, k, v, omega = _tokens(config["length"], config["seed"])
    q, k = q / 2, k / 2
    logits = q @ k.T / DIM**0.5
    rows = np.exp(logits - logits.max(axis=1, keepdims=True))
    exact = rows @ v / rows.sum(axis=1, keepdims=True)
    attend = crt.FavorAttention(FEATURES)
    drawn = attend.sample(jax.random.key(config["seed"]), DIM)
    arrays = (jnp.asarray(each, jnp.float32)[None, :, None] for each in (q, k, v))
    out = attend(*arrays, drawn)  # pyright: ignore[reportCallIssue]
    theirs = textbook.attend(q, k, v, omega, 1e-4)
    return {"theirs": rms(theirs, exact), "ours": rms(out[0, :, 0], exact)}


def rbf_sampler(config: Mapping[str, Any]) -> dict[str, float]:
    """Kernel error at 256 columns: random phases, and pairs of cosine and sine, orthogonal."""
    x = np.random.default_rng(config["seed"]).standard_normal((200, 16)) / 4
    squares = np.sum((x[:, None] - x[None, :]) ** 2, axis=-1)
    exact, shared = np.exp(-squares / 2), {"gamma": 0.5, "n_components": FEATURES}
    found = {}
    for name, made in (
        ("theirs", RBFSampler(**shared, random_state=config["seed"])),
        ("ours", RandomFeatures("trig", orthogonal=True, **shared, random_state=config["seed"])),
    ):
        columns = np.asarray(made.fit_transform(x), np.float64)
        found[name] = float(np.linalg.norm(columns @ columns.T - exact) / np.linalg.norm(exact))
    return found


@dataclass(frozen=True)
class Point:
    """One difference: who has it, what is measured, and how."""

    source: str
    what: str
    measure: Callable[[Mapping[str, Any]], dict[str, float]]
    more: tuple[tuple[str, Any], ...] = ()


POINTS = {
    "raw-qr": Point(
        "performer-pytorch, fast_attention",
        "bias of the kernel from QR without its signs, d = 16, along (1, …, 1)",
        raw_qr,
    ),
    "epsilon-4": Point(
        "performer-pytorch",
        "change of the output by ε = 1e-4 in every feature, d = 64",
        epsilon,
        (("epsilon", 1e-4),),
    ),
    "epsilon-6": Point(
        "fast_attention",
        "change of the output by ε = 1e-6 in every feature, d = 64",
        epsilon,
        (("epsilon", 1e-6),),
    ),
    "masks": Point(
        "performer-pytorch",
        "error of the output with half of the keys padded: values zeroed, keys counted",
        masks,
    ),
    "causality": Point(
        "fast_attention",
        "change of earlier outputs by a later key: one stabiliser for all keys, and ε",
        causality,
    ),
    "softmax": Point(
        "performer-pytorch",
        "error against exact softmax at M = 256, inputs of scale ½: FAVOR+, and FAVOR++",
        softmax_error,
    ),
    "rbf-sampler": Point(
        "RBFSampler",
        "error of the Gaussian kernel matrix at 256 columns",
        rbf_sampler,
    ),
}


def units(size: Size, origins: Origins) -> list[Unit]:
    shared = {"blocks": size.blocks, "length": size.length}
    return [
        Unit(
            f"{name}, draw {seed}",
            {"point": name, "seed": seed, **shared, **dict(point.more)},
            point.measure,
        )
        for name, point in POINTS.items()
        for seed in size.seeds
    ]


def gather(size: Size, finished: Sequence[Finished]) -> dict[str, Any]:
    """The mean over draws of every point."""
    rows = []
    for name, point in POINTS.items():
        own = [each.result for each in finished if each.config["point"] == name]
        if own:
            means = {who: float(np.mean([each[who] for each in own])) for who in ("theirs", "ours")}
            rows.append({"point": name, "source": point.source, "what": point.what, **means})
    return {"rows": rows}


def table(numbers: Mapping[str, Any]) -> str:
    """The rows as a table in Markdown."""
    lines = ["| from | what | there | here |", "|---|---|---|---|"]
    for row in numbers["rows"]:
        shown = (f"{row[who]:.2g}" for who in ("theirs", "ours"))
        lines.append(f"| {row['source']} | {row['what']} | {' | '.join(shown)} |")
    return "\n".join(lines)


EXPERIMENT = Experiment(
    "migration",
    __doc__ or "",
    PRESETS,
    (),
    ("point",),
    units,
    gather,
    table,
    (
        *FEATURE_ROOMS,
        *("crt/attention", "crt/estimate.py", "crt/sweep.py"),
        *("crt/integrations/feature_map.py", "crt/integrations/sklearn.py"),
        "experiments/migration",
    ),
)


def main(argv: list[str] | None = None) -> int:
    return run(EXPERIMENT, argv)
