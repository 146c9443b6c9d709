"""The entries of a new corpus in params.yaml: source, corpus, experiments and models to compare."""

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from heed.corpora.declared import Corpus
from heed.corpora.rows import Format
from heed.corpora.table import KIND
from heed.files import HeedError, sha256
from heed.hyperparameters import Preset
from heed.study.corpora import read_corpus
from heed.study.own.facts import OwnCorpusFacts
from heed.study.own.files import CorpusOptions, UserFiles, as_name, require_user_file
from heed.study.section import PRESETS
from heed.task import task_module

TEST, VALIDATION = 0.2, 0.1  # shares of a random split
MAX_TOKENS = 300  # no more of a document is read: a recurrent network takes its time by the token
# What is compared, and how each variant differs from the others. Its hyperparameters are a preset.
VARIANTS: dict[str, dict[str, object]] = {
    "baseline": {"pooling": "last"},
    "mean": {"pooling": "mean"},
    "pooling": {"pooling": "attention"},
    "attention": {"pooling": "mean", "attention": "multi-head", "heads": 4},
    # it keeps up with the linear model where the others do not (docs/presets.md)
    "hybrid": {"pooling": "attention", "linear_branch": "both", "skip": True},
}
PLAIN = re.compile(r"[A-Za-z_][\w./-]*", re.ASCII)  # text that YAML and DVC read alike unquoted


@dataclasses.dataclass(frozen=True)
class CorpusEntries:
    """The entries of a corpus: a section of `sources`, one of `corpora`, experiments and models.

    `preset` is that of all its models.
    """

    name: str
    task: str
    source: dict[str, object]
    corpus: dict[str, object]
    experiments: dict[str, dict[str, object]]
    models: dict[str, dict[str, object]]
    preset: str
    max_tokens: int


def corpus_section(
    name: str, options: CorpusOptions, files: UserFiles, texts: list[str], labels: list[str]
) -> dict[str, object]:
    """Return the section of `corpora`, without the keys that have their default.

    Args:
        name: of the source.
        options: the user's.
        files: the user's.
        texts: the columns with the text.
        labels: the columns with a label.

    """
    columns = {
        "text_column": texts[0] if len(texts) == 1 else "",
        "text_columns": texts if len(texts) > 1 else [],
        "text_separator": options.text_separator,
        "label_column": labels[0] if len(labels) == 1 else "",
        "label_columns": labels if len(labels) > 1 else [],
        "label_separator": options.label_separator,
        "split_column": options.split_column,
        "id_column": options.id_column,
        "group_column": options.group_column,
        "evidence_column": options.evidence_column,
        "drop_unlabelled": options.drop_unlabelled,
        "tokenizer": options.language,
    }
    given: dict[str, object] = {key: value for key, value in columns.items() if value}
    if options.text_separator == "":
        given["text_separator"] = ""
    split = _split(options, bool(options.split_column or files.have_parts))
    return {"source": name, "kind": KIND.name, **given, "split": split}


def _split(options: CorpusOptions, is_given: bool) -> dict[str, object]:
    """Return the section of the split. Raises HeedError for options that do not go together."""
    if is_given and (options.test is not None or options.group_column):
        option = "--test" if options.test is not None else "--group-column"
        raise HeedError(
            f"{option} is for a split that heed draws, and the parts of this corpus are given by "
            "its files or by --split-column"
        )
    split: dict[str, object] = {"kind": "given"}
    if not is_given:
        split = {"kind": "random", "test": options.test or TEST, "validation": VALIDATION}
    if options.group_column:
        split["grouped"] = True
    sizes = {"train": options.train, "train_per_class": options.train_per_class}
    return split | {key: size for key, size in sizes.items() if size is not None}


def check_corpus(section: dict[str, object]) -> Corpus:
    """Return the section of the new corpus, checked. Raises HeedError where it is refused."""
    try:
        return read_corpus(section)
    except ValidationError as error:
        mistake = error.errors()[0]
        option = "--" + "-".join(map(str, mistake["loc"][:1])).replace("_", "-")
        option = {"--tokenizer": "--language", "--split": "--train"}.get(option, option)
        message = mistake.get("ctx", {}).get("error") or mistake["msg"]
        raise HeedError(f"{option}: {message}" if mistake["loc"] else f"{message}") from None


def make_entries(
    name: str,
    options: CorpusOptions,
    files: UserFiles,
    form: Format,
    corpus: dict[str, object],
    facts: OwnCorpusFacts,
) -> CorpusEntries:
    """Return the entries of a corpus, with sizes for what it is like.

    Args:
        name: of the corpus.
        options: the user's.
        files: the user's.
        form: of the files, as it was found.
        corpus: the section from `corpus_section`.
        facts: of the corpus.

    """
    choose_preset = task_module(options.task, "presets").choose_preset
    preset = choose_preset(facts.parts["train"], facts.mean_length)
    max_tokens = choose_max_tokens(facts, PRESETS[options.task][preset])
    experiments: dict[str, dict[str, object]] = {}
    models: dict[str, dict[str, object]] = {}
    shared = _shared_settings(options)
    for label in facts.classes:
        key, title = name, name
        if len(facts.classes) > 1:
            key, title = f"{name}-{_name_of_label(label, [*facts.classes])}", f"{name} by {label}"
        data = {"label": label}
        experiments[key] = {"task": options.task, "corpus": name, "data": data, "title": title}
        if options.metric:
            experiments[key]["metric"] = options.metric
        for variant, values in VARIANTS.items():
            settings = {"preset": preset, "max_tokens": max_tokens, **shared, **values}
            models[f"{key}-{variant}"] = {"experiment": key, **settings}
    kind, own = KIND.source.name, {**_format_keys(form), **_vectors(options.vectors)}
    source = {"kind": kind, **files.source(), **own}
    return CorpusEntries(
        name, options.task, source, corpus, experiments, models, preset, max_tokens
    )


