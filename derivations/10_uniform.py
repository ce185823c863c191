# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
# ---

# %% [markdown]
# # 10 · Uniform convergence of attention (Theorem 4.3)
#
# **Theorem 4.3 (printed).** Let the rows of Q and K come from the ball of radius R. The approximation of the softmax
# matrix by OPRFs with M independent projections satisfies
# $\|\mathcal K_{\rm sfm}-\widehat{\mathcal K}_{\rm sfm}\|_\infty\le\epsilon$ with any constant probability when
# $$M=\Omega\Big(\Gamma\frac d{\epsilon^2}\log\frac{\gamma\rho}\epsilon\Big),\qquad \Gamma=e^{-3R^2/(\sqrt dA)},\quad
#   \rho=\sqrt2Rd^{-1/4},\quad\gamma=\sqrt{4\Gamma(R^2/\sqrt d+d^2)} .$$
#
# **This is false**, in R and in d, whatever the constant in Ω. The first half of the notebook proves that; the second
# proves a theorem of the same kind with explicit constants.
#
# Notation: $x=d^{-1/4}q$ and $y=d^{-1/4}k$ lie in the ball of radius $r_0$, $r_0^2=R^2/\sqrt d$; $n=\|x\|^2+\|y\|^2$;
# $A=-\alpha<0$, $B=\sqrt{1+4\alpha}$, $D^2=(1+4\alpha)^{d/2}$. The softmax kernel is $e^{x^\top y}=e^{n/2}K$, and one term
# of its estimate is
# $$f(x,y)=e^{n/2}f^{(1)}f^{(2)}=D^2\exp\!\big(-2\alpha\|\omega\|^2+B\,\omega^\top(x+y)-\tfrac12n\big).$$

# %%
import sympy as sp
from flint import acb, arb
from sympy import E, Max, Min, Rational, S, Symbol, exp, log, oo, sqrt, symbols

from derivations.algebra import factor_roots
from derivations.arb import agree, at_precision, enclose
from derivations.certificate import certify, must_fail, refute, reject, verify
from derivations.domain import Real, Whole
from derivations.formula import Erratum, Formula, Statement, check_formulas
from derivations.identities import (
    QUADRATURE_BITS,
    gaussian_mean,
    gaussian_mean_arb,
    reference,
    series_arb,
)
from derivations.special import Log1p, LogExpm1, Softplus
from derivations.symbols import d, n, rho, t, x_l, y_l, z
from derivations.symbols import w_l as omega

FALSE, RIGHT = "thm-uniform", "thm-uniform-corrected"
alpha, R, eps, delta, r0, r = symbols("alpha R eps delta r0 r", positive=True)
B = sqrt(1 + 4 * alpha)
log_S = d * log(1 + 4 * alpha) / 2 + r0**2 * (1 + 1 / (2 * alpha))
Gamma = exp(3 * r0**2 / alpha)
printed_M = Gamma * d / eps**2 * log(sqrt(4 * Gamma * (r0**2 + d**2)) * sqrt(2) * r0 / eps)
root = sqrt(4 * z**2 + 12 * d * z + d**2)
oprf = (z / (8 * d) * (1 + 2 * (z + 3 * d) / (d + root))).subs(z, 4 * r0**2)  # -A* (notebook 04)
n_l = x_l**2 + y_l**2
log_term = -2 * alpha * omega**2 + B * omega * (x_l + y_l) - n_l / 2  # log(f/D²), one coordinate

# %% [markdown]
# ## What is wrong in the printed proof
#
# 1. The bound on one term drops $D^2$, and with it Γ lacks $D^4=(1+4\alpha)^d$: exponential in d.
# 2. The softmax kernel is the Gaussian one times $e^{+n/2}$; the proof multiplies by $e^{-n/2}$.
# 3. With the right sign the square of the bound is $e^{n-n/(2A)}$. The printed $e^{-3n/(2A)}$ is as large only for
#    $A\ge-1$, while the optimal A falls without bound as R grows: Γ then stays below $e^{3d}$.
# 4. $\max e^{3n/(2A)}$ over the ball is 1, at n = 0; what is needed, and then written down, is the *minimum*.
# 5. The gradient of $\log f$ is $(B\omega-x,\,B\omega-y)$; the printed bound $2n+4\,\mathbb E\|\omega\|^2$ on its square lacks
#    $B^2$. (That $\mathbb E\|\omega\|^2=d$ is printed as $d^2$, and that a ball of $\mathbb R^{2d}$ is covered where one of
#    $\mathbb R^d$ suffices, only costs features.)

