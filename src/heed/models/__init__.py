"""Models: networks in torch, from token indices to logits.

How they are trained is in `training`, what for in `tasks`.

`recurrent`, `attention` with its `scores`, and `transformer` are layers. `encoder` turns a sequence
into one vector with them, and `classifier` turns that vector into logits, and returns the weights
and values behind a prediction, to compute it again under other weights. `translator` is the
interface of models that write a sequence, `translators` has them, `beam` searches with them, and
`dependence` says how they depend on their source. `size` counts what a network has, and does.
"""
