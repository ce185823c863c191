# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
# ---

# %% [markdown]
# # 05 · Discretely-induced features (eq. dirf, Theorems 3.4 and 3.5)
#
# Let ω have independent coordinates in {0, 1, 2, …} with probabilities p_k > 0. The paper's features are
# $$f(\omega,x)=e^{-\|x\|^2/2}\prod_{l=1}^d x_l^{\omega_l}(\omega_l!)^{-1/2}p_{\omega_l}^{-1/2}.$$
# (The paper prints $x_i$ for $x_l$ here and in the proofs of 3.4 and 3.5.)
#
# Everything factorises over coordinates, so each statement is proved for one coordinate and multiplied (or, for
# logarithms, summed). Below, $c=x_ly_l$.

# %%
import sympy as sp
from flint import acb
from sympy import (
    Abs,
    IndexedBase,
    Max,
    Piecewise,
    Rational,
    S,
    Sum,
    Symbol,
    besseli,
    exp,
    factorial,
    log,
    oo,
    sqrt,
    symbols,
)

from derivations.algebra import positive_by_coefficients
from derivations.certificate import certify, reject, verify
from derivations.domain import Real, Vector, Whole
from derivations.formula import Erratum, Formula, Statement, check_formulas
from derivations.identities import reference, series_arb
from derivations.intervals import prove_positive
from derivations.special import (
    BesselRatio,
    Expm1,
    Log1pGap,
    LogI0,
    LogI0e,
    LogI0Gap,
    LogOneMinusExp,
    Sqrt,
)
from derivations.symbols import d, l, lam, p, q, x, x_l, y, y_l

# %% [markdown]
# ## eq-dirf: unbiased for any p_k > 0
#
# **First derivation:** $\mathbb E f(\omega,x)f(\omega,y)=e^{-(x^2+y^2)/2}\sum_k p_k\frac{c^k}{k!\,p_k}$: the law cancels and the Taylor series of
# $e^c$ remains. **Second:** the sum m(c) satisfies m' = m, m(0) = 1 term by term, so it is $e^c$.

# %%
k = Symbol("k", integer=True, nonnegative=True)
c = Symbol("c", real=True)
p_k = Symbol("p_k", positive=True)
term = sp.simplify(p_k * (c**k / (factorial(k) * p_k)))
verify("eq-dirf", "the law p_k cancels in every term", p_k not in term.free_symbols)
by_taylor = sp.summation(term, (k, 0, oo))
step = sp.simplify(sp.diff(c ** (k + 1) / factorial(k + 1), c) / (c**k / factorial(k)))
verify("eq-dirf", "m' = m term by term", sp.simplify(sp.gammasimp(step)) == 1)
m = sp.Function("m")
by_equation = sp.dsolve(m(c).diff(c) - m(c), m(c), ics={m(0): 1}).rhs
kernel_1 = exp(-((x_l - y_l) ** 2) / 2)
shrink = exp(-(x_l**2 + y_l**2) / 2)


# %%
def poisson_probability(rate, count):
    return (-rate).exp() * rate**count / acb(count + 1).gamma()


def geometric_probability(chance, count):
    return chance * (1 - chance) ** count


def moment_series(probability, power):
    """E (f(ω,x) f(ω,y))^power for one coordinate from the printed features, summed term by term."""

    def value(parameter, xv, yv):
        def at(count):
            weight = probability(parameter, count)
            feature = (-(xv**2) / 2).exp() * xv**count / (acb(count + 1).gamma() * weight).sqrt()
            other = (-(yv**2) / 2).exp() * yv**count / (acb(count + 1).gamma() * weight).sqrt()
            return weight * (feature * other) ** power

        product = abs(xv * yv)

        def ratio(count):
            growth = probability(parameter, count).real / probability(parameter, count + 1).real
            return (product / (count + 1)) ** power * growth ** (power - 1)

        return series_arb(at, ratio)

    return value


