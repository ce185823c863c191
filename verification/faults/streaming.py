"""Faults of decoding, packed sequences and attention over devices."""

from typing import Any

import jax.numpy as jnp
from jax import lax

from crt.attention import causal, forward, packed
from crt.attention.segments import Segments
from crt.attention.state import State
from verification.faults.fault import Fault


def all_seen(_: Any) -> Any:
    return lambda own: jnp.ones((*own.shape, own.shape[-1]), bool)


def first_edge(original: Any) -> Any:
    return lambda *args: original(*args, edge=0)


def without_scales(_: Any) -> Any:
    def merge(self: State, other: State) -> State:
        return State(jnp.maximum(self.log_scale, other.log_scale), self.sums + other.sums)

    return merge


def unscaled_sum(_: Any) -> Any:
    def all_reduce(self: State, axis_name: str) -> State:
        return State(lax.pmax(self.log_scale, axis_name), lax.psum(self.sums, axis_name))

    return all_reduce


def stale(original: Any) -> Any:
    def go_on(made: Any, state: State, *rest: Any) -> Any:
        return original(made, state, *rest)[0], state

    return go_on


def edge_pads(original: Any) -> Any:
    return lambda x, length, mode="edge": original(x, length, "edge")


STREAMING = (
    Fault(
        "stream-forgotten-token",
        "a step reads the state without its own token",
        State,
        "merge",
        lambda _: lambda self, other: self,
    ),
    Fault(
        "stream-dropped-rescale",
        "a token's sums added to the state's without regard to their scales",
        State,
        "merge",
        without_scales,
    ),
    Fault(
        "stream-stale-prompt",
        "the state of a prefill is the one before it",
        forward,
        "go_on",
        stale,
    ),
    Fault(
        "stream-counted-pads", "pads at the end of a prompt are kept", forward, "_pad", edge_pads
    ),
    Fault(
        "packing-wrong-segment",
        "keys of other sequences seen within a chunk",
        packed,
        "same",
        all_seen,
    ),
    Fault(
        "packing-causal-wrong-segment",
        "keys of other sequences seen within a chunk, under causality",
        causal,
        "same",
        all_seen,
    ),
    Fault(
        "packing-foreign-state",
        "every query reads the state of its neighbour chunk, whatever sequence that is of",
        Segments,
        "goes_on",
        lambda _: lambda self: jnp.ones_like(self.own == self.outside),
    ),
    Fault(
        "packing-kept-state",
        "a state goes on after its sequence has ended",
        State,
        "where",
        lambda _: lambda self, kept: self,
    ),
    Fault(
        "packing-wrong-edge",
        "the state carried on is that of a chunk's first sequence",
        causal,
        "extend",
        first_edge,
    ),
    Fault(
        "devices-missing-sum",
        "every device answers from its own keys",
        State,
        "all_reduce",
        lambda _: lambda self, axis_name: self,
    ),
    Fault(
        "devices-unscaled-sum",
        "states of devices added without regard to their scales",
        State,
        "all_reduce",
        unscaled_sum,
    ),
    Fault(
        "devices-future-seen",
        "a device begins with the keys of all devices, later ones included",
        State,
        "before",
        lambda _: lambda self, axis_name: self.all_reduce(axis_name),
    ),
    Fault(
        "devices-no-past",
        "a device begins with its own keys in place of those before it",
        State,
        "before",
        lambda _: lambda self, axis_name: self,
    ),
)
