"""Machine-checked derivations of the paper's statements, and the code generated from them."""
