# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
# ---

# %% [markdown]
# # 11 · The best complex parameter of a GERF
#
# **The paper (before Theorem 3.3).** "It is unclear how to find a global minimum of the objective
# [the variance of Theorem 3.2] with respect to $A\in\mathbb C$, $\mathrm{Re}(1-8A)>0$ and $s\in\{-1,+1\}$."
#
# **Theorem.** Let $z=\|x+sy\|^2>0$. For either sign the variance has one minimum over all complex A with
# $\mathrm{Re}(1-8A)>0$, and it is **real**.
#
# * $s=+1$: it is Theorem 3.3's $A=(1-1/\rho^*)/8$. The best GERF is OPRF.
# * $s=-1$: it is $A=(1-1/t)/8$ with the root t of notebook 04, $\frac{d(t-1)}{2t(t+1)}=\frac z{1+e^{z(1+t)}}$. It is the only
#   stationary point in the half plane, and $0<A\le\kappa/(4d)$ with $\kappa e^{1+\kappa}=1$, $\kappa\approx0.2785$.
#
# So no search in the complex plane is needed: one closed form, one root on a line, and the smaller of two numbers.
# (For z = 0 the kernel is estimated without error at A = 0.)

# %%
import sympy as sp
from sympy import I, Rational, S, Symbol, atan2, cos, exp, im, log, re, sin, sqrt, symbols

from derivations.algebra import factor_roots, positive_by_coefficients
from derivations.arb import enclose
from derivations.certificate import certify, must_fail, reject, verify
from derivations.domain import Complex, Real, Sign, Whole
from derivations.formula import Formula, Statement, check_formulas
from derivations.intervals import prove_positive
from derivations.symbols import A, d, rho, s, t, z

PLUS, MINUS = "gerf-optimum-plus", "gerf-optimum-minus"

# %% [markdown]
# ## The objective in w = 1 - 8A
#
# Put $w=1-8A=u+iv$ with u > 0 and $N=|w+1|$. By notebook 03 the second moment is $e^{-(s+1)n}J$ with
# $$J=\tfrac12\big(e^P+\mathrm{Re}\,e^Q\big),\qquad P=d\,p_1+z\,p_2,\qquad Q=d\,q_1+z\,q_2,$$
# $$p_1=\tfrac12\log\tfrac{N^2}{4u},\quad p_2=\tfrac{N+s(u+1)}{2u},\qquad q_1=\log\tfrac{w+1}2-\tfrac12\log w,\quad q_2=s\big(1+\tfrac1w\big).$$
# The kernel does not depend on A, so the least variance is the least J. Below, α₁ … α₄ of Theorem 3.2 on one
# side and the parts of w on the other.

# %%
u, v = Symbol("u", positive=True), Symbol("v", real=True)
w, N, size = u + I * v, sqrt((u + 1) ** 2 + v**2), sqrt(u**2 + v**2)
p1, r1 = log(N**2 / (4 * u)) / 2, log(N**2 / (4 * size)) / 2
p2, r2 = (N + s * (u + 1)) / (2 * u), s * (1 + u / size**2)
P, ReQ = d * p1 + z * p2, d * r1 + z * r2


def Im_Q(u, v):
    return d * (atan2(v, u + 1) - atan2(v, u) / 2) - s * z * v / (u**2 + v**2)


