# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
# ---

# %% [markdown]
# # 06 · Statistics of sets, and what their averages are good for
#
# The optimal parameters of one pair (x, y) depend on $\|x+sy\|^2$, on $\sum_l x_l^2y_l^2$ or on
# $|x_ly_l|$. For sets $x_1,\dots,x_L$ and $y_1,\dots,y_L$ the paper puts the average over all $L^2$
# pairs in their place and computes it in O(Ld).
#
# **Statements (printed, eq. `gestat`, `poisstat`, `geomstat`).**
# $$\tfrac1{L^2}\sum_{i,j}\|x_i+sy_j\|^2=\tfrac1L\sum_i\|x_i\|^2
#   +\tfrac{2s}{L^2}\Big(\sum_i x_i\Big)^{\!\top}\Big(\sum_i y_i\Big)+\tfrac1L\sum_i\|y_i\|^2,$$
# $$L^{-2}\sum_{i,j}\sum_l x_{il}^2\,y_{jl}^2
#   =L^{-2}\sum_l\Big(\sum_i x_{il}^2\Big)\Big(\sum_i y_{il}^2\Big),\qquad
#   L^{-2}\sum_{i,j}|x_{il}\,y_{jl}|=L^{-2}\Big(\sum_i|x_{il}|\Big)\Big(\sum_i|y_{il}|\Big).$$
#
# They are proved here for sets of different sizes $L_x$ and $L_y$, which the paper does not state.
# Then comes a question it leaves open: is the parameter found from averages optimal for the sets?

# %%
import sympy as sp
from flint import acb
from sympy import Abs, IndexedBase, Rational, S, Sum, Symbol, besseli, exp, log, sqrt, symbols

from derivations.arb import Evaluator, at_precision, enclose
from derivations.certificate import certify, must_fail, refute, reject, verify
from derivations.domain import Real, Sign, Vector, Whole
from derivations.formula import Formula, Statement, check_formulas
from derivations.identities import QUADRATURE_BITS, gaussian_mean_arb, series_arb
from derivations.intervals import prove_positive
from derivations.symbols import A, d, l, lam, q, rho, s, t, x_l, y_l, z

# %% [markdown]
# ## First derivation: expand the double sum and factorise
#
# All three are sums over coordinates, so one coordinate is enough. What is averaged is there a sum
# of products $c\,f(x_i)\,g(y_j)$, and distributivity gives $\sum_i\sum_j
# c\,f(x_i)g(y_j)=c\,\big(\sum_i f(x_i)\big)\big(\sum_j g(y_j)\big)$ with $\sum_i1=L_x$. For real
# numbers $|xy|=\sqrt{x^2y^2}=|x||y|$.

# %%
L_x, L_y = symbols("L_x L_y", integer=True, positive=True)
U, V = (L_x, *symbols("X1 X2 XA", real=True)), (L_y, *symbols("Y1 Y2 YA", real=True))
powers_x, powers_y = [(S.One, v, v**2, Abs(v)) for v in (x_l, y_l)]  # their sums are U and V
SUMMANDS = {
    "eq-gestat": (x_l + s * y_l) ** 2,
    "eq-poisstat": x_l**2 * y_l**2,
    "eq-geomstat": sqrt(x_l**2 * y_l**2),
}


def factorised(summand):
    """The double sum of `summand` through sums over one set, for s² = 1."""
    total = S.Zero
    for term in sp.Add.make_args(sp.expand(summand).subs(s**2, 1)):
        rest, of_y = term.as_independent(y_l, as_Add=False)
        number, of_x = rest.as_independent(x_l, as_Add=False)
        total += number * U[powers_x.index(of_x)] * V[powers_y.index(of_y)]
    return total


{name: factorised(summand) for name, summand in SUMMANDS.items()}

# %% [markdown]
# ## Second derivation: add one point at a time
#
# Let $D(L_x,L_y)$ be the double sum. It is 0 when a set is empty, and when a new x = a and a new y
# = b join, $D(L_x{+}1,L_y{+}1)-D(L_x{+}1,L_y)-D(L_x,L_y{+}1)+D(L_x,L_y)$ is the one new corner, the
# summand at (a, b). Only one function has both properties. The form $\sum_{uv}c_{uv}U_uV_v$ in the
# sums $U=(L_x,\sum x,\sum x^2,\sum|x|)$ and the like V has the first; its 16 coefficients are
# *solved for* from the second.

