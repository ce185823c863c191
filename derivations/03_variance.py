# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
# ---

# %% [markdown]
# # 03 · Variance of generalised exponential features (Theorem 3.2)
#
# **Theorem 3.2 (printed).** Let $\mathrm{Re}(1-8A)>0$. Then, with $z=\|x+sy\|^2$ and $n=\|x\|^2+\|y\|^2$,
# $$\mathrm{Var}\,\mathrm{Re}(f^{(1)}f^{(2)})=\tfrac12e^{-(s+1)n}\Big(\mathrm{Re}\big(\alpha_1e^{\alpha_2z}\big)+\alpha_3e^{\alpha_4z}\Big)-K^2,$$
# $$\alpha_1=\Big(\sqrt{1+\tfrac{16A^2}{1-8A}}\Big)^d,\quad \alpha_2=s+\tfrac s{1-8A},\quad
#   \alpha_3=\Big(1+\tfrac{16|A|^2}{1-8\mathrm{Re}A}\Big)^{d/2},\quad
#   \alpha_4=\tfrac s2+\tfrac{s+2|1-4A|}{2(1-8\mathrm{Re}A)} .$$
#
# The formula is right. (It is the variance of *one* product, eq. `rf`, not of the M-feature mean `rfappr` that the
# theorem names.) This notebook proves it, gives the forms that keep their digits, and finds where the variance
# is infinite.

# %%
import sympy as sp
from flint import acb
from sympy import (
    Abs,
    I,
    Piecewise,
    Rational,
    S,
    Symbol,
    arg,
    atan2,
    cos,
    exp,
    im,
    log,
    oo,
    re,
    sin,
    sqrt,
    symbols,
)

from derivations.arb import Evaluator, at_precision
from derivations.certificate import certify, must_fail, refute, reject, verify
from derivations.domain import Complex, Real, Sign, Whole
from derivations.formula import Erratum, Formula, Statement, check_formulas
from derivations.identities import (
    QUADRATURE_BITS,
    gaussian_mean,
    gaussian_mean_arb,
    log_gaussian_mean,
    reference,
)
from derivations.special import (
    Expit,
    Expm1,
    Log,
    Log1p,
    Log1pGap,
    LogCosh,
    LogExpm1,
    LogMeanExp,
    LogOneMinusExp,
)
from derivations.symbols import A, d, n, s, z

# %% [markdown]
# ## The square of a real part
#
# For any complex X, $(\mathrm{Re}\,X)^2=\tfrac12\mathrm{Re}(X^2)+\tfrac12|X|^2$. So two moments are needed: $\mathbb E X^2$ and
# $\mathbb E|X|^2$.

# %%
a0, b0 = symbols("a0 b0", real=True)
X = a0 + I * b0
verify(
    "thm-gerf-var",
    "(Re X)² = ½ Re X² + ½ |X|²",
    sp.expand(a0**2 - (sp.re(sp.expand(X**2)) + a0**2 + b0**2) / 2) == 0,
)

# %% [markdown]
# ## E X²: first derivation, completing the square
#
# X² is again of exponential form with A, B, C, D replaced by 2A, 2B, 2C, D². Notebook 01 with $a=4A$,
# $\|b\|^2=4B^2z$, $B^2=s(1-4A)$, $2\log D=\tfrac d2\log(1-4A)$:

# %%
square_by_completion = (
    d * log(1 - 4 * A) - (s + 1) * n + log_gaussian_mean(4 * A, 4 * s * (1 - 4 * A) * z, d)
)
square_by_completion

# %% [markdown]
# ## E X²: second derivation, tilting
#
# X(ω) times the Gaussian density is K times another Gaussian density, of mean $m=Bv/(1-4A)$ and variance
# $1/(1-4A)$ in each coordinate. Hence $\mathbb E X^2=K\cdot\tilde{\mathbb E}X$ under that second Gaussian. In one
# coordinate put $\omega=m+g/\sqrt{1-4A}$ with g standard normal, and use the quadratic mean in g.