# %%
half, ones = {alpha: S.Half}, {x_l: 1, y_l: 1}
peak = (log(B) + log_term).subs({**ones, omega: B / (2 * alpha)})
claimed = (-n_l / 2 + n_l / (4 * alpha)).subs(ones)
refute(FALSE, "log of the largest term, d = 1, x = y = 1, against its bound", claimed, peak, half)
need, given = n + n / (2 * alpha), 3 * n / (2 * alpha)
verify(FALSE, "exp(-3n/(2A)) suffices for α ≤ 1 only", sp.expand(given - need) == n / alpha - n)
verify(FALSE, "exp(3n/(2A)) decreases in n", sp.diff(-given, n).is_negative is True)
slope = sum(sp.diff(log_term, v) ** 2 for v in (x_l, y_l)).subs({x_l: 0, y_l: 0, omega: 1})
refute(FALSE, "squared gradient of log f, x = y = 0, ‖ω‖ = 1, against 4", S(4), slope, half)

# %% [markdown]
# ## Tools
#
# Take one row, q = k, with $\|x\|=r_0$: the matrix is the number $k_0=e^{r_0^2}$, and $z=4r_0^2$ is the mean over pairs that
# defines the OPRF's A. One term is $X=S\,e^{-2\alpha\|w\|^2}$ with $w=\omega-c$ (proved below),
# $$S=(1+4\alpha)^{d/2}e^{r_0^2(1+\frac1{2\alpha})},\qquad\|c\|^2=\frac{(1+4\alpha)r_0^2}{4\alpha^2} .$$
# So X > T says that ω lies in a ball around c, a noncentral χ² probability: with $\lambda=\|c\|^2$ and the regularised
# incomplete gamma function P, which decreases in its order,
# $$P(\|\omega-c\|^2\le\tau)=\sum_{j\ge0}e^{-\lambda/2}\frac{(\lambda/2)^j}{j!}\,P\big(\tfrac d2+j,\tfrac\tau2\big).$$
# For d = 1 it is a difference of error functions, which the series must reproduce.


# %%
def ball_probability(dimension, lam, tau):
    """P(‖ω-c‖² ≤ τ) for ω ~ N(0, I_dimension) and ‖c‖² = λ."""
    h, level = acb(lam) / 2, acb(tau) / 2

    def term(j):
        weight = (-h).exp() * h**j / acb(j + 1).gamma()
        return weight * level.gamma_lower(acb(dimension) / 2 + j, regularized=1)

    series = lambda: series_arb(term, lambda j: abs(h) / (j + 1))  # noqa: E731
    return at_precision(series, QUADRATURE_BITS).real


def series_is_right(dimension):
    def holds():
        for lam, tau in ((1, 0.25), (0.5, 2), (3, 7), (25, 16)):
            ends = [arb(lam / 2).sqrt() + sign * arb(tau / 2).sqrt() for sign in (1, -1)]
            exact = acb((ends[0].erf() - ends[1].erf()) / 2)
            if not agree(exact, acb(ball_probability(dimension, lam, tau))):
                return False
        return True

    what = "noncentral χ² series at d = 1 against error functions, 30 digits"
    verify(FALSE, what, at_precision(holds, QUADRATURE_BITS))


series_is_right(1)
must_fail(FALSE, "planted error (d = 2 for d = 1)", lambda: series_is_right(2))

# %% [markdown]
# **Lemma 1.** For $T<S$ and $p=P(X>T)$,
# $$P(|\hat K-k_0|\le1)\le(1-p)^M+\frac Qp,\qquad Q=\sqrt{\frac{2M}{\pi\alpha T}}\ (d=1),\qquad Q=\frac M{2\alpha T}\ (d\ge2).$$
# *Proof.* Except with probability $(1-p)^M$ some draw is above T. Given which draws are, these are independent with the law
# of X given X > T. Fix all draws but one of them: $|\hat K-k_0|\le1$ confines it to some $[a,a+2M]$ with $a\ge T$. There
# $\|w\|^2=\frac1{2\alpha}\log\frac SX$ stays in an interval of length $\frac1{2\alpha}\log(1+\frac{2M}a)\le h:=\frac M{\alpha T}$. For
# d = 1, $\sqrt{b+h}-\sqrt b\le\sqrt h$ confines w to two intervals of length √h, and ω has density at most $1/\sqrt{2\pi}$. For
# d ≥ 2 the density of $\|w\|^2$ is at most ½: it is a mixture of χ² densities with 2 degrees of freedom or more, each being
# $\frac12e^{-t/2}$ or its convolution with another law. ∎
#
# The first summand falls with M and the second grows, so **both ends of a range of M settle the whole range.**
#
# ## False in R, with the optimal A
#
# ε = 1. At d = 1, R² = 10 the printed expression is 94.4, so M = 95; the true entry is $e^{10}$. With larger R every M from the
# printed one to a thousand or a million times as much fails, and so it does at d = 64, $r_0^2=640$.