pair = {x_l: Real(-Rational(3, 2), Rational(3, 2)), y_l: Real(-Rational(3, 2), Rational(3, 2))}
with_rate = {**pair, lam: Real(Rational(1, 10), 3)}
with_chance = {**pair, p: Real(Rational(1, 20), Rational(19, 20))}
mean_by_taylor, mean_by_equation = (
    shrink * side.subs(c, x_l * y_l) for side in (by_taylor, by_equation)
)
certify(
    "eq-dirf",
    "mean of one coordinate (Poisson law)",
    mean_by_taylor,
    mean_by_equation,
    where=with_rate,
    reference=reference(moment_series(poisson_probability, 1), lam, x_l, y_l),
)
certify(
    "eq-dirf",
    "mean of one coordinate (geometric law)",
    mean_by_equation,
    kernel_1,
    where=with_chance,
    reference=reference(moment_series(geometric_probability, 1), p, x_l, y_l),
)

# %% [markdown]
# ## thm-pois: the variance of PoisRF
#
# **Theorem 3.4 (printed).** $\mathrm{Var}=\exp(\lambda d+\lambda^{-1}\sum_lx_l^2y_l^2-\|x\|^2-\|y\|^2)-K^2$.
#
# **First derivation:** the generating function $\mathbb E u^\omega=e^{\lambda(u-1)}$ at $u=c^2/\lambda^2$. **Second:** sum the series
# $e^{2\lambda}\sum_ke^{-\lambda}\frac{\lambda^k}{k!}(c/\lambda)^{2k}$ directly.

# %%
u = Symbol("u", positive=True)
generating = sp.simplify(sp.summation(exp(-lam) * lam**k / factorial(k) * u**k, (k, 0, oo)))
by_generating = exp(2 * lam - x_l**2 - y_l**2) * generating.subs(u, (x_l * y_l / lam) ** 2)
by_sum = exp(lam - x_l**2 - y_l**2) * sp.summation(u**k / factorial(k), (k, 0, oo)).subs(
    u, x_l**2 * y_l**2 / lam
)
certify(
    "thm-pois",
    "second moment of one coordinate",
    by_generating,
    by_sum,
    where=with_rate,
    reference=reference(moment_series(poisson_probability, 2), lam, x_l, y_l),
)
verify(
    "thm-pois",
    "it is exp(λ + x²y²/λ - x² - y²)",
    sp.simplify(log(by_sum) - (lam + (x_l * y_l) ** 2 / lam - x_l**2 - y_l**2)).expand(force=True)
    == 0,
)

# %% [markdown]
# **λ\*.** With $S=\sum_lx_l^2y_l^2$ the exponent $\lambda d+S/\lambda$ is strictly convex for S > 0, and its one stationary point is
# $\lambda^*=\sqrt{S/d}$. For S = 0 the exponent $\lambda d$ has no minimum on λ > 0: the printed λ* = 0 is not a rate. The paper does not
# say that S > 0 is needed.

# %%
total = Symbol("S", positive=True)
exponent = lam * d + total / lam
verify("thm-pois", "strictly convex in λ", sp.diff(exponent, lam, 2).is_positive is True)
(stationary,) = sp.solve(sp.diff(exponent, lam), lam)
verify("thm-pois", "λ* = d^(-1/2) S^(1/2)", sp.simplify(stationary - sqrt(total / d)) == 0)
flat = exponent.subs(total, 0)
verify(
    "pois-rate-zero",
    "S = 0: the exponent decreases to 0 as λ → 0 and never reaches it",
    sp.limit(flat, lam, 0) == 0 and flat.is_positive is True,
)

# %% [markdown]
# **The excess.** Over K² the second moment is $e^\delta$ with $\delta=\sum_l(\lambda-x_ly_l)^2/\lambda$: squares, so nothing cancels. One rate per
# coordinate (OptPoisRF below) changes λ to λ_l.

# %%
one_excess = (lam - x_l * y_l) ** 2 / lam
certify(
    "thm-pois",
    "excess of one coordinate",
    log(by_sum) + (x_l - y_l) ** 2,
    one_excess,
    where=with_rate,
)

# %% [markdown]
# ## thm-geom: the variance of GeomRF
#
# **Theorem 3.5 (printed).** $\mathrm{Var}=p^{-d}e^{-\|x\|^2-\|y\|^2}\prod_lI_0(2(1-p)^{-1/2}|x_ly_l|)-K^2$.
#
# In one coordinate the second moment is $p^{-1}e^{-x^2-y^2}\sum_k(t/2)^{2k}/(k!)^2$ with $t=2|c|/\sqrt{1-p}$. **First derivation:** that
# series is the definition of $I_0(t)$. **Second:** it solves $t\,y''+y'=t\,y$, y(0) = 1, whose regular solution is $I_0$.

