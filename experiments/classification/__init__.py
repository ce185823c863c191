"""Non-parametric classification (Section 5.2, tables uci and ucistd), and its honest ranking."""