# %%
printed = printed_M.subs(eps, 1)
for dimension, square, tau, factor, least in (
    (1, 10, 0.0625, 1, "0.9"),
    (1, 20, 0.0625, 1000, "0.97"),
    (1, 40, 0.0625, 10**6, "0.9999"),
    (64, 640, 20, 10**6, "0.9999"),
):
    at = {d: S(dimension), r0: sqrt(S(square))}
    at[alpha] = enclose(oprf, at)
    a, few, log_sup = (enclose(e, at).real for e in (alpha, printed, log_S))
    few = few.ceil()
    p = ball_probability(dimension, (1 + 4 * a) * square / (4 * a * a), tau)
    h = few * factor / (a * (log_sup - 2 * a * tau).exp())  # X > T exactly where ‖w‖² < τ
    q = (2 * h / arb.pi()).sqrt() if dimension == 1 else h / 2
    bound = 1 - (few * (-p).log1p()).exp() - q / p
    case = f"d = {dimension}, r0² = {square}, optimal A, M = {float(few.mid()):.4g}"
    case += f" … {factor} times that" if factor > 1 else ""
    verify(FALSE, f"{case}: P(error > 1) ≥ {least}", bool(bound >= arb(least)))

# %% [markdown]
# **No constant helps.** Put $\alpha=r/8$: then optimality reads $r_0^2=\frac{d\,r(1+r)}{8(2+r)}$ (notebook 04), R → ∞ with r, and
# $\log\Gamma=3d\frac{1+r}{2+r}$. At d = 1 the printed M grows like $e^3\log r$. The centre has $\|c\|^2=1+\frac1r\to1$, so at
# $\tau=\frac1{16}$ the probability p tends to $P(\frac34\le\omega\le\frac54)>0$, while log T grows like $\frac7{64}r$. With M any
# constant times the printed one, both summands of Lemma 1 vanish: **the probability of failure tends to 1.**

# %%
in_r = {alpha: r / 8, r0: sqrt(d * r * (1 + r) / (8 * (2 + r)))}
optimal = sp.simplify(factor_roots(oprf.subs(in_r)) - r / 8) == 0
exponent = sp.simplify((3 * r0**2 / alpha).subs(in_r) - 3 * d * (1 + r) / (2 + r)) == 0
verify(FALSE, "α = r/8 is optimal, and log Γ = 3d(1+r)/(2+r)", optimal and exponent)
centre = ((1 + 4 * alpha) * r0**2 / (4 * alpha**2)).subs(in_r).subs(d, 1)
growth = printed / log(r), (log_S - 2 * alpha / 16) / r
limits = [sp.limit(sp.simplify(g.subs(in_r).subs(d, 1)), r, oo) for g in growth]
verify(FALSE, "‖c‖² = 1 + 1/r", sp.simplify(centre - 1 - 1 / r) == 0)
verify(FALSE, "printed M / log r → e³ and log T / r → 7/64", limits == [exp(3), Rational(7, 64)])

# %% [markdown]
# ## False in d
#
# The proof uses nothing about A but its sign. Take $A=-\tfrac12$ at d = 64, $r_0=1$, ε = 1: the printed expression is 211686.5,
# $M=211687$, $k_0=e$. (For this pair the *optimal* A is -0.028; there Γ exceeds $e^{1.5d}$ and hides the lost $D^4$.)
#
# **Lemma 2.** For any t, with $p=P(X>t)$ and $q=\tilde P(X\le t)$ under $\tilde\omega\sim N(\frac{2Bx}{1+4\alpha},\frac I{1+4\alpha})$,
# $$P(\hat K\le k_0-1)\ge(1-p)^M\Big(1-\frac{k_0\,q}{(1-p)(k_0-1)}\Big).$$
# *Proof.* X times the density of ω is $k_0$ times the density of $\tilde\omega$, so $\mathbb E[X;X\le t]=k_0q$. Given that no draw
# exceeds t, $\hat K$ has mean $k_0q/(1-p)$; apply Markov's inequality. ∎
#
# Here $\|w\|^2$ is noncentral χ² with $\lambda=(1+4\alpha)r_0^2/(4\alpha^2)=3$, and under the second law $(1+4\alpha)\|w\|^2=3\|w\|^2$ is
# one with $\lambda=r_0^2/(4\alpha^2)=1$.

# %%
m = Symbol("m", real=True)
diagonal = log_term.subs({x_l: m, y_l: m})
tilted_mean = 2 * B * m / (1 + 4 * alpha)
tilted = m**2 - (1 + 4 * alpha) * (omega - tilted_mean) ** 2 / 2
same_density = sp.simplify(diagonal - omega**2 / 2 - tilted) == 0
verify(FALSE, "X times the Gaussian density is k₀ times the tilted one", same_density)
tilted_lam = (1 + 4 * alpha) * (B * m / (2 * alpha) - tilted_mean) ** 2
verify(FALSE, "tilted λ = r0²/(4α²)", sp.simplify(tilted_lam - m**2 / (4 * alpha**2)) == 0)

