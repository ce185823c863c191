# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
# ---

# %% [markdown]
# # 04 · Optimal positive features (Theorem 3.3)
#
# **Theorem 3.3 (printed).** When $s=+1$, A is real and $z=\|x+y\|^2>0$, the variance is least at $A=(1-1/\rho^*)/8$ with
# $$\rho^*=\frac{\sqrt{(2z+d)^2+8dz}-2z-d}{4z}.$$
# **Note (printed).** $A<0$ for $x\ne-y$; $\rho^*\to1$ and $A\to0$ as $z\to0$; the estimator is bounded and positive;
# larger ‖x+y‖ gives larger gains.
#
# All of this is right, except for a sign in the proof. The printed ρ* subtracts nearly equal numbers and is 0/0 at z = 0;
# the notebook derives forms without that defect, the utility function μ of Figure 1 among them, and the optimum of
# $s=-1$ on the real axis.

# %%
import sympy as sp
from flint import arb
from sympy import S, Symbol, exp, log, oo, sqrt, symbols

from derivations.algebra import factor_roots, positive_by_coefficients
from derivations.arb import enclose
from derivations.certificate import certify, refute, reject, verify
from derivations.domain import Real, Whole
from derivations.formula import Erratum, Formula, Statement, check_formulas
from derivations.identities import gaussian_mean
from derivations.intervals import prove_positive
from derivations.special import Expit, Expm1, Expm1Ratio, Log1p, Log1pRatio, LogExpm1
from derivations.symbols import d, n, rho, t, z

# %% [markdown]
# ## The second moment in ρ = 1/(1-8A)
#
# **First derivation:** Theorem 3.2 with A real and s = +1, where $\alpha_1e^{\alpha_2z}=\alpha_3e^{\alpha_4z}$.
# **Second:** directly, X² is exponential-quadratic in ω with $a=4A=\tfrac12(1-1/\rho)$, so each coordinate is one
# Gaussian mean.

# %%
A_of_rho = (1 - 1 / rho) / 8
from_theorem = (
    d * log(1 + 16 * A_of_rho**2 * rho) / 2
    + z * (S.Half + (1 + 2 * (1 - 4 * A_of_rho)) * rho / 2)
    - 2 * n
)
one_coordinate = gaussian_mean(4 * A_of_rho, Symbol("b"))
prefactor = one_coordinate.subs(Symbol("b"), 0) * (1 - 4 * A_of_rho)
b_squared = 4 * (1 - 4 * A_of_rho)  # (2B)², times z over the coordinates
direct = d * log(sp.simplify(prefactor)) + z * sp.simplify(b_squared * rho / 2) - 2 * n
oprf_domain = {rho: Real(0.001, 1), d: Whole(1, 4096), z: Real(0, 10000), n: Real(0, 10000)}
certify("thm-minvar", "log second moment in ρ", from_theorem, direct, where=oprf_domain)
log_second = d * log((1 + rho) / (2 * sqrt(rho))) + (1 + rho) * z - 2 * n
certify(
    "thm-minvar", "log second moment as the paper writes it", direct, log_second, where=oprf_domain
)

# %% [markdown]
# ## The stationary point and its uniqueness
#
# $g(\rho)$ is the log second moment. Its derivative times $2\rho(\rho+1)>0$ is a quadratic whose slope
# $4z\rho+2z+d$ is positive on ρ > 0 and whose value at 0 is -d: it has exactly one positive root, g falls before it and
# rises after it.

# %%
slope = sp.diff(log_second, rho)
quadratic = sp.expand(sp.simplify(slope * 2 * rho * (rho + 1)))
verify(
    "thm-minvar",
    "2ρ(ρ+1)g' = 2zρ² + (2z+d)ρ - d",
    sp.expand(quadratic - (2 * z * rho**2 + (2 * z + d) * rho - d)) == 0,
)
zp = Symbol("z", positive=True)
verify(
    "thm-minvar",
    "the quadratic increases on ρ > 0",
    positive_by_coefficients(sp.diff(quadratic, rho).subs(z, zp), rho, zp, d),
)
verify("thm-minvar", "and starts at -d < 0", quadratic.subs(rho, 0) == -d)

