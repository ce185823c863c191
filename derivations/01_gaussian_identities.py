# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
# ---

# %% [markdown]
# # 01 · Gaussian identities used everywhere
#
# Every expectation in the paper is built from four identities:
#
# 1. the complex Gaussian integral (the paper's equation `cgauss`),
# 2. the mean of an exponential of a quadratic, by completing the square,
# 3. the moments of a χ² length,
# 4. averages over the sphere (₀F₁) and over sphere and length together (₁F₁).
#
# Each is derived twice, by routes that share no step; the two results must differ by an exact
# symbolic 0, and Arb, which integrates the definition numerically with rigorous error bounds, must
# agree to 30 digits.

# %%
import sympy as sp
from sympy import (
    Rational,
    RisingFactorial,
    S,
    Symbol,
    besseli,
    exp,
    factorial,
    gamma,
    hyper,
    oo,
    pi,
    sqrt,
)

from derivations.certificate import certify, reject, verify
from derivations.domain import Complex, Real, Whole
from derivations.formula import Statement
from derivations.identities import (
    chi_square_mean_arb,
    gaussian_mean,
    gaussian_mean_arb,
    reference,
    sphere_mean_arb,
)
from derivations.symbols import d

# %% [markdown]
# ## 1. The complex Gaussian integral
#
# **Statement (printed, eq. `cgauss`, one coordinate).** For complex α, β with Re α > 0,
# $$\int_{\mathbb R} e^{-\frac\alpha2(\omega-\beta)^2}\,d\omega=\sqrt{2\pi}\,/\sqrt\alpha ,$$
# with the principal root; d coordinates multiply.
#
# **First derivation** (the paper's): for real α > 0 and real β it is the integral of a Gaussian
# density; both sides are analytic in α and β on Re α > 0, so they agree there.

# %%
omega = Symbol("omega", real=True)
alpha_real = Symbol("alpha", positive=True)
beta_real = Symbol("beta", real=True)
density = exp(-alpha_real * (omega - beta_real) ** 2 / 2)
by_density = sp.integrate(density.subs(omega, omega + beta_real), (omega, -oo, oo))
by_density

# %% [markdown]
# **Second derivation**, for complex α and β at once: call the integral F(α, β). Its integrand g
# satisfies two identities, so F does not depend on β and solves an equation in α:
# $$\partial_\beta g=-\partial_\omega g,\qquad g+2\alpha\,\partial_\alpha g=\partial_\omega\big((\omega-\beta)g\big).$$
# The right sides are total derivatives of functions that vanish at ±∞ when Re α > 0. Hence
# ∂F/∂β = 0 and F + 2α ∂F/∂α = 0.

# %%
alpha, beta = sp.symbols("alpha beta")
g = exp(-alpha * (omega - beta) ** 2 / 2)
in_beta = sp.expand(g.diff(beta) + g.diff(omega))
in_alpha = sp.expand(g + 2 * alpha * g.diff(alpha) - ((omega - beta) * g).diff(omega))
verify(
    "eq-cgauss",
    "the integrand's two identities",
    sp.simplify(in_beta) == 0 and sp.simplify(in_alpha) == 0,
)

# %% [markdown]
# The equation in α is solved by a constant over √α, and F(1, 0) = √(2π) fixes the constant.

# %%
F = sp.Function("F")
solution = sp.dsolve(
    F(alpha_real) + 2 * alpha_real * F(alpha_real).diff(alpha_real),
    F(alpha_real),
    ics={F(1): sqrt(2 * pi)},
)
by_equation = solution.rhs.subs(alpha_real, alpha)
by_equation

# %%
half_plane = Complex(Real(Rational(1, 10), 4), Real(-4, 4))
strip = Complex(Real(-2, 2), Real(-2, 2))


