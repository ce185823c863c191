# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
# ---

# %% [markdown]
# # 08 · Orthogonal projections (Theorems 4.1 and A.1)
#
# **Theorem 4.1 (printed).** For orthogonal OPRFs and M features, "for some $C(\|x+y\|)\ge0$",
# $$\mathrm{Var}(\hat K^{\rm ort}_M)\le\mathrm{Var}(\hat K^{\rm iid}_M)-\Big(1-\frac1M\Big)\frac2{d+2}\,C(\|x+y\|).$$
# "One of the key properties used in the proof is positivity of RFs"; for TrigRFs the analogue holds "only in the
# asymptotic sense (for d large enough)".
#
# **Theorem A.1 (printed).** For $X=g(\omega^\top\mathbf z,\|\omega\|)$, where $g(\cdot,y)$ has Taylor coefficients $a_k(y)\ge0$ for every y,
# and $M\le d$, the same with $F^2$ for C, $F=\mathbb E_u\mathbb E_x\,\tilde g(u^\top\mathbf z,x)$,
# $\tilde g(a,b)=\tfrac12(g(a,b)+g(-a,b))-g(0,b)$, u uniform on the sphere, x a length.
#
# Both are right in substance and wrong in print: the weight $1-1/M$ needs $M\le d$, C cannot be a positive function of
# ‖x+y‖ alone, F misses the length, and positivity is not the property that matters. This notebook goes further than
# a bound: it finds the gain **exactly**, for every generalised exponential feature, both signs, any M. With $z=\|x+sy\|^2$,
# $n=\|x\|^2+\|y\|^2$ and $M=kd+r$,
# $$\mathrm{Var}(\mathrm{Re}\,\hat K^{\rm ort})=\frac{\mathrm{Var}(\mathrm{Re}\,X)}M-\frac{kd(d-1)+r(r-1)}{M^2}\,G,\qquad
#   G=e^{-(s+1)n}\Big[e^{sz}-{}_1F_1\big(d;\tfrac d2;\tfrac{sz}2\big)\Big].$$
# G does not contain A. From it follow the corrected theorems, and exactly where orthogonality *hurts* TrigRF.

# %%
import itertools
import math

import sympy as sp
from flint import acb, arb, fmpq, fmpq_poly, fmpz_poly
from sympy import (
    Mod,
    Rational,
    RisingFactorial,
    S,
    Symbol,
    binomial,
    exp,
    factorial,
    gamma,
    hyper,
    log,
    oo,
    sqrt,
    symbols,
)

from derivations.arb import Evaluator, agree, at_precision, enclose
from derivations.certificate import certify, must_fail, points, refute, reject, verify
from derivations.domain import Complex, Real, Sign, Whole
from derivations.formula import Erratum, Formula, Statement, check_formulas
from derivations.identities import (
    gaussian_mean_arb,
    log_gaussian_mean,
    reference,
    series_arb,
    sphere_mean_arb,
)
from derivations.intervals import prove_positive
from derivations.special import (
    Expm1,
    LogExpm1,
    LogOrthogonalDeficit,
    OrthogonalDeficit,
    OrthogonalTrig,
)
from derivations.symbols import A, d, n, s, z

# %% [markdown]
# ## 1. Blocks, pairs and the weight
#
# M = kd + r projections come as k independent blocks of d and one of r. Within a block the directions are orthonormal
# (Haar), the lengths independent $\chi_d$ and independent of the directions, so each ω alone is N(0, I). Two products of
# different blocks are independent; two of the same block have, by symmetry, one and the same covariance
# $\mathbb E[\mathrm{Re}X_i\mathrm{Re}X_j]-K^2=:-G$. Hence
# $$\mathrm{Var}\Big(\tfrac1M\sum_i\mathrm{Re}X_i\Big)=\tfrac1{M^2}\big(M\,\mathrm{Var}(\mathrm{Re}X)-\#\{\text{ordered pairs in one block}\}\cdot G\big).$$
#
# **Two counts of the pairs.** Block by block: $kd(d-1)+r(r-1)$. By complement: all $M(M-1)$ pairs but those of two
# blocks, $k(k-1)d^2$ between full blocks and $2kdr$ with the last one. The reference counts them one by one.

# %%
full, rest = symbols("k r", integer=True, nonnegative=True)
total = full * d + rest
by_block = full * d * (d - 1) + rest * (rest - 1)
by_complement = total * (total - 1) - full * (full - 1) * d**2 - 2 * full * d * rest


def whole(value):
    return int(value.real.unique_fmpz())


def counted(blocks, size, last):
    """Ordered pairs of different projections with the same block number."""
    numbers = [block for block in range(whole(blocks)) for _ in range(whole(size))]
    numbers += [whole(blocks)] * whole(last)
    return acb(sum(a == b for a, b in itertools.permutations(numbers, 2)))


certify(
    "ortho-exact",
    "ordered pairs in one block",
    by_block,
    by_complement,
    where={full: Whole(0, 4), d: Whole(1, 6), rest: Whole(0, 6)},
    reference=reference(counted, full, d, rest),
)

# %% [markdown]
# The variance formula itself, from the whole covariance matrix written out for small cases:


# %%
V, gain_name = symbols("V G")


def variance_written_out(blocks, size, last):
    """Sum of the covariance matrix over M²: V on the diagonal, -G inside a block, 0 elsewhere."""
    numbers = [block for block in range(blocks) for _ in range(size)] + [blocks] * last
    entries = sp.Matrix(
        len(numbers),
        len(numbers),
        lambda i, j: V if i == j else (-gain_name if numbers[i] == numbers[j] else 0),
    )
    return sum(entries) / len(numbers) ** 2


claimed = V / total - by_block / total**2 * gain_name
cases = [(b, q, r) for b in range(3) for q in range(1, 4) for r in range(q) if b + r]
verify(
    "ortho-exact",
    "Var of the mean = V/M - (kd(d-1)+r(r-1))/M² G for k <= 2, d <= 3, r < d",
    all(
        sp.expand(
            variance_written_out(*c) - claimed.subs(dict(zip((full, d, rest), c, strict=True)))
        )
        == 0
        for c in cases
    ),
)

# %% [markdown]
# The weight is $w(M,d)=\frac{kd(d-1)+r(r-1)}{M^2}$. For M ≤ d it is the printed $1-\frac1M$; for M > d it is smaller, by
# $\frac{k(k-1)d^2+2kdr}{M^2}$: for many blocks it tends to $(d-1)/M$, not to 1. For d = 1 there are no pairs and nothing is gained.

# %%
weight = by_block / total**2
verify(
    "ortho-exact",
    "the weight is 1 - 1/M when M = r < d and when M = d",
    sp.simplify(weight.subs(full, 0) - (1 - 1 / rest)) == 0
    and sp.simplify(weight.subs({full: 1, rest: 0}) - (1 - 1 / d)) == 0,
)
excess = sp.simplify(
    (1 - 1 / total - weight) * total**2 - (full * (full - 1) * d**2 + 2 * full * d * rest)
)
verify("ortho-exact", "1 - 1/M exceeds it by (k(k-1)d² + 2kdr)/M²", excess == 0)

# %% [markdown]
# ## 2. One orthogonal pair
#
# $X=D^2\exp(2A\|\omega\|^2+B\,\omega^\top v+Cn)$ with $v=x+sy$, $D^2=(1-4A)^{d/2}$, $B^2=s(1-4A)$, $C=-\tfrac{s+1}2$ (Theorem 3.1).
# Two averages are needed: over lengths and over directions.
#
# **Lengths.** If R² is χ² with m degrees of freedom and Re(1-4A) > 0,
# $$\mathbb E\,R^{2k}e^{2AR^2}=2^k\big(\tfrac m2\big)_k(1-4A)^{-m/2-k}.$$
# *First derivation:* a Gamma integral against the density of R². *Second:* it is the k-th derivative in a of
# $\mathbb E e^{aR^2}=(1-2a)^{-m/2}$ at a = 2A; each derivative adds one factor. *Reference:* quadrature in R.