# %%
t = Symbol("t", positive=True)
inner = sp.simplify(
    p**-2
    * p
    * (1 - p) ** k
    * (c**2 / (1 - p) ** 2) ** k
    / factorial(k) ** 2
    * p
    / (c**2 / (1 - p)) ** k
    * factorial(k) ** 2
)
verify(
    "thm-geom",
    "k-th term of p·E X²: (c²/(1-p))^k / (k!)²",
    sp.simplify(sp.powsimp(sp.expand_power_base(inner, force=True), force=True)) == 1,
)
bessel_term = (t / 2) ** (2 * k) / factorial(k) ** 2
recursion = sp.simplify(
    sp.gammasimp(
        (t * bessel_term.subs(k, k + 1).diff(t, 2) + bessel_term.subs(k, k + 1).diff(t))
        / (t * bessel_term)
    )
)
verify("thm-geom", "t·y'' + y' = t·y term by term", sp.simplify(recursion) == 1)
bessel = besseli(0, t)
equation = (t * bessel.diff(t, 2) + bessel.diff(t) - t * bessel).subs(
    besseli(2, t), besseli(0, t) - 2 / t * besseli(1, t)
)
verify(
    "thm-geom",
    "so does I0, which is 1 at 0",
    sp.simplify(equation.subs(besseli(-1, t), besseli(1, t))) == 0 and besseli(0, S.Zero) == 1,
)
series_form = sp.summation(bessel_term, (k, 0, oo))
argument = 2 * Abs(x_l * y_l) / sqrt(1 - p)
second_geom = exp(-(x_l**2) - y_l**2) / p * besseli(0, argument)
certify(
    "thm-geom",
    "second moment of one coordinate",
    exp(-(x_l**2) - y_l**2) / p * sp.hyperexpand(series_form).subs(t, argument),
    second_geom,
    where=with_chance,
    reference=reference(moment_series(geometric_probability, 2), p, x_l, y_l),
)

# %% [markdown]
# **The text after Theorem 3.5 says that (poisvar) is evaluated and minimised in p.** (poisvar) has no p; (geomvar1) is meant.

# %%
verify(
    "geom-cites-poisvar", "the Poisson variance does not depend on p", p not in by_sum.free_symbols
)

# %% [markdown]
# ## The optimum of GeomRF (called numerical in the paper)
#
# In $q=(1-p)^{-1/2}>1$ the log second moment is, up to a constant, $\varphi(q)=-d\log(1-q^{-2})+\sum_l\log I_0(2q\,r_l)$, $r_l=|x_ly_l|$.
#
# **Claim.** φ is strictly convex on q > 1; if some r_l > 0 it has exactly one minimum, otherwise none.
#
# - The first part has second derivative $2(3q^2-1)/(q^2(q^2-1)^2)$ per coordinate: positive.
# - $\log I_0$ is convex: $I_0(t)=\frac1\pi\int_0^\pi e^{t\cos\theta}d\theta$, and
#   $I_0I_0''-I_0'^2=\frac1{2\pi^2}\iint(\cos\theta-\cos\phi)^2e^{t(\cos\theta+\cos\phi)}\ge0$.
# - φ → ∞ as q → 1; as q → ∞ the sum grows like $2q\sum r_l$ and the first part tends to 0.

# %%
barrier = -log(1 - q**-2)
r_pos = Symbol("r", positive=True)
curvature = sp.simplify(sp.diff(barrier, q, 2))
verify(
    "geom-optimum",
    "curvature of the first part",
    sp.simplify(curvature - 2 * (3 * q**2 - 1) / (q**2 * (q**2 - 1) ** 2)) == 0,
)
verify(
    "geom-optimum",
    "positive for q = 1 + r, r > 0",
    positive_by_coefficients(curvature.subs(q, 1 + r_pos), r_pos),
)
c1, c2 = symbols("cos_theta cos_phi")
symmetrised = (c1**2 + c2**2) / 2 - c1 * c2
verify(
    "geom-optimum",
    "the symmetrised integrand is a square",
    sp.expand(symmetrised - (c1 - c2) ** 2 / 2) == 0,
)
verify(
    "geom-optimum",
    "φ's first part grows without bound at 1 and dies out at ∞",
    sp.limit(barrier, q, 1, "+") == oo and sp.limit(barrier, q, oo) == 0,
)
wronskian = besseli(0, t) * (besseli(0, t) + besseli(2, t)) / 2 - besseli(1, t) ** 2
verify(
    "geom-optimum",
    "I0'' = (I0 + I2)/2",
    sp.simplify(besseli(0, t).diff(t, 2) - (besseli(0, t) + besseli(2, t)) / 2) == 0,
)
prove_positive("geom-optimum", "I0·I0'' - (I0')², a second proof on a box", wronskian, {t: (0, 2)})

