# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
# ---

# %% [markdown]
# # 09 · Tails (Theorem 4.2)
#
# **Theorem 4.2 (printed).** Let $A<0$ be the parameter of OPRFs and $\varepsilon>0$. Then
# $$\mathbb P\big[|\hat K_M^{\rm iid}-K|\ge\varepsilon\big]\le2\exp\!\Big(-\frac{M\varepsilon^2}2\,e^{(\|x\|^2+\|y\|^2)/(2A)}\Big),\qquad
#   \mathbb P\big[\hat K_M^{\rm ort}-K\ge\varepsilon\big]\le e^{-M\mathcal L(K+\varepsilon)},\quad\mathcal L(K+\varepsilon)>0,$$
# where $\mathcal L$ is "the Legendre Transform of the random variable" $Z=f^{(1)}(\omega,x)f^{(2)}(\omega,y)$.
#
# **The first inequality is false**: its proof loses the factor D² of Z. This notebook computes the supremum of Z, certifies two
# counterexamples, and proves what is true instead: Hoeffding's, Bennett's and Bernstein's bounds. **The second is true** for every M,
# blocks included; its proof does not reach the lower tail, which gets bounds of its own.
#
# Throughout $s=+1$ and $A=(1-1/\rho)/8<0$, that is 0 < ρ < 1; $B^2=1-4A$, $D^2=(1-4A)^{d/2}$, $v=x+y$, $z=\|v\|^2$,
# $n=\|x\|^2+\|y\|^2$, $K=e^{z/2-n}$. X is one product of features (the paper's Z), σ² its variance, S its supremum.

# %%
import sympy as sp
from flint import acb, arb, arb_poly
from sympy import Max, Rational, RisingFactorial, S, Symbol, exp, factorial, gamma, log, sqrt

from derivations.arb import Evaluator, agree, at_precision, enclose
from derivations.certificate import certify, must_fail, refute, reject, verify
from derivations.domain import Real, Whole
from derivations.formula import Erratum, Formula, Statement, check_formulas
from derivations.identities import (
    gaussian_mean,
    gaussian_mean_arb,
    reference,
    series_arb,
    sphere_mean_arb,
)
from derivations.special import Log1p, Log1pGap
from derivations.symbols import d, n, rho, x_l, y_l, z

# %% [markdown]
# ## 1. The supremum
#
# **Statement.** $S=\sup_\omega X=D^2e^{-B^2z/(8A)-n}=K(1-4A)^{d/2}e^{-z/(8A)}$; in ρ,
# $\log S=\tfrac d2\log\frac{1+\rho}{2\rho}+\frac{(1+\rho)z}{2(1-\rho)}-n$.
#
# Any part of ω across v lowers X, because A < 0. So let $\omega=t\,v/\|v\|$: $\log X=\log D^2-n+2At^2+B\sqrt z\,t$. **First
# derivation:** complete the square; what is left does not depend on t. **Second:** the slope vanishes at one t, and the second
# derivative 4A is negative.

# %%
a, t = Symbol("A", negative=True), Symbol("t", real=True)
B = sqrt(1 - 4 * a)
outside = d * log(1 - 4 * a) / 2 - n
exponent = 2 * a * t**2 + B * sqrt(z) * t
rest = sp.expand(exponent - 2 * a * (t + B * sqrt(z) / (4 * a)) ** 2)
verify("hoeffding-oprf", "the completed square leaves a constant", not rest.has(t))
(top,) = sp.solve(exponent.diff(t), t)
verify("hoeffding-oprf", "the exponent is concave", exponent.diff(t, 2).is_negative is True)
A_range, size, square = Real(-100, -0.001), Whole(1, 64), Real(0, 40)
anywhere = {a: A_range, d: size, z: square, n: square}
by_gradient = outside + exponent.subs(t, top)
certify("hoeffding-oprf", "log S", outside + rest, by_gradient, where=anywhere)
log_S = z / 2 - n + d * log(1 - 4 * a) / 2 - z / (8 * a)
certify("hoeffding-oprf", "S = K(1-4A)^(d/2) exp(-z/(8A))", by_gradient, log_S, where=anywhere)
A_of_rho = (1 - 1 / rho) / 8
in_rho = d * log((1 + rho) / (2 * rho)) / 2 + z * (1 + rho) / (2 * (1 - rho)) - n
where = {rho: Real(0.001, 1, open_high=True), d: size, z: square, n: square}
certify("hoeffding-oprf", "log S in ρ", log_S.subs(a, A_of_rho), in_rho, where=where)

# %% [markdown]
# **Sharper than the paper's.** The proof of 4.2 bounds each feature alone, $\sup f^{(1)}\sup f^{(2)}=D^2e^{-n/(4A)}$. That is larger than S by the
# factor $e^{B^2\|x-y\|^2/(8|A|)}\ge1$, since $2n-z=\|x-y\|^2$. And **the paper drops D²**: at x = y its bound on Z is too small by
# exactly $(1-4A)^{d/2}$.

