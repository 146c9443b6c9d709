"""The sections `sources`, `corpora`, `study`, `experiments` with expected results, and `searches`.

Before them the parts of all tasks that params.yaml is checked by: hyperparameters, presets, rules.
"""

import dataclasses
import math
from types import ModuleType
from typing import Annotated, Any, Literal

from heed.corpora.kinds import KINDS, SOURCE_KINDS
from heed.corpora.rows import READERS, check_encoding
from heed.corpora.sections import MAX_SHARE, MIN_SHARE, SHA256, Corpus, Source, Split
from heed.evaluation.results import ATTENTION
from heed.hyperparameters import (
    MAX_COUNT,
    MAX_SEED,
    MAX_SEEDS,
    MAX_THREADS,
    Preset,
    Training,
    Value,
    required,
)
from heed.hyperparameters import hyperparameter as key
from heed.paths import MAX_NAME
from heed.recipe import Name
from heed.records import FLATTENED, Limits, OneOf, Types, fields_of
from heed.task import task_module, task_names
from heed.task.interface import DeclaredExperiment
from heed.tokens.meta import TOKENIZERS, Tokenizer

LANGUAGE = "[a-z][a-z0-9_]*"
SOURCE_KEYS = {
    key
    for kind in SOURCE_KINDS.values()
    for key in (*kind.required_keys, *sum(kind.alternative_keys, ()), *kind.optional_keys)
}
PARALLEL = [kind.source for kind in KINDS.values() if kind.parallel]
COLUMN_KEYS = {key for kind in KINDS.values() for key in kind.keys}
NO_KIND = "missing, and none follows from the name of the source"


def refuse(mistakes: dict[str, object]) -> None:
    """Raise ValueError with the first message whose condition holds."""
    for message, holds in mistakes.items():
        if holds:
            raise ValueError(message)


def _given(record: object) -> dict[str, Any]:
    return {name: value for name, value in vars(record).items() if value is not None}


def check_source(source: Source) -> None:
    """Raise ValueError where the keys of a source contradict each other or its kind."""
    refuse({f"kind: {NO_KIND}": not source.kind})
    kind, paths, hashes = SOURCE_KINDS[source.kind], source.paths or {}, source.hashes or {}
    keys = {key for key in SOURCE_KEYS if getattr(source, key) is not None}
    known = {*kind.required_keys, *kind.optional_keys}
    groups = [*map(set, kind.alternative_keys)]
    published = {file.name for file in kind.files}
    unknown = {*(source.files or [])} - published
    missing, extra = {*kind.required_keys} - keys, keys - known.union(*groups)
    takes = f"a source of kind {source.kind}"
    refuse(
        {
            "vectors needs vectors_sha256, and vectors_sha256 needs vectors": (
                source.has_vectors != (source.vectors_sha256 is not None)
            ),
            "one of vectors and vectors_package": None
            not in (source.vectors, source.vectors_package),
            f"{takes} takes no vectors: no translator reads them": (
                source.has_vectors and kind in PARALLEL
            ),
            f"{takes} needs {_join(missing)}": missing,
            f"{takes} does not take {_join(extra)}": extra,
            f"{takes} needs {', or '.join(map(_join, groups))}": (
                groups and keys - known not in groups
            ),
            f"hashes: expected one for each of {_join({*paths})}, as in paths, found "
            f"{_join({*hashes})}": {*paths} != {*hashes},
            "paths: expected one file or more": source.paths == {},
            f"paths: a file is named twice: {_join({*paths.values()})}": (
                len({*paths.values()}) < len(paths)
            ),
            f"files: {_join(unknown)}: no file of {source.kind}, whose files are "
            f"{_join(published)}": unknown,
            f"delimiter and quote are the same character, {source.delimiter!r}": (
                source.delimiter == source.quote is not None
            ),
        }
    )