# %% [markdown]
# **Stationarity in q.** $\varphi'(q)=-\frac{2d}{q(q^2-1)}+2\sum_lr_l\frac{I_1(2qr_l)}{I_0(2qr_l)}$: derived by differentiating φ, and again
# through p by the chain rule $dq/dp=q^3/2$.

# %%
r = IndexedBase("r", nonnegative=True)
one_phi = -log(1 - q**-2) + log(besseli(0, 2 * q * r_pos))
one_slope = -2 / (q * (q**2 - 1)) + 2 * r_pos * besseli(1, 2 * q * r_pos) / besseli(
    0, 2 * q * r_pos
)
in_p = -log(p) + log(besseli(0, 2 * r_pos / sqrt(1 - p)))
through_p = (sp.diff(in_p, p) / ((1 - p) ** Rational(-3, 2) / 2)).subs(p, 1 - q**-2)
q_domain = {q: Real(1.05, 6), r_pos: Real(0.05, 4)}
certify(
    "geom-optimum", "stationarity of one coordinate", sp.diff(one_phi, q), one_slope, where=q_domain
)
certify(
    "geom-optimum",
    "the same through p",
    sp.simplify(through_p.replace(lambda e: e == sqrt(q**-2), lambda e: 1 / q)),
    one_slope,
    where=q_domain,
)

# %% [markdown]
# ## The optimal discrete law (OptPoisRF, beyond the paper)
#
# For one pair and any law P on $\mathbb N^d$ the second moment is $e^{-n}\sum_ka_k^2/P_k$ with $a_k=\prod_l|x_ly_l|^{k_l}/k_l!$. By
# Cauchy–Schwarz it is at least $e^{-n}(\sum_ka_k)^2$, with equality exactly for $P_k\propto a_k$: **a Poisson law per coordinate with rate
# $\lambda_l=|x_ly_l|$, optimal over all laws on $\mathbb N^d$**, second moment $\exp(2\sum_l|x_ly_l|-n)$, and no variance at all when every
# $x_ly_l\ge0$.
#
# Cauchy–Schwarz through Lagrange's identity, three terms written out:

# %%
a = symbols("a0:3", positive=True)
P = symbols("P0:3", positive=True)
lagrange = sum(ai**2 / pi_ for ai, pi_ in zip(a, P, strict=True)) * sum(P) - sum(a) ** 2
squares = sum(P[i] * P[j] * (a[i] / P[i] - a[j] / P[j]) ** 2 for i in range(3) for j in range(i))
verify(
    "opt-dirf",
    "Lagrange's identity: the gap is a sum of squares",
    sp.simplify(lagrange - squares) == 0,
)
size, norms = symbols("r n_l", positive=True)  # |x_l y_l| and x_l² + y_l²
at_best_rate = exp(lam + size**2 / lam - norms).subs(lam, size)
from_cauchy = sp.summation(size**k / factorial(k), (k, 0, oo)) ** 2 * exp(-norms)
certify(
    "opt-dirf",
    "second moment at λ_l = |x_l y_l| is Cauchy–Schwarz's bound",
    at_best_rate,
    from_cauchy,
    where={size: Real(0.1, 3), norms: Real(0.2, 6)},
)
best = exp(2 * Abs(x_l * y_l) - x_l**2 - y_l**2)
cp = symbols("x_l y_l", positive=True)
verify(
    "opt-dirf",
    "no variance when x_l y_l > 0",
    sp.expand(log(best).subs({x_l: cp[0], y_l: cp[1]}).expand(force=True) + (cp[0] - cp[1]) ** 2)
    == 0,
)
mean_x2, mean_y2 = symbols("mean_x2 mean_y2", positive=True)
(set_rate,) = sp.solve(sp.diff(lam + mean_x2 * mean_y2 / lam, lam), lam)
verify(
    "opt-dirf",
    "for sets: λ_l = (mean x_l² · mean y_l²)^½ minimises the mean exponent",
    sp.simplify(set_rate - sqrt(mean_x2) * sqrt(mean_y2)) == 0,
)

