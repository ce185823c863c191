"""The symbols every notebook shares, with the assumptions the proofs rely on.

The paper's notation: `v = x + s·y`, `z = ‖v‖²`, `n = ‖x‖² + ‖y‖²`, and `rho = 1/(1 - 8A)`.
"""

from sympy import IndexedBase, Symbol, symbols

d = Symbol("d", integer=True, positive=True)
"""Dimension of x and y."""

z, n = symbols("z n", nonnegative=True)
"""`z = ‖x + s·y‖²` and `n = ‖x‖² + ‖y‖²`."""

s = Symbol("s", real=True, nonzero=True)
"""The sign of a generalised exponential feature, +1 or -1."""

A = Symbol("A")
"""The free complex parameter of a GERF."""

rho, lam, t = symbols("rho lam t", positive=True)
"""`rho = 1/(1 - 8A)` for s = +1, the Poisson rate, and `t = 1/(1 - 8A)` for s = -1."""

p, q = symbols("p q", positive=True)
"""Success probability of the geometric law and `q = (1 - p)^(-1/2) > 1`."""

x_l, y_l, w_l = symbols("x_l y_l omega_l", real=True)
"""One coordinate of x, of y and of the random vector."""

l = Symbol("l", integer=True)  # noqa: E741 - the paper's name for a coordinate
"""Coordinate index, 1 … d."""

x, y = IndexedBase("x", real=True), IndexedBase("y", real=True)
"""The vectors, for sums over coordinates."""