# %%
length = Symbol("length", nonnegative=True)
feature = d * log(1 - 4 * a) / 4 + a * t**2 + B * length * t - length**2
alone = sp.expand(feature.subs(t, sp.solve(feature.diff(t), t)[0]))
product = alone.subs(length, x_l) + alone.subs(length, y_l)
paper = d * log(1 - 4 * a) / 2 - (x_l**2 + y_l**2) / (4 * a)
excess = product - log_S.subs({z: (x_l + y_l) ** 2, n: x_l**2 + y_l**2})
where = {a: A_range, d: size, x_l: Real(-3, 3), y_l: Real(-3, 3)}
certify("hoeffding-oprf", "log of the product of suprema", product, paper, where=where)
what, ratio = "its excess over log S", (1 - 4 * a) * (x_l - y_l) ** 2 / (-8 * a)
certify("hoeffding-oprf", what, excess, ratio, where=where)
what, at = "Z ≤ exp(-n/(4A)), at ω = Bv/(4|A|)", {a: -S.One, d: S.One, z: S(4), n: S(2)}
refute("thm-tails-iid", what, exp(-n / (4 * a)), exp(log_S), at)

# %% [markdown]
# **When the printed bound holds after all.** Hoeffding's inequality (section 3) has $2M\varepsilon^2/S^2$ in the exponent. It implies the printed one
# exactly when $2/S^2\ge\tfrac12e^{n/(2A)}$, that is $S\le2e^{-n/(4A)}$, that is
# $$(1-4A)^{d/2}\le2\exp\!\Big(\tfrac12\|x-y\|^2\big(1-\tfrac1{4A}\big)\Big).$$
# So points far apart are safe; at equal points nothing follows as soon as $(1-4A)^{d/2}>2$.

# %%
w = Symbol("w", nonnegative=True)  # ‖x-y‖² = 2n - z
by_exponents = (log(2) - 2 * log_S - log(S.Half * exp(n / (2 * a)))).subs(n, (z + w) / 2) / 2
by_condition = log(2) + (1 - 1 / (4 * a)) * w / 2 - d * log(1 - 4 * a) / 2
what, where = "½ log of the ratio of the exponents", {a: A_range, d: size, z: square, w: square}
certify("thm-tails-iid", what, by_exponents, by_condition, where=where)

# %% [markdown]
# ## 2. Two counterexamples
#
# **The law of X.** $X=S\,e^{-2|A|\,\|\omega-c\|^2}$ with $c=Bv/(4|A|)$, so $\{X>a\}$ is the ball $\|\omega-c\|^2<\tau$, $\tau=\log(S/a)/(2|A|)$. The
# squared distance is a Poisson mixture of χ² laws:
# $$\mathbb P[X>a]=\sum_{j\ge0}e^{-\|c\|^2/2}\frac{(\|c\|^2/2)^j}{j!}\,P\big(\tfrac d2+j,\tfrac\tau2\big),\qquad P=\text{regularised lower incomplete gamma}.$$
# Both laws have the same Laplace transform in r. **First derivation:** d Gaussian means (notebook 01) of $e^{-r(\omega_l-c_l)^2}$. **Second:** a χ² law
# with $d+2j$ degrees of freedom has transform $(1+2r)^{-d/2-j}$; sum over j. Arb integrates the definition.

# %%
r, h = sp.symbols("r h", positive=True)  # h = ‖c‖²/2, with c along one coordinate
j = Symbol("j", integer=True, nonnegative=True)
along = gaussian_mean(-r, 2 * r * sqrt(2 * h)) * exp(-2 * r * h)
by_coordinates = along * gaussian_mean(-r, S.Zero) ** (d - 1)
poisson = sp.summation((h * t) ** j / factorial(j), (j, 0, sp.oo)) * exp(-h)
by_mixture = poisson.subs(t, 1 / (1 + 2 * r)) * (1 + 2 * r) ** (-d / 2)


def transform_arb(rate, half, dimension):
    first = gaussian_mean_arb(-rate, 2 * rate * (2 * half).sqrt()) * (-2 * rate * half).exp()
    return first * gaussian_mean_arb(-rate, acb(0)) ** int(dimension.real.unique_fmpz() - 1)


what, where = "Laplace transform of ‖ω-c‖²", {r: Real(0.1, 4), h: Real(0.1, 4), d: Whole(1, 9)}
by_arb = reference(transform_arb, r, h, d)
certify("thm-tails-iid", what, by_coordinates, by_mixture, where=where, reference=by_arb)

# %% [markdown]
# Arb sums the series with a bound on its tail: $P(a,x)-P(a+1,x)=x^ae^{-x}/\Gamma(a+1)>0$, so the terms fall at least as fast as the Poisson weights. For
# d = 1 the error function gives the same probability. The optimal ρ is that of notebook 04.

# %%
rho_star = 2 * d / (2 * z + d + sqrt((2 * z + d) ** 2 + 8 * d * z))
two_a = (1 - rho) / (4 * rho)  # 2|A|
half_c2 = sp.simplify(((1 - 4 * a) * z / (32 * a**2)).subs(a, A_of_rho))


def exceeding(level, point):
    """P[X > level], 0 < level < S, by the series."""
    at = Evaluator(point)
    mean, half_d = at(half_c2), at(d) / 2
    half_tau = at((in_rho - log(level)) / (2 * two_a))

    def term(k):
        weight = (-mean).exp() * mean**k / acb(k + 1).gamma()
        return weight * half_tau.gamma_lower(half_d + k, regularized=1)

    return series_arb(term, lambda k: abs(mean) / (k + 1)).real


