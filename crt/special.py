"""Special functions that generated formulas call, accurate to a few ulp in float32 and float64.

Every function is elementwise, keeps the dtype of its argument, and works under `jit`, `vmap` and
both modes of differentiation, also with `jax.numpy_dtype_promotion("strict")`.

Accuracy: with eps the spacing of floats at 1 (2^-23 or 2^-52), the value lies within
`3 eps |f(t)|` of the exact f of the given float, unless a docstring says otherwise; first
derivatives lie within `8 eps |f'(t)|`, second ones within `64 eps |f''(t)|`. Results below 1000
times the smallest normal float may become 0, because XLA flushes subnormal intermediates.

Derivatives: finite wherever the function is finite. At a pole (an end of the domain where the
function is infinite) the derivative is *defined* as 0, so that no chain rule makes inf * 0 = NaN.
An infinite argument inside the domain gives the limits of the function and of its derivative.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Inexact

from crt import tables
from crt.series import (  # noqa: F401 - generated formulas find every routine here
    log_orthogonal_deficit,
    orthogonal_deficit,
    orthogonal_trig,
)


def _prefix(coefficients: tuple[float, ...], t: Array, reach: float) -> tuple[float, ...]:
    """Returns `coefficients` without the tail that is lost in t's dtype while |t| <= reach."""
    # The margin of 2^-7 keeps the dropped terms harmless also after differentiating twice.
    cut = float(jnp.finfo(t.dtype).eps) / 128 * abs(coefficients[0])
    return coefficients[: 1 + max(k for k, c in enumerate(coefficients) if abs(c) * reach**k > cut)]


def _chebyshev(x: Float[Array, "..."], coefficients: tuple[float, ...]) -> Float[Array, "..."]:
    """Returns `sum_k c_k T_k(x)` for |x| <= 1, by Clenshaw's recurrence."""
    first, *rest = _prefix(coefficients, x, 1.0)
    last, before = jnp.zeros_like(x), jnp.zeros_like(x)
    for c in reversed(rest):
        last, before = c + (2 * x * last - before), last
    return first + (x * last - before)


def _taylor(y: Float[Array, "..."], coefficients: tuple[float, ...]) -> Float[Array, "..."]:
    """Returns `sum_k c_k y^k` for 0 <= y <= 16, by Horner's rule."""
    total = jnp.zeros_like(y)
    for c in reversed(_prefix(coefficients, y, 16.0)):
        total = c + y * total
    return total


def _finite(t: Float[Array, "..."]) -> Float[Array, "..."]:
    """Returns t with +inf replaced by the largest float, where inf - inf or inf/inf would arise."""
    return jnp.minimum(t, float(jnp.finfo(t.dtype).max))


def _log1p_deficit(t: Float[Array, "..."]) -> Float[Array, "..."]:
    """Returns `1 - log(1+t)/t` for -0.7 <= t <= 2, smooth and relatively accurate at t = 0.

    With s = t/(2+t), log(1+t) = 2 atanh(s) and t - 2s = s t, so t - log(1+t) = s (t - s^2 P(s^2)).
    """
    s = t / (2 + t)
    z = s * s
    return (t - z * _chebyshev(z * (2 / 0.3) - 1, tables.ATANH_TAIL)) / (2 + t)