def check_split(split: Split) -> None:
    """Raise ValueError where the keys of a split contradict each other."""
    refuse(
        {
            "kind random needs `test`, and no other kind takes it": (
                (split.kind == "random") != (split.test is not None)
            ),
            f"`test` is a share from {MIN_SHARE} to {MAX_SHARE} or a whole number of documents, "
            f"found {split.test}": (
                isinstance(split.test, float) and not MIN_SHARE <= split.test <= MAX_SHARE
            ),
            "kind folds needs `k`, and no other kind takes it": (
                (split.kind == "folds") != (split.k is not None)
            ),
            "`repeats` is only for kind folds": split.kind != "folds" and split.repeats > 1,
            "`grouped` is only for kinds random and folds": split.grouped and split.kind == "given",
            "`train` is not for kind folds, which tests every document": (
                split.kind == "folds" and split.train
            ),
        }
    )


def check_corpus(corpus: Corpus) -> None:
    """Raise ValueError where the keys of a corpus contradict each other or its kind."""
    refuse({f"kind: {NO_KIND}": not corpus.kind})
    kind = KINDS[corpus.kind]
    keys = {key for key in COLUMN_KEYS if getattr(corpus, key) not in (None, "")}
    missing = [" or ".join(group) for group in kind.one_of_keys if not keys & {*group}]
    twice = [" or ".join(group) for group in kind.one_of_keys if len(keys & {*group}) > 1]
    extra = keys - kind.keys
    suitable = " and ".join(other.name for other in KINDS.values() if extra & other.keys)
    columns = [*corpus.text_names, *corpus.label_names]
    refuse(
        {
            f"a corpus of kind {kind.name} needs {', and '.join(missing)}": missing,
            f"use {', '.join(twice)}, not both": twice,
            f"{_join(extra)} go with kind {suitable}": extra,
            f"each column once, found {', '.join(columns)}": len({*columns}) < len(columns),
            "rationale_column counts the characters of one text: use text_column, not "
            "text_columns": corpus.rationale_column and len(corpus.text_names) > 1,
        }
    )
    _check_languages_and_split(corpus)


def _check_languages_and_split(corpus: Corpus) -> None:
    columns, kind, split = corpus.columns or {}, KINDS[corpus.kind], corpus.split
    has_groups = " and ".join(other.name for other in KINDS.values() if other.grouped)
    refuse(
        {
            f"columns: expected two languages or more, found {_join({*columns}) or 'none'}": (
                corpus.columns is not None and len(columns) < 2
            ),
            "columns: a column is named twice": len({*columns.values()}) < len(columns),
            "split_column needs split kind given": (
                corpus.split_column is not None and split.kind != "given"
            ),
            f"a corpus of kind {kind.name} has split kind {' or '.join(kind.splits)}, found "
            f"{split.kind}": split.kind not in kind.splits,
            f"only {has_groups} have groups, and a table with a group_column": (
                split.grouped and not (kind.grouped or corpus.group_column)
            ),
        }
    )


def _join(keys: set[str]) -> str:
    return " and ".join(sorted(keys))


FileOrLanguage = Annotated[  # its key
    str,
    Limits(
        pattern=f"^{LANGUAGE}$",
        max_length=MAX_NAME,
        expected="the name of a file, or of a language: lower-case letters, digits and '_'",
    ),
]
AnyTokenizer = Annotated[
    Tokenizer,
    Limits(
        expected=f"one of {', '.join(TOKENIZERS)} (in place of another of spaCy's, which needs a "
        "package that heed does not install: split the texts into words with it, put spaces "
        "between them, and use whitespace)"
    ),
]
AnySplit = Annotated[Split, check_split]
# The types of what the registries of kinds and formats allow.
AnySource = Annotated[
    Source,
    Types(
        kind=Literal[tuple(SOURCE_KINDS)],
        paths=dict[FileOrLanguage, str] | None,
        hashes=dict[FileOrLanguage, Annotated[str, Limits(pattern=SHA256)]] | None,
        format=Literal[tuple(READERS)] | None,
        header=Annotated[list[Annotated[str, Limits(blank=True)]], Limits(min_length=1)] | None,
        encoding=Annotated[str, check_encoding] | None,
        delimiter=Annotated[
            str,
            Limits(
                pattern=r'[^"\r\n]',
                expected='one character, such as ";" or "\\t" (a tab), and no quote',
            ),
        ]
        | None,
    ),
    check_source,
]
AnyCorpus = Annotated[
    Corpus,
    Types(
        kind=Literal[tuple(KINDS)],
        split=AnySplit,
        tokenizer=AnyTokenizer,
        tokenizers=dict[FileOrLanguage, AnyTokenizer] | None,
        columns=dict[FileOrLanguage, str] | None,
    ),
    check_corpus,
]