def by_error_function(level, point):
    at = Evaluator(point)
    centre, radius = at(half_c2).sqrt(), at((in_rho - log(level)) / (2 * two_a)).sqrt()
    return ((centre + radius).erf() - (centre - radius).erf()) / 2


def equal_points(dimension, norm2):
    """x = y with ‖x‖² = norm2 at the optimal A; K = 1."""
    point = {d: S(dimension), z: S(4 * norm2), n: S(2 * norm2)}
    return point | {rho: rho_star.subs(point)}


far, near = equal_points(2, 1000), equal_points(1, 10)
ways = [at_precision(lambda f=f: acb(f(S(2), near))) for f in (exceeding, by_error_function)]
verify("thm-tails-iid", "d = 1: series and error function agree to 30 digits", agree(*ways))
M, eps = Symbol("M", integer=True, positive=True), Symbol("eps", positive=True)
printed = 2 * exp(-M * eps**2 / 2 * exp(n / (2 * A_of_rho)))


def refute_bound(what, probability, floor, point):
    """The printed bound lies below `floor`, and the probability, rigorously, above it."""
    least, bound = at_precision(probability).real.lower(), enclose(printed, point).real
    holds = least > arb(floor) and arb(floor) > bound
    verify("thm-tails-iid", f"{what}: probability ≥ {float(least):.4g} > {floor} > bound", holds)
    refute("thm-tails-iid", f"{what}: bound against {floor}", printed, Rational(floor), point)


# %% [markdown]
# **First:** d = 2, x = y, ‖x‖² = 1000, M = 1024, ε = ½. If every $X_i\le\tfrac12$, then $\hat K\le\tfrac12$; if some $X_i\ge1536$, then
# $\hat K\ge\tfrac32$. These events exclude each other, so the error is at least ½ with probability at least
# $\mathbb P[X\le\tfrac12]^M+1-\mathbb P[X<1536]^M$.


# %%
def far_error():
    below, above = (1 - exceeding(level, far) for level in (S.Half, S(1536)))
    return acb(below**1024 + 1 - above**1024)


point = far | {M: S(1024), eps: S.Half}
refute_bound("d = 2, M = 1024, error ≥ ½", far_error, "0.38", point)

# %% [markdown]
# **Second, with small numbers:** d = 1, x = y, ‖x‖² = 10, M = 64, ε = 1. Round every X down to a multiple of 1/8. The law of the sum of the rounded
# values is the 64th power of one polynomial, and $\hat K\ge2$ whenever that sum is at least 128.


# %%
def near_error():
    count = int(float(Evaluator(near)(exp(in_rho)).real.lower()) * 8)
    tails = [arb(1), *(exceeding(Rational(k, 8), near) for k in range(1, count + 1)), arb(0)]
    law = arb_poly([tails[k] - tails[k + 1] for k in range(count + 1)]) ** 64
    return acb(sum(law.coeffs()[8 * 128 :], arb(0)))


point = near | {M: S(64), eps: S.One}
refute_bound("d = 1, M = 64, error ≥ 1", near_error, "0.0021", point)

# %% [markdown]
# ## 3. What is true: independent draws
#
# Everything follows from **Chernoff**: for θ ≥ 0, $\mathbb P[\hat K-K\ge\varepsilon]\le e^{-M(\theta\varepsilon-\psi(\theta))}$ with $\psi(\theta)=\log\mathbb E e^{\theta(X-K)}$;
# the lower tail is the same with $K-X$.
#
# **Hoeffding.** $\mathbb P[|\hat K-K|\ge\varepsilon]\le2e^{-2M\varepsilon^2/S^2}$. *Proof.* ψ(0) = ψ'(0) = 0, and ψ'' is the variance of X
# under the law tilted by $e^{\theta X}$. There $0\le X\le S$ with some mean m, so the variance is at most $Sm-m^2\le S^2/4$; hence
# $\psi\le\theta^2S^2/8$ for every real θ, and the best θ is $4\varepsilon/S^2$. ∎
# (The paper's lemma has 1 in place of the constant 2, its theorem ½: true for a variable in [0, S], but weaker.)

# %%
theta, m, sup, var, kernel = sp.symbols("theta m sup var kernel", positive=True)
F = sp.Function("F")(theta)  # E e^{θX}; its derivatives are E X e^{θX} and E X² e^{θX}
tilted = F.diff(theta, 2) / F - (F.diff(theta) / F) ** 2
residual = (log(F) - theta * kernel).diff(theta, 2) - tilted
verify("hoeffding-oprf", "ψ'' is the tilted variance", sp.simplify(residual) == 0)
residual = sup**2 / 4 - (sup * m - m**2) - (sup / 2 - m) ** 2
verify("hoeffding-oprf", "S²/4 - (Sm - m²) = (S/2 - m)²", sp.expand(residual) == 0)


def largest(gain, square):
    """The maximum over θ of a concave quadratic: at its stationary point, and plus a square."""
    (best,) = sp.solve(gain.diff(theta), theta)
    return gain.subs(theta, best), sp.simplify(sp.expand(gain + square))