for dimension, tau, factor, least in ((64, 24.75, 1, "0.56"), (128, 52, 1000, "0.87")):
    at = {d: S(dimension), r0: S.One, alpha: S.Half}
    few = (factor * enclose(printed, at).real).ceil()
    p, q = ball_probability(dimension, 3, tau), 1 - ball_probability(dimension, 1, 3 * tau)
    k0 = arb(1).exp()
    bound = (few * (-p).log1p()).exp() * (1 - k0 * q / ((1 - p) * (k0 - 1)))
    case = f"d = {dimension}, A = -1/2, r0 = 1, M = {int(few.unique_fmpz())}"
    case += f", {factor} times the printed one" if factor > 1 else ", the printed one"
    verify(FALSE, f"{case}: P(error ≥ 1) ≥ {least}", bool(bound >= arb(least)))

# %% [markdown]
# Again no constant helps: for $\tau=\kappa d$ with $\tfrac13<\kappa<1$, Chernoff's bounds $p\le\mathbb E\,e^{\theta(\kappa d-\|w\|^2)}$ and
# $q\le\tilde{\mathbb E}\,e^{3\theta(\|w\|^2-\kappa d)}$, Gaussian means (notebook 01) at $1+2\theta=\frac1\kappa$ and $1-2\theta=\frac1{3\kappa}$, give
# $p\le e^{\frac d2(1-\kappa+\log\kappa)}$ and $q\le C_\kappa e^{\frac d2(1-3\kappa+\log3\kappa)}$. Both exponents are negative, since $\log u<u-1$ for
# $u\ne1$, while the printed M grows like $d\log d$: failure tends to certainty, and M must grow exponentially with d.

# %%
kappa, theta = symbols("kappa theta", positive=True)
rates = theta * kappa - log(1 + 2 * theta) / 2, -3 * kappa * theta - log(1 - 2 * theta) / 2
chosen = (1 / kappa - 1) / 2, (1 - 1 / (3 * kappa)) / 2
found = [rate.subs(theta, best) for rate, best in zip(rates, chosen, strict=True)]
wanted = [(1 - u + log(u)) / 2 for u in (kappa, 3 * kappa)]
zero = [sp.simplify(sp.expand_log(f - w, force=True)) for f, w in zip(found, wanted, strict=True)]
verify(FALSE, "Chernoff exponents of p and q", zero == [0, 0])

# %% [markdown]
# ## The corrected theorem
#
# **Theorem.** Let $A=-\alpha<0$ and let the projections be independent. With $\rho=\frac1{1+8\alpha}$, $r_0^2=R^2/\sqrt d$,
# $$S=(1+4\alpha)^{d/2}e^{r_0^2(1+\frac1{2\alpha})},\quad\ell=\tfrac B{2\sqrt{e\alpha}}+r_0\big(1+\tfrac1{2\alpha}\big),\quad
#   \Lambda=S\ell+r_0e^{r_0^2},\quad\sigma^2=\Big(\tfrac{1+\rho}{2\sqrt\rho}\Big)^de^{2r_0^2(1+2\rho)}-e^{2r_0^2},$$
# $$P\Big(\sup_{x,y}|\hat K_{\rm sfm}-K_{\rm sfm}|\ge\epsilon\Big)\le2\Big(1+\frac{8r_0\Lambda}\epsilon\Big)^d
#   \min\Big\{e^{-M\epsilon^2/(2S^2)},\;e^{-M\epsilon^2/(8\sigma^2+\frac43S\epsilon)}\Big\},$$
# the supremum being over all x, y in the ball of radius $r_0$.
#
# **Step 1: one ball is enough.** With $m=\frac12(x+y)$, $f(x,y)=e^{-\|x-y\|^2/4}f(m,m)$ for every ω, because x + y = 2m and
# $n=2\|m\|^2+\frac12\|x-y\|^2$; in the same way $e^{x^\top y}=e^{-\|x-y\|^2/4}e^{\|m\|^2}$. The factor is common and at most 1, and m lies in
# the same ball: the supremum over pairs is the supremum over m. Arb multiplies the two features.


# %%
def product_of_features(a, w, *vectors):
    features = [(v * v / 2 - a * w * w + (1 + 4 * a).sqrt() * w * v - v * v).exp() for v in vectors]
    return features[0] * features[1]


middle, line = (x_l + y_l) / 2, Real(-3, 3)
one = {alpha: Real(0.05, 5), omega: line}
certify(
    RIGHT,
    "f(x,y) = exp(-‖x-y‖²/4) f(m,m), one coordinate",
    exp(log_term),
    exp(diagonal.subs(m, middle)) * exp(-((x_l - y_l) ** 2) / 4),
    where=one | {x_l: line, y_l: line},
    reference=reference(product_of_features, alpha, omega, x_l, y_l),
)
polarised = sp.expand(middle**2 - (x_l - y_l) ** 2 / 4)
verify(RIGHT, "x·y = ‖m‖² - ‖x-y‖²/4", polarised == x_l * y_l)

# %% [markdown]
# **Step 2: 0 ≤ f(m,m) ≤ S.** Completing the square with $w=\omega-\frac{Bm}{2\alpha}$,
# $f(m,m)=D^2\exp(-2\alpha\|w\|^2+(1+\frac1{2\alpha})\|m\|^2)$, largest at w = 0 and $\|m\|=r_0$. Second derivation: solve for the
# stationary ω and take the value there.

