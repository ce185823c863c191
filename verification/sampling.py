"""Float points of a formula's declared domain: inside, near every end, and on it."""

import numpy as np

from derivations.domain import Complex, Range, Real, Sign, Vector, Whole

SHARES = {1: 0.3, 8: 0.3, 2: 0.2, 3: 0.15, 64: 0.05}
"""Vector formulas are looked at in these dimensions, with these shares of the points."""


def sample(
    allowed: Range, size: tuple[int, ...], dtype: str, rng: np.random.Generator
) -> np.ndarray:
    """`size` points of one argument's range; complex ones with a last axis for the two parts."""
    if isinstance(allowed, Complex):
        parts = [sample(part, size, dtype, rng) for part in (allowed.real, allowed.imag)]
        return np.stack(parts, axis=-1)
    if isinstance(allowed, Vector):
        return sample(allowed.entry, size, dtype, rng)
    if isinstance(allowed, Sign):
        return rng.choice([-1, 1], size).astype(dtype)
    if isinstance(allowed, Whole):
        return np.floor(
            np.exp(rng.uniform(np.log(allowed.low), np.log(allowed.high + 1), size))
        ).astype(dtype)
    return _real(allowed, size, dtype, rng)


def _real(allowed: Real, size: tuple[int, ...], dtype: str, rng: np.random.Generator) -> np.ndarray:
    low, high = float(allowed.low), float(allowed.high)
    decades = -np.log10(np.finfo(dtype).eps)
    small = 10 ** rng.uniform(-decades, 0, size)
    kinds = [
        rng.uniform(low, high, size),
        low + (high - low) * small,
        high - (high - low) * small,
        rng.choice([low, high], size),
    ]
    weights = [0.35, 0.35, 0.2, 0.1]
    if low > 0:
        kinds.append(np.exp(rng.uniform(np.log(low), np.log(high), size)))
        weights = [0.2, 0.25, 0.15, 0.1, 0.3]
    if low < 0 < high:
        kinds.append(rng.choice([low, high], size) * small)
        weights = [0.35, 0.05, 0.05, 0.1, 0.45]
    which = rng.choice(len(kinds), size, p=weights)
    return clip(np.choose(which, kinds).astype(dtype), allowed)


def clip(values: np.ndarray, allowed: Range) -> np.ndarray:
    """`values` moved into the range, in their own dtype; an open end is not reached."""
    if isinstance(allowed, Complex):
        parts = [clip(values[..., i], part) for i, part in enumerate((allowed.real, allowed.imag))]
        return np.stack(parts, axis=-1)
    if isinstance(allowed, Vector):
        return clip(values, allowed.entry)
    if isinstance(allowed, Sign):
        return np.where(values < 0, -1, 1).astype(values.dtype)
    if isinstance(allowed, Whole):
        return np.clip(np.rint(values), allowed.low, allowed.high).astype(values.dtype)
    return np.clip(values, *_ends(allowed, values.dtype))


def _ends(allowed: Real, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest float of the range."""
    low, high = (np.asarray(float(end), dtype) for end in (allowed.low, allowed.high))
    up, down = np.asarray(np.inf, dtype), np.asarray(-np.inf, dtype)
    if float(low) < float(allowed.low) or allowed.open_low:
        # An open end at 0 is approached as far as squares and quotients of it stay normal.
        low = np.nextafter(low, up) if allowed.low else np.asarray(1e-12, dtype)
    if float(high) > float(allowed.high) or allowed.open_high:
        high = np.nextafter(high, down)
    return low, high