# %% [markdown]
# A second proof of uniqueness: with $\rho=e^\tau$, $g=d\log(2\cosh\tfrac\tau2)+ze^\tau+\dots$ is strictly convex in τ.

# %%
tau = Symbol("tau", real=True)
convexity = sp.diff(log_second.subs(rho, exp(tau)), tau, 2).subs(exp(tau), rho)
verify(
    "thm-minvar",
    "d²g/dτ² > 0",
    positive_by_coefficients(sp.simplify(convexity.subs(z, zp).subs(tau, log(rho))), rho, zp, d),
)

# %% [markdown]
# **The proof prints "g' < 0" twice**; for ρ > ρ* the derivative is positive. At ρ = 1 it is exactly z.

# %%
verify("minvar-sign", "g'(1) = z", sp.simplify(slope.subs(rho, 1) - z) == 0)
refute(
    "minvar-sign",
    "sign of g' at ρ = 1 > ρ*",
    S.NegativeOne,
    sp.sign(slope.subs(rho, 1)),
    {z: S(2), d: S(3)},
)

# %% [markdown]
# ## ρ* without cancellation
#
# **First derivation:** the positive root of the quadratic in ρ (the printed form). **Second:** solve for 1/ρ instead,
# $d r^2-(2z+d)r-2z=0$; its positive root has no subtraction, and its reciprocal is ρ*.

# %%
r = Symbol("r", positive=True)
printed = (sqrt((2 * z + d) ** 2 + 8 * d * z) - 2 * z - d) / (4 * z)
roots = sp.solve(quadratic.subs(z, zp), rho)
verify(
    "thm-minvar",
    "the printed ρ* solves the quadratic",
    any(sp.simplify(root - printed.subs(z, zp)) == 0 for root in roots),
)
reciprocal = sp.expand(sp.simplify(-quadratic.subs(rho, 1 / r) * r**2))
verify(
    "thm-minvar",
    "the equation for r = 1/ρ",
    sp.expand(reciprocal - (d * r**2 - (2 * z + d) * r - 2 * z)) == 0,
)
root_r = ((2 * z + d) + sqrt((2 * z + d) ** 2 + 8 * d * z)) / (2 * d)
verify("thm-minvar", "its positive root", sp.simplify(sp.expand(reciprocal.subs(r, root_r))) == 0)
stable_rho = 2 * d / (2 * z + d + sqrt((2 * z + d) ** 2 + 8 * d * z))
positive_z = {z: Real(0, 10000, open_low=True), d: Whole(1, 4096)}
certify("stable-oprf", "ρ*: printed = cancellation-free", printed, stable_rho, where=positive_z)

# %% [markdown]
# ## A* without cancellation, its sign and the limits
#
# $A^*=(1-1/\rho^*)/8$ still subtracts; multiplying out with the conjugate root gives a form whose sign can be read off.

# %%
root = sqrt(4 * z**2 + 12 * d * z + d**2)
stable_A = -z / (8 * d) * (1 + 2 * (z + 3 * d) / (d + root))
certify(
    "stable-oprf",
    "A* = (1-1/ρ*)/8: cancellation-free",
    (1 - 1 / stable_rho) / 8,
    stable_A,
    where=positive_z,
)
verify("thm-minvar", "A* < 0 for z > 0", stable_A.subs(z, zp).is_negative is True)
verify(
    "thm-minvar",
    "ρ* → 1 and A* → 0 as z → 0",
    (sp.limit(printed, z, 0), stable_A.subs(z, 0)) == (1, 0),
)
verify("stable-oprf", "ρ* = 1 at z = 0 in the stable form", stable_rho.subs(z, 0) == 1)
verify("thm-minvar", "zρ* → d/2 as z → ∞", sp.limit((zp * stable_rho.subs(z, zp)), zp, oo) == d / 2)

