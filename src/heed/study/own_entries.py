"""The facts of a new corpus, and its entries in params.yaml: the models to compare on it."""

import dataclasses
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from ruamel.yaml.comments import CommentedMap

from heed.corpora.publication import SPLITS
from heed.corpora.table import KIND
from heed.files import HeedError
from heed.hyperparameters import Configuration, CorpusSizes
from heed.hyperparameters.pretrained import PRETRAINED
from heed.pretrained import installed_encoder
from heed.records import RecordError, read_section
from heed.study.cost import Texts, training_seconds
from heed.study.experiments import PRESETS, AnyCorpus, rules_of, task_of_labels
from heed.study.own_files import CorpusOptions, UserFiles, as_name
from heed.study.reader import as_yaml
from heed.tokens.meta import COUNTED

if TYPE_CHECKING:
    from heed.corpora.publication import RawDocument
    from heed.corpora.rows import Format
    from heed.corpora.sections import Corpus
    from heed.study.schema import Params
    from heed.tokens.splits import DocumentLabels

# A word, a letter of a script without spaces between words, or another sign: about a token each.
SCRIPTS_WITHOUT_SPACES = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
TOKEN = re.compile(rf"[{SCRIPTS_WITHOUT_SPACES}]|[^\W{SCRIPTS_WITHOUT_SPACES}]+|[^\w\s]")
TEST, VALIDATION = 0.2, 0.1  # shares of a random split
FEW_TEXTS, FOLDS = 2_000, 5  # of fewer texts one test split shows little: folds test all of them
MAX_TOKENS = 300  # no more of a document is read: a recurrent network takes its time by the token
# What is compared, and how each variant differs from the others. Its hyperparameters are a preset.
VARIANTS: dict[str, dict[str, object]] = {
    "last-state": {"pooling": "last"},
    "average": {"pooling": "mean"},
    "attention-pooling": {"pooling": "attention"},
    "self-attention": {"pooling": "mean", "attention": "multi-head", "heads": 4},
}
FEWEST_EPOCHS = 6  # of a training
STEPS, MOST_EPOCHS = 1_000, 60  # of a training: with fewer steps it had not converged
# the options of a corpus that are keys of its section
OPTIONS = "split_column id_column group_column rationale_column drop_unlabelled similar_labels"
LONG = 95  # percent of the documents that a length includes
NAMED_CLASSES = 6  # of a label; of more, the largest and the smallest are named
RARE = 10  # a class with fewer rows: of the usual split, its test split has at most two of them
SHOWN = 3  # labels and experiments that are described
LONG_NAME = 30  # characters of a class that are printed


@dataclasses.dataclass(frozen=True)
class OwnCorpusStatistics:
    """Facts of a corpus. Tokens are counted roughly, without a tokenizer."""

    documents: int
    classes: dict[str, dict[str, int]]  # documents of each class, by label
    splits: dict[str, int]
    left_out: int  # of train
    empty: int  # documents without text
    lengths: np.ndarray  # tokens of each document that is not for the test: sizes are chosen by it
    notes: list[str]  # on texts for test that are in train, and on classes that a split lacks
    unseen: dict[str, list[str]]  # classes that no document of train has, by label

    @property
    def mean_length(self) -> float:
        """The mean number of tokens of a document."""
        return float(self.lengths.mean())

    @property
    def long_length(self) -> int:
        """The number of tokens that LONG percent of the documents do not exceed."""
        return int(np.percentile(self.lengths, LONG, method="higher"))


def read_labels(
    documents: Iterable["RawDocument"], corpus: "Corpus", name: str
) -> tuple["DocumentLabels", list[int], list[bytes]]:
    """Return the labels of all documents, their numbers of tokens, and the digests of their texts.

    All is read as `heed tokenize` will read it.

    Raises HeedError, with the `name` of the files: no text, or no second class.
    """
    from heed.tokens import splits, tokenizer  # not at the top: scikit-learn takes long

    counts, digests, by_space = list[int](), list[bytes](), corpus.tokenizer == "whitespace"

    def counted() -> Iterator["RawDocument"]:
        for document in documents:
            text = str(document.text)  # a table's text is decoded
            counts.append(len(text.split()) if by_space else len(TOKEN.findall(text)))
            digests.append(splits.digest(tokenizer.clean(text)[0]))
            yield document

    known = splits.DocumentLabels.read(counted())
    if not any(counts):
        texts = " and ".join(map(repr, corpus.text_names))
        raise HeedError(f"{name}: column {texts} has no text in any row")
    for label in corpus.label_names:
        if len(of_label := known.counts.get(label, {})) < 2:
            raise HeedError(
                f"{name}: column {label!r} has {len(of_label)} class in {len(counts):,} rows: "
                "there is nothing to learn"
            )
    return known, counts, digests


