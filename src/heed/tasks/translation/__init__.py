"""Translation: one sentence for another, and the alignment of their words.

The modules of `heed.task.STAGE_MODULES`, and those that only this task needs.

`statistics` counts what hypotheses and references have in common, with `rouge`; `metrics` has the
figures of these counts. `alignment` has links between words: Pharaoh's text, the rule that makes
links of attention, error rates. `ibm1`, `language_model` and `decoder` are the statistical road of
translation, which `opponents` runs as a reference model from outside.
"""
