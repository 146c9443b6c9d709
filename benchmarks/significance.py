"""The calibration of `heed compare`, whole: the tables of docs/read/statistics.md.

`python -m benchmarks.significance [--studies N] [--fold-studies N]`. Of a fixed split nothing is
trained: the scores of runs and the mean squares of test texts are drawn from their distributions.
Of folds two ridge classifiers are trained, on features that are as good for the one as for the
other.
"""

import argparse
import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from threadpoolctl import threadpool_limits

from heed.evaluation.looks import Looks
from heed.evaluation.results import assign_roles
from heed.evaluation.significance import (
    ALPHA,
    MANY_DOCUMENTS,
    VarianceComponents,
    crossed_components,
    t_test,
)
from heed.study.own_entries import VARIANTS
from heed.tasks.classification.recipe import Hyperparameters

DOCUMENTS, VERY_MANY = 500, 20_000
ON_A_DOCUMENT = 0.1  # variance over documents of a difference, without that over seeds
SEEDS, SIZES = (3, 5, 10), (1, 2, 3, 5, 10)
FEW, FEW_DIFFER = (6, 10, 20, 50, 99), (310, 500, 1_000, 2_000)
# Of a study of `heed corpus add`: its models, the one that is in question and its secondary family.
MODELS, ASKED = [*VARIANTS], ["attention-pooling", "self-attention"]
SECONDARY = [
    (MODELS.index(first), MODELS.index(second))
    for first, second, family in assign_roles(
        {name: Hyperparameters(**values) for name, values in VARIANTS.items()}, [], ASKED
    ).pairs()
    if family == "secondary"
]
FAMILY = len(SECONDARY)
LEVEL = f".05/{FAMILY}"
Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]  # scores by run, in points


def normal(std: float) -> Draw:
    """Return a model whose score varies with the seed by this standard deviation."""
    return lambda generator, shape: generator.normal(0, std, shape)