def _format_keys(form: Format) -> dict[str, object]:
    """Return the keys of a source for the format of its files, without the defaults."""
    keys = {
        "format": form.name,
        "encoding": form.encoding,
        "delimiter": form.delimiter,
        "header": [*form.header],
        "flags": [*form.flags],
    }
    given: dict[str, object] = {key: value for key, value in keys.items() if value}
    return given if form.quote is None else given | {"quote": form.quote}


def _shared_settings(options: CorpusOptions) -> dict[str, object]:
    """Return the hyperparameters that the options give to every model."""
    settings: dict[str, object] = {}
    if options.vectors:
        # not at the top: scikit-learn takes long
        from heed.tokens.vectors import read_vector_size

        require_user_file(Path(options.vectors))
        size = read_vector_size(Path(options.vectors))
        settings |= {"vectors": "tuned", "embedding_dim": size}
    return settings


def _vectors(file: str) -> dict[str, object]:
    """Return the keys of a source for a file with word vectors, if there is one."""
    return {"vectors": file, "vectors_sha256": sha256(file)} if file else {}


def choose_max_tokens(facts: OwnCorpusFacts, preset: Preset) -> int:
    """Return how many tokens of a document are read: of most all, and no more than the preset's."""
    longest = int(preset.values.get("max_tokens", MAX_TOKENS))
    return min(longest, 10 * -(-facts.long_length // 10)) or 10


def _name_of_label(label: str, labels: list[str]) -> str:
    """Return a label as a part of a name; its number where it has no letter that names may have."""
    names = [as_name(each) for each in labels]
    own = names[labels.index(label)]
    return own if own and names.count(own) == 1 else f"label-{labels.index(label) + 1}"


def add_entries(tree: Any, entries: CorpusEntries, path: Path) -> None:
    """Add the entries to the YAML tree of params. Raises HeedError where one is there already."""
    new: dict[str, dict[str, dict[str, object]]] = {
        "sources": {entries.name: entries.source},
        "corpora": {entries.name: entries.corpus},
        "experiments": entries.experiments,
        "models": entries.models,
    }
    for section, sections in new.items():
        for name in sections:
            if name in tree[section]:
                raise HeedError(f"{path}: {section}: {name} is there already. Use another --name")
    for section, sections in new.items():
        if not tree[section]:
            tree[section].fa.set_block_style()
        for name, values in sections.items():
            tree[section][name] = _on_one_line(values)


def remove_entries(tree: Any, name: str, path: Path) -> None:
    """Remove a corpus and all that is made from it from the YAML tree of params.

    Raises HeedError when there is none of this name.
    """
    if name not in tree["corpora"]:
        raise HeedError(
            f"{path}: corpora: there is no corpus {name}. Known: {', '.join(tree['corpora'])}"
        )
    source = tree["corpora"].pop(name)["source"]
    if not any(corpus["source"] == source for corpus in tree["corpora"].values()):
        tree["sources"].pop(source, None)
    experiments, models = tree["experiments"], tree["models"]
    explained = (tree.get("explain") or {}).get("models") or {}
    _keep(experiments, lambda _, entry: entry["corpus"] != name)
    for section in (models, tree["searches"], tree.get("later_searches") or {}):
        _keep(section, lambda _, entry: entry["experiment"] in experiments)
    _keep(explained, lambda model, entry: model in models and entry["noise"] != name)
    _keep(tree.get("adversaries") or {}, lambda _, entry: entry["model"] in explained)


def _keep(section: Any, is_kept: Callable[[str, Any], bool]) -> None:
    """Delete all other entries of a section of the YAML tree."""
    for name in [name for name, entry in section.items() if not is_kept(name, entry)]:
        del section[name]


def make_seeds(count: int) -> CommentedSeq:
    """Return the seeds 1 to `count`, as a YAML list on one line."""
    seeds = CommentedSeq(range(1, count + 1))
    seeds.fa.set_flow_style()
    return seeds


def _on_one_line(values: dict[str, Any]) -> CommentedMap:
    """Return a mapping, marked to be written on one line (YAML's flow style)."""
    mapping = CommentedMap({key: _as_yaml(value) for key, value in values.items()})
    mapping.fa.set_flow_style()
    return mapping


def _as_yaml(value: Any) -> Any:
    """Return a value of an entry; DVC refuses some texts of YAML 1.2 without quotes."""
    if isinstance(value, dict):
        return _on_one_line(value)
    if isinstance(value, list):
        sequence = CommentedSeq(map(_as_yaml, value))
        sequence.fa.set_flow_style()
        return sequence
    if isinstance(value, str) and not PLAIN.fullmatch(value):
        return DoubleQuotedScalarString(value)
    return value
