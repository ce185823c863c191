# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
# ---

# %% [markdown]
# # 07 · Positive discrete features, and the price of clamping
#
# **Statement (printed, Section 3.2.3).** Discretely-induced features are positive when all
# coordinates of x and y are. Otherwise take $c_l=\min_i\min(x^{(i)}_l,y^{(i)}_l)-\epsilon$ with a
# small $\epsilon>0$ and use the features on $\hat x=x-c$ and $\hat y=y-c$: then $\hat x-\hat
# y=x-y$, so $K(\hat x,\hat y)=K(x,y)$. These are PoisRF+ and GeomRF+.
#
# **Printed in the appendix (classification).** c comes from the training set, "and we clamp
# validation/test input features to be at least ε to guarantee that they are positive without
# leaking test data into c".
#
# The first is right. The second is silent about its price: clamped points get a biased kernel,
# always too large, and the factor is found here.

# %%
import sympy as sp
from flint import acb
from sympy import IndexedBase, Max, Rational, S, Sum, Symbol, exp, oo, sqrt, symbols

from derivations.arb import Evaluator, at_precision
from derivations.certificate import certify, must_fail, refute, reject, verify
from derivations.domain import Real, Vector
from derivations.formula import Erratum, Formula, Statement, check_formulas
from derivations.identities import QUADRATURE_BITS, reference, series_arb
from derivations.symbols import d, l, lam, p, x, x_l, y, y_l

# %% [markdown]
# ## Positive coordinates make positive features
#
# With $m_l$ the least value of coordinate l, $\hat x_l=(x_l-m_l)+\epsilon\ge\epsilon>0$. A feature
# is a product of $\hat x_l^{k}\,(k!\,p_k)^{-1/2}$ and $e^{-\|\hat x\|^2/2}$, and powers of positive
# numbers are positive. At $\hat x_l=0$ it would be 0 for every k > 0: the ε is needed.

# %%
k = Symbol("k", integer=True, nonnegative=True)
mass, eps = symbols("p_k epsilon", positive=True)
above = Symbol("above", nonnegative=True)  # x_l - m_l


def verify_positive(shifted):
    feature = exp(-(shifted**2) / 2) * shifted**k / sqrt(sp.factorial(k) * mass)
    verify("positivity", "features are positive on shifted data", feature.is_positive)


verify_positive(above + eps)
must_fail(
    "positivity", "planted error (shift by the minimum, no ε)", lambda: verify_positive(above)
)

# %% [markdown]
# ## The shift keeps the mean
#
# **First derivation:** the law cancels in every term, and the Taylor series of $e^{\hat x_l\hat
# y_l}$ remains; d coordinates multiply to $e^{\hat x^\top\hat y-(\|\hat x\|^2+\|\hat y\|^2)/2}$.

# %%
a, b = symbols("a b", positive=True)
term = mass * (a**k / sqrt(sp.factorial(k) * mass)) * (b**k / sqrt(sp.factorial(k) * mass))
u = Symbol("u")
taylor = sp.summation(u**k / sp.factorial(k), (k, 0, oo)) == exp(u)
term_ok = sp.simplify(term - (a * b) ** k / sp.factorial(k)) == 0
verify("positivity", "terms of the mean are those of exp(x̂ŷ)", term_ok and taylor)
c, e, low = (IndexedBase(name, real=True) for name in ("c", "e", "low"))


def over_coordinates(summand):
    return Sum(summand, (l, 1, d))


def by_taylor(x_hat, y_hat):
    return over_coordinates(x_hat * y_hat) - over_coordinates(x_hat**2 + y_hat**2) / 2


log_kernel = -over_coordinates((x[l] - y[l]) ** 2) / 2

# %% [markdown]
# **Second derivation:** K depends on x - y only, and $(x-c)-(y-c)=x-y$ for every c, so features
# that are unbiased on all data (notebook 05) have mean K(x, y) on shifted data.
#
# **Certificate**, both laws; Arb sums mass times both features over k in every coordinate. The rate
# and the chance of success do not enter the result.


# %%
def poisson(value, count):
    return (-value).exp() * value**count / acb(count + 1).gamma()


def geometric(value, count):
    return value * (1 - value) ** count


