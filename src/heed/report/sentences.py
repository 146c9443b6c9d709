"""What the report says of a comparison, as tables: a text for each situation.

A situation is a verdict, or UNTESTED. `name` is the judged variant and `own` its score, `other` is
a model in words and `score` its score, `scores` are both; `first` and `second` are names of models.
"""

from heed.evaluation.results import BETTER, NOT_CONVERGED, SAME, UNDECIDED, WORSE
from heed.explanation.test import FAIL, PASS

UNTESTED = "untested"  # one seed, or one test document

# The primary comparison: the first clause.
QUESTION = {
    BETTER: "{name} beats {other}, {scores}",
    WORSE: "{name} does worse than {other}, {scores}",
    SAME: "{name} does about as well as {other}, {scores}",
    UNDECIDED: "whether {name} beats {other} is undecided, {scores}",
    NOT_CONVERGED: "whether {name} beats {other} is open, {scores}: {unfinished} had not converged",
    UNTESTED: "{name} has {own} and {other} {score}, which decides nothing: {reason}",
}
SCORES = {False: "{own} against {score}", True: "both {own}"}  # by whether both print the same
# Every other comparison that the sentence names.
OTHERS = {
    BETTER: "it beats {other}, {score}",
    WORSE: "{other} does better, {score}",
    SAME: "{other} does about as well, {score}",
    UNDECIDED: "against {other}, {score}, it is undecided",
    NOT_CONVERGED: "against {other}, {score}, it is open: {unfinished} had not converged",
    UNTESTED: "{other} has {score}",
}
# What can be said, what cannot, and what would settle it: an item for each comparison.
SHOWN = {
    BETTER: "{first} is better than {second}: {gain} ({interval})",
    WORSE: "{first} is worse than {second}: {gain} ({interval})",
    SAME: "{first} does about as well as {second} (differs by less than {within}): {gain} "
    "({interval})",
}
OPEN = {
    UNDECIDED: "whether {first} is better than {second}: {gain} ({interval})",
    NOT_CONVERGED: "whether {first} is better than {second}, {gain} ({interval}): with twice the "
    "epochs {unfinished} did better",
    UNTESTED: "whether {first} is better than {second}, {gain}: {reason}",
}
AHEAD = "{other} with attention of its own"  # where a variant that does better has it
# What a network is by how it reads a text: `_network` in answer.py says which.
NETWORKS = {
    "last": "a {encoder}’s last state",
    "mean": "averaging without learned weights",
    "max": "the maximum of the states",
    "uniform": "a network with equal weights",
    "parameter-matched": "a network of as many parameters",
    "last-state": "translation from the last state",
    "transformer": "a transformer",
    "control": "the control {name}",
    "baseline": "the baseline",
    "variant": "the variant {name}",
}
# What the weights of the judged variant are by each criterion of an explanation.
WEIGHTS = {
    "permutation": {
        PASS: "shuffling the weights of {name} changes its predictions",
        FAIL: "shuffling the weights of {name} hardly changes its predictions",
    },
    "seeds": {
        PASS: "the weights of {name} are alike in all seeds",
        FAIL: "the weights of {name} differ between seeds",
    },
    "adversarial_attention": {
        PASS: "no adversarial model predicts as {name} does with clearly other weights",
        FAIL: "an adversarial model predicts as {name} does with clearly other weights",
    },
    "rationale": {
        PASS: "the weights of {name} find the rationale",
        FAIL: "the weights of {name} do not find the rationale in every class and seed",
    },
}
TABLES = (*WEIGHTS.values(), QUESTION, SCORES, OTHERS, SHOWN, OPEN, NETWORKS)
