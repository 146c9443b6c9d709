"""Add a user's corpus to params.yaml: a source, a corpus, an experiment and models to compare."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ruamel.yaml.comments import CommentedMap

from heed.corpora.table import KIND, SPLITS, read_table, require_columns
from heed.files import HeedError, sha256
from heed.paths import is_name
from heed.study.editing import editing

if TYPE_CHECKING:
    from heed.study.schema import Params

VARIANTS: dict[str, dict[str, object]] = {
    "baseline": {"pooling": "last"},
    "mean": {"pooling": "mean"},
    "attention": {"pooling": "mean", "attention": "multi-head", "heads": 1},
}


def add_corpus(
    file: Path, name: str, text_column: str, label_column: str, split_column: str, params: Path
) -> str:
    """Write the entries of a new corpus into `params`, and return a message with the next command.

    Raises:
        HeedError: the file cannot be read, lacks a column or a class, or names other parts; `name`
            is invalid or already used.

    """
    if not is_name(name):
        raise HeedError(
            f"{name!r} is no name: lower-case letters, digits and single '-'. Use --name NAME"
        )
    rows, classes = _count_rows_and_classes(file, text_column, label_column, split_column)
    with editing(params) as (_, tree):
        for section in ("sources", "corpora", "experiments"):
            if name in tree[section]:
                raise HeedError(f"{params}: {section}: {name} is there already. Use another --name")
        columns = {"text_column": text_column, "label_column": label_column}
        columns |= {"split_column": split_column} if split_column else {}
        _add_entries(tree, name, file, columns)
    doubt = (
        f"\nColumn {label_column!r} has {classes:,} classes in {rows:,} rows: is it a label? "
        "If not, remove the corpus (docs/own-corpus.md) and use another --label-column"
        if 2 * classes > rows
        else ""
    )
    return (
        f"{params}: added source, corpus, experiment and {len(VARIANTS)} models named {name} "
        f"({rows:,} rows, {classes} classes). Run: snakemake --cores 4{doubt}"
    )


def _count_rows_and_classes(
    file: Path, text_column: str, label_column: str, split_column: str
) -> tuple[int, int]:
    """Return the number of rows and of classes of a table. Raises HeedError when it is unusable."""
    table = read_table(file)
    columns = [text_column, label_column, *([split_column] if split_column else [])]
    require_columns(file, table, columns)
    if (classes := table[label_column].nunique()) < 2:
        raise HeedError(
            f"{file}: column {label_column!r} has {classes} class: there is nothing to learn"
        )
    parts = list(table[split_column].unique()) if split_column else []
    if unknown := [part for part in parts if part not in SPLITS]:
        raise HeedError(
            f"{file}: column {split_column!r}: expected {', '.join(SPLITS)}, found {unknown[0]!r}"
        )
    return len(table), classes


def _add_entries(tree: Any, name: str, file: Path, columns: dict[str, str]) -> None:
    """Add a source, a corpus, an experiment and its models to the YAML tree of params.yaml."""
    split: dict[str, object] = (
        {"kind": "given"}
        if "split_column" in columns
        else {"kind": "random", "test": 0.2, "validation": 0.1}
    )
    tree["sources"][name] = _on_one_line(
        {"kind": KIND.source.name, "path": str(file), "sha256": sha256(file)}
    )
    tree["corpora"][name] = _on_one_line(
        {"source": name, "kind": KIND.name, **columns, "split": _on_one_line(split)}
    )
    data = _on_one_line({"label": "label"})
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
        if (
            source.path
            and Path(source.path).is_file()
            and (digest := sha256(source.path)) != source.sha256
        ):
            yield (
                f"{source.path}: changed since it was added; the study still uses the copy in "
                f"data/raw/{name}. "
                f"To use the changed file, set in params.yaml: sources.{name}.sha256: {digest}"
            )


def _on_one_line(values: dict[str, object]) -> CommentedMap:
    """Return the mapping, marked to be written on one line (YAML's flow style)."""
    mapping = CommentedMap(values)
    mapping.fa.set_flow_style()
    return mapping