# %% [markdown]
# ## Forms that keep their digits
#
# **Second moments.** $\|x\|^2+\|y\|^2$ cancels against the rest when the parameter fits the data. In one coordinate, with
# $c=x_ly_l$, $x_l^2+y_l^2=(|x_l|-|y_l|)^2+2|c|$, so
# - Poisson: $\lambda+\frac{c^2}\lambda-x_l^2-y_l^2=\frac{(\lambda-|c|)^2}\lambda-(|x_l|-|y_l|)^2$;
# - geometric, $t=2|c|/\sqrt u$, $u=1-p$: $-\log p+\log I_0(t)-x_l^2-y_l^2$ as it stands for $t\le3$, and beyond
#   $-\log p+\log\big(e^{-t}I_0(t)\big)+2|c|\frac{p}{\sqrt u(1+\sqrt u)}-(|x_l|-|y_l|)^2$.
#
# **Variances.** $\log\mathrm{Var}=\log(\text{second moment})+\log(1-e^{-\delta})$. For GeomRF the excess of one coordinate is
# $\delta_l=-\log p+\log I_0(t)-2c$. Near the optimum and for small c its terms cancel to second order:
# - $t\le3$: $\delta_l=\frac{(u-c)^2}u+\big(-\log(1-u)-u\big)-\big(\tfrac{t^2}4-\log I_0(t)\big)$, each bracket computed by its own series;
# - $t>3$: $\delta_l=-\log p+2|c|\frac{p}{\sqrt u(1+\sqrt u)}+4\max(-c,0)+\log\big(e^{-t}I_0(t)\big)$.
#
# All branches equal the definition for every c; each is checked alone.

# %%
c_l = x[l] * y[l]
t_l = 2 * Abs(c_l) / sqrt(1 - p)
rest = Symbol("rest", positive=True)  # 1-p, a name of its own: (1-p-c)² would be summed at size 1
apart = (Abs(x[l]) - Abs(y[l])) ** 2
stretch = 2 * Abs(c_l) * p / (sqrt(1 - p) * (1 + sqrt(1 - p)))
geom_small = -log(p) + LogI0(t_l) - x[l] ** 2 - y[l] ** 2
geom_large = -log(p) + LogI0e(t_l) + stretch - apart
geom_second = Piecewise((geom_small, t_l <= 3), (geom_large, True))
small_t = (rest - c_l) ** 2 / rest + Log1pGap(-rest) - LogI0Gap(t_l)
large_t = -log(p) + stretch + 4 * Max(-c_l, 0) + LogI0e(t_l)
geom_excess = Piecewise((small_t, t_l <= 3), (large_t, True))

# %% [markdown]
# **The excess over K²** in one coordinate, from its definition $\log(\text{second moment})+(x_l-y_l)^2$; for GeomRF both branches, at
# either sign of c (with $p=1-q^{-2}$, so that the roots are rational).

# %%
one = {x[l]: x_l, y[l]: y_l}
certify(
    "stable-dirf",
    "PoisRF: δ_l = (λ-c)²/λ",
    lam + (x_l * y_l) ** 2 / lam - x_l**2 - y_l**2 + (x_l - y_l) ** 2,
    (lam - x_l * y_l) ** 2 / lam,
    where=with_rate,
)
size_x, size_y = symbols("a b", positive=True)
for sign, side in ((1, "c > 0"), (-1, "c < 0")):
    at = {x_l: size_x, y_l: sign * size_y, p: 1 - q**-2}
    stated = -log(p) + log(besseli(0, argument)) - x_l**2 - y_l**2 + (x_l - y_l) ** 2
    for branch, form in (("small t", small_t), ("large t", large_t)):
        certify(
            "stable-dirf",
            f"GeomRF: δ_l for {branch}, {side}",
            stated.subs(at),
            form.subs(one).subs(rest, 1 - p).subs(at),
            where={size_x: Real(0.1, 2), size_y: Real(0.1, 2), q: Real(1.05, 6)},
        )