# %%
v1, g, B1 = symbols("v1 g B1")
w4 = 1 - 4 * A
mean, scale = B1 * v1 / w4, 1 / sqrt(w4)
in_g = sp.Poly(sp.expand(2 * A * (mean + scale * g) ** 2 + B1 * v1 * (mean + scale * g)), g)
quadratic, linear, constant = in_g.all_coeffs()
radicand = sp.simplify(1 - 2 * quadratic)
verify(
    "thm-gerf-var",
    "the tilted integral's α is (1-8A)/(1-4A)",
    sp.simplify(radicand - (1 - 8 * A) / w4) == 0,
)

# %% [markdown]
# The arguments of 1-8A and 1-4A have the same sign and are below π/2 in size, so the principal root of the quotient is
# the quotient of the principal roots. The d coordinates multiply: the exponent is linear in $z=\|v\|^2$, the root
# appears d times.

# %%
exponent = constant + linear**2 / (2 * radicand)
slope = sp.simplify(sp.expand(exponent / v1**2).subs(B1, sqrt(s * w4)))
log_kernel = s * z / 2 - (s + 1) * n / 2
tilted_roots = d * (log(1 - 4 * A) - log(1 - 8 * A)) / 2
square_by_tilting = log_kernel + d * log(1 - 4 * A) / 2 - (s + 1) * n / 2 + slope * z + tilted_roots
slope

# %% [markdown]
# ## The paper's α₁, α₂
#
# $\alpha_2=s+s/(1-8A)$ is the coefficient of z. For α₁ the d-th power of the *principal* root of
# $1+16A^2/(1-8A)=(1-4A)^2/(1-8A)$ is meant; it is $(1-4A)/\sqrt{1-8A}$, because with $w=1-8A$ that number is
# $\tfrac12(\sqrt w+1/\sqrt w)$ and $\mathrm{Re}(1/\sqrt w)=\mathrm{Re}\sqrt w/|w|>0$: its real part is positive.

# %%
w = Symbol("w", positive=True)
root_sum = (sqrt(w) + 1 / sqrt(w)) / 2
verify(
    "thm-gerf-var",
    "(1-4A)/√(1-8A) = ½(√w + 1/√w)",
    sp.simplify(((1 - 4 * A) / sqrt(w)).subs(A, (1 - w) / 8) - root_sum) == 0,
)
verify(
    "thm-gerf-var",
    "its square is 1 + 16A²/(1-8A)",
    sp.simplify(((1 - 4 * A) ** 2 / (1 - 8 * A)) - (1 + 16 * A**2 / (1 - 8 * A))) == 0,
)
alpha2 = s + s / (1 - 8 * A)
log_alpha1 = d * (log(1 - 4 * A) - log(1 - 8 * A) / 2)
Q = log_alpha1 + alpha2 * z

# %%
variance_domain = {
    A: Complex(Real(-2, Rational(1, 10)), Real(-1, 1)),
    s: Sign(),
    d: Whole(1, 6),
    z: Real(0, 6),
    n: Real(0, 6),
}


def coordinates(count, total):
    """d coordinates of a vector with squared length `total`: all of it in the first."""
    return [total.sqrt()] + [acb(0)] * (count - 1)


def moment_by_quadrature(modulus):
    """E X² or E|X|² from the features: one certified integral per coordinate."""

    def at_point(point):
        def value():
            at = Evaluator(point)
            a, sign, size = at(A), at(s), int(at(d).real.unique_fmpz())
            b_root, d_root = (sign * (1 - 4 * a)).sqrt(), (1 - 4 * a).sqrt().sqrt()
            if modulus:
                a, b_root = acb(a.real), acb(b_root.real)
                d_root = acb(abs(d_root))
            total = (-(sign + 1) * at(n)).exp() * d_root ** (4 * size)
            for v in coordinates(size, at(z)):
                total *= gaussian_mean_arb(4 * a, 2 * b_root * v)
            return total

        return at_precision(value, QUADRATURE_BITS)

    return at_point


certify(
    "thm-gerf-var",
    "E X²",
    exp(square_by_completion),
    exp(square_by_tilting),
    where=variance_domain,
    reference=moment_by_quadrature(False),
)
certify(
    "thm-gerf-var",
    "α₁ exp(α₂ z) is E X² without exp(-(s+1)n)",
    exp(square_by_completion + (s + 1) * n),
    exp(Q),
    where=variance_domain,
)