parts = {u: 1 - 8 * re(A), v: -8 * im(A)}
inverse = 1 / (1 - 8 * A)
alpha = {
    "P": d * log(1 + 16 * (re(A) ** 2 + im(A) ** 2) / (1 - 8 * re(A))) / 2
    + z * (s / 2 + (s + 2 * sp.Abs(1 - 4 * A)) / (2 * (1 - 8 * re(A)))),
    "Re Q": d * (log(sp.Abs(1 - 4 * A)) - log(sp.Abs(1 - 8 * A)) / 2) + s * z * (1 + re(inverse)),
    "Im Q": d * (sp.arg(1 - 4 * A) - sp.arg(1 - 8 * A) / 2) + s * z * im(inverse),
}
sizes = {d: Whole(1, 6), z: Real(0, 6)}
half_plane = {A: Complex(Real(-2, Rational(1, 10)), Real(-1, 1)), s: Sign()} | sizes
mine = (P.subs(parts), ReQ.subs(parts), Im_Q(*parts.values()))
for (name, paper), form in zip(alpha.items(), mine, strict=True):
    certify("gerf-optimum", f"{name} from α₁ … α₄", paper, form, where=half_plane)

# %% [markdown]
# Q is holomorphic with $q_1'=\frac{w-1}{2w(w+1)}$ and $q_2'=-s/w^2$: its parts satisfy $\partial_uQ=Q'$, $\partial_vQ=iQ'$. With
# $G=P_u-iP_v$ the chain rule gives
# $$J_u-iJ_v=\tfrac12\big(e^PG+e^QQ'\big)=\tfrac12e^P(G+EQ'),\qquad E=e^{Q-P}.$$

# %%
w_bar = u - I * v
slopes = [(w - 1) / (2 * w * (w + 1)), -s / w**2]
Q_slope = d * slopes[0] + z * slopes[1]
whole = ReQ + I * Im_Q(u, v)
for what, side, wanted in (("u", whole.diff(u), Q_slope), ("v", whole.diff(v), I * Q_slope)):
    verify("gerf-optimum", f"Q by its parts, derivative in {what}", sp.simplify(side - wanted) == 0)

# %% [markdown]
# # s = +1: the optimum is OPRF
#
# **Plan.** P alone has one critical point, the real $w^*$ of Theorem 3.3, and goes to infinity at the edge of the half
# plane. Follow the gradient flow of P from any w down to $w^*$: if $|e^Q|\le e^P$ and $|Q'|\le|\nabla P|$ everywhere, J never
# increases on the way. So $J(w)\ge J(w^*)$.
#
# ## Step 1: |exp Q| ≤ exp P
#
# $\mathrm{Re}\,Q-P$ is a sum of two terms that are ≤ 0, and < 0 off the real axis:

# %%
plane = {u: Real(0.01, 5), v: Real(-5, 5)}
certify(
    PLUS,
    "Re Q - P, no term positive",
    (ReQ - P).subs(s, 1),
    -d * log(1 + v**2 / u**2) / 4 - z * v**2 * (1 / (u * size**2) + 1 / (2 * u * (N + u + 1))),
    where=plane | sizes,
)

# %% [markdown]
# ## Step 2: |Q'| ≤ |∇P|
#
# $|\nabla P|^2-|Q'|^2=d^2D_{11}+2dz\,D_{12}+z^2D_{22}$ with $D_{ij}=\nabla p_i\cdot\nabla p_j-\mathrm{Re}(q_i'\overline{q_j'})$: it suffices that no
# $D_{ij}$ is negative. **First derivation:** real gradients of $p_i$ and of $\mathrm{Re}\,q_i$ (Cauchy–Riemann:
# $\nabla\mathrm{Re}\,q_i\cdot\nabla\mathrm{Re}\,q_j=\mathrm{Re}(q_i'\overline{q_j'})$). **Second:** Wirtinger derivatives, $2\partial_wu=1$ and
# $2\partial_wN=(\bar w+1)/N$, so that
# $$2\partial_wp_1=\frac{\bar w-1}{2u(w+1)},\qquad 2\partial_wp_2=\frac1{2u}\Big(\frac{\bar w+1}N+s\Big)-\frac{N+s(u+1)}{2u^2}.$$


# %%
def by_gradients(i, j):
    total = S.Zero
    for f, weight in (((p1, p2), 1), ((r1, r2), -1)):
        total += weight * sum(f[i].diff(x) * f[j].diff(x) for x in (u, v))
    return total.subs(s, 1)