eps_range, var_range = Real(1e-6, 10), Real(1e-6, 100)
sup_range, K_range = Real(1e-3, 1000), Real(1e-3, 1)
square = sup**2 / 8 * (theta - 4 * eps / sup**2) ** 2
ways, where = largest(theta * eps - theta**2 * sup**2 / 8, square), {eps: eps_range, sup: sup_range}
certify("hoeffding-oprf", "Hoeffding's exponent", *ways, where=where)
verify("hoeffding-oprf", "it is 2ε²/S²", sp.simplify(ways[0] - 2 * eps**2 / sup**2) == 0)

# %% [markdown]
# **Bennett.** Let $X-K\le b$ (b = S - K, or S). Then $\psi(\theta)\le\frac{\sigma^2}{b^2}(e^{\theta b}-1-\theta b)$ for θ ≥ 0, and
# $$\mathbb P[\hat K-K\ge\varepsilon]\le\exp\!\Big(-M\frac{\sigma^2}{b^2}\,h\big(\tfrac{b\varepsilon}{\sigma^2}\big)\Big),\qquad h(u)=(1+u)\log(1+u)-u .$$
# *Proof.* $g(t)=(e^t-1-t)/t^2=\int_0^1(1-u)e^{tu}du$ increases on the real line, so $e^{\theta Y}\le1+\theta Y+(\theta Y)^2g(\theta b)$ for $Y\le b$; take the
# mean over $Y=X-K$ and use $1+s\le e^s$. With $t=\theta b$ and $u=b\varepsilon/\sigma^2$ the best exponent is $\sup_t(tu-e^t+1+t)=h(u)$. **First
# derivation:** stationarity, at $t=\log(1+u)$. **Second:** with $q=t-\log(1+u)$, $tu-(e^t-1-t)=h(u)-(1+u)(e^q-1-q)$, and $e^q\ge1+q$. ∎
# As g increases, a smaller b gives a larger exponent: S - K is better than S.

# %%
u, tp, b = sp.symbols("u t b", positive=True)
g = (exp(tp) - 1 - tp) / tp**2
integral = sp.integrate((1 - u) * exp(tp * u), (u, 0, 1))


def integral_arb(value):
    return acb.integral(lambda s, _: (1 - s) * (value * s).exp(), acb(0), acb(1))


what, where, by_arb = "g(t) as an integral", {tp: Real(0.1, 9)}, reference(integral_arb, tp)
certify("bernstein-oprf", what, g, integral, where=where, reference=by_arb)
gain, h_form = tp * u - (exp(tp) - 1 - tp), (1 + u) * log(1 + u) - u
by_slope = gain.subs(tp, sp.solve(gain.diff(tp), tp)[0])
q = tp - log(1 + u)
by_remainder = gain + (1 + u) * (exp(q) - 1 - q)
where = {u: Real(0.001, 100), tp: Real(0.1, 9)}
certify("bernstein-oprf", "sup over t of tu-(e^t-1-t)", by_slope, by_remainder, where=where)
verify("bernstein-oprf", "it is h(u)", sp.simplify(by_slope - h_form) == 0)

# %% [markdown]
# **Bernstein**, upper tail: $\exp\big(-M\varepsilon^2/(2\sigma^2+\tfrac23b\varepsilon)\big)$. **First derivation:** for 0 ≤ t < 3,
# $e^t-1-t=\sum_{k\ge2}\frac{t^k}{k!}\le\sum_{k\ge2}\frac{t^2}2\big(\frac t3\big)^{k-2}=\frac{t^2}{2(1-t/3)}$, because $k!\ge2\cdot3^{k-2}$ (equal at k = 2, then $k+1\ge3$);
# take $\theta=\varepsilon/(\sigma^2+b\varepsilon/3)$. **Second:** $h(u)\ge\frac{u^2}{2+2u/3}$, since values and slopes agree at 0 and the second derivatives
# compare, $\frac1{1+u}\ge\frac{27}{(3+u)^3}$.

# %%
k = Symbol("k", integer=True, nonnegative=True)
quotient = factorial(k + 2) / (2 * 3**k)
growth = sp.simplify(quotient.subs(k, k + 1) / quotient - 1)
what = "k!/(2·3^(k-2)) starts at 1 and does not decrease from k = 2 on"
verify("bernstein-oprf", what, quotient.subs(k, 0) == 1 and sp.simplify(growth - k / 3) == 0)
below = u**2 / (2 + 2 * u / 3)
gap = h_form - below
bend = sp.simplify(gap.diff(u, 2) - u**2 * (u + 9) / ((1 + u) * (3 + u) ** 3))
what = "h(u) - u²/(2+2u/3): 0 with its slope at u = 0, second derivative u²(u+9)/((1+u)(3+u)³)"
verify("bernstein-oprf", what, (gap.subs(u, 0), gap.diff(u).subs(u, 0), bend) == (0, 0, 0))
best = eps / (var + b * eps / 3)
by_coefficients = best * eps - var / b**2 * (tp**2 / (2 * (1 - tp / 3))).subs(tp, best * b)
by_bennett = var / b**2 * below.subs(u, b * eps / var)
verify("bernstein-oprf", "θb < 3", sp.simplify(3 - best * b).is_positive is True)
moments = {eps: eps_range, var: var_range, b: sup_range}
what = "Bernstein's exponent ε²/(2σ²+2bε/3)"
certify("bernstein-oprf", what, by_coefficients, by_bennett, where=moments)