# %%
w = omega - B * m / (2 * alpha)
at_zero = (1 + 1 / (2 * alpha)) * m**2
square = at_zero - 2 * alpha * w**2
at_m = one | {m: line}
certify(RIGHT, "completed square of log f(m,m), one coordinate", diagonal, square, where=at_m)
(stationary,) = sp.solve(sp.diff(diagonal, omega), omega)
top = diagonal.subs(omega, stationary)
certify(RIGHT, "largest log f(m,m), one coordinate", top, at_zero, where=at_m)

# %% [markdown]
# **Step 3: gradients.** $\nabla f=2f\cdot(Bw+(1+\frac1{2\alpha})m)$, so $\|\nabla f\|\le2S\big(B\|w\|e^{-2\alpha\|w\|^2}+(1+\frac1{2\alpha})r_0\big)\le2S\ell$
# by $te^{-2\alpha t^2}\le\frac1{2\sqrt{e\alpha}}$. The last bound twice: by the stationary point, and by $u\le e^{u-1}$ at $u=4\alpha t^2$
# for the square. And $\|\nabla e^{\|m\|^2}\|\le2r_0e^{r_0^2}$. So **the error is 2Λ-Lipschitz in m, for every ω.**

# %%
by_chain = sp.diff(exp(diagonal), m)
gradient = 2 * exp(square) * (B * w + (1 + 1 / (2 * alpha)) * m)
certify(RIGHT, "∇f(m,m), one coordinate", by_chain, gradient, where=at_m)
bump = t * exp(-2 * alpha * t**2)
(best_t,) = sp.solve(sp.diff(bump, t), t)
turns = sp.simplify(sp.diff(bump, t) / exp(-2 * alpha * t**2) - (1 - 4 * alpha * t**2)) == 0
verify(RIGHT, "t·exp(-2αt²) rises up to 4αt² = 1 and falls beyond", turns)
by_square = sqrt(exp(-1) / (4 * alpha))
positive_alpha = {alpha: Real(0.01, 10)}
certify(RIGHT, "max of t·exp(-2αt²)", bump.subs(t, best_t), by_square, where=positive_alpha)

# %% [markdown]
# **Step 4: a net.** A largest set of points of the ball at mutual distances above $\eta=\frac\epsilon{4\Lambda}$ is an η-net. The balls of
# radius η/2 around them are disjoint and inside the ball of radius $r_0+\eta/2$: comparing volumes, there are at most
# $(1+2r_0/\eta)^d=(1+8r_0\Lambda/\epsilon)^d$ of them. From a point to the nearest of the net the error changes by at most $2\Lambda\eta=\epsilon/2$.
#
# **Step 5: at one point.** Terms lie in [0, S]. Hoeffding's inequality at τ = ε/2 is $2e^{-2M\tau^2/S^2}$, Bernstein's (two-sided; a term
# differs from its mean by at most S) is $2e^{-M\tau^2/(2\sigma_m^2+\frac23S\tau)}$. A union bound over the net gives the theorem, with
# $\sigma_m^2$ for $\sigma^2$.

# %%
Lam, size, var, M = symbols("Lambda S sigma2 M", positive=True)
eta, tau = eps / (4 * Lam), eps / 2
balls = (r0 + eta / 2) / (eta / 2) - (1 + 8 * r0 * Lam / eps)
verify(RIGHT, "size of the net, and the step ε/2", (sp.simplify(balls), 2 * Lam * eta) == (0, tau))
hoeffding = M * eps**2 / (2 * size**2)
bernstein = M * eps**2 / (8 * var + 4 * size * eps / 3)
gaps = hoeffding - 2 * M * tau**2 / size**2, bernstein - M * tau**2 / (2 * var + 2 * size * tau / 3)
verify(RIGHT, "both exponents at τ = ε/2", [sp.simplify(gap) for gap in gaps] == [0, 0])

# %% [markdown]
# **Step 6: the variance.** At $\|m\|=r$: from notebook 04 with z = 4r², n = 2r² and the factor $e^{n}$ of the softmax kernel; or
# directly, $f^2$ being one Gaussian mean per coordinate. Arb integrates $f^2$. Over $e^{2r^2}$ the second moment is
# $e^\beta$ with $\beta=\frac d2\log(1+\frac{16\alpha^2}{1+8\alpha})+\frac{4r^2}{1+8\alpha}\ge0$, so $\sigma_m^2=e^{2r^2}(e^\beta-1)$ is a product of increasing
# functions of r² and is largest at $r=r_0$, where it is σ². ∎