# %% [markdown]
# ## E|X|²
#
# $|X|^2$ has the real coefficients $4\mathrm{Re}A$, $2\mathrm{Re}B$, so the same mean applies with
# $\|b\|^2=4(\mathrm{Re}B)^2z$. **First derivation:** $4(\mathrm{Re}B)^2=(B+\bar B)^2=2\,\mathrm{Re}(B^2)+2|B|^2=2s\,\mathrm{Re}(1-4A)+2|1-4A|$.
# **Second derivation**, by the parts of $1-8A=u+iv$: with $N=|2-8A|=\sqrt{(u+1)^2+v^2}$, the half-angle formula
# gives $(\mathrm{Re}\sqrt{s(1-4A)})^2=\tfrac14(N+s(u+1))$.

# %%
abs_by_squares = (
    d * log(Abs(1 - 4 * A))
    - (s + 1) * n
    + log_gaussian_mean(4 * re(A), z * (2 * s * re(1 - 4 * A) + 2 * Abs(1 - 4 * A)), d)
)
u_part, v_part = 1 - 8 * re(A), -8 * im(A)
N_part = sqrt((u_part + 1) ** 2 + v_part**2)
abs_by_parts = (
    d * log(N_part / 2)
    - (s + 1) * n
    - d * log(u_part) / 2
    + z * (N_part + s * (u_part + 1)) / (2 * u_part)
)
certify(
    "thm-gerf-var",
    "E|X|²",
    exp(abs_by_squares),
    exp(abs_by_parts),
    where=variance_domain,
    reference=moment_by_quadrature(True),
)

# %%
alpha4 = s / 2 + (s + 2 * Abs(1 - 4 * A)) / (2 * (1 - 8 * re(A)))
log_alpha3 = d * log(1 + 16 * (re(A) ** 2 + im(A) ** 2) / (1 - 8 * re(A))) / 2
P = log_alpha3 + alpha4 * z
certify(
    "thm-gerf-var",
    "α₃ exp(α₄ z) is E|X|² without exp(-(s+1)n)",
    exp(abs_by_parts + (s + 1) * n),
    exp(P),
    where=variance_domain,
)

# %% [markdown]
# Together: Var = $\tfrac12e^{-(s+1)n}(\mathrm{Re}\,e^{Q}+e^{P})-K^2$ with $Q=\log\alpha_1+\alpha_2z$, $P=\log\alpha_3+\alpha_4z$: Theorem 3.2.
#
# ## Corollaries: TrigRF and PosRF
#
# A = 0, s = -1: $\tfrac12(1-K^2)^2$. A = 0, s = +1: $e^{4x^\top y}-K^2$. In both, $z$ and $n$ determine K and $x^\top y$:
# $K^2=e^{sz-(s+1)n}$, and $z-n=2x^\top y$ for s = +1.

# %%
K2 = exp(s * z - (s + 1) * n)
at_A0 = {A: 0}
variance_at_0 = exp(-(s + 1) * n) * (exp(Q.subs(at_A0)) + exp(P.subs(at_A0))) / 2 - K2
trig_variance = sp.simplify(variance_at_0.subs(s, -1))
pos_variance = sp.simplify(variance_at_0.subs(s, 1))
pair = {z: Real(0, 8), n: Real(0, 8)}
certify(
    "trig-var",
    "Var TrigRF = ½(1-K²)²",
    trig_variance,
    (1 - exp(-z)) ** 2 / 2,
    where={z: Real(0, 8)},
)
certify(
    "pos-var",
    "Var PosRF = exp(4x·y) - K²",
    pos_variance,
    exp(4 * (z - n) / 2) - exp(z - 2 * n),
    where=pair,
)

# %% [markdown]
# Both have a direct proof that never mentions A: $\mathbb E\cos^2(\omega^\top v)=\tfrac12(1+\mathbb E\cos(2\omega^\top v))$, and
# $\mathbb E e^{2\omega^\top v-2n}=e^{2z-2n}$.


# %%
def trig_by_quadrature(squared):
    cosine = gaussian_mean_arb(acb(0), acb(0, 2) * squared.sqrt())  # E exp(2i ω·v), a real number
    return (1 + acb(cosine.real)) / 2 - (-squared).exp()


