"""Models: networks in torch, from token indices to logits.

How they are trained is in `training`, what for in `tasks`.

`embedding`, `recurrent`, `attention` with its `scores`, and `pooling` are layers; `encoder` makes
one vector of a sequence with them, and `classifier` logits of that vector. `weighted_sum` holds a
prediction's weights and values apart, for what asks about other weights.
"""
