# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
# ---

# %% [markdown]
# # 02 · Generalised exponential features (Theorem 3.1)
#
# The paper looks for features
# $$f^{(1)}(\omega,x)=D\,e^{A\|\omega\|^2+B\,\omega^\top x+C\|x\|^2},\qquad
#   f^{(2)}(\omega,y)=D\,e^{A\|\omega\|^2+sB\,\omega^\top y+C\|y\|^2},\qquad \omega\sim N(0,I_d),$$
# with $s=\pm1$, whose product has mean $K(x,y)=e^{-\|x-y\|^2/2}$.
#
# **Theorem 3.1 (printed).** They do if $\mathrm{Re}(1-4A)>0$, $B=\sqrt{s(1-4A)}$, $C=-(s+1)/2$,
# $D=(\sqrt[4]{1-4A})^d$ with principal roots.
#
# Here the conditions are *solved for*, not verified; then the paper's remark on other roots is
# refuted and its right form proved.

# %%
import sympy as sp
from flint import acb
from sympy import I, Piecewise, Rational, S, Sum, Symbol, exp, log, sqrt, symbols

from derivations.algebra import vanishes
from derivations.arb import Evaluator, at_precision
from derivations.certificate import certify, refute, reject, verify
from derivations.domain import Complex, Real, Sign, Vector, Whole
from derivations.formula import Erratum, Formula, Statement, check_formulas
from derivations.identities import QUADRATURE_BITS, gaussian_mean_arb, log_gaussian_mean
from derivations.special import Log1p
from derivations.symbols import A, d, l, n, s, x, y, z

# %% [markdown]
# ## Random features and the operator they approximate (eq. rf, rfappr)
#
# Features satisfy $K=\mathbb E\,\mathrm{Re}(f^{(1)}f^{(2)})$, and the operator is applied in
# $O(dML)$ because the sum over j can be done first:
# $$\sum_j\Big(\tfrac1M\sum_m\mathrm{Re}(f_{im}g_{jm})\Big)c_j=\tfrac1M\,\mathrm{Re}\sum_m f_{im}\sum_j g_{jm}c_j .$$
# It is distributivity; real parts of complex features and real c_j are what has to be right.

# %%
M, L = 2, 3
f = [symbols(f"a{m}", real=True) + I * symbols(f"b{m}", real=True) for m in range(M)]
g = [
    [symbols(f"u{j}{m}", real=True) + I * symbols(f"v{j}{m}", real=True) for m in range(M)]
    for j in range(L)
]
c = symbols("c0:3", real=True)
kernel_first = sum(
    sum(sp.re(sp.expand(f[m] * g[j][m])) for m in range(M)) / M * c[j] for j in range(L)
)
feature_first = (
    sp.re(sp.expand(sum(f[m] * sum(g[j][m] * c[j] for j in range(L)) for m in range(M)))) / M
)
verify(
    "eq-rfappr",
    "summing over j first changes nothing",
    sp.expand(kernel_first - feature_first) == 0,
)

# %% [markdown]
# ## Solving for B, C and D
#
# Write $z=\|x+sy\|^2=n+2s\,x^\top y$ with $n=\|x\|^2+\|y\|^2$ and $c=x^\top y$. Notebook 01 gives, coordinate
# by coordinate,
# $$\log\mathbb E\,[f^{(1)}f^{(2)}]=2\log D-\tfrac d2\log(1-4A)+\frac{B^2z}{2(1-4A)}+Cn .$$
#
# **First derivation**: completing the square.

# %%
B2, C, logD, product = symbols("B2 C logD c")
by_square = 2 * logD + C * n + log_gaussian_mean(2 * A, B2 * z, d)
by_square

# %% [markdown]
# **Second derivation**: length and direction. The average of $e^{B\omega^\top v}$ over directions is
# ₀F₁, and $\mathbb E\,[\|\omega\|^{2k}e^{2A\|\omega\|^2}]=2^k(d/2)_k(1-4A)^{-d/2-k}$ (differentiate
# $\mathbb E e^{a\|\omega\|^2}=(1-2a)^{-d/2}$ k times). The k-th term of the series is then one of an exponential.