# %%
k, m = Symbol("k", integer=True, nonnegative=True), Symbol("m", integer=True, positive=True)
square, w = symbols("q w", positive=True)
a = Symbol("a")
mass = sp.integrate(square ** (m / 2 - 1 + k) * exp(-w * square / 2), (square, 0, oo))
length_by_integral = sp.simplify(mass / (2 ** (m / 2) * gamma(m / 2))).subs(w, 1 - 4 * A)
after_k = 2**k * RisingFactorial(m / 2, k) * (1 - 2 * a) ** (-m / 2 - k)
step = sp.gammasimp((after_k.diff(a) / after_k.subs(k, k + 1)).rewrite(gamma))
verify("ortho-exact", "each derivative of (1-2a)^(-m/2) adds one factor", sp.simplify(step) == 1)
length_by_derivative = after_k.subs(a, 2 * A).rewrite(gamma)


def length_mean_arb(a_value, power, freedom):
    """E R^(2·power) e^(2AR²), R² ~ χ² with `freedom` degrees: quadrature on [0, reach] and a tail."""
    order = freedom - 1 + 2 * power
    decay = arb(0.5) - 2 * a_value.real
    reach = arb(1)
    # Beyond `reach`, R^order <= exp(decay R²/2), so the tail is below that of exp(-decay R²/2).
    while not (order * reach.log() <= decay * reach**2 / 2 and decay * reach**2 > 2 * 384 + order):
        reach *= 2
    inside = acb.integral(
        lambda t, _: t**order * ((2 * a_value - acb(0.5)) * t * t).exp(), acb(0), acb(reach)
    )
    tail = (-decay * reach**2 / 2).exp() / (decay * reach)
    ball = arb(0, tail.upper())
    half = acb(freedom) / 2
    return (inside + acb(ball, ball)) / (acb(2) ** (half - 1) * half.gamma())


def length_reference(a_value, power, freedom):
    return length_mean_arb(a_value, whole(power), whole(freedom))


parameter = Complex(Real(-2, Rational(1, 10)), Real(-1, 1))
certify(
    "ortho-exact",
    "E R^(2k) exp(2AR²)",
    length_by_integral,
    length_by_derivative,
    where={A: parameter, k: Whole(0, 6), m: Whole(1, 12)},
    reference=reference(length_reference, A, k, m),
)

# %% [markdown]
# **Directions.** For $u_i\perp u_j$ uniform (Haar) and $c_i=u_i^\top v$,
# $$\mathbb E\,c_i^{2a}c_j^{2b}=z^{a+b}\,\frac{(\frac12)_a(\frac12)_b}{(\frac d2)_{a+b}},\qquad \mathbb E\,c_i^{a}c_j^{b}=0\ \text{if a or b is odd}.$$
# *First derivation:* seen from the random frame, v is a vector of length √z with uniform direction: $c_i,c_j$ are two of its
# coordinates, two Gaussians over a common length. *Second:* given $u_i$, $u_j$ is uniform on the sphere of $u_i^\perp$, so
# $c_j^2=(z-c_i^2)$ times the square of a coordinate there, and $c_i^2/z$ has a Beta law. The sign of $u_i$ is free: odd
# powers vanish. *Reference:* quadrature over both spheres.

# %%
ta, tb = symbols("a b", integer=True, nonnegative=True)
h = d / 2
moments = [2**p * RisingFactorial(S.Half, p) for p in (ta, tb)]
by_gaussians = (
    z ** (ta + tb) * moments[0] * moments[1] / (2 ** (ta + tb) * RisingFactorial(h, ta + tb))
)
beta_mean = gamma(ta + S.Half) * gamma(tb + h - S.Half) / gamma(ta + tb + h)
beta_mean *= gamma(h) / (gamma(S.Half) * gamma(h - S.Half))
inner = RisingFactorial(S.Half, tb) / RisingFactorial(h - S.Half, tb)
by_conditioning = z ** (ta + tb) * beta_mean * inner


def on_two_spheres(z_value, first, second, dimension):
    p, q, size = whole(first), whole(second), whole(dimension)
    outer = sphere_mean_arb(lambda u: u ** (2 * p) * (1 - u * u) ** q, size)
    return z_value ** (p + q) * outer * sphere_mean_arb(lambda u: u ** (2 * q), size - 1)


certify(
    "ortho-exact",
    "E c_i^(2a) c_j^(2b) for orthogonal directions",
    by_gaussians.rewrite(gamma),
    by_conditioning.rewrite(gamma),
    where={z: Real(Rational(1, 10), 6), ta: Whole(0, 4), tb: Whole(0, 4), d: Whole(3, 9)},
    reference=reference(on_two_spheres, z, ta, tb, d),
)

# %% [markdown]
# **Given its direction, the mean of X does not depend on A.** Odd powers of $c=u^\top v$ drop out of every pair mean; the even
# part of $\mathbb E[X|u]$ is $e^{Cn}H(c)$ with
# $$H(c)=\mathbb E_r\,D^2e^{2Ar^2}\cosh(Brc)={}_1F_1\big(\tfrac d2;\tfrac12;\tfrac{sc^2}2\big).$$
# *First derivation* of the coefficient of $c^{2k}$: the length moment above, with $B^{2k}=s^k(1-4A)^k$. *Second:* substitute
# $r=r'/\sqrt{1-4A}$: $D^2e^{2Ar^2}$ times the χ density becomes the χ density of r', and $B/\sqrt{1-4A}=\sqrt s$ (for complex A
# the path turns by less than π/4, where the integrand still decays). So $H(c)=\mathbb E\cosh(\sqrt s\,r'c)$.

# %%
even = (s * (1 - 4 * A)) ** k / factorial(2 * k)
given_direction = (1 - 4 * A) ** h * even * length_by_derivative.subs(m, d)
by_substitution = s**k / factorial(2 * k) * (2**k * RisingFactorial(h, k)).rewrite(gamma)


def coefficient_given_direction(a_value, sign, power, dimension):
    count, size = whole(power), whole(dimension)
    outside = (1 - 4 * a_value) ** (acb(size) / 2) * (sign * (1 - 4 * a_value)) ** count
    return outside / acb(2 * count + 1).gamma() * length_mean_arb(a_value, count, size)


series_domain = {A: parameter, s: Sign(), k: Whole(0, 6), d: Whole(2, 9)}
certify(
    "ortho-exact",
    "coefficient of c^(2k) in the mean given the direction",
    given_direction,
    by_substitution,
    where=series_domain,
    reference=reference(coefficient_given_direction, A, s, k, d),
)
of_1f1 = RisingFactorial(h, k) / RisingFactorial(S.Half, k) * (s / 2) ** k / factorial(k)
same = sp.gammasimp((by_substitution / of_1f1).rewrite(gamma))
verify(
    "ortho-exact",
    "these are the coefficients of 1F1(d/2; 1/2; sc²/2)",
    sp.simplify(sp.expand_func(same)) == 1,
)

# %% [markdown]
# **The pair mean.** $\mathbb E[X_iX_j]=e^{-(s+1)n}\,{}_1F_1(d;\tfrac d2;\tfrac{sz}2)$.
#
# *First derivation, directions first:* $r_iu_i+r_ju_j=Ru$ with a uniform direction u, because rotating the pair rotates it, and
# $R^2=r_i^2+r_j^2\sim\chi^2_{2d}$. By notebook 01 the mean over u is ${}_0F_1(;\tfrac d2;\tfrac{B^2zR^2}4)$; then the length
# moment with m = 2d, term by term.

# %%
pair_by_length = (
    (1 - 4 * A) ** d
    * (s * (1 - 4 * A) / 4) ** k
    / (factorial(k) * RisingFactorial(h, k))
    * after_k.subs({a: 2 * A, m: 2 * d})
)

# %% [markdown]
# *Second derivation, lengths first:* $\mathbb E[X_iX_j]=e^{2Cn}\,\mathbb E\,H(c_i)H(c_j)$. With the direction moments the coefficient of
# $z^k$ is $\sum_{a+b=k}H_aH_b\,(\tfrac12)_a(\tfrac12)_b/(\tfrac d2)_k$, $H_a=(\tfrac s2)^a(\tfrac d2)_a/((\tfrac12)_a\,a!)$, that is
# $\frac{(s/2)^k}{(d/2)_k}\sum_{a+b=k}\frac{(d/2)_a(d/2)_b}{a!\,b!}$. Vandermonde: the sum is $(d)_k/k!$, because $(\alpha)_k/k!$ are the
# coefficients of $(1-t)^{-\alpha}$ (they satisfy $(k+1)a_{k+1}-ka_k=\alpha a_k$, which is $(1-t)f'=\alpha f$) and
# $(1-t)^{-d/2}(1-t)^{-d/2}=(1-t)^{-d}$.