# %% [markdown]
# **Bounded and positive.** For A < 0 the exponent $2A\|\omega\|^2+B\,\omega^\top v$ is $2A\|\omega+\tfrac{B}{4A}v\|^2-\tfrac{B^2}{8A}\|v\|^2$, at most
# its last term; B, C, D are real, so each feature is the exponential of a real number.

# %%
a, B, v, w = symbols("A B v omega", real=True)
verify(
    "thm-minvar",
    "completed square of the exponent",
    sp.expand(
        2 * a * w**2 + B * w * v - (2 * a * (w + B * v / (4 * a)) ** 2 - B**2 * v**2 / (8 * a))
    )
    == 0,
)

# %% [markdown]
# ## The excess δ and the variance
#
# Over $K^2=e^{z-2n}$ the second moment is $e^\delta$ with $\delta=\tfrac d2\log\!\big(1+\tfrac{(1-\rho)^2}{4\rho}\big)+\rho z$, a sum of non-negative
# terms, and Var $=K^2(e^\delta-1)$. At ρ* the quadratic says $1-\rho=2\rho(1+\rho)z/d$.
#
# Identities at ρ* become rational by the change of variables $\rho=1/(1+r)$, $z=\tfrac{d\,r(1+r)}{2(2+r)}$, which maps r > 0 onto
# z > 0 (z increases with r).

# %%
delta_form = d * Log1p((1 - rho) ** 2 / (4 * rho)) / 2 + rho * z
certify(
    "stable-oprf",
    "δ = log(second moment / K²)",
    delta_form,
    log_second - (z - 2 * n),
    where=oprf_domain,
)
z_of_r = d * r * (1 + r) / (2 * (2 + r))
verify(
    "thm-minvar",
    "z increases with r",
    positive_by_coefficients(sp.simplify(sp.diff(z_of_r, r)), r, d),
)
rho_of_r = sp.simplify(factor_roots(stable_rho.subs(z, z_of_r)))
verify("thm-minvar", "ρ* = 1/(1+r) in the new variable", sp.simplify(rho_of_r - 1 / (1 + r)) == 0)
verify(
    "stable-oprf",
    "1 - ρ* = 2ρ*(1+ρ*)z/d",
    sp.simplify(1 - rho_of_r - 2 * rho_of_r * (1 + rho_of_r) * z_of_r / d) == 0,
)

# %% [markdown]
# ## The utility function μ (Figure 1, right)
#
# $\mu=\log(\mathrm{Var}_{\rm OPRF}/\mathrm{Var}_{\rm PosRF})=\log\frac{e^{\delta^*}-1}{e^z-1}$: n cancels, so **μ depends on (z, d) alone**. Both logarithms
# are large when z is small or large while μ is not. With $\eta=z-\delta^*$,
# $$\mu=-\eta+\log\!\Big(1-e^{-\delta^*}\frac{1-e^{-\eta}}{1-e^{-z}}\Big),$$
# two terms of the same sign, and $\eta=z\kappa$ with
# $\kappa=\rho(1+\rho)\tfrac zd\big(2-\tfrac{1+\rho}2L(c)\big)$, $c=\rho\big(\tfrac{(1+\rho)z}d\big)^2$, $L(c)=\log(1+c)/c\le1$: the bracket lies between 1 and 2.

# %%
eta, delta, kappa, c, rho_name = symbols("eta delta kappa c rho_s", positive=True)
mu_from_eta = -eta + log(1 - exp(-(z - eta)) * (1 - exp(-eta)) / (1 - exp(-z)))
mu_plain = log((exp(z - eta) - 1) / (exp(z) - 1))
certify(
    "fig-utility",
    "μ from η",
    exp(mu_from_eta),
    exp(mu_plain),
    where={z: Real(3, 8), eta: Real(0.1, 2)},
)
log_var_oprf = log(exp(log_second) - exp(z - 2 * n))
log_var_pos = log(exp(2 * z - 2 * n) - exp(z - 2 * n))
difference = sp.simplify(sp.expand_log(sp.factor(sp.expand(exp(log_var_oprf - log_var_pos)))))
verify(
    "fig-utility",
    "n cancels: μ is a function of (z, d) alone",
    n not in sp.simplify(difference).free_symbols,
)

