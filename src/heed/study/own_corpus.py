"""Add a corpus of the user's own to params.yaml: a source, a corpus, an experiment, and the models
to compare.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ruamel.yaml.comments import CommentedMap

from heed.corpora.table import KIND, SPLITS, check_columns, read_table
from heed.files import HeedError, sha256
from heed.study.editing import editing
from heed.study.section import is_name

if TYPE_CHECKING:
    from heed.study.schema import Params

VARIANTS: dict[str, dict[str, object]] = {
    "baseline": {"pooling": "last"},
    "mean": {"pooling": "mean"},
    "attention": {"pooling": "mean", "attention": "multi-head", "heads": 1},
}


def add(
    file: Path, name: str, text_column: str, label_column: str, split_column: str, params: Path
) -> str:
    """Write the new entries into `params`, comments kept, and return what to run next.

    Raises:
        HeedError: the file cannot be read, lacks a column, has other parts, or the name is taken or
            no name.

    """
    if not is_name(name):
        raise HeedError(
            f"{name!r} is no name: lower-case letters, digits and single '-'. Say --name NAME"
        )
    table = read_table(file)
    check_columns(
        file, table, [text_column, label_column, *([split_column] if split_column else [])]
    )
    if (classes := table[label_column].nunique()) < 2:
        raise HeedError(
            f"{file}: column {label_column!r} has {classes} class: there is nothing to learn"
        )
    if split_column and (
        wrong := [part for part in table[split_column].unique() if part not in SPLITS]
    ):
        raise HeedError(
            f"{file}: column {split_column!r}: expected {', '.join(SPLITS)}, found {wrong[0]!r}"
        )
    with editing(params) as (_, tree):
        for section in ("sources", "corpora", "experiments"):
            if name in tree[section]:
                raise HeedError(f"{params}: {section}: {name} is there already. Say another --name")
        split: dict[str, object] = (
            {"kind": "given"}
            if split_column
            else {"kind": "random", "test": 0.2, "validation": 0.1}
        )
        columns: dict[str, object] = {"text_column": text_column, "label_column": label_column}
        columns |= {"split_column": split_column} if split_column else {}
        tree["sources"][name] = _flow(
            {"kind": KIND.source.name, "path": str(file), "sha256": sha256(file)}
        )
        tree["corpora"][name] = _flow(
            {"source": name, "kind": KIND.name, **columns, "split": _flow(split)}
        )
        data = _flow({"label": "label"})
        tree["experiments"][name] = _flow(
            {"task": "classification", "corpus": name, "data": data, "title": name}
        )
        for variant, settings in VARIANTS.items():
            model = f"{name}-{variant}"
            head: dict[str, object] = {
                "experiment": name,
                "corpus": name,
                "variant": variant,
                "tuned_by": "none",
                "match": model,
            }
            tree["models"][model] = _flow(head | settings)
    many = (
        f"\nColumn {label_column!r} has {classes:,} classes in {len(table):,} rows: is it a label? "
        "If not, take the corpus out again (docs/own-corpus.md) and say another --label-column"
        if 2 * classes > len(table)
        else ""
    )
    return (
        f"{params}: added source, corpus, experiment and {len(VARIANTS)} models named {name} "
        f"({len(table):,} rows, {classes} classes). Run: snakemake --cores 4{many}"
    )


def changed(params: "Params") -> Iterator[str]:
    """Yield a line for people for each file of one's own that is not as params.yaml knows it: no
    driver looks at them.
    """
    for name, source in params.sources.items():
        if (
            source.path
            and Path(source.path).is_file()
            and (found := sha256(source.path)) != source.sha256
        ):
            yield (
                f"{source.path}: changed since it was added; the study goes on with the copy in "
                f"data/raw/{name}. "
                f"To take it as it is now, in params.yaml: sources.{name}.sha256: {found}"
            )


def _flow(values: dict[str, object]) -> CommentedMap:
    """Return the mapping so that it is written on one line."""
    mapping = CommentedMap(values)
    mapping.fa.set_flow_style()
    return mapping