def wirtinger(sign):
    second = ((w_bar + 1) / N + sign) / (2 * u) - (N + sign * (u + 1)) / (2 * u**2)
    return [(w_bar - 1) / (2 * u * (w + 1)), second]


def by_wirtinger(i, j, sign=1):
    """Re(f_i conj f_j) for both families, as half the sum with the complex conjugate."""
    total = S.Zero
    for f, weight in ((wirtinger(sign), 1), ([q.subs(s, sign) for q in slopes], -1)):
        product = f[i] * f[j].subs(v, -v)
        total += weight * (product + product.subs(v, -v)) / 2
    return sp.radsimp(sp.simplify(total))


for i, j in ((0, 0), (0, 1), (1, 1)):
    certify(PLUS, f"D{i + 1}{j + 1}", by_gradients(i, j), by_wirtinger(i, j), where=plane)

# %% [markdown]
# **Signs.** With $N=u+1+k$, $k\ge0$, we have $v^2=k(2u+2+k)$, and each $D_{ij}$ becomes a rational function
# of u and k. $D_{11}=\frac{|w-1|^2v^2}{4u^2N^2|w|^2}\ge0$. In $D_{22}$ every coefficient is positive. $D_{12}$ is
# $\frac{k\,R(u,k)}{4u^3N^2|w|^4}$, where R has one negative coefficient, in the part without k: $u^2(2u^4+u^3-7u^2+8)$ with $2u^4-7u^2+8=2(u^2-\tfrac74)^2+\tfrac{15}8>0$.

# %%
k = Symbol("k", positive=True)


def in_k(expr):
    inside = factor_roots(expr.subs(v, sqrt(k * (2 * u + 2 + k))))
    return sp.factor(sp.simplify(inside))


def verify_D22(sign):
    D22 = in_k(by_wirtinger(1, 1, sign))
    verify(PLUS, "D22 ≥ 0: positive coefficients", positive_by_coefficients(D22, u, k))


squares = ((u - 1) ** 2 + v**2) * v**2 / (4 * u**2 * N**2 * size**2)
verify(PLUS, "D11 = |w-1|²v²/(4u²N²|w|²) ≥ 0", sp.simplify(by_gradients(0, 0) - squares) == 0)
verify_D22(1)
scale = 4 * u**3 * (u + 1 + k) ** 2 * (u**2 + k * (2 * u + 2 + k)) ** 2 / k
R = sp.expand(sp.cancel(in_k(by_wirtinger(0, 1)) * scale))
free = R.subs(k, 0)
with_k = positive_by_coefficients(R - free, u, k)
verify(PLUS, "D12 ≥ 0: the terms of R with k have positive coefficients", with_k)
square = 2 * (u**2 - Rational(7, 4)) ** 2 + Rational(15, 8) + u**3
others = sp.expand(free - u**2 * square) == 0
verify(PLUS, "D12 ≥ 0: the others are u² times a square and more", others)
R

# %% [markdown]
# ## Step 3: the landscape of P
#
# $P_v=v\big(\frac d{N^2}+\frac z{2uN}\big)$ vanishes on the real axis only. There P is, with ρ = 1/u, the log second moment of notebook
# 04, which has one stationary point, its minimum ρ*. And $P\ge\frac d2\log\frac{N^2}{4u}$ with $N^2>|w|^2\ge|w|u$ and $N^2>1$ gives
# $P\ge\frac d2\log\max(\frac{|w|}4,\frac1{4u})$: the sets $\{P\le\text{const}\}$ are compact in the open half plane.