# %% [markdown]
# ## Planted errors

# %%
reject(
    "thm-pois",
    "λ in place of 1/λ",
    by_sum,
    exp(lam + lam * (x_l * y_l) ** 2 - x_l**2 - y_l**2),
    where=with_rate,
)
reject(
    "stable-dirf",
    "|c| in place of c",
    lam + (x_l * y_l) ** 2 / lam - 2 * x_l * y_l,
    (lam - Abs(x_l * y_l)) ** 2 / lam,
    where=with_rate,
)
reject(
    "thm-geom",
    "(1-p)^(-1) in place of (1-p)^(-1/2)",
    second_geom,
    exp(-(x_l**2) - y_l**2) / p * besseli(0, 2 * Abs(x_l * y_l) / (1 - p)),
    where=with_chance,
)
reject(
    "geom-optimum",
    "factor 2 lost in the Bessel term",
    one_slope,
    one_slope - r_pos * besseli(1, 2 * q * r_pos) / besseli(0, 2 * q * r_pos),
    where=q_domain,
)

# %% [markdown]
# ## Formulas

# %%
STATEMENTS = [
    Statement("eq-dirf", "eq. dirfs", "discretely-induced features are unbiased for any p_k > 0"),
    Statement(
        "thm-pois",
        "Theorem 3.4 (lemma:pois)",
        "variance of PoisRF; λ* = d^(-1/2)(Σ x_l²y_l²)^(1/2); convexity",
    ),
    Statement("pois-rate-zero", "after Theorem 3.4", "λ* needs Σ x_l²y_l² > 0", "corrected"),
    Statement(
        "thm-geom", "Theorem 3.5 (lemma:geom)", "variance of GeomRF with the Bessel function I0"
    ),
    Statement(
        "geom-cites-poisvar", "after Theorem 3.5", "which variance is minimised in p", "corrected"
    ),
    Statement(
        "geom-optimum",
        "beyond",
        "in q = (1-p)^(-1/2) the log second moment is strictly convex: one optimum",
    ),
    Statement(
        "opt-dirf",
        "beyond",
        "the optimal discrete law is a Poisson per coordinate with rate |x_l y_l|",
    ),
    Statement(
        "stable-dirf",
        "beyond",
        "log(second moment/K²) of PoisRF is Σ(λ-x_l y_l)²/λ; of GeomRF it follows from remainders of log and log I0: no cancellation",
    ),
]
ERRATA = [
    Erratum(
        "pois-rate-zero",
        "after Theorem 3.4",
        "λ* gives the minimum, without a condition",
        "for Σ x_l²y_l² = 0 it is λ* = 0, which is not a rate, and the infimum is not attained",
        "λ* is the minimum when Σ x_l²y_l² > 0",
        "limit and positivity of the exponent at Σ = 0",
    ),
    Erratum(
        "geom-cites-poisvar",
        "after Theorem 3.5",
        "evaluation and minimisation of (poisvar) with respect to p",
        "(poisvar) does not contain p",
        "(geomvar1)",
        "free symbols of the two variances",
    ),
    Erratum(
        "dirf-index",
        "eq. dirfs, proofs of Theorems 3.4 and 3.5",
        "x_i, y_i inside products over l",
        "the index i does not occur",
        "x_l, y_l",
        "the one-coordinate series, summed by Arb with x_l, y_l, give the stated moments",
    ),
]
vectors = {x: Vector(Real(-100, 100)), y: Vector(Real(-100, 100))}
small = {x: Vector(Real(-1, 1), limit=8), y: Vector(Real(-1, 1), limit=8)}
rates = IndexedBase("rates", positive=True)
stat = Symbol("stat", positive=True)
sq_x, sq_y = IndexedBase("sq_x", positive=True), IndexedBase("sq_y", positive=True)
log_m2, delta, E, K2 = symbols("log_m2 delta E K2", real=True)


def over_coordinates(summand):
    return Sum(summand, (l, 1, d))