def shifted_integral(a, b):
    """∫ exp(-a(ω-b)²/2) dω from the quadrature of E exp(((1-a)/2) ω² + a b ω)."""
    return gaussian_mean_arb((1 - a) / 2, a * b) * (-a * b * b / 2).exp() * (2 * a.pi()).sqrt()


certify(
    "eq-cgauss",
    "complex Gaussian integral",
    by_density.subs(alpha_real, alpha),
    by_equation,
    where={alpha: half_plane, beta: strip},
    reference=reference(shifted_integral, alpha, beta),
)

# %% [markdown]
# ## 2. Completing the square
#
# **Statement.** For ω ~ N(0, 1) and complex a, b with Re(1 - 2a) > 0,
# $$\mathbb E\,e^{a\omega^2+b\omega}=(1-2a)^{-1/2}\exp\!\Big(\frac{b^2}{2(1-2a)}\Big).$$
#
# **First derivation:** complete the square, then use the integral above with α = 1 - 2a.

# %%
a, b = sp.symbols("a b")
exponent = a * omega**2 + b * omega - omega**2 / 2
square = -(1 - 2 * a) / 2 * (omega - b / (1 - 2 * a)) ** 2 + b**2 / (2 * (1 - 2 * a))
verify("gaussian-mean", "completed square equals the exponent", sp.simplify(exponent - square) == 0)
by_square = exp(b**2 / (2 * (1 - 2 * a))) * by_equation.subs(alpha, 1 - 2 * a) / sqrt(2 * pi)
by_square

# %% [markdown]
# **Second derivation:** expand e^{bω}. Under the weight e^{aω²} the even moments are those of a
# Gaussian of variance 1/(1-2a) times the mass (1-2a)^{-1/2}; odd ones vanish. The k-th term is
# b^{2k}/(2k)! · (2k-1)!! (1-2a)^{-k}, which is (b²/(2(1-2a)))^k / k!, and these sum to an exponential.

# %%
k = Symbol("k", integer=True, nonnegative=True)
double_factorial = factorial(2 * k) / (2**k * factorial(k))
term = b ** (2 * k) / factorial(2 * k) * double_factorial * (1 - 2 * a) ** (-k)
simple_term = (b**2 / (2 * (1 - 2 * a))) ** k / factorial(k)
certify_term = sp.simplify(sp.gammasimp((term / simple_term).rewrite(gamma)))
verify(
    "gaussian-mean",
    "k-th term of the moment series",
    sp.simplify(sp.powsimp(certify_term, force=True)) == 1,
)
argument = Symbol("u")
by_series = sp.summation(argument**k / factorial(k), (k, 0, oo)).subs(
    argument, b**2 / (2 * (1 - 2 * a))
) / sqrt(1 - 2 * a)
by_series

# %%
region = {a: Complex(Real(-2, Rational(9, 20)), Real(-2, 2)), b: strip}
certify(
    "gaussian-mean",
    "E exp(aω² + bω)",
    by_square,
    by_series,
    where=region,
    reference=reference(gaussian_mean_arb, a, b),
)
verify(
    "gaussian-mean",
    "this is the function the other notebooks import",
    sp.simplify(gaussian_mean(a, b) - by_series) == 0,
)

# %% [markdown]
# ## 3. Moments of a χ² length
#
# **Statement.** For ω ~ N(0, I_d): $\mathbb E\|\omega\|^{2t}=2^t\,\Gamma(d/2+t)/\Gamma(d/2)=2^t (d/2)_t$.
#
# **First derivation:** ‖ω‖² has density r^{d/2-1} e^{-r/2} / (2^{d/2} Γ(d/2)); integrate r^t against it.

# %%
r = Symbol("r", positive=True)
order = Symbol("t", integer=True, nonnegative=True)
mass = sp.integrate(r ** (d / 2 - 1 + order) * exp(-r / 2), (r, 0, oo))
by_integral = sp.simplify(mass / (2 ** (d / 2) * gamma(d / 2)))
by_integral