# %%
alpha = Symbol("alpha", positive=True)
coefficient = RisingFactorial(alpha, k) / factorial(k)
recursion = (
    (k + 1) * coefficient.subs(k, k + 1) - k * coefficient - alpha * coefficient
) / coefficient
verify(
    "ortho-exact",
    "(α)_k/k! are the coefficients of (1-t)^(-α)",
    sp.simplify(sp.gammasimp(recursion.rewrite(gamma))) == 0,
)


def convolution(order):
    """Σ_{a+b=order} (d/2)_a (d/2)_b/(a! b!), written out."""
    parts = [sp.expand_func(RisingFactorial(h, j)) / factorial(j) for j in range(order + 1)]
    return sum(parts[j] * parts[order - j] for j in range(order + 1))


written_out = [
    convolution(q) - sp.expand_func(RisingFactorial(d, q)) / factorial(q) for q in range(9)
]
verify(
    "ortho-exact",
    "Vandermonde, written out for k = 0 … 8",
    all(sp.expand(e) == 0 for e in written_out),
)
pair_by_direction = (s / 2) ** k / RisingFactorial(h, k) * RisingFactorial(d, k) / factorial(k)


def pair_coefficient(a_value, sign, power, dimension):
    """From the definition: length of χ²_{2d} and direction, each by quadrature."""
    count, size = whole(power), whole(dimension)
    outside = (1 - 4 * a_value) ** size * (sign * (1 - 4 * a_value)) ** count
    direction = sphere_mean_arb(lambda u: u ** (2 * count), size)
    length = length_mean_arb(a_value, count, 2 * size)
    return outside / acb(2 * count + 1).gamma() * direction * length


certify(
    "ortho-exact",
    "coefficient of z^k in the mean of an orthogonal pair",
    pair_by_length.rewrite(gamma),
    pair_by_direction.rewrite(gamma),
    where=series_domain,
    reference=reference(pair_coefficient, A, s, k, d),
)

# %% [markdown]
# **The conjugate pair.** For complex A, $\mathrm{Re}X_i\mathrm{Re}X_j=\tfrac12\mathrm{Re}(X_iX_j)+\tfrac12\mathrm{Re}(X_i\bar X_j)$. The means given the
# directions have real, A-free even parts, so $\mathbb E[X_i\bar X_j]$ is the same number. Directions first it reads
# $\mathbb E(B^2r_i^2+\bar B^2r_j^2)^k e^{2Ar_i^2+2\bar Ar_j^2}$: binomial formula, and $B^2/(1-4A)=s=\bar B^2/(1-4\bar A)$ leaves the same
# Vandermonde sum.

# %%
A_bar = Symbol("A_bar")


def conjugate_sum(order):
    """The binomial sum with both length moments, over 2^order (D²)(D̄²)."""
    terms = S.Zero
    for j in range(order + 1):
        left = (s * (1 - 4 * A)) ** j * RisingFactorial(h, j) * (1 - 4 * A) ** (-j)
        right = (s * (1 - 4 * A_bar)) ** (order - j) * (1 - 4 * A_bar) ** (j - order)
        terms += binomial(order, j) * left * right * RisingFactorial(h, order - j)
    return sp.expand_func(terms)


conjugate_ok = [conjugate_sum(q) - s**q * sp.expand_func(RisingFactorial(d, q)) for q in range(7)]
verify(
    "ortho-exact",
    "E X_i conj(X_j) has the same coefficients, k = 0 … 6",
    all(sp.simplify(sp.expand(e)) == 0 for e in conjugate_ok),
)

# %% [markdown]
# **Certificate against the definition, d = 2.** The pair is at angles φ and φ + π/2. *First derivation:* ${}_1F_1(2;1;q)$ by
# SymPy's reduction. *Second:* $(2)_k/(1)_k=k+1$, and $\sum_k(k+1)q^k/k!$ is summed. *Reference:* the mean of X given its
# direction, odd powers included, as a series in the length moments with A, integrated over φ; once with the same A twice, once
# with A and its conjugate.

# %%
q_arg = Symbol("q")
closed_2 = sp.simplify(sp.hyperexpand(hyper([2], [1], q_arg)))
summed_2 = sp.simplify(sp.summation((k + 1) * q_arg**k / factorial(k), (k, 0, oo)))


TERMS = 120


def mean_given_direction(a_value, sign, size):
    """c ↦ E[X | direction] without exp(Cn): Σ_m (Bc)^m/m! · D² E r^m e^(2Ar²), with a bound on the tail."""
    slope = (sign * (1 - 4 * a_value)).sqrt()
    terms = []
    for order in range(TERMS + 1):
        length = (
            acb(2) ** (acb(order) / 2) * (acb(size + order) / 2).gamma() / (acb(size) / 2).gamma()
        )
        moment = length * (1 - 4 * a_value).rsqrt() ** (size + order)
        d_squared = (1 - 4 * a_value).sqrt() ** size
        terms.append(slope**order / acb(order + 1).gamma() * d_squared * moment)

    def value(c):
        # |term(m+1)/term(m)| <= |c| √(size+m)/(m+1), from Γ(t + ½)/Γ(t) <= √t and |B|² = |1-4A|.
        if not abs(c) * arb(size + TERMS).sqrt() / (TERMS + 1) < arb(0.5):
            # A ball so wide tells nothing: the quadrature halves its interval.
            return acb(arb("nan"))
        total = acb(0)
        for term in reversed(terms[:-1]):
            total = total * c + term
        ball = arb(0, (2 * abs(terms[-1] * c**TERMS)).upper())
        return total + acb(ball, ball)

    return value


def over_angles(conjugate):
    def at_point(point):
        def value():
            at = Evaluator(point)
            a_value, sign, length = at(A), at(s), at(z).sqrt()
            first = mean_given_direction(a_value, sign, 2)
            other = a_value.conjugate() if conjugate else a_value
            second = mean_given_direction(other, sign, 2)
            mean = acb.integral(
                lambda angle, _: first(length * angle.cos()) * second(length * angle.sin()),
                acb(0),
                2 * acb.pi(),
            ) / (2 * acb.pi())
            return mean * (-(sign + 1) * at(n)).exp()

        return at_precision(value, 160)

    return at_point


pair_domain = {A: parameter, s: Sign(), z: Real(0, 6), n: Real(0, 6)}
for conjugate, what in ((False, "E X_i X_j"), (True, "E X_i conj(X_j)")):
    certify(
        "ortho-exact",
        f"{what} of an orthogonal pair, d = 2",
        exp(-(s + 1) * n) * closed_2.subs(q_arg, s * z / 2),
        exp(-(s + 1) * n) * summed_2.subs(q_arg, s * z / 2),
        where=pair_domain,
        reference=over_angles(conjugate),
    )

# %% [markdown]
# **Certificate for d = 2, 4, 6, 8.** *First:* SymPy's reduction of ${}_1F_1(d;\tfrac d2;q)$. *Second:* Kummer's transformation
# ${}_1F_1(d;\tfrac d2;q)=e^q\,{}_1F_1(-\tfrac d2;\tfrac d2;-q)$, whose right side ends after d/2 + 1 terms. *Reference:* given $c_i$,
# the second direction is uniform on a sphere of dimension d - 2, so the pair mean is one integral over $u=c_i/\sqrt z$ of
# ${}_1F_1(\tfrac d2;\tfrac12;\tfrac{szu^2}2)\,{}_1F_1(\tfrac d2;\tfrac{d-1}2;\tfrac{sz(1-u^2)}2)$.


# %%
def terminating(size):
    """1F1(-size/2; size/2; x), a polynomial, for even `size`."""
    top, x = S(size) / 2, Symbol("x")
    ratios = [sp.rf(-top, j) / (sp.rf(top, j) * factorial(j)) for j in range(int(top) + 1)]
    return sum(ratio * x**j for j, ratio in enumerate(ratios)), x