def moment(law, parameter, x_hat, y_hat, power):
    """E (f(ω, x̂) f(ω, ŷ))^power for one coordinate, from the features, as a series."""

    def one(count):
        weight = law(parameter, count)
        scale = (acb(count + 1).gamma() * weight).sqrt()
        return weight * (x_hat**count / scale * (y_hat**count / scale)) ** power

    size = abs(x_hat * y_hat) ** power
    thinning = (abs(parameter) if law is poisson else 1 - abs(parameter)) ** (1 - power)
    total = series_arb(one, lambda count: size * thinning / (count + 1))
    return total * (-power * (x_hat**2 + y_hat**2) / 2).exp()


def mean_on(law, parameter, moved=None):
    """Arb's mean of the feature product on x - c (after a move by e, if any) and y - c."""

    def value(point):
        at, total = Evaluator(point), acb(1)
        moves = point[moved] if moved else [S.Zero] * len(point[x])
        for x_v, y_v, c_v, e_v in zip(point[x], point[y], point[c], moves, strict=True):
            total *= moment(law, at(parameter), at(x_v + e_v - c_v), at(y_v - c_v), 1)
        return total

    return lambda point: at_precision(lambda: value(point), QUADRATURE_BITS)


box = Vector(Real(-1, 1))
shifts = {x: box, y: box, c: Vector(Real(-2, 2))}
rate, chance = {lam: Real(Rational(1, 2), 2)}, {p: Real(Rational(1, 10), Rational(9, 10))}
first, second = exp(by_taylor(x[l] - c[l], y[l] - c[l])), exp(log_kernel)
for name, law, where in (("PoisRF+", poisson, rate), ("GeomRF+", geometric, chance)):
    (parameter,) = where
    what = f"mean of {name} on shifted data is K(x, y)"
    by_law = mean_on(law, parameter)
    certify("positivity", what, first, second, where=shifts | where, reference=by_law)

# %% [markdown]
# ## The shift changes the variance
#
# The logarithm of PoisRF's second moment over K² is, per coordinate, $\lambda+\hat x^2\hat
# y^2/\lambda-\hat x^2-\hat y^2+(\hat x-\hat y)^2=(\lambda-\hat x\hat y)^2/\lambda$: the product
# $\hat x\hat y$, and with it the variance, moves with c. **First derivation:** Theorem 3.4.
# **Second:** complete the square.

# %%
shift = Symbol("c_l", real=True)
x_hat, y_hat = x_l - shift, y_l - shift
by_theorem = lam + x_hat**2 * y_hat**2 / lam - x_hat**2 - y_hat**2 + (x_l - y_l) ** 2
by_square = (lam - x_hat * y_hat) ** 2 / lam


def log_ratio(rate_value, u_value, v_value):
    return moment(poisson, rate_value, u_value, v_value, 2).log() + (u_value - v_value) ** 2


certify(
    "positivity",
    "log of PoisRF+'s second moment over K², one coordinate",
    by_theorem,
    by_square,
    where={x_l: Real(-1, 1), y_l: Real(-1, 1), shift: Real(-2, 2)} | rate,
    reference=reference(log_ratio, lam, x_hat, y_hat),
)

# %% [markdown]
# **It may grow or shrink**, even with the best λ for the shifted data, where the sum over
# coordinates is $2\sqrt{d\sum_l P_l^2}-2\sum_lP_l$ with $P_l=\hat x_l\hat y_l$. In two dimensions:
# for x = y = (1, 1) it is 0, but positive after c = (-1, 0); for x = (1, -1), y = (1, 1)
# it is 4, but less than 1 after c = (0, -2). Under a far common shift c = -(C, C), C → ∞, it tends
# to the spread $\sum_l(v_l-\bar v)^2$ of $v=x+y$: a far shift does not ruin the features.


# %%
def best_excess(x_value, y_value, c_value):
    products = [(u - s) * (v - s) for u, v, s in zip(x_value, y_value, c_value, strict=True)]
    return 2 * sqrt(2 * sum(P**2 for P in products)) - 2 * sum(products)