# %%
of_rho = d * log((1 + rho) / (2 * sqrt(rho))) + (1 + rho) * z - 2 * n + n
from_04 = of_rho.subs({z: 4 * r**2, n: 2 * r**2}).subs(rho, 1 / (1 + 8 * alpha))
direct = d * log((1 + 4 * alpha) * gaussian_mean(-4 * alpha, S.Zero)) - 2 * r**2
direct += log(gaussian_mean(-4 * alpha, 4 * B * r) / gaussian_mean(-4 * alpha, S.Zero))


def second_moment(a, dimension, along):
    size = int(dimension.real.unique_fmpz())
    total = (1 + 4 * a) ** size * (-2 * along * along).exp()
    for coordinate in (along, *[acb(0)] * (size - 1)):
        total *= gaussian_mean_arb(-4 * a, 4 * (1 + 4 * a).sqrt() * coordinate)
    return total.log()


ball = {alpha: Real(0.05, 5), d: Whole(1, 6), r: Real(0.1, 2)}
by_quadrature = reference(second_moment, alpha, d, r)
what = "log second moment of f(m,m)"
certify(RIGHT, what, from_04, direct, where=ball, reference=by_quadrature)
excess_of_r = d * log(1 + 16 * alpha**2 / (1 + 8 * alpha)) / 2 + 4 * r**2 / (1 + 8 * alpha)
certify(RIGHT, "it is 2r² + β", from_04, 2 * r**2 + excess_of_r, where=ball)
verify(RIGHT, "β increases with r", sp.diff(excess_of_r, r).is_positive is True)

# %% [markdown]
# ## How many features
#
# The bound is at most δ for $M\ge\frac{\min\{2S^2,\,8\sigma^2+\frac43S\epsilon\}}{\epsilon^2}\big[d\log(1+\frac{8r_0\Lambda}\epsilon)+\log\frac2\delta\big]$. For *fixed* Q and K
# of L rows no net is needed: Hoeffding at ε for each of the L² pairs gives $M\ge\frac{S^2}{2\epsilon^2}\log\frac{2L^2}\delta$.
#
# **The best α for S.** $2\alpha^2(1+4\alpha)\frac{d\log S}{d\alpha}=4d\alpha^2-4r_0^2\alpha-r_0^2$ is negative at 0 and convex: it has one positive root,
# $\alpha=\frac1{2d}\big(r_0^2+\sqrt{r_0^4+d\,r_0^2}\big)$, log S falls before it and rises after it.

# %%
L, N = symbols("L N", positive=True)
logarithm, each = log(2 * N / delta), log(2 * L**2 / delta)
enough = 2 * size**2 / eps**2 * logarithm, (8 * var + 4 * size * eps / 3) / eps**2 * logarithm
ways = zip((hoeffding, bernstein), enough, strict=True)
reached = [sp.simplify(2 * N * exp(-exponent.subs(M, count))) for exponent, count in ways]
verify(RIGHT, "at this M Hoeffding's bound, or Bernstein's, is δ", reached == [delta, delta])
for_pairs = sp.simplify(2 * L**2 * exp(-2 * (size**2 / (2 * eps**2) * each) * eps**2 / size**2))
verify("fixed-pairs", "L² Hoeffding bounds add up to δ", for_pairs == delta)
best = (r0**2 + sqrt(r0**4 + d * r0**2)) / (2 * d)
quadratic = sp.expand(sp.simplify(sp.diff(log_S, alpha) * 2 * alpha**2 * (1 + 4 * alpha)))
slope = sp.expand(quadratic - (4 * d * alpha**2 - 4 * r0**2 * alpha - r0**2)) == 0
verify(RIGHT, "slope of log S", slope and sp.diff(quadratic, alpha, 2).is_positive)


def stationary_at(candidate):
    zero = sp.simplify(sp.expand(quadratic.subs(alpha, candidate))) == 0
    verify(RIGHT, "best α for S", zero and candidate.is_positive)


stationary_at(best)
must_fail(RIGHT, "planted error (2d for d)", lambda: stationary_at(best.subs(d, 2 * d)))

# %% [markdown]
# **Numbers.** d = 2, R = 1, best α: S = 12.33, Λ = 31.08, σ² = 8.98, and M = 1270 suffices for ε = 1, δ = 0.05. At the first
# counterexample, d = 1, R² = 10, optimal A, it is 5.2·10¹¹ where 95 was printed; the variance of one term is 3.1·10⁹ there, so
# the mean of fewer terms than that has a standard deviation above 1.