def by_first_direction(size):
    def mean(sign, z_value):
        half = acb(size) / 2

        def both(u):
            own = (sign * z_value * u * u / 2).hypgeom_1f1(half, acb(0.5))
            other = (sign * z_value * (1 - u * u) / 2).hypgeom_1f1(half, half - acb(0.5))
            return own * other

        return sphere_mean_arb(both, size)

    return reference(mean, s, z)


for size in (2, 4, 6, 8):
    polynomial, x_name = terminating(size)
    certify(
        "ortho-exact",
        f"mean of an orthogonal pair, d = {size}",
        sp.simplify(sp.hyperexpand(hyper([size], [S(size) / 2], q_arg))).subs(q_arg, s * z / 2),
        exp(s * z / 2) * polynomial.subs(x_name, -s * z / 2),
        where={s: Sign(), z: Real(0, 6)},
        reference=by_first_direction(size),
    )

# %% [markdown]
# Kummer's transformation for every d: if U solves Kummer's equation $tU''+(b-t)U'-(b-a)U=0$, then $Y(t)=e^tU(-t)$ solves
# $tY''+(b-t)Y'-aY=0$; both ${}_1F_1$ are the solutions with value 1 that are regular at 0, and there is only one.

# %%
t_name, b_name, a_name = symbols("t b a")
U = sp.Function("U")
Y = exp(t_name) * U(-t_name)
kummer_left = t_name * Y.diff(t_name, 2) + (b_name - t_name) * Y.diff(t_name) - a_name * Y
x1 = Symbol("x1")
equation = x1 * U(x1).diff(x1, 2) + (b_name - x1) * U(x1).diff(x1) - (b_name - a_name) * U(x1)
verify(
    "ortho-exact",
    "Kummer's transformation: e^t U(-t) solves the equation with a for b - a",
    sp.simplify((kummer_left + exp(t_name) * equation.subs(x1, -t_name)).doit()) == 0,
)

# %% [markdown]
# **G.** With $K^2=e^{sz-(s+1)n}$,
# $$G=K^2-\mathbb E[\mathrm{Re}X_i\mathrm{Re}X_j]=e^{-(s+1)n}\big[e^{sz}-{}_1F_1(d;\tfrac d2;\tfrac{sz}2)\big].$$
# The variance formula of the introduction follows with section 1. The pair mean needs Re(1-4A) > 0 only; the variance needs
# Re(1-8A) > 0 (notebook 03).
#
# **ρ\* stays optimal.** A enters the orthogonal variance through Var(Re X)/M alone, so whatever A minimises the variance of
# independent features minimises that of orthogonal ones: Theorem 3.3 carries over to FAVOR++ unchanged.

# %%
gain = exp(-(s + 1) * n) * (exp(s * z) - hyper([d], [d / 2], s * z / 2))
verify("ortho-exact", "G does not contain A", A not in gain.free_symbols)
gain

# %% [markdown]
# ## 3. s = +1: the gain is positive, term by term
#
# The coefficient of $\frac{(z/2)^k}{k!}$ in the bracket is $2^k-\frac{(d)_k}{(d/2)_k}=2^k(1-\rho_k)$ with
# $$\rho_k=\frac{(d)_k}{2^k(d/2)_k}=\prod_{j<k}\frac{d+j}{d+2j},\qquad \frac{\rho_{k+1}}{\rho_k}=1-\frac k{d+2k} .$$
# So $1=\rho_0=\rho_1>\rho_2>\dots$: **G ≥ 0, and G > 0 for z > 0**. Moreover $\tau_k=1-\rho_k=\sum_{j<k}\rho_j\frac j{d+2j}$ is a sum of
# positive terms, and with K ~ Poisson(z)
# $$G=e^{z-2n}\,\mathbb E\,\tau_K,\qquad 1-e^{-z}{}_1F_1(d;\tfrac d2;\tfrac z2)=\mathbb E\,\tau_K\in[0,1).$$
# This is how the generated formula computes it: the difference of the two exponentially large terms of G loses every digit
# at small z and overflows at large z.

# %%
rho_k = RisingFactorial(d, k) / (2**k * RisingFactorial(d / 2, k))
ratio = sp.gammasimp((rho_k.subs(k, k + 1) / rho_k).rewrite(gamma))
verify(
    "ortho-exact",
    "ρ_{k+1}/ρ_k = (d+k)/(d+2k) = 1 - k/(d+2k)",
    sp.simplify(ratio - (1 - k / (d + 2 * k))) == 0,
)
first_ones = [sp.simplify(sp.expand_func(rho_k.subs(k, j))) for j in range(3)]
verify(
    "ortho-exact",
    "ρ_0 = ρ_1 = 1, ρ_2 = (d+1)/(d+2)",
    first_ones[:2] == [1, 1] and sp.simplify(first_ones[2] - (d + 1) / (d + 2)) == 0,
)


def deficit_by_poisson(point):
    """E τ_K for K ~ Poisson(z), from the product that defines ρ."""

    def value():
        at = Evaluator(point)
        size, rate = at(d), at(z)
        products = [acb(1)]

        def term(order):
            while len(products) <= order:
                j = len(products) - 1
                products.append(products[-1] * (size + j) / (size + 2 * j))
            return (-rate).exp() * rate**order / acb(order + 1).gamma() * (1 - products[order])

        # |τ| <= 1; the bound on the ratio covers τ_{k+1}/τ_k <= 3 for k >= 2.
        return sum((term(order) for order in range(2)), acb(0)) + series_arb(
            lambda order: term(order + 2), lambda order: 3 * abs(rate) / (order + 3)
        )

    return at_precision(value, 256)


poisson_points = points("deficit", {z: Real(Rational(1, 100), 40), d: Whole(1, 200)}, 12)
verify(
    "ortho-exact",
    "1 - e^(-z) 1F1(d; d/2; z/2) = E τ_K, K ~ Poisson(z): Arb, 30 digits, 12 points",
    all(agree(enclose(OrthogonalDeficit(z, d), p), deficit_by_poisson(p)) for p in poisson_points),
)

# %% [markdown]
# ## 4. The lower bound of Theorem A.1, corrected
#
# **F with the length inside.** The argument of g is $\omega^\top\mathbf z=r\,(u^\top\mathbf z)$, so $F=\mathbb E\,\tilde g(r\,u^\top\mathbf z,r)$. For generalised exponential
# features with s = +1, $F=e^{-n}(e^{z/2}-1)$. *First derivation:* the even part of g has the mean of g, which is K
# (Theorem 3.1), and the constant term has mean $D^2e^{-n}\mathbb E e^{2Ar^2}=e^{-n}$. *Second:* the coefficients of H with the direction
# moments, k ≥ 1: the term is $(z/2)^k/k!$. *Reference:* Gaussian quadrature of $\tfrac12(g(a,b)+g(-a,b))-g(0,b)$.

# %%
log_D2 = d * log(1 - 4 * A) / 2
by_means = exp(log_D2 + log_gaussian_mean(2 * A, (1 - 4 * A) * z, d) - n)
by_means -= exp(log_D2 + log_gaussian_mean(2 * A, S.Zero, d) - n)
F_term = by_substitution.subs(s, 1) * RisingFactorial(S.Half, k) / RisingFactorial(d / 2, k) * z**k
F_simple = (z / 2) ** k / factorial(k)
verify(
    "thm-ortho-general",
    "k-th term of F is (z/2)^k/k!",
    sp.simplify(sp.expand_func(sp.gammasimp((F_term / F_simple).rewrite(gamma)))) == 1,
)
F = exp(-n) * (sp.summation(q_arg**k / factorial(k), (k, 1, oo)).subs(q_arg, z / 2))


def F_by_quadrature(a_value, z_value, n_value, dimension):
    size = whole(dimension)
    root = (1 - 4 * a_value).sqrt()
    flat = gaussian_mean_arb(2 * a_value, acb(0))
    slopes = [sign * root * z_value.sqrt() for sign in (1, -1)]
    even_part = sum((gaussian_mean_arb(2 * a_value, b) for b in slopes), acb(0)) / 2
    return (-n_value).exp() * root**size * flat ** (size - 1) * (even_part - flat)