# %%
a, b, size_a, size_b = symbols("a b size_a size_b")  # the new values and their absolute values
unknown = sp.Matrix(4, 4, lambda u, v: Symbol(f"c{u}{v}"))
joined = {x_l: a, y_l: b, Abs(x_l): size_a, Abs(y_l): size_b, s**2: 1}


def form(left, right):
    return (sp.Matrix([left]) * unknown * sp.Matrix(right))[0]


def by_increments(summand):
    more_x = [u + new for u, new in zip(U, (1, a, a**2, size_a), strict=True)]
    more_y = [v + new for v, new in zip(V, (1, b, b**2, size_b), strict=True)]
    growth = form(more_x, more_y) - form(more_x, V) - form(U, more_y) + form(U, V)
    corner = sp.expand(summand).subs(joined, simultaneous=True)
    equations = sp.Poly(sp.expand(growth - corner), a, b, size_a, size_b).coeffs()
    return form(U, V).subs(sp.solve(equations, list(unknown)))


# %% [markdown]
# **Certificates**, one coordinate, any sizes. Over $L_xL_y$ these are the printed forms, with
# $\frac1{L_x}$ before sums over x and $\frac1{L_y}$ before sums over y.

# %%
any_sums = {L_x: Whole(1, 50), L_y: Whole(1, 50), s: Sign()}
any_sums |= {total: Real(-9, 9) for total in U[1:] + V[1:]}
for name, summand in SUMMANDS.items():
    ways = [way(summand) / (L_x * L_y) for way in (factorised, by_increments)]
    certify(name, "double sum for every L_x and L_y", *ways, where=any_sums)

# %% [markdown]
# **Written out for small sets**, with symbolic entries in d coordinates: the mean over pairs, term
# by term, is the O(Ld) form. Arb runs the double loop itself.


# %%
def certify_sets(statement, what, summand, shape, parameters, cell):
    """Mean over pairs of Σ_l `summand` = its O(Ld) form; `cell` is Arb's value of one summand."""
    count_x, count_y, dim = shape
    xs, ys = (
        [[Symbol(f"{name}{i}{c}", real=True) for c in range(dim)] for i in range(count)]
        for name, count in (("x", count_x), ("y", count_y))
    )
    places = [(p[c], r[c]) for p in xs for r in ys for c in range(dim)]
    pairwise = sum(summand.subs({x_l: u, y_l: v}) for u, v in places) / (count_x * count_y)
    fast = S.Zero
    for c in range(dim):
        sums = {v: sum(f.subs(x_l, p[c]) for p in xs) for f, v in zip(powers_x, U, strict=True)}
        sums |= {v: sum(f.subs(y_l, p[c]) for p in ys) for f, v in zip(powers_y, V, strict=True)}
        fast += factorised(summand).subs(sums) / (count_x * count_y)

    def loop(point):
        at = Evaluator(point)
        return sum((cell(at, u, v) for u, v in places), acb(0)) / (count_x * count_y)

    what = f"{what} (L_x = {count_x}, L_y = {count_y}, d = {dim})"
    where = {v: Real(-1, 1) for p in xs + ys for v in p} | parameters
    by_loop = lambda point: at_precision(lambda: loop(point), QUADRATURE_BITS)  # noqa: E731
    certify(statement, what, pairwise, fast, where=where, reference=by_loop)


CELLS = {
    "eq-gestat": lambda at, u, v: (at(u) + at(s) * at(v)) ** 2,
    "eq-poisstat": lambda at, u, v: (at(u) * at(v)) ** 2,
    "eq-geomstat": lambda at, u, v: acb(abs(at(u) * at(v))),
}
for name, summand in SUMMANDS.items():
    for shape in ((2, 2, 1), (3, 3, 1), (2, 2, 2), (3, 2, 2)):
        certify_sets(name, "written out", summand, shape, {s: Sign()}, CELLS[name])

