"""Code: digests of the program that a stage runs.

`digests` computes the digest of a source file without its comments and layout; `guard` compares the
modules that a command loads with those that its stage was planned with (results/code, which
workflow/digests.py writes); `stage` reads the arguments of a command from the name of its stage. No
stage computes results with it.
"""