def _complex_log1p(z: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
    """Returns log(1+z); where |1+z| is near 1 the real part comes from |1+z|^2 - 1."""
    a, b = jnp.real(z), jnp.imag(z)
    u = 1 + a
    square = u * u + b * b
    near = (square > 0.25) & (square < 4)
    excess = jnp.where(near, a * (2 + a) + b * b, 0.0)
    real = jnp.where(near, 0.5 * log1p(excess), jnp.real(jnp.log(1 + z)))
    return jax.lax.complex(real, jnp.arctan2(b, u))


@jax.custom_jvp
def sqrt(t: Float[ArrayLike, "..."]) -> Float[Array, "..."]:
    """Returns the square root of t >= 0; at t = 0 its derivative is defined as 0."""
    return jnp.sqrt(jnp.asarray(t))


def _sqrt_slope(t: Float[Array, "..."]) -> Float[Array, "..."]:
    """Returns 1/(2 sqrt t), and 0 at t = 0."""
    return jnp.where(t == 0, 0.0, 0.5 / jnp.sqrt(jnp.where(t == 0, 1.0, t)))


@jax.custom_jvp
def log(t: Float[ArrayLike, "..."]) -> Float[Array, "..."]:
    """Returns log t for t >= 0; -inf at t = 0, with derivative 0 there."""
    return jnp.log(jnp.asarray(t))


def _log_slope(t: Float[Array, "..."]) -> Float[Array, "..."]:
    """Returns 1/t, and 0 at t = 0."""
    return jnp.where(t == 0, 0.0, 1 / jnp.where(t == 0, 1.0, t))


@jax.custom_jvp
def log1p(x: Inexact[ArrayLike, "..."]) -> Inexact[Array, "..."]:
    """Returns log(1+x) for real x >= -1 (-inf at -1) or complex x (principal branch).

    For complex x the bound 3 eps |f| holds for the complex number, not for each of its parts.
    `jnp.log1p` is not used: in float64 on CPUs it loses up to 7 bits for -0.42 < x < -0.29.
    """
    x = jnp.asarray(x)
    if jnp.iscomplexobj(x):
        return _complex_log1p(x)
    # Outside this interval the rounding of 1+x costs at most 1.2 eps.
    near = (x >= -0.3) & (x <= 0.5)
    t = jnp.where(near, x, 0.0)
    return jnp.where(near, t - t * _log1p_deficit(t), jnp.log(1 + x))


def _log1p_slope(x: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
    """Returns 1/(1+x), and 0 at x = -1."""
    pole = x == -1
    return jnp.where(pole, jnp.zeros_like(x), 1 / (1 + jnp.where(pole, jnp.zeros_like(x), x)))


def log1p_ratio(t: Float[ArrayLike, "..."]) -> Float[Array, "..."]:
    """Returns log(1+t)/t for t >= -1: 1 at t = 0, +inf at t = -1."""
    t = jnp.asarray(t)
    near = (t >= -0.7) & (t <= 2)
    pole = t == -1
    a = jnp.where(near, t, 0.0)
    b = jnp.where(near | pole, 1.0, t)
    far = log1p(_finite(b)) / b
    return jnp.where(near, 1 - _log1p_deficit(a), jnp.where(pole, jnp.inf, far))


@jax.custom_jvp
def log1p_gap(t: Float[ArrayLike, "..."]) -> Float[Array, "..."]:
    """Returns t - log(1+t) >= 0 for t >= -1: about t^2/2 near 0, +inf at t = -1."""
    t = jnp.asarray(t)
    # Outside this interval the difference loses less than a factor 2.5.
    near = (t >= -0.7) & (t <= 2)
    a = jnp.where(near, t, 0.0)
    return jnp.where(near, a * _log1p_deficit(a), t - jnp.log(1 + _finite(t)))


def _log1p_gap_slope(t: Float[Array, "..."]) -> Float[Array, "..."]:
    """Returns t/(1+t), and 0 at t = -1; the form for t > 1 keeps the next derivative accurate."""
    far = t > 1
    near = jnp.where(far | (t == -1), 0.0, t)
    return jnp.where(far, 1 - 1 / (1 + jnp.where(far, t, 1.0)), near / (1 + near))


def _expm1_ratio_near(t: Float[Array, "..."]) -> Float[Array, "..."]:
    """Returns (e^t - 1)/t = 2/(t coth(t/2) - t) for |t| <= 1.5."""
    z = t * t
    return 2 / ((2 - t) + z * _chebyshev(z * (2 / 2.25) - 1, tables.COTH_TAIL))


def expm1_ratio(t: Float[ArrayLike, "..."]) -> Float[Array, "..."]:
    """Returns (e^t - 1)/t for t up to overflow (88 or 709): 1 at t = 0, about 1/|t| far below."""
    t = jnp.asarray(t)
    near = jnp.abs(t) <= 1.5
    a, b = jnp.where(near, t, 0.0), jnp.where(near, 2.0, t)
    return jnp.where(near, _expm1_ratio_near(a), (jnp.exp(b) - 1) / b)


@jax.custom_jvp
def expm1(t: Float[ArrayLike, "..."]) -> Float[Array, "..."]:
    """Returns e^t - 1 (`jnp.expm1` is off by up to 2.6 eps, too much to build upon)."""
    t = jnp.asarray(t)
    near = jnp.abs(t) <= 1.5
    a = jnp.where(near, t, 0.0)
    return jnp.where(near, a * _expm1_ratio_near(a), jnp.exp(t) - 1)


def _expm1_gap(t: Float[Array, "..."]) -> Float[Array, "..."]:
    """Returns e^t - 1 - t >= 0, about t^2/2 near 0: its Taylor series for |t| <= 1."""
    near = jnp.abs(t) <= 1
    a = jnp.where(near, t, 0.0)
    total = jnp.zeros_like(t)
    for k in range(20, 1, -1):  # 1/2! + a/3! + a²/4! + ...
        total = (1 + a * total) / k
    return jnp.where(near, a * a * total, expm1(t) - t)


def log_mean_exp(
    h: Float[ArrayLike, "..."], g: Float[ArrayLike, "..."], theta: Float[ArrayLike, "..."]
) -> Float[Array, "..."]:
    """Returns h + log((e^(-g/2) + e^(g/2) cos theta)/2) for g <= 0 <= h.

    Near 0 by its excess over 1, a sum in which only the term with theta is negative.
    """
    h, g, theta = jnp.asarray(h), jnp.asarray(g), jnp.asarray(theta)
    near = h - g / 2 <= 0.5
    hn, gn, tn = (jnp.where(near, value, 0.0) for value in (h, g, theta))
    first, second = hn - gn / 2, hn + gn / 2
    gaps = (_expm1_gap(first) + _expm1_gap(second)) / 2
    excess = gaps + hn - jnp.exp(second) * jnp.sin(tn / 2) ** 2
    gf, tf = (jnp.where(near, 0.0, value) for value in (g, theta))
    inside = jnp.exp(gf) * jnp.cos(tf / 2) ** 2 - expm1(gf) / 2
    return jnp.where(near, log1p(excess), (h - g / 2) + jnp.log(inside))


@jax.custom_jvp
def log_expm1(t: Float[ArrayLike, "..."]) -> Float[Array, "..."]:
    """Returns log(e^t - 1) for t >= 0 without overflow; -inf at t = 0, with derivative 0 there.

    The function crosses 0 at t = log 2: it is accurate to 3 eps (|f(t)| + |t f'(t)|).
    """
    t = jnp.asarray(t)
    return jnp.where(t <= 1, jnp.log(expm1(t)), t + log1p(-jnp.exp(-t)))


@jax.custom_jvp
def log_one_minus_exp(t: Float[ArrayLike, "..."]) -> Float[Array, "..."]:
    """Returns log(1 - e^-t) for t >= 0; -inf at t = 0, with derivative 0 there."""
    t = jnp.asarray(t)
    # Both forms have the same condition at t = log 2.
    return jnp.where(t <= tables.LOG_2, jnp.log(-expm1(-t)), log1p(-jnp.exp(-t)))


@jax.custom_jvp
def _expm1_inverse(t: Float[ArrayLike, "..."]) -> Float[Array, "..."]:
    """Returns q = 1/(e^t - 1) = e^-t/(1 - e^-t) for t > 0, and 0 at t = 0; q' = -q (1 + q)."""
    t = jnp.asarray(t)
    pole = t == 0
    t = jnp.where(pole, 1.0, t)
    return jnp.where(pole, 0.0, jnp.exp(-t) / -expm1(-t))


def _expm1_inverse_slope(t: Float[Array, "..."]) -> Float[Array, "..."]:
    q = _expm1_inverse(t)
    return -q * (1 + q)


def _log_expm1_slope(t: Float[Array, "..."]) -> Float[Array, "..."]:
    """Returns 1/(1 - e^-t) = 1 + 1/(e^t - 1), and 0 at t = 0."""
    return jnp.where(t == 0, 0.0, 1 + _expm1_inverse(t))


@jax.custom_jvp
def expit(t: Float[ArrayLike, "..."]) -> Float[Array, "..."]:
    """Returns 1/(1 + e^-t) for all real t, relatively accurate also far below 0."""
    t = jnp.asarray(t)
    e = jnp.exp(-jnp.abs(t))
    return jnp.where(t >= 0, 1.0, e) / (1 + e)


@jax.custom_jvp
def softplus(t: Float[ArrayLike, "..."]) -> Float[Array, "..."]:
    """Returns log(1 + e^t) for all real t, relatively accurate also far below 0."""
    t = jnp.asarray(t)
    return jnp.maximum(t, 0.0) + log1p(jnp.exp(-jnp.abs(t)))


@jax.custom_jvp
def _expit_slope(t: Float[ArrayLike, "..."]) -> Float[Array, "..."]:
    """Returns e^-t/(1 + e^-t)^2, even in t."""
    t = jnp.asarray(t)
    return expit(t) * expit(-t)


def _expit_curvature(t: Float[Array, "..."]) -> Float[Array, "..."]:
    return -_expit_slope(t) * _tanh(t / 2)


@jax.custom_jvp
def log_cosh(t: Float[ArrayLike, "..."]) -> Float[Array, "..."]:
    """Returns log(cosh t) for all real t without overflow; about t^2/2 near 0."""
    t = jnp.asarray(t)
    near = jnp.abs(t) <= 1
    z = jnp.where(near, t * t, 0.0)
    far = (jnp.abs(t) - tables.LOG_2) + log1p(jnp.exp(-2 * jnp.abs(t)))
    return jnp.where(near, z * _chebyshev(2 * z - 1, tables.LOG_COSH), far)


def _tanh(t: Float[Array, "..."]) -> Float[Array, "..."]:
    """Returns tanh t, with a relatively accurate derivative (`1 - tanh^2` cancels for large t)."""
    near = jnp.abs(t) <= 0.75
    a, e = jnp.where(near, 2 * t, 0.0), jnp.exp(jnp.where(near, -1.0, -2 * jnp.abs(t)))
    z = a * a
    inner = a / (2 + z * _chebyshev(z * (2 / 2.25) - 1, tables.COTH_TAIL))
    return jnp.where(near, inner, jnp.sign(t) * (1 - e) / (1 + e))


def _log_i0_gap_near(t: Float[Array, "..."]) -> Float[Array, "..."]:
    """Returns t^2/4 - log I0(t) for |t| <= 5; y/(y+5) moves the zeros of I0 away from the fit."""
    y = t * t / 4
    return y * y / (4 + y * _chebyshev(y / (y + 5) * 3.6 - 1, tables.I0_GAP))


def _log_i0e_far(t: Float[Array, "..."]) -> Float[Array, "..."]:
    """Returns log(e^-t I0(t)) for t >= 5."""
    w = 1 / t
    return -(
        0.5 * jnp.log(_finite(t))
        + (tables.HALF_LOG_2PI - w * _chebyshev(10 * w - 1, tables.I0_LARGE))
    )


@jax.custom_jvp
def log_i0e(t: Float[ArrayLike, "..."]) -> Float[Array, "..."]:
    """Returns log(e^-t I0(t)) for all real t; about -t near 0, -log(2 pi t)/2 far above.

    Its derivative I1/I0 - 1 is accurate to 8 eps absolutely.
    """
    t = jnp.asarray(t)
    size = jnp.abs(t)
    near = size <= 5
    a = jnp.where(near, size, 0.0)
    # Up to 4 both terms are negative; beyond, the difference loses less than a factor 2.
    even = jnp.where(
        near, a * (a / 4 - 1) - _log_i0_gap_near(a), _log_i0e_far(jnp.where(near, 5.0, size))
    )
    return jnp.where(t < 0, even - 2 * t, even)


def _log_i0e_slope(t: Float[Array, "..."]) -> Float[Array, "..."]:
    """Returns I1(t)/I0(t) - 1."""
    far = t > 8
    w = 1 / jnp.where(far, t, 8.0)
    return jnp.where(
        far,
        -w * (0.5 + w * _chebyshev(16 * w - 1, tables.RATIO_LARGE)),
        bessel_ratio(jnp.where(far, 0.0, t)) - 1,
    )


@jax.custom_jvp
def log_i0(t: Float[ArrayLike, "..."]) -> Float[Array, "..."]:
    """Returns log I0(t) for all real t (modified Bessel function); about t^2/4 near 0."""
    t = jnp.asarray(t)
    near = jnp.abs(t) <= 5
    a, b = jnp.where(near, t, 0.0), jnp.where(near, 5.0, jnp.abs(t))
    return jnp.where(near, a * a / 4 - _log_i0_gap_near(a), b + _log_i0e_far(b))


@jax.custom_jvp
def log_i0_gap(t: Float[ArrayLike, "..."]) -> Float[Array, "..."]:
    """Returns t^2/4 - log I0(t) >= 0 for all real t; about t^4/64 near 0."""
    t = jnp.asarray(t)
    near = jnp.abs(t) <= 5
    gap = _log_i0_gap_near(jnp.where(near, t, 0.0))
    return jnp.where(near, gap, (t / 2) * (t / 2) - log_i0(_finite(jnp.abs(t))))


def _ratio_excess(t: Float[Array, "..."]) -> Float[Array, "..."]:
    """Returns t I0(t)/I1(t) - 2 for |t| <= 8; about t^2/4 near 0."""
    y = t * t / 4
    return y * _chebyshev(y / (y + 10) * 3.25 - 1, tables.RATIO)


@jax.custom_jvp
def bessel_ratio(t: Float[ArrayLike, "..."]) -> Float[Array, "..."]:
    """Returns I1(t)/I0(t) for all real t: odd, about t/2 near 0, and 1 - 1/(2t) far away."""
    t = jnp.asarray(t)
    near = jnp.abs(t) <= 8
    a = jnp.where(near, t, 0.0)
    w = 1 / jnp.where(near, 8.0, jnp.abs(t))
    far = 1 - w * (0.5 + w * _chebyshev(16 * w - 1, tables.RATIO_LARGE))
    return jnp.where(near, a / (2 + _ratio_excess(a)), jnp.sign(t) * far)


def _bessel_ratio_slope(t: Float[Array, "..."]) -> Float[Array, "..."]:
    """Returns R' = 1 - R/t - R^2 for R = I1/I0, without the cancellation of that formula.

    Near: the positive Taylor series. Far: with w = 1/t and R = 1 - w r, r = 1/2 + w p, the
    formula becomes w^2 (2p + r (1 - r)).
    """
    near = jnp.abs(t) <= 8
    a = jnp.where(near, t, 0.0)
    y = a * a / 4
    i0 = _taylor(y, tables.I0_TAYLOR)
    w = 1 / jnp.where(near, 8.0, jnp.abs(t))
    p = _chebyshev(16 * w - 1, tables.RATIO_LARGE)
    r = 0.5 + w * p
    return jnp.where(
        near, _taylor(y, tables.SLOPE_TAYLOR) / (i0 * i0), w * w * (2 * p + r * (1 - r))
    )


def _log_i0_gap_slope(t: Float[Array, "..."]) -> Float[Array, "..."]:
    """Returns t/2 - I1(t)/I0(t), relatively accurate (about t^3/16) near 0."""
    near = jnp.abs(t) <= 8
    a, b = jnp.where(near, t, 0.0), jnp.where(near, 8.0, t)
    excess = _ratio_excess(a)
    return jnp.where(near, a / 2 * (excess / (2 + excess)), b / 2 - bessel_ratio(b))


for _function, _slope in (
    (sqrt, _sqrt_slope),
    (log, _log_slope),
    (log1p, _log1p_slope),
    (log1p_gap, _log1p_gap_slope),
    (log_expm1, _log_expm1_slope),
    (log_one_minus_exp, _expm1_inverse),
    (_expm1_inverse, _expm1_inverse_slope),
    (expm1, jnp.exp),
    (softplus, expit),
    (expit, _expit_slope),
    (_expit_slope, _expit_curvature),
    (log_cosh, _tanh),
    (log_i0e, _log_i0e_slope),
    (log_i0, bessel_ratio),
    (log_i0_gap, _log_i0_gap_slope),
    (bessel_ratio, _bessel_ratio_slope),
):
    # The slope is bound as a default, because a closure would see only the loop's last one.
    _function.defjvps(lambda tangent, _, t, slope=_slope: slope(jnp.asarray(t)) * tangent)
