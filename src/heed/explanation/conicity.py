"""T12: how much the vectors that attention weighs resemble each other (Mohankumar et al. 2020).

Conicity is the mean cosine of the vectors to their mean. Where it is near 1, any weights give about
the same sum, so that permuted weights cannot matter. (arxiv.org/abs/2004.14243, section 3.1)
"""

import torch.nn.functional as F

from heed.explanation.weighted import Weighted


def conicity(weighted: Weighted) -> float:
    """Return the conicity of one document's values, from -1 to 1, the mean over heads."""
    mean = weighted.values.mean(0, keepdim=True)
    return float(F.cosine_similarity(weighted.values, mean, dim=-1).mean())