# %%
P_plus = P.subs(s, 1)
upward = sp.simplify(P_plus.diff(v) - v * (d / N**2 + z / (2 * u * N))) == 0
verify(PLUS, "∂P/∂v = v(d/N² + z/(2uN))", upward)
on_axis = d * log((1 + rho) / (2 * sqrt(rho))) + (1 + rho) * z
certify(
    PLUS,
    "P on the real axis is Theorem 3.3's objective",
    P_plus.subs({v: 0, u: 1 / rho}),
    on_axis,
    where={rho: Real(0.01, 3)} | sizes,
)
verify(PLUS, "N² - |w|² and N² - 1 are positive", sp.expand(N**2 - size**2) == 2 * u + 1)

# %% [markdown]
# ## Step 4: the flow
#
# Let $\gamma'=-\nabla P(\gamma)$ start at w. P decreases along γ, so γ stays in a compact set, exists for all times and
# tends to the critical point $w^*$. As a complex number $\nabla P=\bar G$, and by Steps 1 and 2
# $$\big(J\circ\gamma\big)'=-\tfrac12\mathrm{Re}\big((e^PG+e^QQ')\,\bar G\big)
#   \le-\tfrac12e^P|G|^2+\tfrac12|e^Q||Q'||G|\le-\tfrac12\big(e^P-|e^Q|\big)|\nabla P|^2\le0 .$$
# Hence $J(w)\ge J(w^*)$. Off the axis the inequality is strict at once, and on the axis $J=e^P$, so $w^*$ is the only minimum. ∎
#
# **For s = -1 this fails**: at w = 1 the gradient of P is 0 while Q' = z.

# %%
must_fail(PLUS, "planted error (D22 ≥ 0 for s = -1)", lambda: verify_D22(-1))

# %% [markdown]
# # s = -1: no stationary point off the real axis
#
# **Plan.** Polar coordinates $w=\mu e^{i\theta}$ with $c=\cos\theta$, $\sigma=\sin\theta$. J is the same at w and $\bar w$, so let
# $0<\theta<\frac\pi2$. Write $E=\eta e^{i\varphi}$ with $\eta=|E|$, and $\zeta=z/\mu$, $x=\zeta c$. One combination of the two derivatives has a sign:
#
# **Lemma.** $\;2e^{-P}\big[(1+\eta\cos\varphi)\,J_\theta+\eta\sin\varphi\;\mu J_\mu\big]=T_1+T_2+T_3>0$, where
# $$T_1=d\sigma\Big[\frac{1+\eta\cos\varphi}{2c}-\frac{\mu|1+E|^2}{N^2}\Big],\qquad
#   T_3=\zeta\eta\,\big[\eta\sigma-\sin(\varphi-\theta)\big],$$
# $$T_2=z\big[(1+\eta\cos\varphi)\,\partial_\theta p_2+\eta\sin\varphi\;\mu\partial_\mu p_2\big],\quad
#   \partial_\theta p_2=\frac{\sigma\mu(N+\mu c+c^2)}{2c^2N(N+\mu c+1)},\quad \mu\partial_\mu p_2=\frac{\sigma^2\mu}{2cN(N+\mu c+1)} .$$
# At a stationary point it would be 0. (The left side is $-\mathrm{Im}\big((1+\bar E)(G+EQ')w\big)$. Both $Gw$ and $Q'w$ contain
# $\frac d2\tau$ with $\tau=\frac{w-1}{w+1}=1-\frac1{1-4A}$, the point of the unit disc that belongs to A; the factor $1+\bar E$ turns
# $(1+E)\tau$ into $|1+E|^2\tau$: only $\mathrm{Im}\,\tau$ survives there, and what is left is monotone in cos φ.)
#
# **First derivation:** differentiate the real forms, $\partial_\theta=u\partial_v-v\partial_u$ and $\mu\partial_\mu=u\partial_u+v\partial_v$. **Second:** the closed forms.

# %%
E_re, E_im = symbols("E_re E_im", real=True)  # η cos φ and η sin φ
mu, theta, eta = symbols("mu theta eta", positive=True)


def turn(f):
    return u * f.diff(v) - v * f.diff(u)


def stretch(f):
    return u * f.diff(u) + v * f.diff(v)