# %% [markdown]
# ## Which plug-in optima are exact?
#
# Let $\ell(\theta;x,y)$ be the logarithm of the second moment of a feature product with parameter
# θ. The variance of one pair is $e^\ell-K^2$ and K does not depend on θ, so one pair wants the
# least ℓ, and sets want the least mean of ℓ. If ℓ is **affine in the statistics**, with
# coefficients that depend on θ only, its mean is ℓ at their means, and the optimum found there is
# exact: no homogeneity of the data is needed. By notebooks 03 to 05, with $z=\|x+y\|^2$ and
# $n=\|x\|^2+\|y\|^2$,
#
# * OPRF, $\rho=1/(1-8A)$: $\ell=d\log\frac{1+\rho}{2\sqrt\rho}+(1+\rho)z-2n$;
# * Poisson: $\ell=\sum_l(\lambda_l+x_l^2y_l^2/\lambda_l)-n$; rates are equal in PoisRF, free in
#   OptPoisRF.
#
# **Certificate.** Both are sums over coordinates of the kind above. So the same two derivations
# give the mean of ℓ, and Arb gets each second moment from its definition: by quadrature over ω, and
# by summing squared features over the Poisson law.

# %%
log_moments = {
    "OPRF": log((1 + rho) / (2 * sqrt(rho))) + (1 + rho) * (x_l + y_l) ** 2 - 2 * (x_l**2 + y_l**2),
    "Poisson": lam + x_l**2 * y_l**2 / lam - x_l**2 - y_l**2,
}


def gaussian_cell(at, u, v):
    """log E X² of one coordinate of an OPRF: A = (1 - 1/ρ)/8, B² = D⁴ = 1 - 4A, C = -1."""
    a_value = (1 - 1 / at(rho)) / 8
    mean = gaussian_mean_arb(4 * a_value, 2 * (1 - 4 * a_value).sqrt() * (at(u) + at(v)))
    return (mean * (1 - 4 * a_value)).log() - 2 * (at(u) ** 2 + at(v) ** 2)


def poisson_cell(at, u, v):
    """log E X² of one coordinate, X = e^{λ - (x²+y²)/2} (xy/λ)^ω."""
    rate, ratio = at(lam), (at(u) * at(v)) ** 2 / at(lam)
    mean = series_arb(
        lambda k: (-rate).exp() * rate**k / acb(k + 1).gamma() * (ratio / rate) ** k,
        lambda k: abs(ratio) / (k + 1),
    )
    return mean.log() + 2 * rate - at(u) ** 2 - at(v) ** 2


rate = Real(Rational(1, 10), 2)
for name, cell, theta in (("OPRF", gaussian_cell, rho), ("Poisson", poisson_cell, lam)):
    ell, what = log_moments[name], f"{name}: mean log second moment from the statistics"
    where = any_sums | {theta: rate}
    certify("plug-in-optima", what, factorised(ell), by_increments(ell), where=where)
    certify_sets("plug-in-optima", what, ell, (2, 2, 2), {theta: rate}, cell)

# %% [markdown]
# **The optima.** OPRF: $2\rho(1+\rho)\,\ell'=2z\rho^2+(2z+d)\rho-d$ increases for ρ > 0 from -d, so
# its positive root, at the mean of z, is the only minimum. Poisson:
# $c\lambda+P/\lambda=2\sqrt{cP}+c\,(\lambda-\sqrt{P/c})^2/\lambda$, where c = d and
# $P=\sum_l\overline{x_l^2}\;\overline{y_l^2}$ for PoisRF, and c = 1 and
# $P=\overline{x_l^2}\;\overline{y_l^2}$ in every coordinate for OptPoisRF, whose $\lambda_l$ is
# thus $(\overline{x_l^2}\;\overline{y_l^2})^{1/2}$.

# %%
P, n = symbols("P n", positive=True)
oprf = d * log((1 + rho) / (2 * sqrt(rho))) + (1 + rho) * z - 2 * n
rho_star = 2 * d / (2 * z + d + sqrt((2 * z + d) ** 2 + 8 * d * z))
quadratic = 2 * z * rho**2 + (2 * z + d) * rho - d
slope_ok = sp.simplify(2 * rho * (1 + rho) * oprf.diff(rho) - quadratic) == 0
root_ok = sp.simplify(quadratic.subs(rho, rho_star)) == 0
verify("plug-in-optima", "OPRF: ρ* at the mean of z is the exact optimum", slope_ok and root_ok)