def skewed(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return scores of which most are good and few are much worse."""
    return 1 - generator.exponential(1, shape)


def collapsing(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return scores of a model of whose runs each tenth is 20 points worse."""
    return generator.normal(0, 1, shape) - 20 * ((generator.random(shape) < 0.1) - 0.1)


def constant(_: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return the scores of a reference model, which has no seeds."""
    return np.zeros(shape)


# The scores of the first and of the second model; in a family the other models are as the second.
CASES: dict[str, tuple[Draw, Draw]] = {
    "1 and 1": (normal(1), normal(1)),
    "3 and 1": (normal(3), normal(1)),
    "1 and 3": (normal(1), normal(3)),
    "skewed": (skewed, skewed),
    "a tenth of both models' runs collapses": (collapsing, collapsing),
    "a tenth of the first's runs collapses": (collapsing, normal(1)),
    "1, over a reference model": (normal(1), constant),
    "3, over a reference model": (normal(3), constant),
    "skewed, over a reference model": (skewed, constant),
    "a tenth collapses, over a reference model": (collapsing, constant),
}


@dataclasses.dataclass(frozen=True)
class Studies:
    """Studies of models without a difference, by study and model: what is measured of each."""

    runs: np.ndarray  # scores, (studies, models, seeds)
    of_documents: np.ndarray  # what the test texts add to a model's score
    documents: int
    generator: np.random.Generator

    def compare(self, first: int, second: int) -> "Compared":
        """Return the comparison of two models in each study."""
        one, other = self.runs[:, first], self.runs[:, second]
        seeds, variances = one.shape[1], (one.var(axis=1, ddof=1), other.var(axis=1, ddof=1))
        freedom = self.documents - 1
        square = 1e4 * ON_A_DOCUMENT * seeds  # in squares of percentage points
        estimated = square * self.generator.chisquare(freedom, len(one)) / freedom
        measured = one.mean(axis=1) - other.mean(axis=1)
        measured += self.of_documents[:, first] - self.of_documents[:, second]
        nothing = np.zeros(len(one))
        components = crossed_components(*variances, estimated, nothing, seeds, self.documents)
        return Compared(measured, components, seeds)

    def over_looks(self, plan: tuple[int, ...], finds: "Finds", count: int = 0) -> np.ndarray:
        """Return in which studies one of the looks finds something, or one of the first `count`."""
        found = []
        for seeds in plan[: count or None]:
            now = dataclasses.replace(self, runs=self.runs[:, :, :seeds])
            found.append(finds(now.compare(0, 1), Looks(plan, seeds)))
        return np.any(found, axis=0)


@dataclasses.dataclass(frozen=True)
class Compared:
    """The comparison of two models in each study: the difference in points, and its variance."""

    measured: np.ndarray
    components: VarianceComponents
    seeds: int

    def finds(self, true: float, level: float) -> np.ndarray:
        """Return in which studies the interval excludes 0, where this is the true difference."""
        critical = self.components.critical_difference(self.seeds, level)
        return np.asarray(np.abs(self.measured + true) > critical)

    def finds_same(self, true: float, margin: float, level: float = ALPHA) -> np.ndarray:
        """Return in which studies the two are practically the same: equal within the margin."""
        critical = self.components.critical_difference(self.seeds, 2 * level)
        return np.asarray(np.abs(self.measured + true) + critical < margin)


Finds = Callable[[Compared, Looks], np.ndarray]


def draw(models: tuple[Draw, ...], seeds: int, studies: int, documents: int = DOCUMENTS) -> Studies:
    """Return so many studies of models of which none is better."""
    generator = np.random.default_rng(seeds)
    runs = np.stack([model(generator, (studies, seeds)) for model in models], axis=1)
    std = (1e4 * ON_A_DOCUMENT / documents / 2) ** 0.5
    of_documents = generator.normal(0, std, (studies, len(models)))
    return Studies(runs, of_documents, documents, generator)


def false_alarms(studies: int) -> Iterator[str]:
    """Yield the table of false alarms in percent; of a family those with one or more."""
    yield "False alarms in percent, with 3, 5, 10 seeds:"
    yield _row(["deviation", ".05", LEVEL, f"in a family of {FAMILY}"])
    for name, (first, second) in CASES.items():
        found: list[list[np.ndarray]] = []
        for seeds in SEEDS:
            compared = draw((first, second), seeds, studies).compare(0, 1)
            models = (first if model == ASKED[0] else second for model in MODELS)
            family = draw((*models,), seeds, studies // 5)
            alarms = [family.compare(*pair).finds(0, ALPHA / FAMILY) for pair in SECONDARY]
            of_family = np.any(alarms, axis=0) if second is not constant else np.array(np.nan)
            levels = [compared.finds(0, level) for level in (ALPHA, ALPHA / FAMILY)]
            found.append([*levels, of_family])
        cells = (_shares(column, 2).replace("nan", "–") for column in zip(*found, strict=True))
        yield _row([name, *cells])


def few_texts(studies: int) -> Iterator[str]:
    """Yield the false alarms in percent of few test texts, by Student's t and by the normal one."""
    yield "False alarms in percent with few texts, deviation 1 and 1, 10 seeds:"
    yield _row(["texts", ".05", LEVEL, "normal distribution: .05", LEVEL])
    for texts in FEW:
        compared = draw((normal(1), normal(1)), 10, studies, texts).compare(0, 1)
        before = dataclasses.replace(
            compared, components=dataclasses.replace(compared.components, number=MANY_DOCUMENTS)
        )
        cells = [
            _shares([tests.finds(0, level)], 1)
            for tests in (compared, before)
            for level in (ALPHA, ALPHA / FAMILY)
        ]
        yield _row([texts, *cells])


def equivalence(studies: int) -> Iterator[str]:
    """Yield how often two models are the same whose true difference is the margin, or nothing."""
    yield f"The same by a margin of 1 point, {VERY_MANY:,} texts, 3, 5, 10 seeds:"
    yield _row(["deviation", "of a true difference of 1", "of none"])
    for name, models in CASES.items():
        compared = [draw(models, seeds, studies, VERY_MANY).compare(0, 1) for seeds in SEEDS]
        found = [[tests.finds_same(true, 1) for tests in compared] for true in (1, 0)]
        yield _row([name, *(_shares(shares, 1) for shares in found)])


def few_different(studies: int) -> Iterator[str]:
    """Yield how often two models are the same whose true difference is the margin, in few texts."""
    yield "The same by a margin of 1 point, of a true difference of 1, all 3 seeds alike:"
    yield _row(["texts", "only the first is right", "only the second", "the same"])
    for texts in FEW_DIFFER:
        for losses in (0.0, 0.002):
            shares = [0.01 + losses, losses, 0.99 - 2 * losses]
            drawn = np.random.default_rng(texts).multinomial(texts, shares, studies)
            counts, times = np.unique(drawn[:, :2], axis=0, return_counts=True)
            same = [100 * _are_same(texts, *count) for count in counts]
            cells = [f"{100 * share:.1f}%" for share in shares[:2]]
            yield _row([texts, *cells, f"{np.average(same, weights=times):.1f}"])


def _are_same(texts: int, wins: int, losses: int) -> bool:
    place = np.arange(texts)
    first, second = (np.tile(flags, (3, 1)) for flags in (place < wins, place >= texts - losses))
    test = t_test([first], [second])
    return test is not None and test.equal_within_pp < 1


def power(studies: int) -> Iterator[str]:
    """Yield the table of the studies that find a difference of so many points, in percent."""
    yield f"Power: primary, secondary ({LEVEL}), over one of two reference models"
    yield _row(["deviation", "seeds", *SIZES])
    for std in (1, 2):
        for seeds in SEEDS:
            pair, over_reference = (
                draw((normal(std), second), seeds, studies).compare(0, 1)
                for second in (normal(std), constant)
            )
            kinds = [(pair, ALPHA), (pair, ALPHA / FAMILY), (over_reference, ALPHA / 2)]
            cells = [_shares(tests.finds(size, level) for tests, level in kinds) for size in SIZES]
            yield _row([std, seeds, *cells])


# --- looks ----------------------------------------------------------------------------------------

PLANS = ((5, 10, 20), (3, 5, 10, 20))


def looks(studies: int) -> Iterator[str]:
    """Yield what all looks find together, in percent, with and without a plan that is declared."""
    yield "False alarms over all looks in percent: declared, and each at the whole level:"
    titles = (".05", LEVEL, "undeclared, .05", LEVEL, "the same by 1 point", "undeclared")
    yield _row(["deviation", "seeds of the looks", *titles])
    for plan, (name, models) in itertools.product(PLANS, CASES.items()):
        few, many = (draw(models, plan[-1], studies, texts) for texts in (DOCUMENTS, VERY_MANY))
        alarms = [
            few.over_looks(
                plan, lambda compared, looks, level=level: compared.finds(0, looks.level(level))
            )
            for level in (ALPHA, ALPHA / FAMILY)
        ]
        alarms += [
            few.over_looks(plan, lambda compared, _, level=level: compared.finds(0, level))
            for level in (ALPHA, ALPHA / FAMILY)
        ]
        alarms += [
            many.over_looks(
                plan, lambda compared, looks: compared.finds_same(1, 1, looks.level(ALPHA))
            ),
            many.over_looks(plan, lambda compared, _: compared.finds_same(1, 1, ALPHA)),
        ]
        yield _row([name, ", ".join(map(str, plan)), *(_shares([alarm], 2) for alarm in alarms)])


def power_of_looks(studies: int) -> Iterator[str]:
    """Yield how often a difference is found up to each look, and by one test with all seeds."""
    yield "Power up to each look in percent, and of one test with all seeds:"
    yield _row(["deviation", "points", "5 seeds", "10 seeds", "20 seeds", "one test, 20 seeds"])
    plan = PLANS[0]
    for std, true in itertools.product((1, 2), SIZES[1:]):
        drawn = draw((normal(std), normal(std)), plan[-1], studies)

        def finds(compared: Compared, looks: Looks, true: float = true) -> np.ndarray:
            return compared.finds(true, looks.level(ALPHA))

        found = [drawn.over_looks(plan, finds, count) for count in range(1, len(plan) + 1)]
        found.append(drawn.compare(0, 1).finds(true, ALPHA))
        yield _row([std, true, *(_shares([shares]) for shares in found)])


# --- folds ----------------------------------------------------------------------------------------

K, TEXTS, FEATURES, SIGNAL, WEAKER = 5, 900, 100, 0.05, 0.037  # of two ridge classifiers
RIDGE = 1.0


def fold_differences(generator: np.random.Generator, repeats: int, signal: float) -> np.ndarray:
    """Return the differences of two ridge classifiers' accuracies by fold, (repeats * K,).

    The features of the first are as far from 0 as SIGNAL, in the direction of the label, and those
    of the second as far as `signal`.
    """
    label = generator.choice([-1.0, 1.0], TEXTS)
    shift = np.array([SIGNAL, signal])[:, None, None] * label[:, None]
    features = generator.normal(size=(2, TEXTS, FEATURES)) + shift
    folds = np.concatenate(
        [generator.permutation(TEXTS).reshape(K, -1) for _ in range(repeats)]
    )  # (folds, texts of a fold)
    tests, labels = features[:, folds], label[folds]
    gram = np.einsum("mtf,mtg->mfg", features, features) + RIDGE * np.eye(FEATURES)
    sums = np.einsum("mtf,t->mf", features, label)
    of_train = gram[:, None] - tests.swapaxes(-1, -2) @ tests
    right = sums[:, None] - np.einsum("mktf,kt->mkf", tests, labels)
    weights = np.linalg.solve(of_train, right[..., None])
    is_right = np.sign((tests @ weights)[..., 0]) == labels
    return np.asarray(np.subtract(*is_right.mean(axis=-1)))


def folds(studies: int) -> Iterator[str]:
    """Yield what the test of folds finds of two ridge classifiers, in percent."""
    titles = (".05", LEVEL, "t without the correction, .05", "half the interval, points")
    yield _row(["folds", "true difference", *titles])
    for repeats in (1, 5):
        for signal in (SIGNAL, WEAKER):
            generator, count = np.random.default_rng(repeats), repeats * K
            drawn = [fold_differences(generator, repeats, signal) for _ in range(studies)]
            means = 100 * np.array(drawn)
            variance = means.var(axis=1, ddof=1)
            components = VarianceComponents(count, variance, 0.0, repeats=repeats)
            half, of_family = (
                components.critical_difference(count, level) for level in (ALPHA, ALPHA / FAMILY)
            )
            plain = half * np.sqrt(variance / count) / components.standard_error(count)
            measured = np.abs(means.mean(axis=1))
            cells = [f"{100 * (measured > limit).mean():.1f}" for limit in (half, of_family, plain)]
            true = f"{means.mean():.1f}" if signal != SIGNAL else "none"
            yield _row([f"{K} x {repeats}", true, *cells, f"{half.mean():.1f}"])


def _shares(found: Iterable[np.ndarray], digits: int = 0) -> str:
    return ", ".join(f"{100 * rates.mean():.{digits}f}" for rates in found)


def _row(cells: Iterable[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def main(argv: list[str] | None = None) -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=100_000, metavar="N")
    parser.add_argument("--fold-studies", type=int, default=400, metavar="N")
    options = parser.parse_args(argv)
    tables = (false_alarms, few_texts, equivalence, few_different, power, looks, power_of_looks)
    for table in tables:
        print("\n".join([*table(options.studies), ""]))
    with threadpool_limits(1, "blas"):  # the matrices are small: more threads take longer
        print("\n".join(folds(options.fold_studies)))


if __name__ == "__main__":
    main()