# %%
k = Symbol("k", integer=True, nonnegative=True)
w = Symbol("w", positive=True)  # 1 - 4A; real here, the rest of the half-plane by analyticity
direction_term = (B2 * z / 4) ** k / (sp.factorial(k) * sp.RisingFactorial(d / 2, k))
length_term = 2**k * sp.RisingFactorial(d / 2, k) * w ** (-d / 2 - k)
expected_term = w ** (-d / 2) * (B2 * z / (2 * w)) ** k / sp.factorial(k)
verify(
    "thm-gerf",
    "k-th term of the length-and-direction series",
    sp.simplify(
        sp.powsimp(
            sp.expand_power_base(direction_term * length_term / expected_term, force=True),
            force=True,
        )
    )
    == 1,
)
by_length = (
    2 * logD + C * n + B2 * z / (2 * (1 - 4 * A)) + log((1 - 4 * A) ** (-Rational(1, 2))) * d
)
by_length = sp.expand_log(by_length, force=True)

# %% [markdown]
# **The conditions.** The mean must be $-\tfrac n2+c$ for all x, y, that is for all n and c (independent
# already at d = 1). Comparing coefficients gives three equations, and they are solved:

# %%
residual = sp.expand(by_square.subs(z, n + 2 * s * product) - (product - n / 2))
equations = [
    residual.coeff(product, 1),
    residual.coeff(n, 1),
    residual.coeff(product, 0).coeff(n, 0),
]
(solution,) = sp.solve(equations, [B2, C, logD], dict=True)
{name: sp.factor(value) for name, value in solution.items()}

# %% [markdown]
# With $1/s=s$: $B^2=s(1-4A)$, $C=-(s+1)/2$, $\log D=\tfrac d4\log(1-4A)$. The conditions of the theorem are
# sufficient and, up to the sign of B and the root of D, necessary.

# %%
for sign in (1, -1):
    found = {name: value.subs(s, sign) for name, value in solution.items()}
    ok = sp.simplify(found[B2] - sign * (1 - 4 * A)) == 0 and found[C] == -Rational(sign + 1, 2)
    verify(
        "thm-gerf",
        f"solved for s = {sign:+d}: B² = s(1-4A), C = -(s+1)/2, log D = (d/4) log(1-4A)",
        ok and sp.simplify(found[logD] - d * log(1 - 4 * A) / 4) == 0,
    )

# %% [markdown]
# **Certificate.** Mean of the product with these coefficients, from both derivations, against Arb's
# quadrature of the features themselves, coordinate by coordinate.

# %%
coefficients = {B2: s * (1 - 4 * A), C: -(s + 1) / 2, logD: d * log(1 - 4 * A) / 4}
z_of_x = Sum((x[l] + s * y[l]) ** 2, (l, 1, d))
n_of_x = Sum(x[l] ** 2 + y[l] ** 2, (l, 1, d))
log_kernel = -Sum((x[l] - y[l]) ** 2, (l, 1, d)) / 2


def mean_by_quadrature(point):
    """E f1 f2 with the paper's coefficients: one certified integral per coordinate."""

    def value():
        at = Evaluator(point)
        a, sign = at(A), at(s)
        b_root, d_root = (sign * (1 - 4 * a)).sqrt(), (1 - 4 * a).sqrt().sqrt()
        total = acb(1)
        for x_value, y_value in zip(point[x], point[y], strict=True):
            xv, yv = at(x_value), at(y_value)
            shift = (-(sign + 1) / 2 * (xv * xv + yv * yv)).exp()
            total *= d_root**2 * shift * gaussian_mean_arb(2 * a, b_root * (xv + sign * yv))
        return total

    return at_precision(value, QUADRATURE_BITS)


gerf_domain = {
    A: Complex(Real(-2, Rational(6, 25)), Real(-1, 1)),
    s: Sign(),
    d: Whole(1, 4),
    x: Vector(Real(-Rational(3, 2), Rational(3, 2))),
    y: Vector(Real(-Rational(3, 2), Rational(3, 2))),
}
whole = {z: z_of_x, n: n_of_x}
certify(
    "thm-gerf",
    "mean of the feature product",
    exp(by_square.subs(coefficients).subs(whole)),
    exp(by_length.subs(coefficients).subs(whole)),
    where=gerf_domain,
    reference=mean_by_quadrature,
)
certify(
    "thm-gerf",
    "the mean is the Gaussian kernel",
    exp(by_square.subs(coefficients).subs(whole)),
    exp(log_kernel),
    where=gerf_domain,
    reference=mean_by_quadrature,
)

# %% [markdown]
# ## TrigRF and PosRF are the case A = 0
#
# $s=-1$: $B=i$, $C=0$, $D=1$ (trigonometric). $s=+1$: $B=1$, $C=-1$, $D=1$ (positive).

