"""`python workflow/seconds.py`: the estimated core-seconds of each stage, as JSON.

A run of snakemake starts it beside its first jobs, and says by it how much time is left.
"""

import json
import sys

from progress import OTHER  # and the path of heed's code

from heed.study import load
from heed.study.cost import LONGER_SHARE, ONCE, REPORT, STAGE, estimate_cost

if __name__ == "__main__":
    params = load()
    cost = estimate_cost(params)
    if cost.unknown:
        sys.exit("the size of a corpus is not known")
    trainings = cost.seeds + LONGER_SHARE * params.study.longer_training
    seconds = {f"train@{model.name}": ONCE + trainings * model.training for model in cost.models}
    explained = [f"explain@{name}" for name in params.explain.models]
    explained += [f"adversarial_attention@{name}" for name in params.adversarial_attention]
    seconds |= {name: cost.seeds * cost.seed / len(explained) for name in explained}
    for kind, names, total in (
        ("search", params.searches, "searches"),
        ("reference_models", params.experiments, "reference_models"),
        ("embed", params.pretrained, "pretrained"),
        ("tokenize", params.corpora, "tokenizing"),
    ):
        seconds |= {f"{kind}@{name}": cost.once[total] / len(names) for name in names}
    json.dump({OTHER: STAGE, "report": REPORT, **seconds}, sys.stdout)