# %% [markdown]
# **μ decreases in z** (the note's "larger gains"). By the envelope theorem $d\delta^*/dz=\rho^*$ (the derivative in ρ vanishes at
# ρ*), so $\mu'=\frac{\rho}{1-e^{-\delta}}-\frac1{1-e^{-z}}$, negative exactly when $\rho f(z)<f(\delta)$ for $f(t)=1-e^{-t}$. Since f is increasing
# and strictly concave with f(0) = 0 and $\delta>\rho z$, $f(\delta)>f(\rho z)\ge\rho f(z)$ for 0 < ρ < 1. ∎

# %%
partial = sp.diff(delta_form.replace(Log1p, lambda e: log(1 + e)), rho)
envelope = sp.simplify(partial.subs(rho, 1 / (1 + r)).subs(z, z_of_r))
verify("fig-utility", "∂δ/∂ρ = 0 at ρ*", envelope == 0)
f = 1 - exp(-t)
verify(
    "fig-utility",
    "f increases and is strictly concave",
    sp.diff(f, t).is_positive is True and sp.diff(f, t, 2).is_negative is True,
)
verify("fig-utility", "f(0) = 0", f.subs(t, 0) == 0)

# %% [markdown]
# **The paper's number**: "> e⁶⁰ times smaller variance when d = 64, ‖x+y‖² = 100". Arb:

# %%
delta_star = d * log((1 + stable_rho) / (2 * sqrt(stable_rho))) + stable_rho * z
mu_definition = log((exp(delta_star) - 1) / (exp(z) - 1))
value = enclose(mu_definition, {z: S(100), d: S(64)}).real
verify(
    "fig-utility",
    f"μ(100, 64) = {float(value.mid()):.2f} < -60",
    bool(value < -60 and abs(value + arb("61.22")) < arb("0.005")),
)

# %% [markdown]
# ## s = -1 on the real axis
#
# For real A and s = -1, with $t=1/(1-8A)$, Theorem 3.2 gives the log second moment
# $\tfrac d2\log\frac{(1+t)^2}{4t}+\log\tfrac12(1+e^{-z(1+t)})$, $z=\|x-y\|^2$. Its derivative is
# $$\varphi(t)=\frac{d(t-1)}{2t(t+1)}-\frac z{1+e^{z(1+t)}} .$$
# **Claim (beyond the paper).** φ has exactly one root; it lies in $(1,1+\sqrt2)$, so $A^*=(1-1/t)/8>0$.
#
# - $t\le1$: the first term is ≤ 0, the second is subtracted: φ < 0.
# - $1<t\le1+\sqrt2$: the first term increases ($-t^2+2t+1\ge0$) and the second decreases: φ increases from φ(1) < 0.
# - $t\ge1+\sqrt2$: with $u=z(1+t)$ the second term is $\frac1{1+t}\frac u{1+e^u}<\frac{0.29}{1+t}$, the first at least
#   $\frac1{1+t}\cdot\tfrac12(1-\tfrac1t)\ge\frac{1-\sqrt2/2}{1+t}>\frac{0.29}{1+t}$: φ > 0.

