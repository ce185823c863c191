"""`migration`: what differs from performer-pytorch, fast_attention and RBFSampler, in numbers.

Each row plants one habit of those libraries into textbook FAVOR+, or takes the library itself, and
says what it changes, with the same inputs and the same projections on both sides. The table of
docs/migrating.md is made of them. Under a minute.

Queries and keys are normal with standard deviation ¾ in heads of 16, and M = 1024: there FAVOR++ is
closer to softmax than a uniform average of the values, whose error is shown beside it.
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
from experiments.migration.operations import multiplications
from verification.runs import Finished, Unit

DIM, FEATURES, SCALE = 16, 1024, 0.75
COLUMNS = 256
SIDES = ("theirs", "ours", "uniform")


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


@dataclass(frozen=True, eq=False)
class Tokens:
    """q, k, v (L, 16) and orthogonal ω (1024, 16) of one draw, for every attention of it alike."""

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    omega: np.ndarray

    def textbook(self, epsilon: float = 0.0, **given: Any) -> np.ndarray:
        """FAVOR+ with what the libraries add to it."""
        return textbook.attend(self.q, self.k, self.v, self.omega, epsilon, **given)

    def ours(self, mechanism: str = "pos", **given: Any) -> np.ndarray:
        """The same by `crt`, in float32."""
        arrays = (jnp.asarray(x, jnp.float32)[None, :, None] for x in (self.q, self.k, self.v))
        drawn = jnp.asarray(self.omega, jnp.float32)
        out = crt.FavorAttention(FEATURES, mechanism)(*arrays, drawn, **given)  # pyright: ignore
        return np.asarray(out)[0, :, 0]

    def softmax(self) -> np.ndarray:
        logits = self.q @ self.k.T / DIM**0.5
        rows = np.exp(logits - logits.max(axis=1, keepdims=True))
        return rows @ self.v / rows.sum(axis=1, keepdims=True)


def tokens(config: Mapping[str, Any]) -> Tokens:
    draw = np.random.default_rng(config["seed"])
    q, k, v = draw.standard_normal((3, config["length"], DIM))
    omega = crt.projections.orthogonal(jax.random.key(config["seed"]), FEATURES, DIM)
    return Tokens(SCALE * q, SCALE * k, v, np.asarray(omega, np.float64))


def against_softmax(of: Tokens, **outputs: np.ndarray) -> dict[str, float]:
    """Errors against exact softmax, that of a uniform average of the values among them."""
    exact = of.softmax()
    outputs["uniform"] = np.broadcast_to(of.v.mean(axis=0), exact.shape)
    return {who: rms(each, exact) for who, each in outputs.items()}


def raw_qr(config: Mapping[str, Any]) -> dict[str, float]:
    """Mean of exp(ω·u)/e^{1/2} - 1 along u = (1, …, 1)/4 at d = 16: 0 for unbiased features."""
    keys = jax.random.split(jax.random.key(config["seed"]), config["blocks"])
    omega = jax.vmap(lambda key: crt.projections.orthogonal(key, DIM, DIM))(keys)
    ours, u = np.asarray(omega, np.float64), np.full(DIM, 0.25)
    return {
        who: float(np.mean(np.exp(each @ u - 0.5)) - 1)
        for who, each in (("theirs", textbook.raw_signs(ours)), ("ours", ours))
    }


def epsilon(config: Mapping[str, Any]) -> dict[str, float]:
    """Change of the output by ε in every feature, relative to the estimate without it."""
    of = tokens(config)
    exact = of.textbook()
    return {"theirs": rms(of.textbook(config["epsilon"]), exact), "ours": rms(of.ours(), exact)}


def masks(config: Mapping[str, Any]) -> dict[str, float]:
    """Half of the keys padded: values set to 0 while the keys still count, against leaving out."""
    of = tokens(config)
    half = config["length"] // 2
    shown = np.arange(len(of.k)) < half
    exact = Tokens(of.q, of.k[:half], of.v[:half], of.omega).textbook()
    theirs = Tokens(of.q, of.k, of.v * shown[:, None], of.omega).textbook()
    ours = of.ours(key_mask=jnp.asarray(shown)[None])
    return {"theirs": rms(theirs, exact), "ours": rms(ours, exact)}


def causality(config: Mapping[str, Any]) -> dict[str, float]:
    """Change of all earlier outputs when the last key turns towards a projection, and grows."""
    of = tokens(config)
    k = of.k.copy()
    k[-1] = 3 * np.linalg.norm(k[-1]) / np.linalg.norm(of.omega[0]) * of.omega[0]
    moved = Tokens(of.q, k, of.v, of.omega)
    theirs, ours = (
        [call(each)[:-1] for each in (moved, of)]
        for call in (
            lambda each: each.textbook(config["epsilon"], is_causal=True),
            lambda each: each.ours(is_causal=True),
        )
    )
    return {"theirs": rms(*theirs), "ours": rms(*ours)}


def mechanism(config: Mapping[str, Any]) -> dict[str, float]:
    """Error of the output against softmax: FAVOR+ and FAVOR++, ω the same, nothing added."""
    of = tokens(config)
    return against_softmax(of, theirs=of.ours("pos"), ours=of.ours("oprf"))


def epsilon_error(config: Mapping[str, Any]) -> dict[str, float]:
    """Error of FAVOR+ against softmax with ε in every feature, and without."""
    of = tokens(config)
    return against_softmax(of, theirs=of.textbook(config["epsilon"]), ours=of.ours())


def renormalisation(config: Mapping[str, Any]) -> dict[str, float]:
    """Error of FAVOR+ against softmax without a denominator, and with it."""
    of = tokens(config)
    return against_softmax(of, theirs=of.textbook(renormalize=False), ours=of.ours())


def redraw(config: Mapping[str, Any]) -> dict[str, float]:
    """Share of the projections' entries that differ when one step of one layer is done again."""
    hidden = np.random.default_rng(config["seed"])
    attend, key = crt.FavorAttention(FEATURES), jax.random.key(config["seed"])
    pairs = {
        "theirs": [hidden.standard_normal((FEATURES, DIM)) for _ in range(2)],
        "ours": [attend.redraw(key, DIM, step=7, layer=1, head=0) for _ in range(2)],
    }
    return {who: float(np.mean(np.asarray(a) != np.asarray(b))) for who, (a, b) in pairs.items()}