grows = best_excess((1, 1), (1, 1), (0, 0)) == 0 and best_excess((1, 1), (1, 1), (-1, 0)) > 0
before, after = (best_excess((1, -1), (1, 1), shift) for shift in ((0, 0), (0, -2)))
verify("positivity", "a shift can raise the variance of PoisRF", bool(grows))
verify("positivity", "a shift can lower it", bool(before == 4 and after < 1))
C = Symbol("C", positive=True)
x1, x2, y1, y2 = symbols("x1 x2 y1 y2", real=True)
far = sp.limit(best_excess((x1, x2), (y1, y2), (-C, -C)), C, oo)
spread = (x1 + y1 - x2 - y2) ** 2 / 2
verify("positivity", "far shifts, d = 2: log ratio → Σ(v_l - v̄)²", sp.expand(far - spread) == 0)

# %% [markdown]
# ## Clamping biases the estimate
#
# A new point is shifted and clamped, $\hat x_l=\max(x_l-c_l,\epsilon)=\max(x_l-m_l,0)+\epsilon$:
# the point is moved to x + e with $e_l=\max(m_l-x_l,0)\ge0$ and then shifted. (The maxima are
# compared as $\max(a,b)=\frac12(a+b+|a-b|)$.)

# %%
floor = Symbol("m_l", real=True)
printed, stable = Max(x_l - (floor - eps), eps), Max(x_l - floor, 0) + eps
moved = x_l + Max(floor - x_l, 0) - (floor - eps)
span = {x_l: Real(-3, 3), floor: Real(-3, 3), eps: Real(Rational(1, 10**8), 1)}
forms = [sp.expand(form.rewrite(sp.Abs)) for form in (printed, stable, moved)]
by_maximum = reference(lambda value, least: acb(value.real.max(least.real)), x_l - floor + eps, eps)
for what, form in (("max(x - m, 0) + ε", forms[1]), ("(x + e) - c", forms[2])):
    what = f"clamped shift is {what}"
    certify("positivity", what, forms[0], form, where=span, reference=by_maximum)

# %% [markdown]
# So the features are unbiased for K(x + e, y), and on clamped points the estimate is off by the
# factor
# $$\frac{K(x+e,y)}{K(x,y)}=\exp\sum_l\Big(e_l(y_l-x_l)-\tfrac{e_l^2}2\Big).$$
# **First derivation:** the difference of the two log kernels. **Second:** the slope of $\log
# K(x+\tau e,y)$ in τ is $\sum_le_l(y_l-x_l-\tau e_l)$; integrate it from 0 to 1. Arb sums the
# series of the features.

# %%
tau, e_l = symbols("tau e_l", real=True)
by_difference = -over_coordinates((x[l] + e[l] - y[l]) ** 2) / 2 - log_kernel
per_coordinate = sp.integrate(e_l * (y_l - x_l - tau * e_l), (tau, 0, 1))
by_slope = over_coordinates(per_coordinate.subs({e_l: e[l], x_l: x[l], y_l: y[l]}))
moves = shifts | rate | {e: Vector(Real(0, 1))}
mean_of_clamped = exp(by_difference + log_kernel)
certify(
    "clamp-bias",
    "mean of PoisRF+ on a clamped point is K times the factor",
    mean_of_clamped,
    exp(log_kernel + by_slope),
    where=moves,
    reference=mean_on(poisson, lam, e),
)

# %% [markdown]
# **Clamping always inflates.** In a clamped coordinate $x_l=m_l-e_l$; training points have
# $y_l=m_l+g_l$ with $g_l\ge0$. The exponent is then $\frac12e_l^2+e_lg_l\ge\frac12e_l^2$: a clamped
# test point looks nearer to every training point than it is, by a factor of at least
# $e^{\|e\|^2/2}$. It does not cancel in normalised weights: for two training points the factors
# differ by $e^{\sum_le_l(y_l-y'_l)}$, in favour of the one further inside.

# %%
moved_by, inside = symbols("e g", nonnegative=True)
exponent = per_coordinate.subs({e_l: moved_by, x_l: floor - moved_by, y_l: floor + inside})
excess = sp.expand(exponent - moved_by**2 / 2)
verify("clamp-bias", "log factor - e²/2 = e·g >= 0: clamping inflates", excess.is_nonnegative)
other = Symbol("y2_l", real=True)
apart = sp.expand(per_coordinate - per_coordinate.subs(y_l, other) - e_l * (y_l - other))
verify(
    "clamp-bias", "between training points the log factors differ by Σ e_l(y_l - y'_l)", apart == 0
)
at = {x: [S(-1)], y: [S(2)], e: [S(1)], d: S.One}
claim = "clamped features (least value 0) estimate K(x, y)"
refute("clamp-bias", claim, exp(log_kernel), mean_of_clamped, at)