def pos_by_quadrature(squared, norms):
    return (
        gaussian_mean_arb(acb(0), 2 * squared.sqrt()) * (-2 * norms).exp()
        - (squared - 2 * norms).exp()
    )


certify(
    "trig-var",
    "direct: ½(1 + E cos 2ω·v) - K²",
    trig_variance,
    (1 + gaussian_mean(S.Zero, 2 * I * sqrt(z))) / 2 - exp(-z),
    where={z: Real(0, 8)},
    reference=reference(trig_by_quadrature, z),
)
certify(
    "pos-var",
    "direct: E exp(2ω·v - 2n) - K²",
    pos_variance,
    gaussian_mean(S.Zero, 2 * sqrt(z)) * exp(-2 * n) - exp(z - 2 * n),
    where=pair,
    reference=reference(pos_by_quadrature, z, n),
)

# %% [markdown]
# ## Where the variance is infinite
#
# For $\tfrac18\le\mathrm{Re}A<\tfrac14$ Theorem 3.1 still holds: the estimator is unbiased. But $|X|^2$ times the Gaussian density is
# a constant times $\exp(-\tfrac u2\omega^2+2(\mathrm{Re}B)v\,\omega)$ in each coordinate with $u=1-8\mathrm{Re}A\le0$, and such a
# function is not integrable: at u = 0 it is an exponential or a constant, for u < 0 it grows.
# So $\mathbb E|X|^2=\infty$; for real A and s = +1, $X=|X|$ and the variance is infinite. For the other cases
# $(\mathrm{Re}X)^2=|X|^2\cos^2\theta(\omega)$ with a polynomial θ: where θ is constant the same holds; otherwise, far out,
# $|X|^2$ changes by a bounded factor while θ runs through one period, so the cosine leaves a fixed share of a
# divergent integral. The paper does not say that the range between the two conditions exists.

# %%
tail = Symbol("T", positive=True)
omega = Symbol("omega", real=True)
drift = Symbol("b", nonnegative=True)
at_edge = sp.integrate(S.One, (omega, -tail, tail))
verify(
    "gerf-infinite-variance",
    "A = 1/8, z = 0: the integral up to T is 2T, without bound",
    sp.limit(at_edge, tail, oo) == oo,
)
growing = sp.integrate(exp(omega**2 / 2), (omega, -tail, tail))
verify(
    "gerf-infinite-variance",
    "u = -1: the integral up to T is without bound",
    sp.limit(growing, tail, oo) == oo,
)
middle = Rational(3, 16)
verify(
    "gerf-infinite-variance",
    "A = 3/16 satisfies Re(1-4A) > 0 but not Re(1-8A) > 0",
    1 - 4 * middle > 0 and not 1 - 8 * middle > 0,
)
must_fail(
    "gerf-infinite-variance",
    "asking Arb for E|X|² at A = 3/16",
    lambda: gaussian_mean_arb(acb(4 * 3) / 16, acb(0)),
)

# %% [markdown]
# ## "Variance of (rfappr)"
#
# Theorems 3.2, 3.4 and 3.5 announce the variance of the M-feature mean `rfappr` and give that of one product. The mean
# of M independent products has 1/M of it: at M = 2 the two already differ.

# %%
refute(
    "variance-of-one",
    "the formula is the variance of the mean of M = 2 features",
    trig_variance,
    trig_variance / 2,
    {z: S.One},
)

