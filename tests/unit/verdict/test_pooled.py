"""The mean over corpora against a published example, and against a table that others computed."""

import numpy as np
import pytest

from heed.verdict.pooled import Value, join_corpora, pool, pool_editions
from tests.conftest import ROOT

# Trials of a vaccine against tuberculosis (Colditz et al. 1994), dat.bcg of metafor 4: cases and
# others with the vaccine, and without. There `rma(yi, vi, test="knha")` has -0.7145, tau^2 0.3132,
# and the interval -1.1084 to -0.3206.
TRIALS = [
    (4, 119, 11, 128), (6, 300, 29, 274), (3, 228, 11, 209), (62, 13536, 248, 12619),
    (33, 5036, 47, 5761), (180, 1361, 372, 1079), (8, 2537, 10, 619), (505, 87886, 499, 87892),
    (29, 7470, 45, 7232), (17, 1699, 65, 1600), (186, 50448, 141, 27197), (5, 2493, 3, 2338),
    (27, 16886, 29, 17825),
]  # fmt: skip
# Difference and standard error in points on IMDB, Yelp, headlines (two samples), letters (language,
# author) and the Federalist, of heed 0.3.0; and mean, interval and interval of another corpus as
# they were computed from these by other code.
CORPORA = ("imdb", "yelp", "news", "news", "language", "author", "federalist")
QUESTIONS = {
    "attention and average": (
        [(1.2432, 0.120573), (0.733333, 0.665395), (-0.284722, 0.157141), (1.611111, 0.429711),
         (0.184353, 0.139364), (0.696627, 0.4614), (-1.191788, 1.635777)],
        (0.67, 0.06, 1.28, -0.70, 2.04),
    ),
    "attention and last state": (
        [(3.1832, 0.564253), (5.42, 0.870652), (1.072222, 0.16887), (7.416667, 0.850104),
         (0.450736, 0.223545), (4.12849, 0.585338), (9.558188, 3.808482)],
        (3.66, 1.29, 6.04, -2.23, 9.56),
    ),
    "attention and linear model": (
        [(-1.2464, 0.167864), (1.066667, 0.887002), (-3.027778, 0.388772), (-3.055556, 0.592545),
         (-0.235645, 0.189599), (-0.184353, 0.475381), (4.330878, 2.964662)],
        (-0.59, -2.48, 1.30, -5.06, 3.88),
    ),
}  # fmt: skip


def test_a_published_meta_analysis_comes_out():
    values = []
    for number, (ill, well, others_ill, others_well) in enumerate(TRIALS):
        first, second = ill + well, others_ill + others_well
        variance = 1 / ill - 1 / first + 1 / others_ill - 1 / second
        ratio = np.log(ill / first / (others_ill / second))
        values.append(Value(str(number), float(ratio), float(np.sqrt(variance))))
    found = pool(values)
    assert found.mean == pytest.approx(-0.7145, abs=5e-5)
    assert found.deviation**2 == pytest.approx(0.3132, abs=5e-5)
    assert found.interval == pytest.approx((-1.1084, -0.3206), abs=5e-5)


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_others_computed_from_the_same_values_comes_out(question):
    numbers, expected = QUESTIONS[question]
    values = [Value(name, *pair) for name, pair in zip(CORPORA, numbers, strict=True)]
    found = pool(join_corpora(values, {}))
    assert len(found.values) == 6
    assert (found.mean, *found.interval, *found.prediction) == pytest.approx(expected, abs=0.0051)


def test_corpora_that_agree_have_no_deviation_and_no_narrower_interval_than_their_errors_allow():
    found = pool([Value(str(i), 1.0, 0.5) for i in range(4)])
    assert found.deviation == 0 and found.mean == 1
    assert found.interval == pytest.approx((1 - 0.7956, 1 + 0.7956), abs=1e-4)  # t of 3, 0.5 / 2


def test_experiments_on_the_same_texts_are_one_corpus():
    studies = [ROOT / "docs/studies" / name for name in ("imdb", "yelp", "letters")]
    (_, found), *_ = pool_editions(studies, {"imdb-random": "imdb"}, [])
    assert [value.corpus for value in found.values] == ["imdb", "yelp", "letters-pieces"]