def discrete(
    name, title, statement, parameter, wide, narrow, second, stable, excess, names=(), change=None
):
    """Four formulas of one mechanism: second moment and variance, logarithmic and linear.

    `names` are intermediate names of the stable forms, `change` the variable of the proof.
    """
    domain, tight = vectors | {parameter: wide}, small | {parameter: narrow}
    given = {"args": (x, y, parameter), "change": change or {}}
    moment_let = (log_m2, over_coordinates(stable))
    moment = given | {"lets": (moment_let,), "definition_lets": ((E, over_coordinates(second)),)}
    moment |= {"lemmas": {E: log_m2}}
    kernel = (K2, -over_coordinates((x[l] - y[l]) ** 2))
    variance = moment | {"lets": (*names, moment_let, (delta, over_coordinates(excess)))}
    variance |= {"definition_lets": (*moment["definition_lets"], kernel)}
    variance |= {"lemmas": {E: log_m2, K2: log_m2 - delta}}
    of = f"of one {title} product."
    log_variance, linear = log_m2 + LogOneMinusExp(delta), -exp(log_m2) * Expm1(-delta)
    return [
        Formula(
            f"log_second_moment_{name}",
            statement,
            f"Logarithm of the second moment {of}",
            domain=domain,
            expr=log_m2,
            definition=E,
            **moment,
        ),
        Formula(
            f"second_moment_{name}",
            statement,
            f"Second moment {of}",
            domain=tight,
            expr=exp(log_m2),
            definition=exp(E),
            **moment,
        ),
        Formula(
            f"log_variance_{name}",
            statement,
            f"Logarithm of the variance {of}",
            domain=domain,
            expr=log_variance,
            definition=log(exp(E) - exp(K2)),
            **variance,
        ),
        Formula(
            f"variance_{name}",
            statement,
            f"Variance {of}",
            domain=tight,
            expr=linear,
            definition=exp(E) - exp(K2),
            **variance,
        ),
    ]


def poisson(rate):
    """Exponent of the second moment, its stable form, and the excess, with rate λ or λ_l."""
    second = rate + c_l**2 / rate - x[l] ** 2 - y[l] ** 2
    return second, (rate - Abs(c_l)) ** 2 / rate - apart, (rate - c_l) ** 2 / rate


rate_range, chance_range = Real(0.000001, 5000), Real(0.0001, 0.9999)
FORMULAS = [
    Formula(
        "lambda_star",
        "thm-pois",
        "Optimal rate of PoisRF; stat = Σ x_l²y_l² or its mean over pairs.",
        (stat, d),
        {stat: Real(0, 1000000, open_low=True), d: Whole(1, 4096)},
        expr=Sqrt(stat / d),
        definition=stationary.subs(total, stat),
    ),
    Formula(
        "rates_star",
        "opt-dirf",
        "Optimal rates of OptPoisRF; sq_x, sq_y = mean squares per coordinate.",
        (sq_x, sq_y),
        {sq_x: Vector(Real(0, 10000, open_low=True)), sq_y: Vector(Real(0, 10000, open_low=True))},
        expr=Sqrt(sq_x[l]) * Sqrt(sq_y[l]),
        definition=set_rate.subs({mean_x2: sq_x[l], mean_y2: sq_y[l]}),
    ),
    *discrete("pois", "PoisRF", "thm-pois", lam, rate_range, Real(0.1, 2), *poisson(lam)),
    *discrete(
        "optpois",
        "OptPoisRF",
        "opt-dirf",
        rates,
        Vector(rate_range),
        Vector(Real(0.1, 2), limit=8),
        *poisson(rates[l]),
    ),
    *discrete(
        "geom",
        "GeomRF",
        "thm-geom",
        p,
        chance_range,
        Real(0.3, 0.95),
        -log(p) + log(besseli(0, t_l)) - x[l] ** 2 - y[l] ** 2,
        geom_second,
        geom_excess,
        names=((rest, 1 - p),),
        change={p: 1 - q**-2},
    ),
    Formula(
        "geom_stationarity",
        "geom-optimum",
        "Derivative in q of the log second moment of GeomRF, r_l = |x_l y_l| or its mean.",
        (q, r),
        {q: Real(1.00001, 1000), r: Vector(Real(0, 10000))},
        expr=over_coordinates(2 * r[l] * BesselRatio(2 * q * r[l]) - 2 / (q * (q - 1) * (q + 1))),
        definition=over_coordinates(one_slope.subs(r_pos, r[l])),
    ),
]
check_formulas(FORMULAS)