def combination(parts):
    """The Lemma's left side for given parts of P, Re Q, Im Q; J = ½(exp P + exp(Re Q) cos Im Q)."""
    p, r, i = (part.subs(s, -1) for part in parts)
    turned, stretched = (step(p) + E_re * step(r) - E_im * step(i) for step in (turn, stretch))
    return (1 + E_re) * turned + E_im * stretched


def terms(mu, c, sigma, N, E_re, E_im):
    below = N * (N + mu * c + 1)
    turned = sigma * mu * (N + mu * c + c**2) / (2 * c**2 * below)
    stretched = sigma**2 * mu / (2 * c * below)
    modulus = (1 + E_re) ** 2 + E_im**2
    T1 = d * sigma * ((1 + E_re) / (2 * c) - mu * modulus / N**2)
    T2 = z * ((1 + E_re) * turned + E_im * stretched)
    T3 = z / mu * ((E_re**2 + E_im**2) * sigma - (E_im * c - E_re * sigma))
    return T1, T2, T3


angle = Im_Q(u, v)
by_parts = {
    "T1, the part with d": combination([f.subs(z, 0) for f in (P, ReQ, angle)]),
    "T2, from z p₂": combination([z * p2, S.Zero, S.Zero]),
    "T3, from z q₂": combination([S.Zero, z * r2, angle.subs(d, 0)]),
}
closed = terms(size, u / size, v / size, N, E_re, E_im)
anywhere = plane | sizes | {E_re: Real(-1, 1), E_im: Real(-1, 1)}
for (name, part), form in zip(by_parts.items(), closed, strict=True):
    certify(MINUS, name, part, form, where=anywhere)
certify(
    MINUS,
    "log η = (d/2) log c - z - x - z p₂",
    (ReQ - P).subs(s, -1),
    d * log(u / size) / 2 - z - z * u / size**2 - z * (N - u - 1) / (2 * u),
    where=plane | sizes,
)

# %% [markdown]
# Since $p_2\ge0$ and $d\ge1$, $\eta\le\sqrt c\,e^{-z-x}<1$. The phase is $\varphi=d\psi+\zeta\sigma$ with $\psi=\arg(1+w)-\frac\theta2$. As
# $0<\arg(1+w)<\theta$, $|\psi|<\frac\theta2$; and $\psi\le0$ when μ ≤ 1, because $\mathrm{Im}\big((1+w)e^{-i\theta/2}\big)=(\mu-1)\sin\frac\theta2$.
#
# **T₂ ≥ 0.** Up to a positive factor T₂ is $(1+\eta\cos\varphi)B+\eta\sin\varphi\,\sigma c$ with $B=N+\mu c+c^2\ge1+c^2$, at least
# $B-\eta\sqrt{B^2+\sigma^2c^2}$. As $\eta^2\le c$, it suffices that $c\big(1+\frac{\sigma^2c^2}{(1+c^2)^2}\big)\le1$, which is $(1-c)(1+2c^2-c^3)\ge0$.
#
# **T₁.** $N^2-4\mu c=|w-1|^2\ge0$, so T₁ grows with cos φ, and from its value at cos φ = -1
# $$T_1\ge d\sigma(1-\eta)\Big[\frac1{2c}-\frac{\mu(1-\eta)}{N^2}\Big]\ge\frac{d\sigma(1-\eta^2)}{4c}>0 .$$