def square_completed(optimum):
    rest = d * lam + P / lam - 2 * sqrt(d * P) - d * (lam - optimum) ** 2 / lam
    verify("plug-in-optima", "PoisRF, OptPoisRF: λ* is the exact optimum", sp.expand(rest) == 0)


square_completed(sqrt(P / d))
must_fail("plug-in-optima", "planted error (2λ*)", lambda: square_completed(2 * sqrt(P / d)))

# %% [markdown]
# Exact for the mean of *logarithms*, that is. The mean of the variances themselves has another
# minimum already for OPRF: d = 1, x ∈ {0, 2}, y = 0, where z = n ∈ {0, 4}.

# %%
variances = sum(exp(oprf.subs({d: 1, z: v, n: v})) for v in (0, 4)) / 2
slope = variances.diff(rho).subs(rho, rho_star.subs({d: 1, z: 2}))
what = "ρ* at the mean of z is stationary for the mean of OPRF variances"
refute("plug-in-optima", what, S.Zero, slope, {})

# %% [markdown]
# ## GeomRF: a heuristic
#
# With $q=(1-p)^{-1/2}$, $\ell=-d\log(1-q^{-2})+\sum_l\log I_0(2q|x_ly_l|)-n$ is not affine in
# $|x_ly_l|$: $\log I_0$ is strictly convex (notebook 05), and ℓ is strictly convex in q with one
# minimum. By Jensen **the value at the averages is too small at every q**: the averages promise a
# lower second moment than the sets have.
#
# **Counterexamples**, d = 1, y = 1: where the slope in q at the averages vanishes, the slope of the
# mean does not. For x ∈ {0, 2} the plug-in q is too large, for x ∈ {2, 6} it is too small.


# %%
def geometric(values):
    """Mean of ℓ over pairs with |xy| in `values`, without the data term."""
    return -log(1 - q**-2) + sum(log(besseli(0, 2 * q * v)) for v in values) / len(values)


def verify_minimum(what, slope, at, low, high):
    signs = [enclose(slope, {at: Rational(end)}).real for end in (low, high)]
    verify("plug-in-optima", f"{what} in [{low}, {high}]", bool(signs[0] < 0 and signs[1] > 0))


for values, low, high, sign in (((0, 2), "1.383", "1.384", 1), ((2, 6), "1.11286", "1.11287", -1)):
    optimum = f"GeomRF, |xy| in {values}: plug-in optimum"
    verify_minimum(optimum, geometric([S(sum(values)) / 2]).diff(q), q, low, high)
    what = f"GeomRF, |xy| in {values}: slope of the mean, times {sign}"
    prove_positive("plug-in-optima", what, sign * geometric(values).diff(q), {q: (low, high)})
what = "GeomRF: mean log second moment is its value at the averages"
refute("plug-in-optima", what, geometric([S.One]), geometric((0, 2)), {q: Rational("1.3834")})

# %% [markdown]
# ## Complex GERF, s = -1: a heuristic
#
# Theorem 3.2 with s = -1 and real $A=(1-1/t)/8$ gives $\ell=\tfrac
# d2\log\frac{(1+t)^2}{4t}+\log\tfrac12\big(1+e^{-z(1+t)}\big)$, strictly convex in z: again the
# averages promise too little. For d = 1, x ∈ {0, 2}, y = 0 the mean of z is 2, and the minimum
# found there, t ≈ 1.134, is not stationary for the mean of ℓ.