# %%
ell = B / (2 * sqrt(E * alpha)) + r0 * (1 + 1 / (2 * alpha))
lipschitz = size * ell + r0 * exp(r0**2)
variance = exp(from_04.subs(r, r0)) - exp(2 * r0**2)
bracket = d * log(1 + 8 * r0 * Lam / eps) + log(2 / delta)
count = Min(2 * size**2, 8 * var + 4 * size * eps / 3) * bracket / eps**2
for dimension, radius_sq, chosen, shown in (
    (2, sqrt(S.Half), best, (0.5227, 12.33, 31.08, 8.976, 1270)),
    (1, S(10), oprf, (10.12, 232507, 983979, 3.136e9, 5.1985e11)),
):
    at = {d: S(dimension), r0: sqrt(radius_sq), eps: S.One, delta: Rational(1, 20)}
    for name, rule in {alpha: chosen, size: exp(log_S), Lam: lipschitz, var: variance}.items():
        at[name] = enclose(rule, at)
    found = [at[name].real for name in (alpha, size, Lam, var)] + [enclose(count, at).real.ceil()]
    close = [bool(abs(f / v - 1) < 5e-4) for f, v in zip(found, shown, strict=True)]
    what = "d = {}: α = {:.4g}, S = {:.4g}, Λ = {:.4g}, σ² = {:.4g}, M = {:.6g}"
    verify(RIGHT, what.format(dimension, *shown), all(close))

# %% [markdown]
# ## Planted errors

# %%
where = {alpha: Real(0.05, 5), d: Whole(1, 6), r0: Real(0.1, 2)}
dropped = log_S - d * log(1 + 4 * alpha) / 2
reject(RIGHT, "D² dropped from S, as in the proof", log_S, dropped, where=where)
reject(RIGHT, "exp(-n/2) for exp(+n/2)", top, at_zero - 2 * m**2, where=at_m)
reject(RIGHT, "B lost in the gradient", by_chain, gradient / B, where=at_m)
lost = from_04 - 2 * r**2 / (1 + 8 * alpha)
reject(RIGHT, "1+ρ for 1+2ρ in the variance", from_04, lost, where=ball)

# %% [markdown]
# ## Formulas
#
# They are printed in logarithms where S overflows. With $g=\log S-r_0^2$ nothing is subtracted in
# $\log\Lambda=\log S+\log(\ell+r_0e^{-g})$, nor in $\log\sigma^2=2r_0^2+\log(e^\beta-1)$; and
# $\log(8\sigma^2+\frac43S\epsilon)=\log S+\log(8e^{\log\sigma^2-\log S}+\frac43\epsilon)$ does not overflow, because $\sigma^2\le Se^{r_0^2}$.

# %%
STATEMENTS = [
    Statement(
        FALSE,
        "Theorem 4.3 (thm:uniform)",
        "number of features for uniform convergence of attention",
        "refuted as printed",
    ),
    Statement(
        RIGHT,
        "in place of Theorem 4.3",
        "A = -α < 0, iid: uniform convergence over a ball of queries and keys, with constants",
    ),
    Statement("fixed-pairs", "beyond", "number of features for L² given pairs, by a union bound"),
]
ERRATA = [
    Erratum(
        FALSE,
        "Theorem 4.3 and its proof",
        "M = Ω(Γ d/ε² log(γρ/ε)) with Γ = exp(-3R²/(√d A)) suffices",
        "the proof drops D⁴ = (1-4A)^d, multiplies by exp(-n/2) for exp(+n/2), takes Γ large enough for A ≥ -1 only, "
        "writes a maximum for a minimum, loses B² in the gradient, prints E‖ω‖² = d as d² and covers a ball of R^(2d) where R^d suffices; "
        "with the optimal A, Γ < exp(3d) for every R "
        "while the variance grows at least like exp(2R²/√d)",
        "M ≥ min{2S², 8σ²+4Sε/3}/ε²·[d log(1+8r₀Λ/ε)+log(2/δ)], r₀² = R²/√d, A = -α, B² = 1+4α, ρ = 1/(1+8α), "
        "S = (1+4α)^(d/2) exp(r₀²(1+1/(2α))), Λ = S(B/(2√(eα))+r₀(1+1/(2α)))+r₀exp(r₀²), "
        "σ² = ((1+ρ)/(2√ρ))^d exp(2r₀²(1+2ρ))-exp(2r₀²)",
        "d = 1, R² = 10, optimal A, ε = 1: the printed M = 95 fails with probability at least 0.9, "
        "and for larger R a million times the printed M fails; d = 64, A = -1/2, r₀ = 1: "
        "the printed M = 211687 fails with probability at least 0.56",
    ),
]
radius = Symbol("r_0", positive=True)
r0_sq, gain, excess, moment, over, spread = symbols("r0_sq gain excess T N V", positive=True)
log_sup, log_lip, log_var = symbols("log_sup log_lip log_var", real=True)
by_variance, log_ratio = symbols("by_variance log_ratio", real=True)
ball_lets = ((r0_sq, R**2 / sqrt(d)), (r0, sqrt(r0_sq)))
gain_let = (gain, d * Log1p(4 * alpha) / 2 + r0_sq / (2 * alpha))
sup_lets = (*ball_lets, gain_let, (log_sup, r0_sq + gain))
ell_form = B * exp(-S.Half) / (2 * sqrt(alpha)) + r0 * (1 + 1 / (2 * alpha))
lip_form = log_sup + log(ell_form + r0 * exp(-gain))
excess_form = d * Log1p(16 * alpha**2 / (1 + 8 * alpha)) / 2 + 4 * r0_sq / (1 + 8 * alpha)
var_form = 2 * r0_sq + LogExpm1(excess)
stated = (
    (radius, R / d ** Rational(1, 4)),
    (size, exp(log_S).subs(r0, radius)),
    (moment, from_04.subs(r, radius)),
)
lip_stated = lipschitz.subs(r0, radius)
var_stated = exp(2 * radius**2) * (exp(excess_of_r.subs(r, radius)) - 1)
names = {r0_sq: r0**2, radius: r0}
net = {
    "args": (eps, R, d, delta, alpha),
    "lets": (
        *sup_lets,
        (log_lip, lip_form),
        (excess, excess_form),
        (log_var, var_form),
        (by_variance, log_sup + log(8 * exp(log_var - log_sup) + 4 * eps / 3)),
        (log_ratio, log(8 * r0 / eps) + log_lip),
    ),
    "definition_lets": (
        *stated,
        (spread, 8 * var_stated + 4 * size * eps / 3),
        (over, 8 * radius * lip_stated / eps),
    ),
    "lemmas": {size: exp(log_sup), spread: exp(by_variance), over: exp(log_ratio)},
}
cover = d * Softplus(log_ratio) + log(2 / delta)
cover_stated = d * log(1 + over) + log(2 / delta)
wide = {R: Real(0.01, 8), d: Whole(1, 4096), alpha: Real(0.01, 10)}
small = {R: Real(0.1, 2), d: Whole(1, 16), alpha: Real(0.1, 2)}
error, chance = Real(0.001, 1000), Real(1e-12, 0.5)