# %% [markdown]
# **Second derivation:** d coordinates of section 2 with b = 0 give E e^{a‖ω‖²} = (1-2a)^{-d/2}.
# The t-th derivative at a = 0 multiplies by 2(d/2), then 2(d/2+1), …: it is 2^t (d/2)_t. The step from
# t to t+1 is what has to be checked.

# %%
after_t = 2**order * RisingFactorial(d / 2, order) * (1 - 2 * a) ** (-d / 2 - order)
step = sp.gammasimp((after_t.diff(a) / after_t.subs(order, order + 1)).rewrite(gamma))
verify(
    "chi-square-moments",
    "each derivative of the generating function adds one factor",
    sp.simplify(step) == 1,
)
by_generating = after_t.subs(a, 0)
by_generating

# %%
certify(
    "chi-square-moments",
    "E‖ω‖^(2t)",
    by_integral,
    by_generating.rewrite(gamma),
    where={d: Whole(1, 12), order: Whole(0, 6)},
)

# %% [markdown]
# ## 4. Averages over the sphere
#
# **Statement.** For u uniform on the unit sphere of R^d and any vector v,
# $\mathbb E\,e^{r\,u\cdot v}={}_0F_1(;\tfrac d2;\tfrac{r^2\|v\|^2}{4})$.
#
# **First derivation:** a Gaussian vector is length times direction, independent of each other, so
# E u₁^{2k} = E g^{2k} / E‖ω‖^{2k} = (1/2)_k / (d/2)_k by section 3. The series of the exponential has
# the coefficients of ₀F₁.

# %%
direction_moment = RisingFactorial(S.Half, k) / RisingFactorial(d / 2, k)
by_moments = (r**2) ** k * direction_moment / factorial(2 * k)
of_0f1 = (r**2 / 4) ** k / (factorial(k) * RisingFactorial(d / 2, k))
ratio = sp.gammasimp((by_moments / of_0f1).rewrite(gamma))
verify(
    "sphere-average",
    "coefficients of the moment series are those of 0F1",
    sp.simplify(sp.expand_func(ratio)) == 1,
)

# %% [markdown]
# **Second derivation:** the average f(r) of e^{r u·v}, ‖v‖ = 1, is a radial function with Δf = f, that is
# f'' + (d-1)/r f' = f with f(0) = 1. A power series Σ c_k r^{2k} solves it exactly when
# (2k+2)(2k+d) c_{k+1} = c_k. The Bessel form of ₀F₁ is checked against it.

# %%
c = 1 / (4**k * factorial(k) * RisingFactorial(d / 2, k))
recursion = (2 * k + 2) * (2 * k + d) * c.subs(k, k + 1) / c
verify(
    "sphere-average",
    "0F1 solves the radial equation",
    sp.simplify(sp.gammasimp(recursion.rewrite(gamma))) == 1,
)
bessel = gamma(d / 2) * (r / 2) ** (1 - d / 2) * besseli(d / 2 - 1, r)
nu = d / 2 - 1
three_terms = {
    besseli(nu + 2, r): besseli(nu, r) - 2 * (nu + 1) / r * besseli(nu + 1, r),
    besseli(nu - 2, r): besseli(nu, r) + 2 * (nu - 1) / r * besseli(nu - 1, r),
}
radial = (bessel.diff(r, 2) + (d - 1) / r * bessel.diff(r) - bessel).subs(three_terms)
radial = radial.subs(besseli(nu + 1, r), besseli(nu - 1, r) - 2 * nu / r * besseli(nu, r))
verify("sphere-average", "so does the Bessel form", sp.simplify(radial) == 0)


# %%
def on_the_sphere(radius, dimension):
    return sphere_mean_arb(lambda u: (radius * u).exp(), int(dimension.real.unique_fmpz()))


sphere_domain = {r: Real(Rational(1, 10), 9), d: Whole(2, 9)}
certify(
    "sphere-average",
    "E exp(r u·v) over directions",
    sp.hyperexpand(hyper([], [d / 2], r**2 / 4)),
    bessel,
    where=sphere_domain,
    reference=reference(on_the_sphere, r, d),
)