F_domain = {A: Real(-2, Rational(1, 10)), z: Real(0, 6), n: Real(0, 6), d: Whole(1, 6)}
certify(
    "thm-ortho-general",
    "F = e^(-n)(e^(z/2) - 1) for generalised exponential features, s = +1",
    by_means,
    F,
    where=F_domain,
    reference=reference(F_by_quadrature, A, z, n, d),
)

# %% [markdown]
# **Theorem A.1 (corrected).** If the *even* Taylor coefficients $a_{2t}(y)$ of $g(\cdot,y)$ are non-negative, then for d ≥ 2 and any M = kd + r
# $$\mathrm{Var}(\hat K^{\rm ort})\le\mathrm{Var}(\hat K^{\rm iid})-\frac{kd(d-1)+r(r-1)}{M^2}\,\frac2{d+2}F^2,\qquad F=\mathbb E\,\tilde g(r\,u^\top\mathbf z,r).$$
# *Proof.* For one pair and given lengths, independent minus orthogonal directions leaves the even powers only:
# $$\sum_{t,u\ge1}a_{2t}(r_i)a_{2u}(r_j)\,r_i^{2t}r_j^{2u}\|\mathbf z\|^{2t+2u}\,\mu_t\mu_u\Big(1-\frac{\mu_{t,u}}{\mu_t\mu_u}\Big),\qquad
#   \frac{\mu_t\mu_u}{\mu_{t,u}}=\frac{(\frac d2)_{t+u}}{(\frac d2)_t(\frac d2)_u}=\prod_{j<u}\Big(1+\frac t{d/2+j}\Big)\ge1+\frac2d ,$$
# where $\mu_t=(\tfrac12)_t/(\tfrac d2)_t$ and $\mu_{t,u}$ are the direction moments of section 2; t = 0 or u = 0 gives 0. So each bracket is at
# least $1-\frac d{d+2}=\frac2{d+2}$, every term is non-negative, and taking the bracket out leaves $F_{r_i}F_{r_j}$, whose mean over the
# independent lengths is F². The odd coefficients play no part. ∎

# %%
moment_ratio = (
    by_gaussians.subs(z, 1)
    / (by_gaussians.subs({z: 1, tb: 0}) * by_gaussians.subs({z: 1, ta: 0}))
    * RisingFactorial(h, ta + tb)
    / (RisingFactorial(h, ta) * RisingFactorial(h, tb))
)
verify(
    "thm-ortho-general",
    "μ_t μ_u/μ_{t,u} = (d/2)_{t+u}/((d/2)_t (d/2)_u)",
    sp.simplify(sp.expand_func(sp.gammasimp(moment_ratio.rewrite(gamma)))) == 1,
)
pochhammers = RisingFactorial(h, ta + tb) / (RisingFactorial(h, ta) * RisingFactorial(h, tb))
growth = sp.gammasimp((pochhammers.subs(tb, tb + 1) / pochhammers).rewrite(gamma))
verify(
    "thm-ortho-general",
    "one more u multiplies by 1 + t/(d/2+u)",
    sp.simplify(growth - (1 + ta / (h + tb))) == 0 and pochhammers.subs(tb, 0) == 1,
)
verify(
    "thm-ortho-general",
    "1 - 1/(1 + 2/d) = 2/(d+2)",
    sp.simplify(1 - 1 / (1 + 2 / d) - 2 / (d + 2)) == 0,
)

# %% [markdown]
# **Theorem 4.1 (corrected).** For OPRF, indeed for every generalised exponential feature with s = +1 and d ≥ 2,
# $$G\ \ge\ \frac2{d+2}\,e^{-2n}\big(e^{z/2}-1\big)^2 ,$$
# with the weight $\frac{kd(d-1)+r(r-1)}{M^2}$, which is $1-\frac1M$ for M ≤ d.
#
# *First proof:* Theorem A.1 above with F from above. *Second proof, coefficient by coefficient,* without A.1: in
# $\frac{(z/2)^k}{k!}$ the left side has $2^k(1-\rho_k)$ and the right side $\frac2{d+2}(2^k-2)$ (k ≥ 1; 0 for k = 0, 1). At k = 2 both are
# $\frac4{d+2}$. For k ≥ 3, ρ decreases: $1-\rho_k\ge1-\rho_3=\frac3{d+4}\ge\frac2{d+2}\ge\frac2{d+2}(1-2^{1-k})$ for d ≥ 2. ∎

# %%
squared = sp.expand((exp(z / 2) - 1) ** 2)
taylor = [sp.series(squared, z, 0, 7).removeO().coeff(z, j) * 2**j * factorial(j) for j in range(7)]
verify(
    "thm-ortho",
    "(e^(z/2)-1)² has coefficients 2^k - 2 of (z/2)^k/k!, and 0 at k = 0",
    sp.expand(squared - (exp(z) - 2 * exp(z / 2) + 1)) == 0
    and taylor == [0] + [2**j - 2 for j in range(1, 7)],
)
rho_at = {j: sp.simplify(sp.expand_func(rho_k.subs(k, j))) for j in (2, 3)}
verify(
    "thm-ortho",
    "equality at k = 2",
    sp.simplify(4 * (1 - rho_at[2]) - 2 * (4 - 2) / (d + 2)) == 0,
)
over_two = Symbol("e", integer=True, nonnegative=True)  # d = 2 + e
third = sp.factor((1 - rho_at[3] - 2 / (d + 2)).subs(d, 2 + over_two))
verify(
    "thm-ortho",
    "1 - ρ_3 = 3/(d+4) >= 2/(d+2) for d >= 2",
    sp.simplify(1 - rho_at[3] - 3 / (d + 4)) == 0 and third.is_nonnegative is True,
)
of_bound, of_gain = sp.limit(2 * squared / ((d + 2) * z**2), z, 0), (1 - rho_at[2]) / 2
verify(
    "thm-ortho",
    "gain and bound are both z²/(2(d+2)) to leading order: the constant 2/(d+2) cannot be larger",
    sp.simplify(of_bound - of_gain) == 0,
)

# %% [markdown]
# ## 5. What the paper prints, and what refutes it
#
# **(i) The weight for M > d.** d = 2, x = y, ‖x‖² = 1 (z = 4, n = 2), M = 16 OPRFs, C = F²: the printed upper bound of a variance is
# negative.

# %%
rho_star = 2 * d / (2 * z + d + sqrt((2 * z + d) ** 2 + 8 * d * z))
variance_oprf = exp(
    d * log((1 + rho_star) / (2 * sqrt(rho_star))) + (1 + rho_star) * z - 2 * n
) - exp(z - 2 * n)
count = Symbol("M", integer=True, positive=True)
bound = 2 * exp(-2 * n) * (exp(z / 2) - 1) ** 2 / (d + 2)
printed_bound = variance_oprf / count - (1 - 1 / count) * bound
gain_plus = gain.subs(s, 1)
remainder = Mod(count, d)
blocks = (count - remainder) / d
exact_weight = by_block.subs({full: blocks, rest: remainder}, simultaneous=True) / count**2
exact_variance = variance_oprf / count - exact_weight * gain_plus
place = {d: S(2), z: S(4), n: S(2), count: S(16)}
refute(
    "thm-ortho",
    "upper bound of the variance of M = 16 > d features",
    printed_bound,
    exact_variance,
    place,
)
values = [
    enclose(e, place).real
    for e in (printed_bound, variance_oprf / count - exact_weight * bound, exact_variance)
]
verify(
    "thm-ortho",
    "there the printed bound is negative, and exact variance <= corrected bound",
    bool(values[0] < 0 and values[2] > 0 and values[2] < values[1]),
)

# %% [markdown]
# **(ii) C as a function of ‖x+y‖ alone.** At fixed z the variance of OPRF falls like $e^{-2n}$, so a positive C makes the bound negative
# for large n: as printed the theorem holds for C = 0 only. (n is free at fixed z: x and y may move apart along x - y.) An
# instance: C equal to F² at x = y, that is $e^{-z}(e^{z/2}-1)^2$; d = M = 2, z = 4, n = 6.

# %%
verify(
    "thm-ortho",
    "Var OPRF → 0 as n → ∞ at fixed z",
    sp.limit(variance_oprf.subs({d: 2, z: 4}), n, oo) == 0,
)
alone = variance_oprf / 2 - S.Half * 2 / (d + 2) * exp(-z) * (exp(z / 2) - 1) ** 2
away = {d: S(2), z: S(4), n: S(6), count: S(2)}
refute("thm-ortho", "bound with C a function of ‖x+y‖, positive at 2", alone, exact_variance, away)
verify("thm-ortho", "there the printed bound is negative", bool(enclose(alone, away).real < 0))