# %%
log_second_minus = d * log((1 + t) ** 2 / (4 * t)) / 2 + log((1 + exp(-z * (1 + t))) / 2)
phi = d * (t - 1) / (2 * t * (t + 1)) - z / (1 + exp(z * (1 + t)))
t_domain = {t: Real(0.5, 3), z: Real(0, 40), d: Whole(1, 64)}
certify(
    "gerf-real-optimum",
    "φ is the derivative of the log second moment",
    sp.diff(log_second_minus, t),
    phi,
    where=t_domain,
)
A_of_t = (1 - 1 / t) / 8
log_moment_A = d * log(1 + 16 * A_of_t**2 * t) / 2 + log((exp(z * (-1 - t)) + 1) / 2)
certify(
    "gerf-real-optimum",
    "the log second moment from α₁ … α₄",
    log_moment_A,
    log_second_minus,
    where=t_domain,
)
first = (t - 1) / (t * (t + 1))
verify(
    "gerf-real-optimum",
    "(t-1)/(t(t+1)) increases exactly up to 1+√2",
    sp.simplify(sp.diff(first, t) * (t * (t + 1)) ** 2 - (2 - (t - 1) ** 2)) == 0,
)
edge = sp.simplify((1 - 1 / (1 + sqrt(2))) / 2 - (1 - sqrt(2) / 2))
verify(
    "gerf-real-optimum",
    "½(1-1/t) at 1+√2 is 1-√2/2 > 0.29",
    edge == 0 and bool(1 - sqrt(2) / 2 > sp.Rational(29, 100)),
)
u = Symbol("u", real=True)
barrier = sp.Rational(29, 100) * (1 + exp(u)) - u
prove_positive("gerf-real-optimum", "0.29(1+e^u) - u", barrier, {u: (0, 8)})
verify(
    "gerf-real-optimum",
    "and it increases beyond u = 8",
    bool((sp.diff(barrier, u).subs(u, 2)) > 0) and sp.diff(barrier, u, 2).is_positive is True,
)

# %% [markdown]
# ## Planted errors

# %%
reject(
    "stable-oprf",
    "4d in place of 8d under the root",
    printed,
    2 * d / (2 * z + d + sqrt((2 * z + d) ** 2 + 4 * d * z)),
    where=positive_z,
)
reject(
    "stable-oprf",
    "factor 2 lost in A*",
    (1 - 1 / stable_rho) / 8,
    -z / (8 * d) * (1 + (z + 3 * d) / (d + root)),
    where=positive_z,
)
reject(
    "fig-utility",
    "η not subtracted",
    exp(mu_plain),
    exp(mu_from_eta + eta),
    where={z: Real(3, 8), eta: Real(0.1, 2)},
)

# %% [markdown]
# ## Formulas

