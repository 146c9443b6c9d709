"""Explanation: what a model's weights say about its predictions, and what they do not.

Tests of lecture 002's three papers and their critics. `rankings` order the units of documents by
importance: by weights, gradients or removal. `registry` (of classifiers) and `translations` make
predictions with all that is asked of them → the tests measure them → `registry` has the tables and
means → `stage` writes them.

A test is a class in one file, with its computation, its criterion and its texts in the report:
`test` says what such a class may have, `registry` lists them. To add one, write its file and name
it in `registry`.

A *unit* is what a model's weights are of: a token, or of a hierarchical model a sentence.
"""
