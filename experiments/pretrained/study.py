"""`minilm`: a pretrained sentence encoder whose softmax becomes FAVOR+ or FAVOR++, no training.

Sentences of MRPC pairs are embedded by MiniLM (six layers, 12 heads of 32) as it is and with every
attention layer converted, for several numbers of features M and draws of the projections. What
counts is the cosine between a sentence's two embeddings, and, as the encoder's use, how often a
paraphrase is still closer than a sentence of another pair. ρ is calibrated on other sentences.

It needs the extras bench and flax.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

import crt
from crt.integrations.flax import convert
from experiments.data.catalogue import MRPC, WIKITEXT
from experiments.data.errors import DataError, Unreachable
from experiments.experiment import FEATURE_ROOMS, Experiment, Origins
from experiments.experiment import main as run
from experiments.pretrained import bert, minilm, mrpc, wikitext
from verification.runs import Finished, Unit, digest

LENGTH = 64
"""Tokens of a sentence, cut or padded."""
NAMES = {"pos": "FAVOR+", "oprf": "FAVOR++"}
FILES = {file.path: file.sha256 for file in (MRPC, WIKITEXT)} | minilm.SHA256
"""What is read, text and model, with the hashes that it is compared with."""


@dataclass(frozen=True)
class Size:
    """How many sentences, features and draws."""

    pairs: int
    features: tuple[int, ...]
    seeds: tuple[int, ...]


PRESETS = {
    "smoke": Size(4, (32,), (0,)),
    "laptop": Size(32, (128, 512, 2048), (0, 1)),
    "paper": Size(128, (32, 64, 128, 256, 512, 1024, 2048, 4096), tuple(range(5))),
}


def units(size: Size, origins: Origins) -> list[Unit]:
    """The exact model, and one unit for every mechanism, M and draw."""
    shared = {"pairs": size.pairs, "files": digest(FILES)}
    return [
        Unit("exact softmax", {"kind": "exact", "seed": 0, **shared}, exact),
        *(
            Unit(
                f"{NAMES[name]}, M = {features}, draw {seed}",
                {
                    "kind": "converted",
                    "mechanism": name,
                    "features": features,
                    "seed": seed,
                    **shared,
                },
                converted,
            )
            for features in size.features
            for name in NAMES
            for seed in size.seeds
        ),
    ]


@contextmanager
def _at_hand() -> Iterator[None]:
    """What is missing ends the run with its sentence."""
    try:
        yield
    except (Unreachable, minilm.MissingModelError) as error:
        raise DataError(str(error).removesuffix(".")) from error


@_at_hand()
def _sentences(pairs: int) -> tuple[jax.Array, jax.Array]:
    """Token ids and mask of both sentences of every pair, first ones first."""
    rows = mrpc.pairs(pairs)
    sentences = [one for one, _ in rows] + [other for _, other in rows]
    ids, mask = minilm.tokenize(sentences, LENGTH)
    return jnp.asarray(ids), jnp.asarray(mask)


@_at_hand()
def _examples() -> tuple[jax.Array, jax.Array]:
    """Token ids and mask of paragraphs for the calibration."""
    ids, mask = minilm.tokenize(wikitext.paragraphs(8, 20), LENGTH)
    return jnp.asarray(ids), jnp.asarray(mask)


_weights = _at_hand()(minilm.load)


def _hits(embeddings: np.ndarray) -> float:
    """How often a first sentence is closest to its own partner among all second sentences."""
    one, other = np.split(embeddings, 2)
    return float(np.mean(np.argmax(one @ other.T, axis=1) == np.arange(len(one))))


def exact(config: Mapping[str, Any]) -> dict[str, Any]:
    """The encoder as it is: against the plain functions of its weights, and what it finds."""
    ids, mask = _sentences(config["pairs"])
    weights = _weights()
    found = np.asarray(bert.load(weights)(ids, mask))
    reference = np.asarray(minilm.embed(weights, ids, mask))
    return {
        "difference": float(np.max(np.abs(found - reference))),
        "hits": _hits(found),
        "cosine_of_pairs": float(np.mean(np.sum(np.prod(np.split(found, 2), axis=0), axis=1))),
    }


def converted(config: Mapping[str, Any]) -> dict[str, Any]:
    """Cosines to the exact embeddings of one draw of one mechanism."""
    ids, mask = _sentences(config["pairs"])
    model = bert.load(_weights())
    attend = crt.FavorAttention(config["features"], config["mechanism"])
    example = _examples()
    done = convert(model, attend, jax.random.key(config["seed"]), run=lambda each: each(*example))
    embed = nnx.jit(lambda model, ids, mask: model(ids, mask))
    one, other = (np.asarray(embed(each, ids, mask)) for each in (model, done.model))
    cosines = np.sum(one * other, axis=1)
    return {
        "cosine": float(np.mean(cosines)),
        "least": float(np.min(cosines)),
        "hits": _hits(other),
        "rho": {path: np.asarray(rho).tolist() for path, rho in done.rho.items()},
        "heads_that_win": int(sum(report.wins.sum() for report in done.reports.values())),
        "heads": int(sum(report.wins.size for report in done.reports.values())),
    }


def gather(size: Size, finished: Sequence[Finished]) -> dict[str, Any]:
    """One row for each mechanism and M: the mean over draws, the smallest and the largest."""
    rows = []
    for name in NAMES:
        for features in size.features:
            own = [
                each.result
                for each in finished
                if each.config.get("mechanism") == name and each.config["features"] == features
            ]
            if own:
                cosines = [each["cosine"] for each in own]
                rows.append(
                    {
                        "mechanism": name,
                        "name": NAMES[name],
                        "features": features,
                        "cosine": float(np.mean(cosines)),
                        "least": min(cosines),
                        "most": max(cosines),
                        "hits": float(np.mean([each["hits"] for each in own])),
                        "heads_that_win": float(np.mean([each["heads_that_win"] for each in own])),
                        "heads": own[0]["heads"],
                    }
                )
    whole = [each.result for each in finished if each.config["kind"] == "exact"]
    exact = whole[0] if whole else None
    return {"rows": rows, "exact": exact, "pairs": size.pairs, "files": FILES}


def show(numbers: Mapping[str, Any]) -> str:
    head = f"{'':9}{'M':>6}{'cosine':>9}{'least':>8}{'most':>8}{'hits':>7}"
    lines = [f"{head}{'heads closer than uniform':>28}"]
    for row in numbers["rows"]:
        wins = f"{row['heads_that_win']:.0f} of {row['heads']}"
        lines.append(
            f"{row['name']:9}{row['features']:6}{row['cosine']:9.3f}{row['least']:8.3f}"
            f"{row['most']:8.3f}{row['hits']:7.2f}{wins:>28}"
        )
    if numbers["exact"]:
        lines.append(f"exact softmax finds {numbers['exact']['hits']:.2f} of the partners")
    return "\n".join(lines)


EXPERIMENT = Experiment(
    "minilm",
    __doc__ or "",
    PRESETS,
    (),
    ("mechanism", "features"),
    units,
    gather,
    show,
    (
        *FEATURE_ROOMS,
        *("crt/attention", "crt/estimate.py", "crt/sweep.py", "crt/integrations/flax.py"),
        "experiments/data/catalogue.py",
        "experiments/pretrained",
    ),
)


def main(argv: list[str] | None = None) -> int:
    return run(EXPERIMENT, argv)