# %%
STATEMENTS = [
    Statement(
        "thm-minvar",
        "Theorem 3.3 (lemma:minvar) and its note",
        "s = +1, A real: the variance is least at A = (1-1/ρ*)/8, A < 0; uniqueness, limits, boundedness, positivity",
    ),
    Statement(
        "minvar-sign", "proof of Theorem 3.3", "sign of g' on either side of ρ*", "corrected"
    ),
    Statement(
        "stable-oprf",
        "beyond",
        "ρ*, A* and δ = log(second moment/K²) of OPRF as sums of terms of one sign: no cancellation",
    ),
    Statement(
        "fig-utility",
        "Figure 1 (fig:varratio), right",
        "μ = log of the variance ratio OPRF/PosRF is a function of (z, d) alone, decreasing in z",
    ),
    Statement(
        "gerf-real-optimum",
        "beyond",
        "s = -1, A real: the variance has one minimum, at the root t in (1, 1+√2)",
    ),
]
ERRATA = [
    Erratum(
        "minvar-sign",
        "proof of Theorem 3.3",
        "\"for all ρ < ρ*, g'(ρ) < 0 and for all ρ > ρ*, g'(ρ) < 0\"",
        "g' changes sign at ρ*: g'(1) = z > 0",
        "g' < 0 before ρ* and g' > 0 after it",
        "refuted at ρ = 1, z = 2, d = 3",
    ),
]
rho_range, dimension = Real(0.00001, 1), Whole(1, 4096)
z_range, n_range, open_z = Real(0, 10000), Real(0, 10000), Real(0, 10000, open_low=True)
small = {rho: Real(0.05, 1), d: Whole(1, 16), z: Real(0, 8), n: Real(0, 8)}
change = {z: z_of_r}
second_moment = exp(log_second)
K2 = exp(z - 2 * n)
delta_let = ((delta, delta_form),)
excess = {
    "args": (rho, d, z, n),
    "lets": delta_let,
    "definition_lets": ((Symbol("E"), log_second),),
    "lemmas": {Symbol("E"): z - 2 * n + delta},
}
D0 = Symbol("delta0", real=True)
utility_lets = (
    (rho_name, stable_rho),
    (c, rho_name * ((1 + rho_name) * z / d) ** 2),
    (kappa, rho_name * (1 + rho_name) * (z / d) * (2 - (1 + rho_name) / 2 * Log1pRatio(c))),
    (eta, z * kappa),
    (delta, d * Log1p(c) / 2 + rho_name * z),
)
FORMULAS = [
    Formula(
        "rho_star",
        "thm-minvar",
        "Optimal ρ of OPRF, z = ‖x+y‖² or its mean over pairs.",
        (z, d),
        {z: z_range, d: dimension},
        expr=stable_rho,
        definition=printed,
    ),
    Formula(
        "a_star",
        "thm-minvar",
        "Optimal A of OPRF.",
        (z, d),
        {z: z_range, d: dimension},
        expr=stable_A,
        definition=(1 - 1 / printed) / 8,
    ),
    Formula(
        "a_of_rho",
        "thm-minvar",
        "A = (1-1/ρ)/8; for s = -1 the same with t in place of ρ.",
        (rho,),
        {rho: Real(0.00001, 3)},
        expr=(rho - 1) / (8 * rho),
        definition=A_of_rho,
    ),
    Formula(
        "b_of_rho",
        "thm-minvar",
        "Coefficient B of OPRF.",
        (rho,),
        {rho: rho_range},
        expr=sqrt((1 + rho) / (2 * rho)),
        definition=sqrt(1 - 4 * A_of_rho),
    ),
    Formula(
        "log_d_of_rho",
        "thm-minvar",
        "Logarithm of the coefficient D of OPRF.",
        (rho, d),
        {rho: rho_range, d: dimension},
        expr=d * Log1p((1 - rho) / (2 * rho)) / 4,
        definition=d * log(1 - 4 * A_of_rho) / 4,
    ),
    Formula(
        "log_second_moment_oprf",
        "thm-minvar",
        "Logarithm of the second moment of an OPRF product.",
        domain={rho: rho_range, d: dimension, z: z_range, n: n_range},
        expr=z - 2 * n + delta,
        definition=Symbol("E"),
        **excess,
    ),
    Formula(
        "second_moment_oprf",
        "thm-minvar",
        "Second moment of an OPRF product.",
        domain=small,
        expr=exp(z - 2 * n + delta),
        definition=exp(Symbol("E")),
        **excess,
    ),
    Formula(
        "log_variance_oprf",
        "thm-minvar",
        "Logarithm of the variance of an OPRF product.",
        domain={rho: rho_range, d: dimension, z: open_z, n: n_range},
        expr=z - 2 * n + LogExpm1(delta),
        definition=log(exp(Symbol("E")) - K2),
        **excess,
    ),
    Formula(
        "variance_oprf",
        "thm-minvar",
        "Variance of an OPRF product.",
        domain=small,
        expr=-exp(z - 2 * n + delta) * Expm1(-delta),
        definition=exp(Symbol("E")) - K2,
        **excess,
    ),
    Formula(
        "utility",
        "fig-utility",
        "Utility μ: log of the variance ratio OPRF/PosRF at z = ‖x+y‖².",
        (z, d),
        {z: z_range, d: dimension},
        lets=utility_lets,
        expr=-eta + Log1p(-exp(-delta) * kappa * Expm1Ratio(-eta) / Expm1Ratio(-z)),
        definition=log((exp(D0) - 1) / (exp(z) - 1)),
        definition_lets=((D0, delta_star),),
        lemmas={D0: delta, eta: z - delta, kappa: (z - delta) / z},
        change=change,
    ),
    Formula(
        "gerf_stationarity",
        "gerf-real-optimum",
        "Derivative in t of the log second moment, s = -1, A = (1-1/t)/8, z = ‖x-y‖².",
        (t, z, d),
        {t: Real(1, 2.5), z: z_range, d: dimension},
        expr=d * (t - 1) / (2 * t * (t + 1)) - z * Expit(-z * (1 + t)),
        definition=sp.diff(log_second_minus, t),
    ),
]
check_formulas(FORMULAS)