# %% [markdown]
# ## Forms that keep their digits
#
# $e^P$, $e^Q$ overflow and their sum cancels against $K^2$. Put $g=\mathrm{Re}\,Q-P\le0$ and $\theta=\mathrm{Im}\,Q$. Then the second moment
# is $\tfrac12e^{P-(s+1)n}(1+e^g\cos\theta)=e^{P-(s+1)n}\big(-\tfrac12(e^g-1)+e^g\cos^2\tfrac\theta2\big)$, a sum of two non-negative terms. With
# $u+iv=1-8A$, $N=|2-8A|$ and $m=\frac{v^2}{2u(N+u+1)}$:
#
# | | s = +1 | s = -1 |
# |---|---|---|
# | P = (d/2) log1p(16\|A\|²/u) + z·( · ) | 1 + 1/u + m | m |
# | g = -(d/4) log1p(v²/u²) - z·( · ) | v²/(u(u²+v²)) + m | 1 + u/(u²+v²) + m |
# | h = P - sz + g/2: the z-coefficient | (2u²+v²)/(2u(u²+v²)) + m/2 | (v² - 8u Re A)/(2(u²+v²)) + m/2 |
#
# No entry subtracts nearly equal numbers (m replaces $N-u-1$). Near imaginary A the two logarithms in h cancel to first order in
# $p=16|A|^2/u$ and $y=v^2/u^2$; there they are written with $t-\log(1+t)$ and $p-\tfrac y4=16\,\mathrm{Re}A\,(u\,\mathrm{Re}A-8(\mathrm{Im}A)^2)/u^2$.
# The angle $\arg(1-4A)-\tfrac12\arg(1-8A)$ in θ is of second order in A; it is half the angle of $(w+1)^2/(4w)=1+16A^2/w$, $w=u+iv$, whose real
# part is positive.

# %%
u, v, N, m, w2 = symbols("u v N m w2", real=True)
ell, P_let, gap, h, theta, delta = symbols("ell P g h theta delta", real=True)
parts = (
    (u, 1 - 8 * re(A)),
    (v, -8 * im(A)),
    (N, sqrt((u + 1) ** 2 + v**2)),
    (m, v**2 / (2 * u * (N + u + 1))),
    (w2, u**2 + v**2),
    (ell, d * Log1p(16 * (re(A) ** 2 + im(A) ** 2) / u) / 2),
)
P_form = ell + z * (m + Piecewise((1 + 1 / u, s > 0), (0, True)))
gap_form = -d * Log1p((v / u) ** 2) / 4 - z * (
    m + Piecewise((v**2 / (u * w2), s > 0), (1 + u / w2, True))
)
plus, minus = (2 * u**2 + v**2) / (2 * u * w2), (v**2 - 8 * u * re(A)) / (2 * w2)
p16, y2 = 16 * (re(A) ** 2 + im(A) ** 2) / u, (v / u) ** 2
first_order = 16 * re(A) * (u * re(A) - 8 * im(A) ** 2) / u**2  # p16 - y2/4
near_zero = d * (first_order - Log1pGap(p16) + Log1pGap(y2) / 4) / 2
in_z = z * (m / 2 + Piecewise((plus, s > 0), (minus, True)))
h_near = near_zero + in_z
h_form = Piecewise((near_zero, p16 + y2 <= 1), (ell - d * Log1p(y2) / 8, True)) + in_z
turned = 128 * im(A) * (re(A) - 4 * re(A) ** 2 - 4 * im(A) ** 2)
theta_form = d * atan2(turned, w2 * (u + 2) + u) / 2 - z * Piecewise(
    (v / w2, s > 0), (-v / w2, True)
)

# %% [markdown]
# The variance is the second moment minus $K^2=e^{sz-(s+1)n}$. With $h=P-sz+g/2$ and $\delta=h+\log\cosh(g/2)$, that is
# $K^2e^\delta=\tfrac12e^{P-(s+1)n}(1+e^g)$,
# $$\mathrm{Var}=\tfrac12e^{P-(s+1)n}(1+e^g)\Big(1-e^{-\delta}-\frac{2e^g}{1+e^g}\sin^2\tfrac\theta2\Big).$$
# For real A the sine is 0 and nothing cancels; for complex A what is left is accurate relative to the second moment.
#
# The definition below is the paper's, with P, Re Q, Im Q as names `P0`, `ReQ`, `ImQ`; the lemmas `P0 = P`, `ReQ = P + g`,
# `ImQ = θ` and `δ = P - sz + g/2 + log cosh(g/2)` are each reduced to 0, for both signs.