# %% [markdown]
# **(iii) "Positivity".** $g=1+\cos(\omega^\top v)$ is non-negative. Its pair covariance is that of the cosine, $-G$ with s = -1, n = 0; at
# d = 4, z = 12 that is $G=e^{-12}-e^{-6}<0$: orthogonality *raises* the variance of a positive feature. What the proof uses is
# non-negative even Taylor coefficients; 1 + cos has $a_2=-\tfrac12$. Conversely $g(t)=t^2-1$ takes negative values, and orthogonality
# helps it.

# %%
gain_minus = gain.subs({s: -1})
polynomial_4, x_name = terminating(4)
at_12 = exp(-12) - exp(-6) * polynomial_4.subs(x_name, 6)
verify(
    "thm-ortho-general",
    "d = 4, z = 12, s = -1: G = e^(-12) - e^(-6) < 0",
    at_12 == exp(-12) - exp(-6)
    and agree(enclose(at_12, {}), enclose(gain_minus, {d: S(4), z: S(12), n: S.Zero}))
    and bool(enclose(at_12, {}).real < 0),
)
angle = Symbol("theta", real=True)
verify(
    "thm-ortho-general",
    "1 + cos t >= 0, but its coefficient of t² is -1/2",
    sp.simplify(1 + sp.cos(angle) - 2 * sp.cos(angle / 2) ** 2) == 0
    and sp.series(1 + sp.cos(angle), angle, 0, 3).removeO().coeff(angle, 2) == -S.Half,
)
refute(
    "thm-ortho-general",
    "orthogonality does not raise Var(1 + cos): pair covariance at d = 4, z = 12",
    S.Zero,
    -at_12,
    {},
)
quadratic_gain = sp.simplify(
    (by_gaussians.subs({ta: 1, tb: 0}) ** 2 - by_gaussians.subs({ta: 1, tb: 1})) * d**2
)
verify(
    "thm-ortho-general",
    "g(t) = t² - 1 is negative at 0, and for it the gain is 2z²/(d+2) > 0",
    sp.simplify(sp.expand_func(quadratic_gain) - 2 * z**2 / (d + 2)) == 0,
)

# %% [markdown]
# **(iv) Slips in Theorem A.1 and its proof.**
#
# * *g prints $2C(\|x\|^2+\|y\|^2)$.* A product of two features has $C(\|x\|^2+\|y\|^2)$; with 2C the mean is $Ke^{-n}$.
# * *F without the length.* As printed, $F=e^{-n}\big({}_0F_1(;\tfrac d2;\tfrac{B^2z}4)-1\big)$, which depends on A; and the theorem is then false:
#   d = M = 2, z = 4, n = 2, A = -2 makes the bound negative.
# * *$\mathbb E\|\omega\|^{2t}$ where the lengths are fixed.* It must be $x_i^{2t}$. As printed the sum is $e^{-n}(e^{B^2z/2}-1)$, right at A = 0 only.
# * *Var = E Var(· | lengths)* drops Var E(· | lengths). It is the same for both ensembles and cancels in the difference; but the
#   equations are wrong: at z = 0 the product depends on the length alone, and its variance is not 0.
# * *The last "="* is "≥".

# %%
mean_with_2C = exp(z / 2 - 2 * n)
refute(
    "thm-ortho-general",
    "mean of g as printed, with 2C",
    mean_with_2C,
    exp(z / 2 - n),
    {z: S.One, n: S.One},
)

B2 = 1 - 4 * A
without_length = exp(-n) * (hyper([], [d / 2], B2 * z / 4) - 1)
F_right = exp(-n) * (exp(z / 2) - 1)
at_A2 = {d: S(2), z: S(4), n: S(2), A: S(-2)}
refute("thm-ortho-general", "F without the length", without_length, F_right, at_A2)
t_of_A = 1 / (1 - 8 * A)
variance_real = exp(d * log((1 + t_of_A) / (2 * sqrt(t_of_A))) + (1 + t_of_A) * z - 2 * n) - exp(
    z - 2 * n
)
false_bound = variance_real / 2 - without_length**2 / (d + 2)
refute(
    "thm-ortho-general",
    "bound with F without the length, M = 2",
    false_bound,
    variance_real / 2 - gain_plus / 2,
    at_A2,
)
verify(
    "thm-ortho-general",
    "there the printed bound is negative",
    bool(enclose(false_bound, at_A2).real < 0),
)

printed_moments = sp.summation((B2 * z / 2) ** k / factorial(k), (k, 1, oo))
double_odd = factorial(2 * k) / (2**k * factorial(k))  # E r^(2k) = (2k-1)!!
printed_term = (B2 * z) ** k / factorial(2 * k) * double_odd
verify(
    "thm-ortho-general",
    "with E‖ω‖^(2t) the terms are (B²z/2)^t/t!",
    sp.simplify(printed_term / ((B2 * z / 2) ** k / factorial(k))) == 1,
)
refute(
    "thm-ortho-general",
    "F with E‖ω‖^(2t) in place of the fixed length",
    exp(-n) * (exp(B2 * z / 2) - 1),
    F_right,
    {z: S.One, n: S.One, A: -S.Half},
)
refute(
    "thm-ortho-general",
    "Var X = E Var(X | length) at z = n = 0",
    S.Zero,
    (1 - 4 * A) ** d * (1 - 8 * A) ** (-d / 2) - 1,
    {d: S(2), A: -S.Half},
)
refute(
    "thm-ortho-general",
    "the gain equals 2F²/(d+2)",
    2 * F_right**2 / (d + 2),
    gain_plus,
    {d: S(2), z: S(4), n: S(2)},
)

# %% [markdown]
# ## 6. s = -1: where orthogonality hurts TrigRF
#
# Here $z=\|x-y\|^2$ and $G=e^{-z}-{}_1F_1(d;\tfrac d2;-\tfrac z2)$. By Kummer's transformation, orthogonality helps exactly where
# $${}_1F_1\big(-\tfrac d2;\tfrac d2;\tfrac z2\big)<e^{-z/2} .$$
# With K ~ Poisson(z/2) the left side over $e^{z/2}$ is $\mathbb E\prod_{j<K}\frac{j-d/2}{j+d/2}$, and $e^{-z}=\mathbb E(-1)^K$, so
# $G=\mathbb E\,(-1)^K\big(1-\prod_{j<K}(1-\tfrac{4j}{d+2j})\big)$: all factors are at most 1 in size. This is what the generated formula sums.

# %%
factor = sp.gammasimp(
    (
        RisingFactorial(-h, k + 1)
        / RisingFactorial(h, k + 1)
        * RisingFactorial(h, k)
        / RisingFactorial(-h, k)
    ).rewrite(gamma)
)
verify(
    "ortho-trig",
    "(-d/2)_k/(d/2)_k has factors (j-d/2)/(j+d/2) = -(1 - 4j/(d+2j))",
    sp.simplify(factor - (k - h) / (k + h)) == 0
    and sp.simplify((k - h) / (k + h) + (1 - 4 * k / (d + 2 * k))) == 0,
)

# %% [markdown]
# **d = 2: always helps.** The condition is $1-\tfrac z2<e^{-z/2}$; $e^{-x}-1+x$ is 0 at x = 0 and has slope $1-e^{-x}>0$ for x > 0.
# So the paper's "only in the asymptotic sense" is too pessimistic there.

# %%
x_pos = Symbol("x", positive=True)
polynomial_2, x_name = terminating(2)
convex_gap = exp(-x_pos) - polynomial_2.subs(x_name, x_pos)
slope_gap = convex_gap.diff(x_pos)
verify(
    "ortho-trig",
    "d = 2: e^(-x) - (1-x) is 0 at 0 and increases",
    sp.limit(convex_gap, x_pos, 0) == 0
    and slope_gap.subs(x_pos, 0) == 0
    and slope_gap.diff(x_pos).is_positive is True,
)