def on_ball(name, summary, lets, expr, definition, lemmas=()):
    args = (R, d, alpha)
    return Formula(name, RIGHT, summary, args, wide, expr, definition, lets, stated, dict(lemmas))


FORMULAS = [
    Formula(
        "uniform_alpha",
        RIGHT,
        "The α = -A for which S, the largest term over the ball, is least.",
        (R, d),
        {R: Real(0.001, 1000), d: Whole(1, 4096)},
        lets=ball_lets,
        expr=r0 * (r0 + sqrt(r0_sq + d)) / (2 * d),
        definition=best.subs(r0, radius),
        definition_lets=stated,
    ),
    on_ball(
        "log_uniform_supremum",
        "Logarithm of S, the largest term of the softmax estimate over ball and projections.",
        sup_lets,
        log_sup,
        log(size),
    ),
    on_ball(
        "log_uniform_lipschitz",
        "Logarithm of Λ: the error at (m, m) is 2Λ-Lipschitz in m on the ball.",
        sup_lets,
        lip_form,
        log(lip_stated),
        names | {size: exp(r0**2 + gain), log_sup: r0**2 + gain},
    ),
    on_ball(
        "log_uniform_variance",
        "Logarithm of σ², the largest variance of one term over the ball.",
        (*ball_lets, (excess, excess_form)),
        var_form,
        log(exp(moment) - exp(2 * radius**2)),
        names | {moment: 2 * r0**2 + excess},
    ),
    Formula(
        "log_features_for_uniform",
        RIGHT,
        "Logarithm of the number of features for an error below eps on the whole ball.",
        domain={eps: error, delta: chance, **wide},
        expr=-Max(-log(S(2)) - 2 * log_sup, -by_variance) - 2 * log(eps) + log(cover),
        definition=Min(log(2 * size**2), log(spread)) - 2 * log(eps) + log(cover_stated),
        **net,
    ),
    Formula(
        "features_for_uniform",
        RIGHT,
        "Number of features (round up) for an error below eps on the whole ball.",
        domain={eps: Real(0.01, 10), delta: chance, **small},
        expr=-Max(-2 * exp(2 * log_sup), -exp(by_variance)) * cover / eps**2,
        definition=Min(2 * size**2, spread) * cover_stated / eps**2,
        **net,
    ),
    Formula(
        "log_features_for_pairs",
        "fixed-pairs",
        "Logarithm of the number of features for an error below eps at L² given pairs.",
        (eps, L, delta, log_sup),
        {eps: error, L: Whole(1, 10**6), delta: chance, log_sup: Real(0, 10000)},
        expr=2 * log_sup - log(S(2)) - 2 * log(eps) + log(log(S(2)) + 2 * log(L) - log(delta)),
        definition=log(exp(log_sup) ** 2 / (2 * eps**2) * log(2 * L**2 / delta)),
    ),
    Formula(
        "features_for_pairs",
        "fixed-pairs",
        "Number of features for an error below eps at L² given pairs.",
        (eps, L, delta, log_sup),
        {eps: Real(0.01, 10), L: Whole(1, 10**6), delta: chance, log_sup: Real(0, 20)},
        expr=exp(2 * log_sup) / (2 * eps**2) * (log(S(2)) + 2 * log(L) - log(delta)),
        definition=exp(log_sup) ** 2 / (2 * eps**2) * log(2 * L**2 / delta),
    ),
]
check_formulas(FORMULAS)