# %%
half_turned = (1 + mu * exp(I * theta)) * exp(-I * theta / 2)
rest = sp.im(sp.expand(half_turned.rewrite(cos), complex=True)) - (mu - 1) * sin(theta / 2)
verify(MINUS, "Im((1+w) exp(-iθ/2)) = (μ-1) sin(θ/2)", sp.simplify(rest) == 0)
c, sigma, b = symbols("c sigma b", positive=True)
room = (1 + c**2) ** 2 - c * ((1 + c**2) ** 2 + (1 - c**2) * c**2) - (1 - c) * (1 + 2 * c**2 - c**3)
verify(MINUS, "T2: the room left is (1-c)(1+2c²-c³)", sp.expand(room) == 0)
verify(MINUS, "T1: N² - 4μc = |w-1|²", sp.expand(N**2 - 4 * u - (u - 1) ** 2 - v**2) == 0)
length = Symbol("N", positive=True)
low_T1 = d * sigma * (1 - eta) * (1 / (2 * c) - mu * (1 - eta) / length**2)
at_worst = terms(mu, c, sigma, length, -eta, S.Zero)[0]
verify(MINUS, "T1 at cos φ = -1", sp.simplify(at_worst - low_T1) == 0)
edge = low_T1.subs(length, 2 * sqrt(mu * c)) - d * sigma * (1 - eta**2) / (4 * c)
verify(MINUS, "T1: the second bound, from N² ≥ 4μc", sp.simplify(edge) == 0)

# %% [markdown]
# **T₁ + T₃ > 0.** Let $X=\varphi-\theta$. If $\sin X\le0$ or z = 0, then $T_3\ge0$ and we are done. Otherwise there are three cases.
#
# **Case 1: X < -π.** As $\varphi\ge-\frac{d\theta}2$, $d\theta>2\pi-2\theta$, and with $\sigma\ge\frac2\pi\theta$ we get $d\sigma>4-\frac{4\theta}\pi>2$. With $L=\log\frac1\eta\ge x$,
# $1-\eta^2=2\eta\sinh L\ge2\eta x$, so $T_1\ge\frac{d\sigma}{4c}\,2\eta x=\tfrac12d\sigma\,\zeta\eta>\zeta\eta>-T_3$.
#
# **Case 2: X > 0, μ > 1.** Let $h=\tan\frac\theta2$, so $\sigma=(1+c)h$ and $T_1\ge\frac d2h(1-\eta^2)$. From $\psi\le\frac\theta2\le h$ and $\theta\ge\sigma$,
# $\sin X\le X\le h\,[d+(\zeta-1)(1+c)]$, so
# $$T_1+T_3\ge\tfrac h2\big(d(1-\eta^2)-2\zeta\eta\,[d+(\zeta-1)(1+c)]\big).$$
# Now z > ζ; with $q=\zeta(1+c)$, $\eta\le\sqrt c\,e^{-q}$ and $2\zeta\eta\le\frac{2\sqrt c}{1+c}qe^{-q}\le qe^{-q}$.
# If ζ ≤ 1, the bracket is at most d, and $1-\eta^2-2\zeta\eta\ge1-e^{-2q}-qe^{-q}=e^{-q}(2\sinh q-q)>0$.
# If ζ ≥ 1, it is at most $d(q-c)\le dq$ (as q ≥ 1+c and d ≥ 1), and $\eta^2+2\zeta\eta q\le e^{-2q}+q^2e^{-q}\le5e^{-2}<1$, because q ≥ 1 and $q^2e^{-q}$ is largest at q = 2.

# %%
q = Symbol("q", positive=True)
peak = sp.solve((q**2 * exp(-q)).diff(q), q) == [2]
verify(MINUS, "case 2: q² exp(-q) has its one maximum at q = 2", peak)
verify(MINUS, "case 2: 5 exp(-2) < 1", bool(enclose(5 * exp(S(-2)), {}).real < 1))