# %% [markdown]
# **Small z: always helps**, for every d. $G=\sum_{k\ge2}\frac{(-z)^k}{k!}\tau_k$ with the τ of section 3. Since
# $\frac{\rho_{j+1}}{d+2j+2}\Big/\frac{\rho_j}{d+2j}=\frac{d+j}{d+2j+2}<1$, $\tau_k=\sum_{j<k}j\cdot\frac{\rho_j}{d+2j}$ grows more slowly than
# $\sum_{j<k}j=\tfrac12k(k-1)$: $\tau_{k+1}/\tau_k<1+\frac k{k(k-1)/2}=\frac{k+1}{k-1}$. So each term is less than $\frac z{k-1}$ times the one before,
# and for 0 < z ≤ 1 the alternating sum, which starts with a positive term at k = 2, is positive.

# %%
falling = sp.simplify(ratio * (d + 2 * k) / (d + 2 * k + 2) - (d + k) / (d + 2 * k + 2))
verify("ortho-trig", "ρ_j/(d+2j) decreases in j", falling == 0)
verify(
    "ortho-trig",
    "1 + k/(k(k-1)/2) = (k+1)/(k-1)",
    sp.simplify(1 + k / (k * (k - 1) / 2) - (k + 1) / (k - 1)) == 0,
)

# %% [markdown]
# **The first zero z₁ of G.** Arb sees the sign change between the ends of each bracket below. That there is none before:
#
# * even d: $e^{-x}\ge T_N(x)=\sum_{k<N}\frac{(-x)^k}{k!}$ for even N and x ≥ 0, and $T_N-{}_1F_1(-\tfrac d2;\tfrac d2;x)$ is a polynomial with rational
#   coefficients. Its lowest term is positive; all its complex roots are enclosed, and none is real, positive and below the bracket.
# * odd d: branch and bound on [1, z₁], the alternating sum below 1.

# %%
BRACKETS = {
    3: ("10.962", "10.964"),
    4: ("9.493", "9.495"),
    7: ("8.696", "8.698"),
    16: ("10.643", "10.645"),
    64: ("47.73", "47.75"),
}


def minorant(size, terms):
    """T_terms(x) - 1F1(-size/2; size/2; x) without its factor x², up to a positive constant."""
    half, coefficients, other = size // 2, [], fmpq(1)
    for j in range(terms):
        coefficients.append(fmpq((-1) ** j, math.factorial(j)) - other)
        other = other * fmpq(j - half) / (fmpq(half + j) * (j + 1))
    assert coefficients[:2] == [0, 0] and coefficients[2] > 0 and terms % 2 == 0
    return fmpz_poly(fmpq_poly(coefficients).numer().coeffs()[2:])


def no_zero_before(size, low):
    """No zero of G in (0, low]: even size."""
    roots = [root for root, _ in minorant(size, 60 + size).complex_roots()]
    edge = arb(low) / 2
    return all(root.real < 0 or root.real > edge or not root.imag.contains(0) for root in roots)


for size, (low, high) in BRACKETS.items():
    ends = [
        enclose(gain_minus, {d: S(size), z: Rational(end), n: S.Zero}).real for end in (low, high)
    ]
    verify(
        "ortho-trig",
        f"d = {size}: G changes sign in [{low}, {high}]",
        bool(ends[0] > 0 and ends[1] < 0),
    )
    if size % 2 == 0:
        verify("ortho-trig", f"d = {size}: G > 0 on (0, {low}]", no_zero_before(size, low))
    else:
        condition = exp(-z / 2) - hyper([-S(size) / 2], [S(size) / 2], z / 2)
        prove_positive("ortho-trig", f"d = {size}: G e^(z/2)", condition, {z: (1, low)})

# %% [markdown]
# **z → ∞: hurts if and only if d mod 4 is 0 or 3.** Even d: ${}_1F_1(-\tfrac d2;\tfrac d2;x)$ is a polynomial with leading coefficient
# $(-1)^{d/2}/(\tfrac d2)_{d/2}$, positive for d mod 4 = 0. Odd d: it grows like $\frac{\Gamma(d/2)}{\Gamma(-d/2)}e^xx^{-d}$, and $\Gamma(-\tfrac d2)$, which is
# $\Gamma(\tfrac12)$ over $\tfrac{d+1}2$ negative factors, is positive for d mod 4 = 3. Where it tends to $+\infty$ it exceeds $e^{-x}$; where it tends to $-\infty$ orthogonality helps. So d "large enough" does
# not suffice: for d mod 4 = 0 or 3 the inequality fails at large z, however large d is.


# %%
def hurts_far_out(size):
    if size % 2 == 0:
        polynomial, name = terminating(size)
        return sp.Poly(polynomial, name).LC() > 0
    return gamma(-S(size) / 2) > 0


sizes = range(3, 13)
verify(
    "ortho-trig",
    "leading coefficient, sign of Γ(-d/2): d = 3 … 12",
    all(bool(hurts_far_out(q)) == (q % 4 in (0, 3)) for q in sizes),
)
far = {q: enclose(gain_minus, {d: S(q), z: S(400), n: S.Zero}).real for q in sizes}
verify(
    "ortho-trig",
    "sign of G at z = 400, d = 3 … 12",
    all(bool(far[q] < 0) == (q % 4 in (0, 3)) and not far[q].contains(0) for q in sizes),
)

# %% [markdown]
# **How much can it hurt?** With M a multiple of d the variance of orthogonal features over that of independent ones is
# $1-(d-1)G/\mathrm{Var}$, $\mathrm{Var}=\tfrac12(1-e^{-z})^2$. The largest excess on a grid, d = 3 … 64 and z = ¼, ½, … 60, is about 1.5% at
# d = 4, z = 12. This is evidence from a grid, not a bound.

# %%
grid = [(q, Rational(j, 4)) for q in range(3, 65) for j in range(1, 241)]


def harm(size, z_value):
    at = acb(str(z_value.p)) / acb(str(z_value.q))
    g = (-at).exp() - (-at / 2).hypgeom_1f1(acb(size), acb(size) / 2)
    return -(size - 1) * g / ((1 - (-at).exp()) ** 2 / 2)


harms = at_precision(lambda: [harm(*place).real for place in grid], 128)
worst = grid.index((4, 12))
verify(
    "ortho-trig",
    f"on the grid the largest excess is {float(harms[worst]):.4f}, at d = 4, z = 12 (evidence)",
    all(harms[worst] > other for j, other in enumerate(harms) if j != worst),
)

# %% [markdown]
# ## Planted errors

# %%
reject(
    "ortho-exact",
    "2d in place of d: lengths of χ²_{4d}",
    pair_by_direction.rewrite(gamma),
    pair_by_direction.subs(RisingFactorial(d, k), RisingFactorial(2 * d, k)).rewrite(gamma),
    where={s: Sign(), d: Whole(2, 9), k: Whole(1, 6)},
)
reject(
    "ortho-exact",
    "pairs kd(d-1) + r² for kd(d-1) + r(r-1)",
    by_block,
    by_block + rest,
    where={full: Whole(0, 4), d: Whole(1, 6), rest: Whole(1, 6)},
)
reject(
    "ortho-exact",
    "direction moments of independent directions",
    by_gaussians.rewrite(gamma),
    (by_gaussians.subs(tb, 0) * by_gaussians.subs(ta, 0)).rewrite(gamma),
    where={z: Real(1, 6), ta: Whole(1, 4), tb: Whole(1, 4), d: Whole(3, 9)},
)
reject(
    "thm-ortho-general",
    "constant term not subtracted in F",
    by_means,
    exp(z / 2 - n),
    where=F_domain,
)
must_fail(
    "ortho-trig",
    "d = 4: first zero only after 9.6",
    lambda: verify("ortho-trig", "G > 0 on (0, 9.6]", no_zero_before(4, "9.6")),
)
must_fail(
    "thm-ortho",
    "1 - ρ_3 >= 4/(d+2)",
    lambda: verify(
        "thm-ortho",
        "1 - ρ_3 >= 4/(d+2)",
        sp.factor((1 - rho_at[3] - 4 / (d + 2)).subs(d, 2 + over_two)).is_nonnegative is True,
    ),
)

# %% [markdown]
# ## Formulas
#
# The weight is generated from the remainder r = M mod d alone: $kd=M-r$.

