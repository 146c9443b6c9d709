"""Explanation: what a model's weights say about its predictions, and what they do not.

Tests of lecture 002's three papers and their critics. `documents` reads documents as a model reads
them → `rankings` order their words by importance, by weights, gradients or removal → the tests
`permutation`, `adversarial_weights`, `erasure`, `removal`, `agreement` and `conicity` judge the
rankings → `tables` collect the figures → `stage` writes them.

Of translators, `sources` ranks the words of a source and `translations` tests single predictions;
permutation, adversarial_weights, conicity, agreement and stage are the same, over what `weighted`
asks for.

A model that is trained to have other weights: `adversarial_losses` → `adversary_judgement`, and
what a `guided_network` learns from both weights → `adversary_tables` → `adversary_stage` writes
them.

A *unit* is what a model's weights are of: a token, or of a hierarchical model a sentence.
"""