def split_statistics(
    known: "DocumentLabels", counts: list[int], digests: list[bytes], corpus: "Corpus", name: str
) -> OwnCorpusStatistics:
    """Return the facts of a corpus. Raises HeedError where it cannot be split so."""
    from heed.tokens import splits  # not at the top: scikit-learn takes long

    try:
        columns = splits.split_columns(
            corpus.split, known.strata, known.groups, known.published_split
        )
        first_column, lengths = next(iter(columns.values())), np.asarray(counts, np.int32)
        left_out = splits.draw_left_out(corpus.split, first_column == "train", known.strata)
        kept = {name: column[~left_out] for name, column in columns.items()}
        labels = {label: values[~left_out] for label, values in known.labels.items()}
        splits.require_learnable(labels, kept)
        splits.require_text(lengths[~left_out], kept)
    except HeedError as error:
        column = f"column {corpus.split_column!r}: " if corpus.split_column else ""
        column += f"--train {corpus.split.train}: " if corpus.split.train else ""
        said = str(error).removeprefix("params.yaml: ").rstrip(".")
        single = f". For one split, without folds: --test {TEST}" * bool(corpus.split.folds)
        raise HeedError(f"{name}: {column}{said}{single}") from None
    texts = [splits.number_texts(digests)[~left_out]]
    repeated = splits.find_duplicates(texts, kept, False)[1]["test_texts_in_train"]
    notes = [f"{repeated:,} {COUNTED['test_texts_in_train']}"] * bool(repeated)
    of_first = next(iter(kept.values()))
    seen = {label: {*values[of_first == "train"].unique()} for label, values in labels.items()}
    return OwnCorpusStatistics(
        len(counts), known.counts,
        splits={split: int((of_first == split).sum()) for split in SPLITS},
        left_out=int(left_out.sum()), empty=int((lengths == 0).sum()),
        lengths=lengths[first_column != "test"],
        notes=[*notes, *splits.describe_missing_values(known, kept, ~left_out)],
        unseen={label: [*known.counts[label].keys() - values] for label, values in seen.items()},
    )  # fmt: skip


def describe_corpus(files: str, corpus: "Corpus", statistics: OwnCorpusStatistics) -> Iterator[str]:
    """Yield lines on the files and what was found in them."""
    names = corpus.text_names
    columns = f"column{'s' * (len(names) > 1)} {', '.join(map(repr, names))}"
    yield f"{files}: {statistics.documents:,} texts in {columns}"
    for label, classes in [*statistics.classes.items()][:SHOWN]:
        yield f"  label in column {label!r}: {_describe_classes(classes, statistics.documents)}"
        if rare := [(count, name) for name, count in classes.items() if count < RARE]:
            count, name = min(rare)
            yield (
                f"  Column {label!r}: {len(rare)} of the classes have fewer than {RARE} rows "
                f"({name!r}: {count}), too few to learn from and to test on. Collect more "
                "of them, join them with another class, or leave them out of the file"
            )
    yield (
        f"  {statistics.mean_length:,.0f} tokens a text on average; {LONG}% of the texts have at "
        f"most {statistics.long_length:,}"
    )
    if statistics.empty:
        yield f"  {statistics.empty:,} of {statistics.documents:,} texts are empty"
    splits = ", ".join(f"{count:,} for {split}" for split, count in statistics.splits.items())
    given = f"column {corpus.split_column!r}" if corpus.split_column else "the files"
    drawn = {
        "random": "drawn at random",
        "given": f"as given by {given} (--no-split-column: drawn at random)",
        "folds": f"in each of {corpus.split.k} folds, which test every text",
    }[corpus.split.kind]
    left_out = f"; {statistics.left_out:,} are left out of train" if statistics.left_out else ""
    yield f"  {splits}: {drawn}{left_out}"
    yield from (f"  {line}" for line in statistics.notes)


