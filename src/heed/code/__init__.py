"""Code: which program a stage runs, as numbers that can be compared.

No stage computes anything with it.

`digests` describes a source file without its comments and layout; `guard` compares what a command
loads with what its stage was planned with (results/code, which workflow/digests.py writes).
"""