# %%
theorem = [1 + 16 * A**2 / (1 - 8 * A), -1 - 1 / (1 - 8 * A)]  # α1^(2/d) = α3^(2/d), and α2
theorem += [(-1 + 2 * (1 - 4 * A)) / (2 * (1 - 8 * A)) - S.Half]  # α4
real_axis = [(1 + t) ** 2 / (4 * t), -(1 + t), S.Zero]
found = [sp.simplify(value.subs(A, (1 - 1 / t) / 8)) for value in theorem]
same = all(sp.expand(f - w) == 0 for f, w in zip(found, real_axis, strict=True))
verify("plug-in-optima", "s = -1, real A: ℓ from Theorem 3.2", same)
ell = log((1 + t) ** 2 / (4 * t)) / 2 + log((1 + exp(-z * (1 + t))) / 2)
bend = (1 + t) ** 2 * exp(z * (1 + t)) / (1 + exp(z * (1 + t))) ** 2
convex = sp.simplify(ell.diff(z, 2) - bend) == 0
verify("plug-in-optima", "s = -1: ℓ'' in z is (1+t)² e^w/(1+e^w)² > 0, w = z(1+t)", convex)
low, high = "1.133", "1.134"
verify_minimum("s = -1, z in (0, 4): plug-in minimum", ell.diff(t).subs(z, 2), t, low, high)
mean_slope = sum(ell.diff(t).subs(z, v) for v in (0, 4)) / 2
prove_positive("plug-in-optima", "s = -1: slope of the mean", mean_slope, {t: (low, high)})

# %% [markdown]
# ## Planted errors

# %%
for name, fault, wrong in (
    ("eq-gestat", "factor 2 lost", L_y * U[2] + s * U[1] * V[1] + L_x * V[2]),
    ("eq-poisstat", "squared sums for sums of squares", U[1] ** 2 * V[1] ** 2),
    ("eq-geomstat", "absolute values lost", U[1] * V[1]),
):
    reject(name, fault, by_increments(SUMMANDS[name]), wrong, where=any_sums)

# %% [markdown]
# ## Formulas
#
# They take means over one set. The definition of the first is the one of probability: i and j are
# independent, so the mean square of a sum is the square of its mean plus both variances. The others
# are printed as the certificates above state them.

# %%
STATEMENTS = [
    Statement("eq-gestat", "eq. gestat", "mean over pairs of ‖x_i + s·y_j‖² in O(Ld)"),
    Statement("eq-poisstat", "eq. poisstat", "mean over pairs of Σ_l x_l² y_l² in O(Ld)"),
    Statement("eq-geomstat", "eq. geomstat", "means over pairs of |x_l y_l| in O(Ld)"),
    Statement(
        "plug-in-optima",
        "beyond",
        "OPRF, PoisRF and OptPoisRF at the averages minimise the mean log second moment exactly; "
        "GeomRF and GERF with s = -1 do not",
    ),
]
ERRATA = []
names = ("mean_x", "mean_y", "sq_x", "sq_y", "abs_x", "abs_y")
mean_x, mean_y, sq_x, sq_y, abs_x, abs_y = (IndexedBase(name, real=True) for name in names)
mean_x2, mean_y2 = symbols("mean_x2 mean_y2", nonnegative=True)
variances = mean_x2 + mean_y2 - Sum(mean_x[l] ** 2 + mean_y[l] ** 2, (l, 1, d))
norm, mean = Real(0, 10**6), Vector(Real(-100, 100))
square, size = Vector(Real(0, 10**4)), Vector(Real(0, 100))

FORMULAS = [
    Formula(
        "mean_squared_norm",
        "eq-gestat",
        "Mean over pairs of ‖x_i + s·y_j‖² from the means over each set.",
        (mean_x2, mean_y2, mean_x, mean_y, s),
        {mean_x2: norm, mean_y2: norm, mean_x: mean, mean_y: mean, s: Sign()},
        expr=mean_x2 + 2 * s * Sum(mean_x[l] * mean_y[l], (l, 1, d)) + mean_y2,
        definition=Sum((mean_x[l] + s * mean_y[l]) ** 2, (l, 1, d)) + variances,
    ),
    Formula(
        "pois_statistic",
        "eq-poisstat",
        "Mean over pairs of Σ_l x_l² y_l² from the mean squares of each coordinate.",
        (sq_x, sq_y),
        {sq_x: square, sq_y: square},
        expr=Sum(sq_x[l] * sq_y[l], (l, 1, d)),
    ),
    Formula(
        "geom_statistic",
        "eq-geomstat",
        "Mean over pairs of |x_l y_l|, per coordinate, from the means of |x_l| and |y_l|.",
        (abs_x, abs_y),
        {abs_x: size, abs_y: size},
        expr=abs_x[l] * abs_y[l],
    ),
]
check_formulas(FORMULAS)