# %%
STATEMENTS = [
    Statement(
        "thm-ortho",
        "Theorem 4.1 (thm-orthoprfs)",
        "orthogonal OPRFs gain at least w(M, d)·2/(d+2)·e^(-2n)(e^(z/2)-1)², w = (kd(d-1)+r(r-1))/M² for M = kd+r, which is 1-1/M for M <= d",
        "corrected",
    ),
    Statement(
        "thm-ortho-general",
        "Theorem A.1 (thm-ortho)",
        "for g(ω·z, ‖ω‖) with non-negative even Taylor coefficients the gain is at least w(M, d)·2/(d+2)·F²",
        "corrected",
    ),
    Statement(
        "ortho-exact",
        "beyond",
        "exact variance of orthogonal GERFs, any complex A, s and M: the gain w(M, d)·G does not depend on A, so ρ* stays optimal",
    ),
    Statement(
        "ortho-trig",
        "beyond",
        "orthogonality helps TrigRF iff 1F1(-d/2; d/2; z/2) < e^(-z/2): always at d = 2 and at small z, not at large z if d mod 4 is 0 or 3",
    ),
]
ERRATA = [
    Erratum(
        "thm-ortho-weight",
        "Theorem 4.1",
        "weight 1 - 1/M for any M",
        "blocks are independent of each other; at d = 2, z = 4, n = 2, M = 16 the printed upper bound of a variance is negative",
        "weight (kd(d-1)+r(r-1))/M² for M = kd+r, equal to 1 - 1/M for M <= d",
        "refuted at that point with C = F²; the count of pairs certified",
    ),
    Erratum(
        "thm-ortho-constant",
        "Theorem 4.1",
        '"for some C(‖x+y‖) >= 0"',
        "at fixed ‖x+y‖ the variance tends to 0 as ‖x‖²+‖y‖² grows, so only C = 0 can depend on ‖x+y‖ alone",
        "C = F² = e^(-2n)(e^(z/2)-1)², z = ‖x+y‖², n = ‖x‖²+‖y‖²",
        "limit computed; refuted at d = M = 2, z = 4, n = 6 for C = e^(-z)(e^(z/2)-1)²",
    ),
    Erratum(
        "ortho-positivity",
        "Note after Theorem 4.1",
        '"One of the key properties used in the proof is positivity of RFs"',
        "1 + cos(ω·v) is non-negative and orthogonality raises its variance at d = 4, z = 12; t² - 1 takes negative values and gains",
        "the property is that the even Taylor coefficients of g are non-negative",
        "G = e^(-12) - e^(-6) < 0 there, exactly",
    ),
    Erratum(
        "ortho-trig-asymptotic",
        "Note after Theorem 4.1",
        '"The analogous inequality can be obtained for TrigRFs only in the asymptotic sense (for d large enough)"',
        "at d = 2 orthogonality helps TrigRF for every x ≠ y, while for d = 64 it hurts at z = 47.75, and for d mod 4 = 0 or 3 at every large z",
        "it helps exactly where 1F1(-d/2; d/2; z/2) < e^(-z/2); for given d at least for z <= 1",
        "proved for d = 2 and for z <= 1; first zeros certified for d = 3, 4, 7, 16, 64",
    ),
    Erratum(
        "ortho-length",
        "Theorem A.1 and its proof: F, X_m, F_x",
        "g̃(u·z, x), g_{x_m}(u_m·z)",
        "the first argument of g is ω·z = x (u·z); as printed F depends on A and the bound fails",
        "g̃(x (u·z), x), g_{x_m}(x_m (u_m·z))",
        "bound refuted at d = M = 2, z = 4, n = 2, A = -2",
    ),
    Erratum(
        "ortho-double-constant",
        "after Theorem A.1",
        "g(a, b) = D² exp(2Ab² + Ba + 2C(‖x‖²+‖y‖²))",
        "each feature contributes C‖·‖² once; with 2C the mean is K e^(-n)",
        "g(a, b) = D² exp(2Ab² + Ba + C(‖x‖²+‖y‖²))",
        "mean refuted at z = n = 1",
    ),
    Erratum(
        "ortho-moments",
        "proof of Theorem A.1, bound on T",
        "E[‖ω‖^(2t)], E[‖ω‖^(2u)] where the lengths are fixed to x_i, x_j",
        "given the lengths these are x_i^(2t), x_j^(2u); as printed F would be e^(-n)(e^(B²z/2)-1)",
        "x_i^(2t), x_j^(2u)",
        "refuted at A = -1/2, z = n = 1",
    ),
    Erratum(
        "ortho-total-variance",
        "proof of Theorem A.1, first two equations",
        "Var(K) is the mean over the lengths of Var(K | lengths)",
        "the variance of the conditional mean is missing; it is the same for both ensembles and cancels in their difference",
        "add Var E(K | lengths) on both lines",
        "refuted at z = n = 0, d = 2, A = -1/2, where X is a function of the length",
    ),
    Erratum(
        "ortho-last-equality",
        "proof of Theorem A.1, last display",
        "Var(iid) - Var(ort) = (1 - 1/M)·2/(d+2)·F²",
        "the estimate of T before it is an inequality",
        ">= in place of the first =",
        "refuted at d = 2, z = 4, n = 2",
    ),
    Erratum(
        "ortho-law",
        "Theorem A.1",
        "X has ω ~ Ω(d), the estimators have ω ~ N(0, I_d)",
        "the estimators are unbiased for E X only if the two laws are one",
        "ω ~ Ω(d) in all three places, with any isotropic law",
        "the corrected proof uses the law of the length through F alone",
    ),
]
r_let = Symbol("r", integer=True, nonnegative=True)
blocks_let = ((r_let, Mod(count, d)),)
dimension = Whole(1, 4096)
log_domain = {z: Real(0, 10000, open_low=True), n: Real(0, 10000), d: dimension}
linear_domain = {z: Real(0, 16), n: Real(0, 16), d: dimension}
stated_gain = exp(-2 * n) * (exp(z) - hyper([d], [d / 2], z / 2))
FORMULAS = [
    Formula(
        "orthogonal_weight",
        "ortho-exact",
        "Ordered pairs of M projections that lie in one orthogonal block, over M².",
        (count, d),
        {count: Whole(1, 65536), d: dimension},
        expr=((count - r_let) * (d - 1) + r_let * (r_let - 1)) / count**2,
        definition=(count * (d - 1) - r_let * (d - r_let)) / count**2,
        lets=blocks_let,
        definition_lets=blocks_let,
    ),
    Formula(
        "log_orthogonal_gain",
        "ortho-exact",
        "Logarithm of the gain G of an orthogonal pair for s = +1, z = ‖x+y‖².",
        (z, n, d),
        log_domain,
        expr=z - 2 * n + LogOrthogonalDeficit(z, d),
        definition=log(stated_gain),
    ),
    Formula(
        "orthogonal_gain",
        "ortho-exact",
        "Gain G of an orthogonal pair for s = +1, z = ‖x+y‖²: K² minus the mean of the product.",
        (z, n, d),
        linear_domain,
        expr=exp(z - 2 * n) * OrthogonalDeficit(z, d),
        definition=stated_gain,
    ),
    Formula(
        "orthogonal_gain_trig",
        "ortho-trig",
        "Gain G of an orthogonal pair of TrigRFs, z = ‖x-y‖²; negative where orthogonality hurts.",
        (z, d),
        {z: Real(0, 10000), d: dimension},
        expr=OrthogonalTrig(z, d),
        definition=gain.subs({s: -1}),
    ),
    Formula(
        "log_orthogonal_gain_bound",
        "thm-ortho",
        "Logarithm of the lower bound of the gain G for s = +1, d >= 2, z = ‖x+y‖².",
        (z, n, d),
        log_domain,
        expr=2 * LogExpm1(z / 2) - 2 * n + log(2 / (d + 2)),
        definition=log(2 * F_right**2 / (d + 2)),
    ),
    Formula(
        "orthogonal_gain_bound",
        "thm-ortho",
        "Lower bound of the gain G of an orthogonal pair for s = +1, d >= 2, z = ‖x+y‖².",
        (z, n, d),
        linear_domain,
        expr=2 / (d + 2) * (exp(-n) * Expm1(z / 2)) ** 2,
        definition=2 * F_right**2 / (d + 2),
    ),
]
check_formulas(FORMULAS)