def _describe_classes(classes: dict[str, int], documents: int) -> str:
    shares = [
        f"{name[:LONG_NAME]} ({f'{count / documents:.0%}' if count / documents > 0.005 else '<1%'})"
        for name, count in sorted(classes.items(), key=lambda item: -item[1])
    ]
    if len(shares) > NAMED_CLASSES:
        shares = [*shares[: NAMED_CLASSES // 2], "…", *shares[-NAMED_CLASSES // 2 :]]
    return f"{len(classes):,} classes: {', '.join(shares)}"


@dataclasses.dataclass(frozen=True)
class CorpusEntries:
    """The entries of a corpus: by section of params.yaml, their lines by name."""

    name: str
    task: str
    sections: dict[str, dict[str, dict[str, object]]]
    preset: str  # of all its models
    max_tokens: int
    epochs: int
    fewest_epochs: int  # of enough steps

    @property
    def split(self) -> dict[str, Any]:
        """The split of the corpus."""
        split: Any = self.sections["corpora"][self.name]["split"]
        return dict(split)

    def with_less(self, epochs: int, **split: int) -> "CorpusEntries":
        """Return the entries with fewer epochs, and with these keys of the split."""
        corpora, models = self.sections["corpora"], self.sections["models"]
        if epochs < self.epochs:
            models = {name: model | {"epochs": epochs} for name, model in models.items()}
        corpora = {self.name: corpora[self.name] | {"split": self.split | split}}
        sections = self.sections | {"corpora": corpora, "models": models}
        return dataclasses.replace(self, sections=sections, epochs=epochs)


def training_times(
    entries: CorpusEntries, statistics: OwnCorpusStatistics, params: "Params"
) -> list[float]:
    """Return the core-seconds of a training of each model of a corpus, measured on its lengths."""
    times = []
    train = min(statistics.splits["train"], entries.split.get("train") or statistics.documents)
    texts = Texts(train, statistics.splits["validation"], statistics.mean_length)
    for name in entries.sections["models"]:
        label = params.experiments[params.models[name].experiment].data.label
        # it has no more types than tokens, and a vocabulary has no more words than these
        sizes = CorpusSizes((int(statistics.lengths.sum()),), len(statistics.classes[label]))
        times.append(training_seconds(entries.task, params.hyperparameters(name), sizes, texts))
    return times


def corpus_section(
    name: str, options: CorpusOptions, files: UserFiles, documents: int, seeds: int
) -> dict[str, object]:
    """Return the section of `corpora`, without the keys of default value."""
    section: dict[str, object] = {"source": name, "kind": KIND.name}
    for kind, columns in (("text", options.text_column), ("label", options.label_column)):
        several = len(columns) > 1
        section[f"{kind}_column{'s' * several}"] = columns if several else columns[0]
    further = {key: getattr(options, key) for key in OPTIONS.split()}
    further |= {
        "tokenizer": options.language,
        "split": _split_section(options, files, documents, seeds),
    }
    return section | {key: value for key, value in further.items() if value}


def _split_section(
    options: CorpusOptions, files: UserFiles, documents: int, seeds: int
) -> dict[str, object]:
    """Return the split: given, in folds of few documents, or drawn. Raises HeedError."""
    is_given = bool(options.split_column or files.have_splits)
    if is_given and (options.test is not None or options.group_column):
        raise HeedError(
            f"{'--test' if options.test is not None else '--group-column'} is for a split that "
            "heed draws, and the splits of this corpus are given by its files or a column: "
            "--no-split-column"
        )
    split: dict[str, object] = {"kind": "given"}
    if not is_given:
        split = _drawn_split(options, documents, seeds)
    split |= {"grouped": bool(options.group_column), "train": options.train}
    return {key: value for key, value in split.items() if value}


def _drawn_split(options: CorpusOptions, documents: int, seeds: int) -> dict[str, object]:
    if documents >= FEW_TEXTS or options.test or options.train:
        return {"kind": "random", "test": options.test or TEST, "validation": VALIDATION}
    if seeds % FOLDS:
        raise HeedError(
            f"fewer than {FEW_TEXTS:,} texts are tested in {FOLDS} folds; {seeds} seeds are not a "
            f"multiple of {FOLDS}. Choose: --seeds {FOLDS * -(-seeds // FOLDS)} for all models of "
            f"the study, or --test {TEST} for a single split"
        )
    return {"kind": "folds", "k": FOLDS, "repeats": seeds // FOLDS, "validation": VALIDATION}


def check_corpus(section: dict[str, object]) -> "Corpus":
    """Return the section of the new corpus, checked. Raises HeedError where it is refused."""
    try:
        corpus: Corpus = read_section(AnyCorpus, section)
    except RecordError as error:
        key, message = error.mistakes[0]
        option = "--" + "".join(key[:1]).replace("_", "-")
        option = {"--tokenizer": "--language", "--split": "--train"}.get(option, option)
        raise HeedError(f"{option}: {message}" if key else message) from None
    return corpus


def make_entries(
    name: str, options: CorpusOptions, files: UserFiles, form: "Format", corpus: dict[str, object],
    statistics: OwnCorpusStatistics,
) -> CorpusEntries:  # fmt: skip
    """Return the entries of a corpus, whose section is `corpus`, with sizes for what it is like."""
    task = task_of_labels()
    trained, length = statistics.splits["train"], statistics.mean_length
    preset = rules_of(task).choose_preset(trained, length)
    values = PRESETS[task][preset].values
    # of most documents all is read, and no more than the preset reads
    longest = int(values.get("max_tokens", MAX_TOKENS))
    max_tokens = max(10, min(longest, 10 * -(-statistics.long_length // 10)))
    declared = vars(form) | {"format": form.format or None, "header": [*form.header] or None}
    source: dict[str, object] = {"kind": KIND.source.name, **files.source()}
    source |= {key: value for key, value in declared.items() if value is not None}
    settings: dict[str, object] = {"preset": preset, "max_tokens": max_tokens}
    epochs, fewest = _choose_epochs(values, trained)
    settings |= {"epochs": epochs} if epochs != values["epochs"] else {}
    experiments: dict[str, dict[str, object]] = {}
    models: dict[str, dict[str, object]] = {}
    keys = _name_experiments(name, statistics.classes)
    for key, label in zip(keys, statistics.classes, strict=True):
        title = name + f" by {label}" * (len(keys) > 1)
        experiments[key] = {"task": task, "corpus": name, "data": {"label": label}, "title": title}
        experiments[key] |= {"metric": options.metric} if options.metric else {}
        for variant, own in VARIANTS.items():
            models[f"{key}-{variant}"] = {"experiment": key, **settings, **own}
    sections = {"sources": {name: source}, "corpora": {name: corpus}}
    sections |= _pretrained_sections(name) | {"experiments": experiments, "models": models}
    return CorpusEntries(name, task, sections, preset, max_tokens, epochs, fewest)


def _name_experiments(corpus: str, labels: Iterable[str]) -> list[str]:
    names = [*map(as_name, labels)]
    unique = (n if n and names.count(n) == 1 else f"label-{i}" for i, n in enumerate(names, 1))
    return [f"{corpus}-{own}" for own in unique] if len(names) > 1 else [corpus]


def _pretrained_sections(corpus: str) -> dict[str, dict[str, dict[str, object]]]:
    """Return the sections of a corpus's pretrained reference model; {} where none is installed."""
    if not (encoder := installed_encoder()):
        return {}
    name, section = encoder
    return {"encoders": {name: {**section}}, "pretrained": {corpus: {"encoder": name}}}


def _choose_epochs(preset: Configuration, trained: int) -> tuple[int, int]:
    """Return the epochs with STEPS steps over these documents, and the fewest that will do."""
    usual, batch_size = int(preset["epochs"]), int(preset["batch_size"])
    needed = min(MOST_EPOCHS, math.ceil(STEPS * batch_size / trained))
    epochs = max(usual, needed)
    return epochs, min(epochs, max(FEWEST_EPOCHS, needed))


def describe_entries(entries: CorpusEntries, statistics: OwnCorpusStatistics) -> Iterator[str]:
    """Yield lines on the models and the sizes that were chosen for this corpus."""
    preset = PRESETS[entries.task][entries.preset]
    references = [*[PRETRAINED] * (PRETRAINED in entries.sections)]
    reference_models = " and ".join([*rules_of(entries.task).REFERENCE_MODELS, *references])
    experiments = [*entries.sections["experiments"]]
    for experiment in experiments[:SHOWN]:
        yield (
            f"experiment {experiment}: models {', '.join(VARIANTS)}; reference models "
            f"{reference_models}"
        )
    if (more := len(experiments) - SHOWN) > 0:
        yield f"… and {more} experiments more, one for each label"
    yield f"  preset {entries.preset}: {preset.description}"
    yield f"  {entries.epochs} epochs, {preset.values['batch_size']} texts a batch"
    which = "both ends" if preset.values.get("truncation") == "ends" else "the start"
    whole = 100 * float((statistics.lengths <= entries.max_tokens).mean())
    yield (
        f"  {entries.max_tokens:,} tokens of a text are read, from {which}: {whole:.0f}% of the "
        "texts are read whole"
    )


def add_entries(tree: Any, entries: CorpusEntries, path: Path) -> None:
    """Add the entries to the YAML tree of params. Raises HeedError where one is there already."""
    for section, lines in entries.sections.items():
        if not tree.setdefault(section, CommentedMap()):
            tree[section].fa.set_block_style()
        for name, values in lines.items():
            if section == "encoders" and name in tree[section]:
                continue  # of another corpus too
            if name in tree[section]:
                raise HeedError(f"{path}: {section}: {name} is there already. Use another --name")
            tree[section][name] = as_yaml(values)