# %% [markdown]
# **Case 3: X > 0, μ ≤ 1.** Here $\psi\le0$, so $0<X\le\zeta\sigma-\theta\le(\zeta-1)\sigma$: ζ > 1, that is x > c, and $\sin X\le\sigma M$ with both
# $M=\frac1\sigma$ and $M=\frac xc-1$ allowed. With $k=\frac{2\mu c}{N^2}\le\frac12$ the first bound on T₁ gives
# $$\tfrac{2c}\sigma(T_1+T_3)\ge f(\eta)=(1-\eta)\big[1-k(1-\eta)\big]+2x\eta^2-2x\eta M .$$
# $\frac{f(\eta)}\eta=(1-k)\big(\frac1\eta-1\big)+k(1-\eta)+2x\eta-2xM$ falls with η ($k\le\frac12$): its derivative is at most $2x-\frac1{2\eta^2}$, and
# $\eta\le e^{-x}$ makes $\frac1{2\eta^2}\ge\frac12e^{2x}>2x$ (as $e^y>2y$ for all y). So f > 0 follows from f > 0 at any larger η up to
# $e^{-x}$; take $\eta=\sqrt c\,e^{-x(1+\mu)}$, allowed since $z=x\mu/c\ge x\mu$. Two inequalities in x, μ and $g=\sqrt c$ are left: with
# $M=\frac1\sigma$ for $g\le\frac56$ and with $M=\frac xc-1$ for $g\ge\frac56$.

# %%
x, g = symbols("x g", positive=True)
share = 2 * mu * g**2 / (1 + mu**2 + 2 * mu * g**2)  # k


def f_at(value, M):
    return (1 - value) * (1 - share * (1 - value)) + 2 * x * value**2 - 2 * x * value * M


divided = (1 - share) * (1 / eta - 1) + share * (1 - eta) + 2 * x * eta - 2 * x * b
verify(MINUS, "case 3: f(η)/η", sp.simplify(f_at(eta, b) / eta - divided) == 0)
falling = sp.simplify(divided.diff(eta) - (2 * x - share - (1 - share) / eta**2)) == 0
verify(MINUS, "case 3: its derivative is 2x - k - (1-k)/η²", falling)
top, split = g * exp(-x * (1 + mu)), Rational(5, 6)
flat, steep = f_at(top, 1 / sqrt(1 - g**4)), f_at(top, x / g**2 - 1)
prove_positive(MINUS, "case 3, g ≤ 5/6", flat, {x: (0, 6), mu: (0, 1), g: (0, split)})
prove_positive(MINUS, "case 3, g ≥ 5/6", steep, {x: (split**2, 6), mu: (0, 1), g: (split, 1)})

# %% [markdown]
# **x ≥ 6.** In both, $M\le\frac{36}{25}x$ (for $g\le\frac56$ because $\frac1\sigma<2<\frac{36}{25}\cdot6$), $\eta\le e^{-x}$ and $k\le\frac12$, so
# $f\ge\tfrac12(1-e^{-x})-\tfrac{72}{25}x^2e^{-x}$, positive when $e^x-1-\frac{144}{25}x^2>0$: true at x = 6, where also the first two derivatives are
# positive, and the third is $e^x$. ∎

# %%
beyond = exp(x) - 1 - Rational(144, 25) * x**2
starts = [bool(enclose(beyond.diff(x, order), {x: S(6)}).real > 0) for order in range(3)]
verify(MINUS, "case 3: x ≥ 6", all(starts) and beyond.diff(x, 3) == exp(x))
verify(MINUS, "case 3: σ² = 1 - g⁴ > 1/4 for g ≤ 5/6", bool(1 - split**4 > Rational(1, 4)))

# %% [markdown]
# **Check of the Lemma, without its proof**: the whole sum over σ with its own η and φ, for d = 1, on a box.

# %%
root_N = sqrt(1 + 2 * mu * cos(theta) + mu**2)
lift = (root_N - mu * cos(theta) - 1) / (2 * mu * cos(theta))
own_eta = sqrt(cos(theta)) * exp(-z * (1 + cos(theta) / mu + lift))
phase = atan2(sin(theta) * mu, cos(theta) * mu + 1) - theta / 2 + z * sin(theta) / mu
own = terms(mu, cos(theta), sin(theta), root_N, own_eta * cos(phase), own_eta * sin(phase))
box = {mu: (Rational(3, 4), Rational(5, 4)), theta: (Rational(1, 2), 1), z: (1, 2)}
prove_positive(MINUS, "T1 + T2 + T3 over σ, d = 1", sum(own).subs(d, 1) / sin(theta), box)