Count = Annotated[int, Limits(gt=0, le=MAX_COUNT)]
Seed = Annotated[int, Limits(ge=0, le=MAX_SEED)]
# The part `recipe` of each task, as heed/task/interface.py describes it.
RECIPES: dict[str, ModuleType] = {task: task_module(task, "recipe") for task in task_names()}
# heed's own presets: task → name → preset
PRESETS: dict[str, dict[str, Preset]] = {
    task: task_module(task, "rules").PRESETS for task in task_names()
}


def rules_of(task: str) -> Any:
    """Return the part `rules` of a task."""
    return task_module(task, "rules")


def task_of_labels() -> str:
    """Return the task that learns a label of which a document has one class."""
    return next(task for task in task_names() if rules_of(task).LABELS == "one")


def _make_defaults(task: str) -> type:
    schema, fields = RECIPES[task], []
    for declaration in (schema.Hyperparameters, schema.Prediction):
        for source in dataclasses.fields(declaration):
            if "description" in source.metadata:  # else it is one of the experiment's `data`
                field = dataclasses.field(default=source.default, metadata=source.metadata)
                fields.append((source.name, fields_of(declaration)[source.name].declared, field))
    made = dataclasses.make_dataclass(f"{task.capitalize()}Defaults", fields, frozen=True)
    made.__doc__ = schema.Hyperparameters.__doc__
    return made


# The hyperparameters of each task, as a record, and their names.
SECTIONS = {task: _make_defaults(task) for task in RECIPES}
NAMES_BY_TASK = {task: tuple(fields_of(section)) for task, section in SECTIONS.items()}


# --- the sections ---------------------------------------------------------------------------------

