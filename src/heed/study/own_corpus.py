"""Add a user's corpus to params.yaml: a source, a corpus, an experiment and models to compare."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from ruamel.yaml.comments import CommentedMap

from heed.corpora.table import KIND, read_documents
from heed.files import HeedError, sha256
from heed.paths import is_name
from heed.study.corpora import Corpus
from heed.study.editing import editing

if TYPE_CHECKING:
    from heed.study.schema import Params

VARIANTS: dict[str, dict[str, object]] = {
    "baseline": {"pooling": "last"},
    "mean": {"pooling": "mean"},
    "attention": {"pooling": "mean", "attention": "multi-head", "heads": 1},
}


def add_corpus(file: Path, name: str, columns: dict[str, str], params: Path) -> str:
    """Write the entries of a new corpus into `params`, and return a message with the next command.

    Args:
        file: the user's table. All of its rows are read as `heed tokenize` will read them.
        name: of the new entries.
        columns: text_column, label_column, and where they apply split_column, evidence_column and
            encoding.
        params: the path of params.yaml.

    Raises:
        HeedError: the file cannot be read, lacks a column or a class, has a row that does not fit,
            or cannot be split; `name` is invalid or already used.

    """
    if not is_name(name):
        raise HeedError(
            f"{name!r} is no name: lower-case letters, digits and single '-'. Use --name NAME"
        )
    rows, classes = _count_rows_and_classes(file, _corpus(name, columns))
    with editing(params) as (_, tree):
        for section in ("sources", "corpora", "experiments"):
            if name in tree[section]:
                raise HeedError(f"{params}: {section}: {name} is there already. Use another --name")
        _add_entries(tree, name, file, columns)
    doubt = (
        f"\nColumn {columns['label_column']!r} has {classes:,} classes in {rows:,} rows: is it a "
        "label? If not, remove the corpus (docs/own-corpus.md) and use another --label-column"
        if 2 * classes > rows
        else ""
    )
    return (
        f"{params}: added source, corpus, experiment and {len(VARIANTS)} models named {name} "
        f"({rows:,} rows, {classes} classes). Run: snakemake --cores 4{doubt}"
    )


def _corpus(name: str, columns: dict[str, str]) -> Corpus:
    """Return the section of the new corpus. Raises HeedError for a value that it refuses."""
    try:
        return Corpus.model_validate(
            {"source": name, "kind": KIND.name, **columns, "split": _split(columns)}
        )
    except ValidationError as error:
        (mistake,) = error.errors()
        key = ".".join(map(str, mistake["loc"])) or "columns"
        raise HeedError(f"{key}: {mistake['ctx']['error']}") from None


def _split(columns: dict[str, str]) -> dict[str, object]:
    if "split_column" in columns:
        return {"kind": "given"}
    return {"kind": "random", "test": 0.2, "validation": 0.1}


def _count_rows_and_classes(file: Path, corpus: Corpus) -> tuple[int, int]:
    """Return the number of rows and of classes of a table. Raises HeedError when it is unusable."""
    # not at the top: the drivers import this module, and scikit-learn takes long
    from heed.tokens.facts import DocumentFacts
    from heed.tokens.splits import require_learnable, split_documents

    facts, has_text = DocumentFacts(), False
    for document in read_documents({"": file}, corpus):
        facts.append(document)
        has_text = has_text or bool(document.text)
    if not len(facts):
        raise HeedError(f"{file}: no row below the names of the columns")
    if not has_text:
        raise HeedError(f"{file}: column {corpus.text_column!r} has no text in any row")
    labels = facts.labels
    classes = len(labels[corpus.label_names[0]].categories)
    if classes < 2:
        raise HeedError(
            f"{file}: column {corpus.label_column!r} has {classes} class in {len(facts):,} "
            f"row{'s' * (len(facts) > 1)}: there is nothing to learn"
        )
    try:
        require_learnable(labels, split_documents(corpus.split, facts))
    except HeedError as error:
        column = f"column {corpus.split_column!r}: " if corpus.split_column else ""
        raise HeedError(f"{file}: {column}{error}") from None
    return len(facts), classes


def _add_entries(tree: Any, name: str, file: Path, columns: dict[str, str]) -> None:
    """Add a source, a corpus, an experiment and its models to the YAML tree of params.yaml."""
    tree["sources"][name] = _on_one_line(
        {"kind": KIND.source.name, "path": str(file), "sha256": sha256(file)}
    )
    split = _on_one_line(_split(columns))
    tree["corpora"][name] = _on_one_line(
        {"source": name, "kind": KIND.name, **columns, "split": split}
    )
    data = _on_one_line({"label": columns["label_column"]})
    tree["experiments"][name] = _on_one_line(
        {"task": "classification", "corpus": name, "data": data, "title": name}
    )
    for variant, settings in VARIANTS.items():
        model = f"{name}-{variant}"
        keys: dict[str, object] = {
            "experiment": name,
            "corpus": name,
            "variant": variant,
            "tuned_by": "none",
            "match": model,
        }
        tree["models"][model] = _on_one_line(keys | settings)


def changed_file_warnings(params: "Params") -> Iterator[str]:
    """Yield a warning for each user file whose hash differs from params.yaml.

    Neither dvc nor snakemake looks at these files.
    """
    for name, source in params.sources.items():
        for file in source.user_files():
            if Path(file.path).is_file() and (digest := sha256(file.path)) != file.sha256:
                yield (
                    f"{file.path}: changed since it was added; the study still uses the copy in "
                    f"data/raw/{name}. "
                    f"To use the changed file, set in params.yaml: sources.{name}.{file.hash_key}: "
                    f"{digest}"
                )


def _on_one_line(values: dict[str, object]) -> CommentedMap:
    """Return the mapping, marked to be written on one line (YAML's flow style)."""
    mapping = CommentedMap(values)
    mapping.fa.set_flow_style()
    return mapping