# %% [markdown]
# **Lower tail, for every non-negative feature.** Always $K-X\le K$, so Bernstein with b = K gives
# $\mathbb P[\hat K\le K-\varepsilon]\le\exp\big(-M\varepsilon^2/(2\sigma^2+\tfrac23K\varepsilon)\big)$. Or, with $e^{-t}\le1-t+\tfrac{t^2}2$ for t ≥ 0,
# $\mathbb E e^{-\theta X}\le e^{-\theta K+\theta^2(\sigma^2+K^2)/2}$ and the bound is $\exp\big(-M\varepsilon^2/(2(\sigma^2+K^2))\big)$. Only X ≥ 0 and a finite variance are used: **both
# hold for PosRF**, where $\mathbb E e^{\theta X}$ is infinite for θ > 0 only. (The first is the sharper one for ε < 3K, and beyond ε = K the probability is 0.)

# %%
gap = 1 - tp + tp**2 / 2 - exp(-tp)
bend = sp.simplify(gap.diff(tp, 2) - (1 - exp(-tp)))
what = "1-t+t²/2-e^(-t): 0 with its slope at t = 0, second derivative 1-e^(-t)"
verify("lower-tail-positive", what, (gap.subs(tp, 0), gap.diff(tp).subs(tp, 0), bend) == (0, 0, 0))
second = var + kernel**2
ways = largest(theta * eps - theta**2 * second / 2, second / 2 * (theta - eps / second) ** 2)
where = {eps: eps_range, var: var_range, kernel: K_range}
certify("lower-tail-positive", "exponent of the second bound", *ways, where=where)
what = "it is ε²/(2(σ²+K²))"
verify("lower-tail-positive", what, sp.simplify(ways[0] - eps**2 / (2 * second)) == 0)

# %% [markdown]
# At the second counterexample the corrected bounds stand; $\sigma^2=K^2(e^\delta-1)$ is that of notebook 04.

# %%
delta = d * log((1 + rho) / (2 * sqrt(rho))) + rho * z
bernstein = exp(-64 / (2 * (exp(delta) - 1) + 2 * (exp(in_rho) - 1) / 3))
least = at_precision(near_error).real
values = [enclose(e, near).real for e in (bernstein, 2 * exp(-2 * 64 / exp(2 * in_rho)))]
shown = ", ".join(f"{float(value):.3f}" for value in values)
what = f"d = 1, M = 64, ε = 1: Bernstein, Hoeffding {shown}, above the probability's lower bound"
verify("bernstein-oprf", what, all(value > least for value in values))

# %% [markdown]
# ## 4. Orthogonal draws, upper tail
#
# **Statement.** For any M, with blocks of d orthogonal directions and independent lengths, and θ ≥ 0,
# $\mathbb E e^{\theta\sum_iX_i}\le\big(\mathbb E e^{\theta X}\big)^M$. Hence $\mathbb P[\hat K^{\rm ort}-K\ge\varepsilon]\le e^{-M\mathcal L(K+\varepsilon)}$ with
# $\mathcal L(a)=\sup_\theta(\theta a-\log\mathbb E e^{\theta X})$: the Legendre transform of the *logarithm of the moment generating function*.
#
# *Proof.* Let $\omega_i=r_iu_i$ and $c_i=u_i\cdot v/\|v\|$.
#
# 1. $e^{\theta X}=\sum_k\frac{\theta^k}{k!}X^k$ and $X^k=D^{2k}e^{2kAr^2-kn}e^{kBr\sqrt z\,c}$: for θ ≥ 0 every Taylor coefficient in c is non-negative, and so is its
#    mean over the length. So $\mathbb E[e^{\theta X_i}|u_i]=\sum_ma_mc_i^m$ with $a_m\ge0$ and $\sum_ma_m\le e^{\theta S}$, the same for all i.
# 2. Within a block $(c_1,c_2,\dots)$ are coordinates of one uniform vector of the sphere. Means of products with an odd power vanish, and
#    $\mathbb E\prod_ic_i^{2t_i}=\prod_i(\tfrac12)_{t_i}\big/(\tfrac d2)_{\sum t_i}$; independent directions have $\prod_i(\tfrac12)_{t_i}/(\tfrac d2)_{t_i}$.
# 3. $(a)_{m+k}=(a)_m(a+m)_k\ge(a)_m(a)_k$ for a > 0, so no term is larger for orthogonal directions. Blocks are independent and multiply.
# 4. Chernoff; for an argument above the mean K the supremum over θ ≥ 0 is the one over all θ. ∎
#
# The proofs of Bennett's, Bernstein's and Hoeffding's *upper* bounds use $\mathbb E e^{\theta X}$ with θ ≥ 0 only, so **they carry over**, and
# $\mathcal L(K+\varepsilon)\ge\frac{\sigma^2}{S^2}h(\frac{S\varepsilon}{\sigma^2})>0$.
#
# **Step 2, first derivation:** a Gaussian vector is its length times its direction, so with $T=\sum t_i$ (notebook 01)
# $\prod2^{t_i}(\tfrac12)_{t_i}=2^T(\tfrac d2)_T\,\mathbb E\prod c_i^{2t_i}$. **Second**, one coordinate at a time: $c_1^2$ is Beta(½, (d-1)/2), and
# $c_2=\sqrt{1-c_1^2}\,c'$ with c' a coordinate on the sphere of one dimension less. Arb integrates over both spheres. More coordinates repeat the step.

