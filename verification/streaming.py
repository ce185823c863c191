"""Decoding, packed sequences and attention over devices against the definition of attention.

All in float64. Devices are stood in for by a mapped axis, along which the same sums, maxima and
prefixes are taken; real ones are a matter of the tests.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import crt
from verification import attention_definition as definition
from verification.attention import CAUSAL, FEATURES, Shape, apart, roundings
from verification.attention_definition import Given
from verification.checks import Check, Outcome, Setting
from verification.comparison import outcome
from verification.faults import planted

STEPS = 3
LENGTHS = (4, 1, 124, 3, 130)
"""Packed sequences: the long ones lie over the borders of chunks of 128."""
DEVICES = 4


def _given(setting: Setting, length: int, is_causal: bool) -> Given:
    """A call of "oprf" whose keys shrink along the length, so that scales rise everywhere."""
    rng = np.random.default_rng(setting.seed)
    given = Shape(length, length, is_causal).draw("oprf", rng)
    sizes = np.linspace(3, 0.3, length)[:, None, None]
    return replace(given, k=sizes * given.k, mask=np.ones_like(given.mask))


def _attend() -> crt.FavorAttention:
    return crt.FavorAttention(FEATURES, "oprf")


def streaming(setting: Setting) -> Outcome:
    """A prefill with masked tokens and some steps, against one causal evaluation."""
    given = _given(setting, CAUSAL + STEPS, True)
    given.mask[:, 5:9] = False
    named: dict[str, Any] = {"rho": given.rho, "scale": given.scale}
    with jax.enable_x64(True):
        q, k, v = (jnp.asarray(each) for each in (given.q, given.k, given.v))
        attend, omega, n = _attend(), jnp.asarray(given.omega), CAUSAL
        out, state = attend.prefill(
            q[:, :n], k[:, :n], v[:, :n], omega, key_mask=given.mask[:, :n], **named
        )
        outs = [out]
        for t in range(n, n + STEPS):
            out, state = attend.step(state, q[:, t], k[:, t], v[:, t], omega, **named)
            outs.append(out[:, None])
        found = np.concatenate(outs, axis=1)
    exact, limit = definition.attend(given), roundings(given)
    rows = [
        apart("prefill", found[:, :n], exact[:, :n], limit),
        apart("steps", found[:, n:], exact[:, n:], limit),
    ]
    return outcome(rows, "prefill and steps against the causal definition")


def packing(setting: Setting) -> Outcome:
    """Packed sequences against the definition of each on its own."""
    rows, ids = [], np.repeat(np.arange(len(LENGTHS)), LENGTHS)
    for is_causal in (False, True):
        given = _given(setting, ids.size, is_causal)
        with jax.enable_x64(True):
            arrays = (jnp.asarray(each) for each in (given.q, given.k, given.v, given.omega))
            found = _attend()(
                *arrays,
                is_causal=is_causal,
                rho=given.rho,
                scale=given.scale,
                segment_ids=np.broadcast_to(ids, given.mask.shape),
            )
        for number, length in enumerate(LENGTHS):
            own = ids == number
            alone = replace(
                given, **{name: each[:, own] for name, each in given.arrays.items()},
                mask=given.mask[:, own],
            )  # fmt: skip
            label = f"{given.label}, a sequence of {length}"
            limit = roundings(given)
            rows.append(apart(label, found[:, own], definition.attend(alone), limit))
    return outcome(rows, "packed sequences against the definition of each")


def _part(given: Given, q: Array, k: Array, v: Array) -> Array:
    """What one device does."""
    named: dict[str, Any] = {"is_causal": given.is_causal, "rho": given.rho, "scale": given.scale}
    return _attend()(q, k, v, jnp.asarray(given.omega), axis_name="part", **named)


def devices(setting: Setting) -> Outcome:
    """The length spread over a mapped axis against the definition of the whole."""
    rows = []
    for is_causal in (False, True):
        given = _given(setting, 4 * DEVICES, is_causal)
        run = jax.vmap(partial(_part, given), in_axes=1, out_axes=1, axis_name="part")
        with jax.enable_x64(True):
            q, k, v = (
                jnp.asarray(each).reshape(len(each), DEVICES, -1, *each.shape[2:])
                for each in given.arrays.values()
            )
            found = run(q, k, v).reshape(*given.q.shape[:3], -1)
        rows.append(apart(given.label, found, definition.attend(given), roundings(given)))
    return outcome(rows, "the length over a mapped axis against the whole")


def checks() -> list[Check]:
    return [
        Check(
            "attention-streaming",
            ("attention-streaming",),
            "certificate",
            "prefill and steps give what the causal call gives",
            streaming,
            planted(
                streaming,
                "stream-forgotten-token",
                "stream-dropped-rescale",
                "stream-stale-prompt",
                "stream-counted-pads",
            ),
        ),
        Check(
            "attention-packing",
            ("attention-packing",),
            "certificate",
            "packed sequences see themselves alone",
            packing,
            planted(
                packing,
                "packing-wrong-segment",
                "packing-causal-wrong-segment",
                "packing-foreign-state",
                "packing-kept-state",
                "packing-wrong-edge",
            ),
        ),
        Check(
            "attention-devices",
            ("attention-devices",),
            "certificate",
            "the length spread over devices changes nothing",
            devices,
            planted(
                devices,
                "devices-missing-sum",
                "devices-unscaled-sum",
                "devices-future-seen",
                "devices-no-past",
            ),
        ),
    ]