# %% [markdown]
# ## The conclusion for s = -1
#
# $J\ge\frac12e^P(1-\eta)$ with $\eta\le e^{-z}$, and $P\ge d\,p_1$ goes to infinity at the edge as in Step 3: for z > 0 a minimum exists. It is a
# stationary point, hence real, and on the real axis notebook 04 has exactly one, $A=(1-1/t)/8$.
#
# **How large is A?** With $y=z(1+t)$ the root's equation reads $4dA=\frac y{1+e^y}$. The right side is at most κ, where
# $\kappa(1+e^y)-y$ has the least value 0 over y, taken at $e^y=1/\kappa$: $1+\kappa+\log\kappa=0$. So $0<A\le\kappa/(4d)$, attained when
# $y=1+\kappa$; rounded up, κ < 0.2785.

# %%
equation = d * (t - 1) / (2 * t * (t + 1)) - z / (1 + exp(z * (1 + t)))
in_y = 4 * d * (1 - 1 / t) / 8 - z * (1 + t) / (1 + exp(z * (1 + t)))
line = {t: Real(1, 2.5)} | sizes
certify(MINUS, "the root's equation times 1+t, in A and y", equation * (1 + t), in_y, where=line)
y = Symbol("y", real=True)
kappa = Rational(557, 2000)


def verify_bound(value):
    gap = value * (1 + exp(y)) - y
    least = sp.simplify(gap.subs(y, -log(value)) - (1 + value + log(value))) == 0
    flat = sp.simplify(gap.diff(y).subs(y, -log(value))) == 0 and gap.diff(y, 2).is_positive
    above = bool(enclose(1 + value + log(value), {}).real > 0)
    verify(MINUS, f"y/(1+e^y) < {value}", bool(least and flat and above))


verify_bound(kappa)

# %% [markdown]
# ## Planted errors

# %%
wrong = v * (d / N**2 + z / (u * N))
reject(PLUS, "factor ½ lost in ∂P/∂v", P_plus.diff(v), wrong, where=plane | sizes)
reject(
    MINUS,
    "sin φ in place of sin(φ-θ) in T3",
    by_parts["T3, from z q₂"],
    z / size * ((E_re**2 + E_im**2) * v / size - E_im),
    where=anywhere,
)
low = {x: (2, 3), mu: (0, Rational(1, 10)), g: (Rational(1, 2), Rational(3, 5))}
must_fail(
    MINUS,
    "planted error (case 3, M = x/c - 1 for small g)",
    lambda: prove_positive(MINUS, "M = x/c - 1", steep, low),
)
must_fail(MINUS, "planted error (κ = 0.278)", lambda: verify_bound(Rational(278, 1000)))

# %% [markdown]
# ## Formulas
#
# The bound brackets the root: t lies between 1 and $1/(1-8A)$ at the bound.

# %%
STATEMENTS = [
    Statement(
        "gerf-optimum",
        "asked before Theorem 3.3",
        "over complex A and both signs the least variance is at a real A: the smaller of two numbers",
    ),
    Statement(
        PLUS,
        "beyond",
        "s = +1: over all complex A the variance is least at Theorem 3.3's real A; GERF = OPRF",
    ),
    Statement(
        MINUS,
        "beyond",
        "s = -1: the only stationary point over complex A is the real minimum, A = (1-1/t)/8 in (0, κ/(4d)], κ < 0.2785",
    ),
]
ERRATA = []
FORMULAS = [
    Formula(
        "gerf_minus_bound",
        MINUS,
        "Upper bound of the optimal A for s = -1.",
        (d,),
        {d: Whole(1, 4096)},
        expr=kappa / (4 * d),
    ),
]
check_formulas(FORMULAS)