# %%
B_root = Piecewise((sqrt(1 - 4 * A), s > 0), (I * sqrt(1 - 4 * A), True))
trig = [
    B_root.subs({A: 0, s: -1}),
    (-(s + 1) / 2).subs(s, -1),
    exp(d * log(1 - 4 * A) / 4).subs(A, 0),
]
pos = [B_root.subs({A: 0, s: 1}), (-(s + 1) / 2).subs(s, 1), exp(d * log(1 - 4 * A) / 4).subs(A, 0)]
verify("thm-gerf", "A = 0, s = -1 gives B = i, C = 0, D = 1: TrigRF", trig == [I, 0, 1])
verify("thm-gerf", "A = 0, s = +1 gives B = 1, C = -1, D = 1: PosRF", pos == [1, -1, 1])

# %% [markdown]
# ## Other roots: the printed sentence is false
#
# **Printed** (after the proof of 3.1): "It's possible to use other complex roots in (abcd) rather than just
# principal roots."
#
# **Refuted.** At d = 1, A = 0 another fourth root of 1 is D = i. Then the product's mean is D²K = -K. In
# general $D=(i^j\sqrt[4]{1-4A})^d$ has $D^2=(-1)^{jd}(\sqrt{1-4A})^d$: wrong exactly when j and d are odd.

# %%
factors = {(j, dim): sp.expand((I**j) ** (2 * dim)) for j in range(4) for dim in range(1, 9)}
verify(
    "gerf-roots",
    "the root i^j changes D² by (-1)^(jd)",
    all(v == (-1) ** (j * dim) for (j, dim), v in factors.items()),
)
K = exp(-((x[1] - y[1]) ** 2) / 2)
at_point = {x: [S.One], y: [S.Zero], d: S.One}
refute("gerf-roots", "D = i, A = 0, d = 1 keeps the mean", I**2 * K, K, at_point)

# %% [markdown]
# **Right:** any B with $sB^2=1-4A$ and any D with $D^2=(\sqrt{1-4A})^d$. Only $B^2$ and $D^2$ enter the mean, so
# both signs of each root serve. The variance (notebook 03) sees $B^2$, $|B|^2$, $D^4$, $|D|^4$ and is then unchanged
# too.
#
# This freedom is used: for $s=-1$ the principal root of $-(1-4A)$ jumps from $i\sqrt{1-4A}$ to $-i\sqrt{1-4A}$ across
# the real axis, where TrigRF and the optimum of $s=-1$ live. The generated B is the root that does not jump,
# $\sqrt s\,\sqrt{1-4A}$ with $\sqrt{-1}=i$.

# %%
for sign in (1, -1):
    verify(
        "gerf-roots",
        f"the continuous root satisfies sB² = 1-4A for s = {sign:+d}",
        sp.expand(sign * B_root.subs(s, sign) ** 2 - (1 - 4 * A)) == 0,
    )

# %% [markdown]
# ## The softmax kernel (eq. sfm)
#
# $K_{\rm sfm}(x,y)=e^{x^\top y}=e^{\|x\|^2/2}K(x,y)\,e^{\|y\|^2/2}$. **First derivation:** expand the square.
# **Second:** the parallelogram identity for $z=\|x-y\|^2$.

# %%
from_gaussian = exp(Sum(x[l] ** 2, (l, 1, d)) / 2 + log_kernel + Sum(y[l] ** 2, (l, 1, d)) / 2)
from_polarisation = exp(Sum((x[l] + y[l]) ** 2 - (x[l] - y[l]) ** 2, (l, 1, d)) / 4)
vectors = {x: Vector(Real(-2, 2)), y: Vector(Real(-2, 2))}
certify(
    "eq-sfm",
    "softmax kernel from the Gaussian one",
    from_gaussian,
    from_polarisation,
    where=vectors,
)
verify("eq-sfm", "it is exp(x·y)", vanishes(log_kernel + n_of_x / 2 - Sum(x[l] * y[l], (l, 1, d))))

# %% [markdown]
# **The kernel's definition is printed with the wrong sign**, $K=\exp(\tfrac12\|x-y\|^2)$ in Section 2.1. The features
# have mean $e^{-\|x-y\|^2/2}$, and the printed sign would break the softmax identity as well.

# %%
refute("kernel-sign", "K(x,y) = exp(+½‖x-y‖²)", exp((x[1] - y[1]) ** 2 / 2), K, at_point)

# %% [markdown]
# ## Planted errors

