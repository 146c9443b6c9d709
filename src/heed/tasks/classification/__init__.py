"""Classification: one class a document.

The modules of `heed.tasks.PARTS`, and what only this task needs.

`metrics` has the figures, `probabilities` the table of predictions, `diagnosis` where a model is
right and wrong, `shown` the weights of the documents that the report shows; `classify` is the
command for a person's own text.
"""