# %% [markdown]
# **With a random length.** If moreover R² ~ χ² with m degrees of freedom, then
# $\mathbb E\,{}_0F_1(;\tfrac d2;\tfrac{cR^2}{4})={}_1F_1(\tfrac m2;\tfrac d2;\tfrac c2)$.
# For m = d this must be the Gaussian e^{c/2}; for m = 2d it is the average that orthogonal pairs of
# projections need.
#
# **First derivation:** term by term with section 3. **Second derivation:** integrate the χ² density
# against the series: each term is a Gamma integral.

# %%
j = Symbol("j", integer=True, positive=True)
m = 2 * j
scale = Symbol("c", positive=True)
coefficient = (scale / 4) ** k / (factorial(k) * RisingFactorial(d / 2, k))
term_by_moments = coefficient * 2**k * RisingFactorial(m / 2, k)
gamma_integral = sp.integrate(r ** (m / 2 - 1 + k) * exp(-r / 2), (r, 0, oo))
term_by_density = coefficient * gamma_integral / (2 ** (m / 2) * gamma(m / 2))


def term_over_length(c_value, half_freedom, dimension, power):
    count = int(power.real.unique_fmpz())
    outside = (c_value / 4) ** count / ((power + 1).gamma() * (dimension / 2).rising(power))
    return outside * chi_square_mean_arb(
        lambda sq: sq**count, 2 * int(half_freedom.real.unique_fmpz())
    )


certify(
    "sphere-length-average",
    "k-th term of the average over direction and length",
    term_by_moments.rewrite(gamma),
    term_by_density.rewrite(gamma),
    where={j: Whole(1, 6), d: Whole(1, 9), scale: Real(Rational(1, 10), 5), k: Whole(0, 8)},
    reference=reference(term_over_length, scale, j, d, k),
)

# %%
of_1f1 = RisingFactorial(m / 2, k) / RisingFactorial(d / 2, k) * (scale / 2) ** k / factorial(k)
kummer = sp.gammasimp((term_by_moments / of_1f1).rewrite(gamma))
verify(
    "sphere-length-average", "the terms are those of 1F1(m/2; d/2; c/2)", sp.simplify(kummer) == 1
)
gaussian_case = sp.hyperexpand(hyper([d / 2], [d / 2], scale / 2))
verify("sphere-length-average", "m = d gives exp(c/2)", gaussian_case == exp(scale / 2))

# %% [markdown]
# ## Planted errors
#
# A check that cannot fail proves nothing: a lost factor 2 and a wrong parameter must be refused by
# both legs.

# %%
reject(
    "gaussian-mean",
    "factor 2 lost in the exponent",
    by_series,
    exp(b**2 / (1 - 2 * a)) / sqrt(1 - 2 * a),
    where=region,
)
reject(
    "sphere-average",
    "0F1 with d in place of d/2",
    bessel,
    sp.hyperexpand(hyper([], [d], r**2 / 4)),
    where=sphere_domain,
)

# %% [markdown]
# ## What this notebook hands over
#
# These identities are used inside the proofs of the others; no formula is generated from them.

# %%
STATEMENTS = [
    Statement("eq-cgauss", "eq. cgauss", "complex Gaussian integral for Re α > 0"),
    Statement("gaussian-mean", "beyond", "E exp(aω² + bω) for ω ~ N(0,1)"),
    Statement("chi-square-moments", "beyond", "E‖ω‖^(2t) = 2^t (d/2)_t"),
    Statement("sphere-average", "beyond", "E exp(r u·v) over directions u is 0F1(; d/2; r²‖v‖²/4)"),
    Statement(
        "sphere-length-average", "beyond", "its average over a χ² length is 1F1(m/2; d/2; c/2)"
    ),
]
ERRATA = []
FORMULAS = []