# %%
P0, ReQ, ImQ = symbols("P0 ReQ ImQ", real=True)
paper = (
    (P0, P),
    (ReQ, d * (log(Abs(1 - 4 * A)) - log(Abs(1 - 8 * A)) / 2) + z * re(alpha2.subs(s, 1)) * s),
    (ImQ, d * (arg(1 - 4 * A) - arg(1 - 8 * A) / 2) + z * im(alpha2.subs(s, 1)) * s),
)
lemmas = {P0: P_let, ReQ: P_let + gap, ImQ: theta}
half_lemma = {h: P_let - s * z + gap / 2}
excess_lemma = {delta: P_let - s * z + gap / 2 + LogCosh(gap / 2)}
second_moment = exp(-(s + 1) * n) * (exp(ReQ) * cos(ImQ) + exp(P0)) / 2
parameter = Complex(Real(-100, 0.12), Real(-100, 100))
log_domain = {A: parameter, s: Sign(), d: Whole(1, 4096), z: Real(0, 10000), n: Real(0, 10000)}
linear_domain = {
    A: Complex(Real(-0.5, 0.05), Real(-0.25, 0.25)),
    s: Sign(),
    d: Whole(1, 16),
    z: Real(0, 8),
    n: Real(0, 8),
}

log_second = P_let - (s + 1) * n + log(-Expm1(gap) / 2 + exp(gap) * cos(theta / 2) ** 2)
log_second_near = s * z - (s + 1) * n + LogMeanExp(h, gap, theta)
close = ell + z * (1 + 1 / u + m) <= S.Half  # the second moment is then within a factor 2 of K²
log_upper = P_let - (s + 1) * n + Log1p(Expm1(gap) / 2)
one_minus = -Expm1(-delta) - 2 * Expit(gap) * sin(theta / 2) ** 2
moment_lets = (*parts, (P_let, P_form), (gap, gap_form), (theta, theta_form))
near_lets = (*moment_lets, (h, h_near))
variance_lets = (*moment_lets, (h, h_form), (delta, h + LogCosh(gap / 2)))

# %% [markdown]
# ## Planted errors

# %%
reject(
    "thm-gerf-var",
    "α₄ with |1-4A| in place of 2|1-4A|",
    exp(P),
    exp(log_alpha3 + z * (s / 2 + (s + Abs(1 - 4 * A)) / (2 * (1 - 8 * re(A))))),
    where=variance_domain,
)
reject(
    "thm-gerf-var",
    "α₁ with 8A² in place of 16A²",
    exp(Q),
    exp(alpha2 * z) * (1 + 8 * A**2 / (1 - 8 * A)) ** (d / 2),
    where=variance_domain,
)
reject(
    "trig-var",
    "½(1-K)² in place of ½(1-K²)²",
    trig_variance,
    (1 - exp(-z / 2)) ** 2 / 2,
    where={z: Real(0, 8)},
)

# %% [markdown]
# ## Formulas