# %% [markdown]
# ## In float32 the order of operations decides
#
# ε = 1e-8 vanishes beside numbers of ordinary size: below 1 floats of 24 bits are $2^{-24}$ apart,
# and ε is less than half of that. So $c=m-\epsilon$ rounds to m and $x-c$ is exactly 0 at the least
# point: the features are 0 there. $\max(x-m,0)+\epsilon$ keeps the ε. Rounding is done here in
# exact rational arithmetic.


# %%
def float32(value):
    """The nearest number of 24 bits (ties to even), no range limits."""
    if value == 0:
        return S.Zero
    exponent = sp.floor(sp.log(abs(value), 2)) - 23
    scaled = value / S(2) ** exponent
    down, half = sp.floor(scaled), scaled - sp.floor(scaled) - S.Half
    up = half > 0 or (half == 0 and down % 2 == 1)
    return (down + (1 if up else 0)) * S(2) ** exponent


tiny = float32(Rational(1, 10**8))
least = [float32(Rational(v)) for v in ("1", "-1", "0.3", "-0.7", "5.1", "-100")]
verify("positivity", "1e-8 is less than half the gap of float32 below 1", bool(tiny < S(2) ** -25))
lost = all(float32(m - float32(m - tiny)) == 0 for m in least)
verify("positivity", "float32: x - (m - ε) is exactly 0 at the least point", lost)
kept = all(float32(Max(float32(m - m), 0) + tiny) == tiny for m in least)
verify("positivity", "float32: max(x - m, 0) + ε is ε there", kept)

# %% [markdown]
# ## Planted errors

# %%
only_x = exp(by_taylor(x[l] - c[l], y[l]))
reject("positivity", "x shifted, y not", second, only_x, where=shifts)
doubled = over_coordinates(e[l] * (y[l] - x[l]) - e[l] ** 2)
reject("clamp-bias", "e² for e²/2", by_difference, doubled, where=moves)

# %% [markdown]
# ## Formulas

# %%
STATEMENTS = [
    Statement(
        "positivity",
        "Section 3.2.3",
        "a shift by c makes discrete features positive and keeps their mean, not their variance",
    ),
    Statement(
        "clamp-bias",
        "appendix, non-parametric classification",
        "clamping a new point inflates its kernel estimates by exp Σ(e_l(y_l - x_l) - e_l²/2)",
        "corrected",
    ),
]
ERRATA = [
    Erratum(
        "clamp-bias",
        "appendix, non-parametric classification",
        "we clamp validation/test input features to be at least ε to guarantee that they are "
        "positive without leaking test data into c",
        "a clamped point is moved from x to x + e, e_l = max(m_l - x_l, 0) with m_l the least "
        "training value, and the features are unbiased for K(x + e, y) only",
        "it guarantees positivity, but multiplies the mean of the estimate by "
        "exp Σ(e_l(y_l - x_l) - e_l²/2) >= exp(‖e‖²/2) for every training point y",
        "x = -1, m = 0, y = 2: mean 0.1353 in place of K = 0.0111; factor certified for every d",
    ),
]
wide = Vector(Real(-100, 100))
clamp = Max(low[l] - x[l], 0)
shift_eps = Symbol("eps", positive=True)
FORMULAS = [
    Formula(
        "positive_shift",
        "positivity",
        "Coordinates shifted by the least training values and clamped to be at least eps.",
        (x, low, shift_eps),
        {x: wide, low: wide, shift_eps: Real(1e-8, 1)},
        expr=Max(x[l] - low[l], 0) + shift_eps,
        definition=Max(x[l] - (low[l] - shift_eps), shift_eps),
    ),
    Formula(
        "log_clamp_bias",
        "clamp-bias",
        "Log of the factor by which clamping x at `low` inflates estimates of K(x, y).",
        (x, y, low),
        {x: wide, y: wide, low: wide},
        expr=over_coordinates(clamp * ((y[l] - x[l]) - clamp / 2)),
        definition=-over_coordinates((x[l] + clamp - y[l]) ** 2) / 2 - log_kernel,
    ),
]
check_formulas(FORMULAS)