# %%
power = exp(2 * k * a * r**2 - k * n) * (1 - 4 * a) ** (d * k / 2) * (k * B * r * sqrt(z)) ** j
what, coefficient = "coefficient of θ^k c^j in exp(θX) ≥ 0", power / (factorial(k) * factorial(j))
verify("thm-tails-ort", what, coefficient.is_nonnegative is True)
t1, t2 = sp.symbols("t1 t2", integer=True, nonnegative=True)
half_1, half_2 = RisingFactorial(S.Half, t1), RisingFactorial(S.Half, t2)
by_lengths = (half_1 * half_2 / RisingFactorial(d / 2, t1 + t2)).rewrite(gamma)
less = (d - 1) / S(2)
beta_mean = gamma(S.Half + t1) * gamma(less + t2) / gamma(d / 2 + t1 + t2)
beta_mean *= gamma(d / 2) / (gamma(S.Half) * gamma(less))
by_peeling = beta_mean * (half_2 / RisingFactorial(less, t2)).rewrite(gamma)


def on_two_spheres(first, second, dimension):
    p1, p2, size = (int(v.real.unique_fmpz()) for v in (first, second, dimension))
    outer = sphere_mean_arb(lambda c: c ** (2 * p1) * (1 - c * c) ** p2, size)
    return outer * sphere_mean_arb(lambda c: c ** (2 * p2), size - 1)


powers = {t1: Whole(0, 6), t2: Whole(0, 6), d: Whole(3, 9)}
what, by_arb = "E c₁^(2t₁) c₂^(2t₂)", reference(on_two_spheres, t1, t2, d)
certify("thm-tails-ort", what, by_lengths, by_peeling, where=powers, reference=by_arb)
split = RisingFactorial(d / 2, t1) * RisingFactorial(d / 2 + t1, t2)
split = sp.gammasimp((split / RisingFactorial(d / 2, t1 + t2)).rewrite(gamma))
verify("thm-tails-ort", "(a)_{m+k} = (a)_m (a+m)_k", split == 1)

# %% [markdown]
# ## 5. Orthogonal draws, lower tail
#
# For θ < 0 odd powers of θ make negative Taylor coefficients, and the comparison **fails**. For d = 2, z = 4, x = y, optimal ρ and two draws,
# $\mathbb E e^{\theta(X_1+X_2)}$ is the mean over the angle φ of $G(\cos\varphi)G(\sin\varphi)$, against the squared mean of $G(\cos\varphi)$, with
# $G(c)=\int_0^\infty re^{-r^2/2}e^{\theta X(r,c)}dr$. Arb integrates over the length. If the integrand is at most F in the strip
# $|\mathrm{Im}\,\varphi|\le\alpha$, its Fourier coefficients are at most $Fe^{-\alpha|k|}$ and the trapezoid rule with N nodes is off by at most $2F/(e^{\alpha N}-1)$. There $|\mathrm{Re}\,c|\le\cosh\alpha$, so
# $|X|\le S_\alpha=D^2e^{B^2z\cosh^2\alpha/(8|A|)-n}$, and F is at most $e^{2|\theta|S_\alpha}$, or $e^{|\theta|S_\alpha}$ for one factor.

# %%
NODES, STRIP = 720, Rational(2, 5)
in_strip = (exp(in_rho + n) / (1 - 4 * A_of_rho)) ** (sp.cosh(STRIP) ** 2) * (1 - 4 * A_of_rho)


