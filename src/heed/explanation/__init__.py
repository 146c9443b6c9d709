"""Explanation: what a model's weights say about its predictions, and what they do not.

Tests of lecture 002's three papers and their critics. `documents` reads documents as a model reads
them → `rankings` order their words by importance, by weights, gradients or removal → `judgement`
(of classifiers) and `translations` make predictions with all that is asked of them → the tests
measure them → `tables` has the means → `stage` and `adversary_stage` write them.

Each test is a class in a file of its own, with its computation, its criterion and its texts in the
report: `test` says what such a class may have, `registry` lists them. To add one, write its file
and name it in `registry`.

A *unit* is what a model's weights are of: a token, or of a hierarchical model a sentence.
"""
