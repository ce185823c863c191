"""The protocol of the appendix: splits, methods, right answers.

The numbers of a unit depend on this folder alone. What is made of them lies outside: a change there
leaves finished units valid.
"""