# %%
reject(
    "thm-gerf",
    "C = -½ in place of -(s+1)/2",
    exp(log_kernel),
    exp(by_length.subs({**coefficients, C: -S.Half}).subs(whole)),
    where=gerf_domain,
)
reject(
    "thm-gerf",
    "D = (1-4A)^(d/2)",
    exp(log_kernel),
    exp(by_length.subs({**coefficients, logD: d * log(1 - 4 * A) / 2}).subs(whole)),
    where=gerf_domain,
)
reject("eq-sfm", "factor ½ lost", from_gaussian, exp(n_of_x + log_kernel), where=vectors)

# %% [markdown]
# ## Formulas
#
# The logarithm of D is generated through log1p, so that it keeps its digits near A = 0.

# %%
STATEMENTS = [
    Statement(
        "eq-rfappr", "eq. rf, rfappr", "the kernel operator applied by random features in O(dML)"
    ),
    Statement(
        "thm-gerf",
        "Theorem 3.1 (lemma:gerfs)",
        "Re(1-4A) > 0, B² = s(1-4A), C = -(s+1)/2, D² = (√(1-4A))^d give unbiased features",
    ),
    Statement(
        "gerf-roots",
        "remark after the proof of 3.1",
        "which other roots of B and D may be used",
        "refuted as printed",
    ),
    Statement("eq-sfm", "Section 2.1", "softmax kernel from the Gaussian one"),
    Statement("kernel-sign", "Section 2.1", "definition of the Gaussian kernel", "corrected"),
]
ERRATA = [
    Erratum(
        "gerf-roots",
        "remark after the proof of Theorem 3.1",
        "other complex roots may be used for B and D in place of the principal ones",
        "d = 1, A = 0, D = i is another root and gives -K: D² changes sign when the fourth root is i or -i times the principal one and d is odd",
        "any B with sB² = 1-4A and any D with D² = (√(1-4A))^d",
        "refuted at d = 1, x = 1, y = 0; the general factor (-1)^(jd) verified for all four roots",
    ),
    Erratum(
        "kernel-sign",
        "Section 2.1, definition of the Gaussian kernel",
        "K(x, y) = exp(½‖x-y‖²)",
        "the features have mean exp(-½‖x-y‖²), and the softmax identity needs that sign",
        "K(x, y) = exp(-½‖x-y‖²)",
        "refuted at x = 1, y = 0",
    ),
]
parameter = Complex(Real(-100, 0.25, open_high=True), Real(-100, 100))
dimension = Whole(1, 4096)
FORMULAS = [
    Formula(
        "gerf_b",
        "thm-gerf",
        "Coefficient B of a GERF, the root continuous in A.",
        (A, s),
        {A: parameter, s: Sign()},
        expr=Piecewise((1, s > 0), (I, True)) * sqrt(1 - 4 * A),
        definition=B_root,
    ),
    Formula(
        "gerf_c",
        "thm-gerf",
        "Coefficient C of a GERF.",
        (s,),
        {s: Sign()},
        expr=-(s + 1) / 2,
        definition=solution[C],
    ),
    Formula(
        "log_gerf_d",
        "thm-gerf",
        "Logarithm of the coefficient D of a GERF.",
        (A, d),
        {A: parameter, d: dimension},
        expr=d * Log1p(-4 * A) / 4,
        definition=d * log(1 - 4 * A) / 4,
    ),
    Formula(
        "gerf_d",
        "thm-gerf",
        "Coefficient D of a GERF.",
        (A, d),
        {A: parameter, d: Whole(1, 32)},
        expr=exp(d * Log1p(-4 * A) / 4),
        definition=exp(d * log(1 - 4 * A) / 4),
    ),
    Formula(
        "log_gaussian_kernel",
        "eq-sfm",
        "Logarithm of the Gaussian kernel.",
        (x, y),
        {x: Vector(Real(-100, 100)), y: Vector(Real(-100, 100))},
        expr=-Sum((x[l] - y[l]) ** 2, (l, 1, d)) / 2,
        definition=Sum(x[l] * y[l], (l, 1, d)) - n_of_x / 2,
    ),
    Formula(
        "log_softmax_kernel",
        "eq-sfm",
        "Logarithm of the softmax kernel.",
        (x, y),
        {x: Vector(Real(-100, 100)), y: Vector(Real(-100, 100))},
        expr=Sum(x[l] * y[l], (l, 1, d)),
        definition=log_kernel + n_of_x / 2,
    ),
]
check_formulas(FORMULAS)