# The metrics of an adversarial model that an expected result may name → their meaning.
ADVERSARIAL_METRICS = {
    "accuracy": "on the test split",
    "rationale_weight": "the share of the adversarial model's weights that lies on rationales",
}
TALK = ("imdb", "imdb-suboptimal", "letters-author", "letters-language", "news", "news-big")
PAIR = Limits(min_length=2, max_length=2)  # both ends of a range
Seeds = Annotated[
    list[Annotated[int, Limits(ge=1, le=MAX_SEED)]], Limits(min_length=1, max_length=MAX_SEEDS)
]
LIMITS = ("at_least", "at_most")
FORMS = {"verdict": ("against",), "metric": LIMITS, "criterion": ("outcome",)}
ABOUT = {"claim", "variant", "adversarial_model"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Study:
    """The name of this study, and what a reader must know before the numbers."""

    name: Name = required("short name, that of its file NAME.yaml")
    title: str = required("title of the report")
    attention: list[Name] = key(list(ATTENTION), "variants that answer the study's question, the "
        "main one first", min_length=1)  # fmt: skip
    equivalence_margin: float = key(1.0, "differences up to this many points (percentage points, "
        "or points of BLEU) count as practically the same", ge=0.01, le=20)  # fmt: skip
    longer_training: bool = key(True, "train the first seed of each model again with twice the "
        "epochs, to see whether the model has converged")  # fmt: skip
    convergence_pp: float | None = key(None, "largest gain in validation points by longer training "
        "of a converged model (default: 1.64 standard errors, at least 0.2 and 3 validation items)",
        or_zero=0.001, le=20)  # fmt: skip
    looks: list[Count] = key([], "the numbers of seeds at which the study is looked at, such as "
        "5, 10 and 20, fixed before the first look: these share the level")  # fmt: skip
    looked: list[Count] = key([], "the numbers of seeds at which the study was looked at before, "
        "without `looks`; `heed study --seeds` writes them, and heed asks for them")  # fmt: skip
    note: str = key("", "text at the top of the report")
    authors: str = key("", "authors of the paper, as it prints them")
    date: str = key("", "date of the paper, as it prints it")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Published:
    """The row of data/published/ that this experiment is compared with."""

    experiment: str = required("the talk's experiment", choices=TALK)
    comparable: bool = required("true only for the talk's corpus, split sizes and hyperparameters")
    reason: str = key("", "why it is not comparable; printed with the scores")


def check_published(published: Published) -> None:
    """Raise ValueError if a row of the talk is not comparable, without a reason."""
    if not published.comparable and not published.reason:
        raise ValueError("a published row that is not comparable needs a reason")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExpectedResult:
    """A claim that is known to be true, and one result of the study that must agree with it.

    The result is a `verdict` on a variant, a `metric` with a limit, or the `outcome` of a
    `criterion`.
    """

    claim: str = required("the expected result, as one sentence", min_length=1, max_length=300)
    variant: Name | None = key(None, "variant that the claim is about")
    adversarial_model: Name | None = key(None, "instead of `variant`: a key of "
        "`adversarial_attention`")  # fmt: skip
    against: Name | None = key(None, "with `verdict`: another variant, or a reference model")
    verdict: Literal["better", "worse", "practically the same", "undecided"] | None = key(
        None, "what the tests must say of the difference"
    )
    metric: str | None = key(None, "a metric of the task (mean over seeds, test split) or `aer`; "
        "of an explained model `rationale_weight` or `accuracy_in_middle`; of an adversarial model "
        "`accuracy` or `rationale_weight`")  # fmt: skip
    at_least: float | None = key(None, "least value of `metric`", gt=0, le=1)
    at_most: float | None = key(None, "greatest value of `metric`", ge=0, lt=1)
    criterion: Literal["permutation", "seeds", "adversarial_attention", "rationale"] | None = key(
        None, "one of the report's criteria on weights; the model is in `explain.models`"
    )
    outcome: Literal["pass", "fail"] | None = key(None, "what `criterion` must say")


def check_expected_result(result: ExpectedResult) -> None:
    """Raise ValueError unless an expected result has one form, with the keys that belong to it."""
    limits = [limit for limit in (result.at_least, result.at_most) if limit is not None]
    given = {*_given(result)} - ABOUT
    forms = {"metric": LIMITS} if result.adversarial_model else FORMS
    allowed = ", or ".join(f"`{form}` with {' or '.join(keys)}" for form, keys in forms.items())
    found = ", ".join(sorted(given)) or "none"
    refuse(
        {
            f"at_least {' is above at_most '.join(map('{:g}'.format, limits))}": limits
            != sorted(limits),
            "an expected result names a variant, or else an adversarial model": (
                (result.variant is None) == (result.adversarial_model is None)
            ),
            f"an expected result has {allowed}; found {found}": not any(
                {form} < given <= {form, *keys} for form, keys in forms.items()
            ),
        }
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Experiment(DeclaredExperiment):
    """A row of the comparison: a corpus, and the task on it."""

    task: str = required("decides on models, metrics and reference models")
    corpus: str = required("a key of `corpora`")
    data: Any = required("what is learned of the corpus")
    options: Annotated[Any, FLATTENED]
    title: str = required("heading in the report")
    preset: str = key("", "preset of its models that name none (below `models.NAME`)")
    metric: str | None = key(None, "metric by which models are compared (default: the first of the "
        "task, docs/internals/tasks.md)")  # fmt: skip
    seeds: Seeds | None = key(None, "its models are trained once with each of these, in place of "
        "the study's `seeds`")  # fmt: skip
    control: Name | None = key(None, "variant over which the first of `study.attention` is tested "
        "by itself (default: `equal-weights` or `average`; else `parameter-matched`, else "
        "`last-state`)")  # fmt: skip
    published: Annotated[Published, check_published] | None = key(None, "the talk's row, printed "
        "beside the scores")  # fmt: skip
    suboptimal_of: str | None = key(None, "experiment whose hyperparameters are deliberately "
        "degraded in this one")  # fmt: skip
    expected_results: list[Annotated[ExpectedResult, check_expected_result]] = key([], "what is "
        "known beforehand; the report says whether the study found it")  # fmt: skip


EXPERIMENTS = {
    task: Annotated[
        Experiment,
        Types(task=Literal[task], data=schema.Target, options=Annotated[schema.Options, FLATTENED]),
    ]
    for task, schema in RECIPES.items()
}
AnyExperiment = Annotated[Experiment, OneOf("task", EXPERIMENTS)]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Dimension:
    """The distribution from which one hyperparameter is drawn: exactly one of these."""

    uniform: Annotated[list[float], PAIR] | None = key(None, "[from, to]: any number between them")
    loguniform: Annotated[list[float], PAIR] | None = key(None, "[from, to]: uniform on a "
        "logarithmic scale")  # fmt: skip
    integer: Annotated[list[int], PAIR] | None = key(None, "[from, to]: a whole number, both ends "
        "included")  # fmt: skip
    choice: Annotated[list[Value], Limits(min_length=2)] | None = key(None, "list of equally "
        "likely values")  # fmt: skip

    @property
    def kind(self) -> str:
        """`uniform`, `loguniform`, `integer` or `choice`."""
        return next(iter(_given(self)))

    @property
    def values(self) -> list[Any]:
        """Both ends of the range, or all choices."""
        return list(getattr(self, self.kind))


def check_dimension(dimension: Dimension) -> None:
    """Raise ValueError unless a dimension is one distribution of different values."""
    given = _given(dimension)
    if len(given) != 1:
        found = " and ".join(given) or "none"
        raise ValueError(
            f"takes exactly one of uniform, loguniform, integer, choice; found {found}"
        )
    [(kind, values)] = given.items()
    if kind == "choice":
        if len({(isinstance(value, bool), value) for value in values}) < len(values):
            raise ValueError(f"choice names a value twice: {values}")
    elif values[0] >= values[1]:
        raise ValueError(f"{kind} goes from a smaller to a larger number, found {values}")
    elif kind == "loguniform" and values[0] <= 0:
        raise ValueError(f"loguniform needs numbers above 0, found {values}")


NOT_SEARCHED = {
    "epochs": "the search's own `epochs` is the maximum, and the winner's best epoch is kept.",
    "monitor": "the search's `metric` selects the epoch.",
    "patience": "the scheduler stops bad trials.",
    **dict.fromkeys(("device", "precision"), "it is a property of the machine."),
    **dict.fromkeys(("beam", "length_penalty"), "trials are validated greedily."),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Search:
    """A hyperparameter search of one model, or of each that names it, with the same budget."""

    experiment: str = required("experiment of the models")
    model: str = key("", "the one model that is searched, for all that name the search (default: "
        "each takes its own winner)")  # fmt: skip
    trials: Count = required("configurations that are tried")
    trainings: int = key(0, "budget of a model, in full trainings of `epochs`; 0: `trials` alone "
        "limits it", ge=0, le=MAX_COUNT)  # fmt: skip
    space: dict[str, Annotated[Dimension, check_dimension]] = required("distribution of each "
        "hyperparameter", min_length=1)  # fmt: skip
    metric: str = key("", "validation metric that is optimised and selects the epoch (default: the "
        "first of the task)")  # fmt: skip
    epochs: Count | None = key(None, "most epochs of a trial (default: the model's)")
    seed: Seed = key(1000, "seed of the draws and of every trial; none of `seeds`", ge=1)
    scheduler: Literal["asha", "none"] = key("asha", "asha: stops bad trials early (Li et al. "
        "2020); none: every trial runs to its end, reproducibly")  # fmt: skip
    concurrent: int = key(0, "most trials at once; 0: as many as the resources allow",
        ge=0, le=MAX_COUNT)  # fmt: skip
    cpu: float = key(1.0, "cores that a trial reserves", ge=0.01, le=MAX_THREADS)
    gpu: float = key(0.0, "share of a GPU that a trial reserves", or_zero=0.01, le=1)

    def resources(self, models: int) -> tuple[int, int]:
        """Return the cores and GPUs that the trials of `models` can use on one machine."""
        at_once = min(models * self.trials, self.concurrent or models * self.trials)
        return max(1, math.ceil(at_once * self.cpu)), math.ceil(self.gpu)

    def budget(self, h: Training) -> dict[str, Value | None]:
        """Return the budget, equal for compared variants; `h`: hyperparameters of its model."""
        keys = ("trials", "trainings", "metric", "scheduler")
        budget = {key: getattr(self, key) for key in keys}
        return {"epochs": self.epochs or h.epochs} | budget