def decoding(config: Mapping[str, Any]) -> dict[str, float]:
    """Multiplications for one more token after the others: all of them again, or one step."""
    attend, length = crt.FavorAttention(FEATURES), config["tokens"]
    omega = attend.sample(jax.random.key(config["seed"]), DIM)
    whole = jnp.zeros((1, length, 1, DIM))
    state, token = attend.init_state(1, 1, DIM), whole[:, 0]

    def again(x: jax.Array) -> jax.Array:
        return attend(x, x, x, omega, is_causal=True, rho=0.5)

    def step(state: Any, x: jax.Array) -> Any:
        return attend.step(state, x, x, x, omega, rho=0.5)

    return {
        "theirs": float(multiplications(again, whole)),
        "ours": float(multiplications(step, state, token)),
    }


def _kernel_error(estimate: np.ndarray, x: np.ndarray) -> float:
    squares = np.sum((x[:, None] - x[None, :]) ** 2, axis=-1)
    exact = np.exp(-squares / 2)
    return float(np.linalg.norm(estimate - exact) / np.linalg.norm(exact))


def _points(config: Mapping[str, Any]) -> np.ndarray:
    return np.random.default_rng(config["seed"]).standard_normal((200, DIM)) / 4


def phases(config: Mapping[str, Any]) -> dict[str, float]:
    """Kernel error at 256 columns: a random phase each, or pairs on the first half of the ω."""
    x = _points(config)
    made = RBFSampler(gamma=0.5, n_components=COLUMNS, random_state=config["seed"])
    columns = made.fit_transform(x)
    omega = jnp.asarray(made.random_weights_.T[: COLUMNS // 2], jnp.float32)
    rows = jnp.asarray(x, jnp.float32)
    ours = crt.estimate_kernel(crt.TrigRF(), omega, rows, rows)
    return {
        "theirs": _kernel_error(columns @ columns.T, x),
        "ours": _kernel_error(np.asarray(ours, np.float64), x),
    }


def orthogonality(config: Mapping[str, Any]) -> dict[str, float]:
    """Kernel error at 256 columns, pairs on both sides: independent and orthogonal ω."""
    x, found = _points(config), {}
    for who, orthogonal in (("theirs", False), ("ours", True)):
        made = RandomFeatures(
            "trig",
            gamma=0.5,
            n_components=COLUMNS,
            orthogonal=orthogonal,
            random_state=config["seed"],
        )
        columns = np.asarray(made.fit_transform(x), np.float64)
        found[who] = _kernel_error(columns @ columns.T, x)
    return found


@dataclass(frozen=True)
class Point:
    """One difference: who has it, what is measured, and how."""

    source: str
    what: str
    measure: Callable[[Mapping[str, Any]], dict[str, float]]
    more: tuple[tuple[str, Any], ...] = ()


BOTH, PYTORCH, GOOGLE, SKLEARN = (
    "performer-pytorch, fast_attention",
    "performer-pytorch",
    "fast_attention",
    "RBFSampler",
)
POINTS = {
    "raw-qr": Point(BOTH, "bias of the kernel from QR without its signs, along (1, …, 1)", raw_qr),
    "epsilon-4": Point(
        BOTH, "change of the output by ε = 1e-4 in every feature", epsilon, (("epsilon", 1e-4),)
    ),
    "epsilon-6": Point(
        "fast_attention (TensorFlow)",
        "change of the output by ε = 1e-6 in every feature",
        epsilon,
        (("epsilon", 1e-6),),
    ),
    "masks": Point(
        PYTORCH,
        "error of the output with half of the keys padded: values zeroed, keys counted",
        masks,
    ),
    "redraw": Point(
        PYTORCH,
        "share of projections that change when a step is done again: hidden generator, `redraw`",
        redraw,
    ),
    "decoding": Point(
        PYTORCH,
        "multiplications for the last of 256 tokens: the causal call on all again, `step`",
        decoding,
        (("tokens", 256),),
    ),
    "causality": Point(
        GOOGLE,
        "change of earlier outputs by a later key: one stabiliser for all keys, beside ε = 1e-4",
        causality,
        (("epsilon", 1e-4),),
    ),
    "mechanism": Point(BOTH, "error against softmax: FAVOR+, FAVOR++", mechanism),
    "epsilon-error": Point(
        BOTH,
        "error of FAVOR+ against softmax: ε = 1e-4 in every feature, none",
        epsilon_error,
        (("epsilon", 1e-4),),
    ),
    "renormalisation": Point(
        GOOGLE,
        "error of FAVOR+ against softmax: `renormalize_attention=False`, a denominator",
        renormalisation,
    ),
    "phases": Point(
        SKLEARN, "error of the Gaussian kernel, 256 columns: random phases, pairs", phases
    ),
    "orthogonality": Point(
        SKLEARN, "the same with pairs: independent ω, orthogonal ω", orthogonality
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
            means = {
                who: float(np.mean([each[who] for each in own])) for who in SIDES if who in own[0]
            }
            rows.append({"point": name, "source": point.source, "what": point.what, **means})
    return {"rows": rows}


def _shown(number: float | None) -> str:
    """Two digits; whole numbers from 100 on as they are."""
    if number is None:
        return ""
    return f"{number:,.0f}" if number >= 100 else f"{number:.2g}"


def table(numbers: Mapping[str, Any]) -> str:
    """The rows as a table in Markdown."""
    lines = ["| from | what | there | here | uniform average |", "|---|---|---|---|---|"]
    for row in numbers["rows"]:
        shown = (_shown(row.get(who)) for who in SIDES)
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
