"""Inputs of a model, made from the arrays of a corpus: vocabulary, batches, n-grams, TF-IDF.

Nothing here opens a file or depends on the task.
"""