def two_draws(rate):
    """E exp(θ(X₁+X₂)) for orthogonal and for independent draws, d = 2, z = 4, n = 2."""
    at = Evaluator(equal_points(2, 1))
    A_value, B2 = at(A_of_rho), at(1 - 4 * A_of_rho)  # D² = B² at d = 2
    bound, spread = at(in_strip * exp(-n)).real, arb(0, 1)
    lost = (max(rate, 0) * bound - 50).exp()  # of the integral beyond r = 10

    def over_length(c):
        def density(s, _):
            product = B2 * (2 * A_value * s * s + 2 * B2.sqrt() * s * c - 2).exp()
            return s * (rate * product - s * s / 2).exp()

        inside = acb.integral(density, acb(0), acb(10), rel_tol=arb(2) ** -48)
        return inside.real + lost * spread

    half = [over_length((2 * arb.pi() * i / NODES).cos()) for i in range(NODES // 2 + 1)]
    values = [half[min(i, NODES - i)] for i in range(NODES)]
    pairs = sum((v * values[i - NODES // 4] for i, v in enumerate(values)), arb(0)) / NODES
    once, twice = (2 * (f * abs(rate) * bound).exp() * spread for f in (1, 2))
    decay = (at(STRIP).real * NODES).exp() - 1
    return pairs + twice / decay, (sum(values, arb(0)) / NODES + once / decay) ** 2


def compare(rate, relation, sign):
    found = []
    at_precision(lambda: found.extend(two_draws(rate)) or acb(0), 96)
    shown = f" {relation} ".join(f"{float(value.mid()):.6f}" for value in found)
    what = f"θ = {rate}: orthogonal {relation} independent, {shown}"
    verify("lower-tail-ort", what, sign * (found[0] - found[1]) > 0)


compare(1, "<", -1)
compare(-10, ">", +1)
what = "planted error (the comparison for θ < 0)"
must_fail("lower-tail-ort", what, lambda: compare(-10, "<", -1))

# %% [markdown]
# **In its place**, with V the exact variance of $\hat K^{\rm ort}$ (notebook 08), at most σ²/M:
#
# * **Cantelli:** $\mathbb P[\hat K\le K-\varepsilon]\le\frac V{V+\varepsilon^2}$. Markov's inequality for $(K-\hat K+p)^2$, p ≥ 0, gives $\frac{V+p^2}{(\varepsilon+p)^2}$. **First derivation:**
#   the value at the stationary p. **Second:** $\frac{V+p^2}{(\varepsilon+p)^2}-\frac V{V+\varepsilon^2}=\frac{(\varepsilon p-V)^2}{(\varepsilon+p)^2(V+\varepsilon^2)}$.
# * **Blocks:** M = kd draws are k independent block means, non-negative, in [0, S], of mean K and variance $V_d\le\sigma^2/d$. So section 3 holds with k for M and $V_d$ for
#   σ²: the lower tail is at most $\exp\big(-k\varepsilon^2/(2V_d+\tfrac23K\varepsilon)\big)$, and Hoeffding's $2e^{-2k\varepsilon^2/S^2}$ is two-sided. With r more draws in an
#   incomplete block the latter is $2\exp\big(-2M^2\varepsilon^2/((kd^2+r^2)S^2)\big)$.

# %%
p = Symbol("p", positive=True)
markov = (var + p**2) / (eps + p) ** 2
(best,) = sp.solve(sp.numer(sp.together(markov.diff(p))), p)
by_square = sp.simplify(markov - (eps * p - var) ** 2 / ((eps + p) ** 2 * (var + eps**2)))
two = {eps: eps_range, var: var_range}
certify("lower-tail-ort", "Cantelli's bound", markov.subs(p, best), by_square, where=two)

# %% [markdown]
# ## Planted errors

# %%
wrong = log_S - d * log(1 - 4 * a) / 2
reject("hoeffding-oprf", "D² dropped, as in the paper", log_S, wrong, where=anywhere)
wrong = eps**2 / (2 * var + 2 * b * eps)
reject("bernstein-oprf", "2bε in place of 2bε/3", by_bennett, wrong, where=moments)
wrong = half_1 * half_2 / (RisingFactorial(d / 2, t1) * RisingFactorial(d / 2, t2))
reject("thm-tails-ort", "independent directions", by_lengths, wrong, where=powers)
reject("lower-tail-ort", "Chebyshev for Cantelli", by_square, var / eps**2, where=two)

# %% [markdown]
# ## Formulas
#
# Bennett's h subtracts nearly equal numbers when $u=S\varepsilon/\sigma^2$ is small. As $h(u)=u\log(1+u)-(u-\log(1+u))$, where the terms are about u² and u²/2, the
# rate $\frac{\sigma^2}{S^2}h(u)$ is printed as $\frac\varepsilon S\big(\log(1+u)-\frac{u-\log(1+u)}u\big)$ with stable routines for both.

# %%
STATEMENTS = [
    Statement(
        "thm-tails-iid",
        "Theorem 4.2 (thm:tails), first half",
        "tail of the mean of M independent OPRF products",
        "refuted as printed",
    ),
    Statement(
        "thm-tails-ort",
        "Theorem 4.2 (thm:tails), second half",
        "orthogonal draws, any M: the upper tail is at most exp(-M L(K+ε)), and L(K+ε) > 0",
    ),
    Statement(
        "hoeffding-oprf",
        "proof of Theorem 4.2",
        "S = K(1-4A)^(d/2) exp(-z/(8A)) is the supremum, and P(|K̂-K| ≥ ε) ≤ 2exp(-2Mε²/S²)",
        "corrected",
    ),
    Statement(
        "bernstein-oprf",
        "beyond",
        "Bennett's and Bernstein's upper tails of OPRF, independent or orthogonal draws",
    ),
    Statement(
        "lower-tail-positive",
        "beyond",
        "exponential lower tail for every non-negative feature of finite variance, PosRF included",
    ),
    Statement(
        "lower-tail-ort",
        "beyond",
        "orthogonal draws: the comparison fails for the lower tail; Cantelli, or bounds over blocks",
    ),
]
ERRATA = [
    Erratum(
        "tails-iid",
        "Theorem 4.2, independent draws",
        "P(|K̂-K| ≥ ε) ≤ 2exp(-(Mε²/2) exp((‖x‖²+‖y‖²)/(2A))), from Z ≤ exp(-(‖x‖²+‖y‖²)/(4A))",
        "the bound on Z drops D² = (1-4A)^(d/2), and the inequality is false",
        "P(|K̂-K| ≥ ε) ≤ 2exp(-2Mε²/S²) with S = K(1-4A)^(d/2) exp(-‖x+y‖²/(8A)); this implies the printed bound exactly when (1-4A)^(d/2) ≤ 2exp(½‖x-y‖²(1-1/(4A)))",
        "x = y at the optimal A, rigorously: probability > 0.38, printed 5.9e-8 (d = 2, ‖x‖² = 1000, M = 1024, ε = ½); > 0.0021, printed 1.3e-5 (d = 1, ‖x‖² = 10, M = 64, ε = 1)",
    ),
    Erratum(
        "hoeffding-constants",
        "proof of Theorem 4.2",
        "Hoeffding's exponent as a²/Σ(a_i+b_i)², the sum up to N; then Mε²/2 in the theorem; P(|K̂-K| ≥ ε) = P((Y_1+…+Y_M)/M ≥ ε)",
        "Hoeffding's constant is 2: the lemma's 1 and the theorem's ½ are only weaker; the sum ends at M; an absolute value is lost",
        "2a²/Σ(a_i+b_i)², that is 2Mε²/S²",
        "log E exp(θ(X-K)) ≤ θ²S²/8 and the best θ",
    ),
    Erratum(
        "tails-legendre-wording",
        "Theorem 4.2, orthogonal draws",
        '"the Legendre Transform of the random variable Z"; the proof speaks of its nonnegativity',
        "a random variable has no Legendre transform, and the theorem claims a positive value",
        "the Legendre transform of log E exp(θZ); at K+ε it is at least (σ²/S²)h(Sε/σ²) > 0. It bounds the upper tail only",
        "the comparison of moment generating functions is proved for θ ≥ 0 and certified to fail at θ = -10 (d = 2, z = 4)",
    ),
    Erratum(
        "favor-plus-concentration",
        "Section 1",
        '"the moment generating function of the corresponding softmax kernel estimator is not finite. Consequently, no concentration results beyond those involving second moment methods (variance bounds) have been provided for FAVOR+"',
        "it is infinite for θ > 0 only: the lower tail of every non-negative feature, FAVOR+ included, is exponentially small without boundedness",
        "P(K̂ ≤ K-ε) ≤ exp(-Mε²/(2σ²+2Kε/3)) and ≤ exp(-Mε²/(2(σ²+K²))) for PosRF too; boundedness serves the upper tail",
        "K-X ≤ K in Bernstein's inequality; e^(-t) ≤ 1-t+t²/2 for t ≥ 0",
    ),
]
norms, variances, suprema = Real(0, 10000), Real(1e-6, 1e6), Real(1e-3, 1e6)
draws, kernels, share = Whole(1, 1000000), Real(1e-6, 1), Symbol("share", positive=True)
exponents = [M * eps**2 / (2 * var + 2 * kernel * eps / 3), M * eps**2 / (2 * (var + kernel**2))]
FORMULAS = [
    Formula(
        "log_supremum_oprf",
        "hoeffding-oprf",
        "Logarithm of the supremum of an OPRF product, z = ‖x+y‖², n = ‖x‖²+‖y‖².",
        (rho, d, z, n),
        {rho: Real(0.00001, 1, open_high=True), d: Whole(1, 4096), z: norms, n: norms},
        expr=d * Log1p((1 - rho) / (2 * rho)) / 2 + z * (1 + rho) / (2 * (1 - rho)) - n,
        definition=log_S.subs(a, A_of_rho),
    ),
    Formula(
        "log_hoeffding",
        "hoeffding-oprf",
        "Logarithm of a bound on P(|K̂-K| ≥ eps): mean of M independent variables in [0, sup].",
        (eps, M, sup),
        {eps: eps_range, M: draws, sup: suprema},
        lets=((share, eps / sup),),
        expr=log(2) - 2 * M * share**2,
        definition=log(2 * exp(-2 * M * eps**2 / sup**2)),
    ),
    Formula(
        "log_bernstein_upper",
        "bernstein-oprf",
        "Logarithm of a bound on P(K̂-K ≥ eps): M independent or orthogonal OPRF products.",
        (eps, M, var, sup, kernel),
        {eps: eps_range, M: draws, var: variances, sup: Real(1, 1e6), kernel: kernels},
        expr=-M * eps**2 / (2 * (var + (sup - kernel) * eps / 3)),
        definition=-M * by_bennett.subs(b, sup - kernel),
    ),
    Formula(
        "log_bernstein_lower",
        "lower-tail-positive",
        "Logarithm of a bound on P(K̂ ≤ K-eps): mean of M independent non-negative variables.",
        (eps, M, var, kernel),
        {eps: eps_range, M: draws, var: variances, kernel: kernels},
        expr=-M * eps**2 * Max(1 / (var + kernel * eps / 3), 1 / (var + kernel**2)) / 2,
        definition=-Max(*exponents),
    ),
    Formula(
        "bennett_rate",
        "bernstein-oprf",
        "Bennett's rate r of M OPRF products, X-K ≤ sup: P(K̂-K ≥ eps) ≤ exp(-M r).",
        (eps, var, sup),
        {eps: eps_range, var: variances, sup: suprema},
        lets=((u, sup * eps / var),),
        expr=eps / sup * (Log1p(u) - Log1pGap(u) / u),
        definition=var / sup**2 * h_form,
    ),
    Formula(
        "log_cantelli",
        "lower-tail-ort",
        "Logarithm of Cantelli's bound on P(K̂ ≤ K-eps) for an estimator of variance var.",
        (eps, var),
        {eps: eps_range, var: variances},
        expr=-Log1p(eps**2 / var),
        definition=log(var / (var + eps**2)),
    ),
]
check_formulas(FORMULAS)