# %%
STATEMENTS = [
    Statement(
        "thm-gerf-var",
        "Theorem 3.2 (lemma:gevar)",
        "variance of a GERF for Re(1-8A) > 0, with α₁ … α₄",
    ),
    Statement("trig-var", "Section 2.2", "Var TrigRF = ½(1-K²)²"),
    Statement("pos-var", "Section 2.2", "Var PosRF = exp(4x·y) - K²"),
    Statement("gerf-infinite-variance", "beyond", "1/8 ≤ Re A < 1/4: unbiased, infinite variance"),
    Statement(
        "variance-of-one",
        "Theorems 3.2, 3.4, 3.5",
        "the variances are those of one product",
        "corrected",
    ),
]
ERRATA = [
    Erratum(
        "variance-of-one",
        "Theorems 3.2, 3.4 and 3.5",
        '"the variance of (rfappr)"',
        "(rfappr) is the mean of M products and has 1/M of this variance",
        "the variance of one product, as in (rf)",
        "refuted for TrigRF at M = 2, z = 1",
    ),
    Erratum(
        "gerf-infinite-variance",
        "between Theorems 3.1 and 3.2",
        "nothing is said of Re(1-4A) > 0 ≥ Re(1-8A)",
        "there the estimator is unbiased and its variance is infinite, so averaging more features need not help",
        "use A with Re(1-8A) > 0 only",
        "the second moment's integral grows without bound at A = 1/8 and beyond",
    ),
    Erratum(
        "gerf-var-wording",
        "proof of Theorem 3.2",
        '"to express B², C, D² through A and C"',
        "C is one of the quantities expressed",
        "through A and s",
        "the coefficients solved for in notebook 02 depend on A, s and d alone",
    ),
]
moment = {"args": (A, s, d, z, n), "definition_lets": paper, "lets": moment_lets, "lemmas": lemmas}
variance = moment | {"lets": variance_lets, "lemmas": lemmas | excess_lemma}
FORMULAS = [
    Formula(
        "log_second_moment_gerf",
        "thm-gerf-var",
        "Logarithm of the second moment of a GERF product.",
        domain=log_domain,
        expr=Piecewise((log_second_near, close), (log_second, True)),
        definition=log(second_moment),
        **moment | {"lets": near_lets, "lemmas": lemmas | half_lemma},
    ),
    Formula(
        "second_moment_gerf",
        "thm-gerf-var",
        "Second moment of a GERF product.",
        domain=linear_domain,
        expr=exp(log_second),
        definition=second_moment,
        **moment,
    ),
    Formula(
        "log_variance_gerf",
        "thm-gerf-var",
        "Logarithm of the variance of a GERF product.",
        domain={**log_domain, z: Real(0, 10000, open_low=True)},
        expr=log_upper + Log(one_minus),
        definition=log(second_moment - K2),
        **variance,
    ),
    Formula(
        "variance_gerf",
        "thm-gerf-var",
        "Variance of a GERF product.",
        domain=linear_domain,
        expr=exp(log_upper) * one_minus,
        definition=second_moment - K2,
        **variance,
    ),
    Formula(
        "log_second_moment_trig",
        "trig-var",
        "Logarithm of the second moment of a TrigRF product, z = ‖x-y‖².",
        (z,),
        {z: Real(0, 10000)},
        expr=Log1p(Expm1(-2 * z) / 2),
        definition=log((1 + exp(-2 * z)) / 2),
    ),
    Formula(
        "second_moment_trig",
        "trig-var",
        "Second moment of a TrigRF product, z = ‖x-y‖².",
        (z,),
        {z: Real(0, 10000)},
        expr=(1 + exp(-2 * z)) / 2,
        definition=trig_variance + exp(-z),
    ),
    Formula(
        "log_variance_trig",
        "trig-var",
        "Logarithm of the variance of a TrigRF product, z = ‖x-y‖².",
        (z,),
        {z: Real(0, 10000, open_low=True)},
        expr=2 * LogOneMinusExp(z) - log(S(2)),
        definition=log(trig_variance),
    ),
    Formula(
        "variance_trig",
        "trig-var",
        "Variance of a TrigRF product, z = ‖x-y‖².",
        (z,),
        {z: Real(0, 10000)},
        expr=Expm1(-z) ** 2 / 2,
        definition=trig_variance,
    ),
    Formula(
        "log_second_moment_pos",
        "pos-var",
        "Logarithm of the second moment of a PosRF product, z = ‖x+y‖².",
        (z, n),
        {z: Real(0, 10000), n: Real(0, 10000)},
        expr=2 * z - 2 * n,
        definition=log(pos_variance + exp(z - 2 * n)),
    ),
    Formula(
        "second_moment_pos",
        "pos-var",
        "Second moment of a PosRF product, z = ‖x+y‖².",
        (z, n),
        {z: Real(0, 16), n: Real(0, 16)},
        expr=exp(2 * z - 2 * n),
        definition=pos_variance + exp(z - 2 * n),
    ),
    Formula(
        "log_variance_pos",
        "pos-var",
        "Logarithm of the variance of a PosRF product, z = ‖x+y‖².",
        (z, n),
        {z: Real(0, 10000, open_low=True), n: Real(0, 10000)},
        expr=z - 2 * n + LogExpm1(z),
        definition=log(pos_variance),
    ),
    Formula(
        "variance_pos",
        "pos-var",
        "Variance of a PosRF product, z = ‖x+y‖².",
        (z, n),
        {z: Real(0, 16), n: Real(0, 16)},
        expr=-exp(2 * z - 2 * n) * Expm1(-z),
        definition=pos_variance,
    ),
]
check_formulas(FORMULAS)
