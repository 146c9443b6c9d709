"""Code: digests of the program that a stage runs.

`digests` computes the digest of a source file without its comments and layout. No stage computes
results with it.
"""
