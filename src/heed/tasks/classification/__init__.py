"""Classification: one class a document.

The modules of `heed.task.STAGE_MODULES`, and those that only this task needs.

`probabilities` makes the table of predictions, `diagnosis` counts right and wrong predictions by
class, length and certainty, `token_weights` has the weights of the documents that the report shows,
`classify` is the command that classifies a given text, and `classify_table` the texts of a table.
"""
