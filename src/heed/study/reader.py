"""Read params.yaml, and report each mistake in one line: file, line, key and what is allowed.

An edit by a program keeps comments, quotes and order, and its result is checked.
"""

import contextlib
import functools
import itertools
import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from heed.evaluation.results import NOT_CONVERGED, UNDECIDED, Comparison, read_comparison
from heed.files import HeedError, locked, read_json, require_readable, write_json, write_text
from heed.paths import COMPARISON, LOCKS, LOOKS, PARAMS
from heed.records import Key, RecordError, read_section
from heed.study.rules import complete
from heed.study.schema import AnyParams, Params, add_kinds

MAX_SHOWN, MAX_MISTAKES = 200, 10  # characters of a key in a message; messages
PLAIN = re.compile(r"[A-Za-z_][\w./-]*", re.ASCII)  # text that YAML and DVC read alike unquoted
MAX_VALUES = 100_000  # keys and values, each as often as aliases repeat it; a large study has 5,000

# Keys of heed 0.3.0 that are gone; a * is any name.
REMOVED = (
    "training", "later_searches", "study.language", "corpora.*.label_separator", "sources.*.flags",
    "defaults.multilabel", "corpora.*.text_separator", "corpora.*.sample",
    "corpora.*.split.train_per_class", "explain.models.*.corpus", "adversarial_attention.*.corpus",
    *(f"searches.*.{key}" for key in ("adopted", "after", "corpus", "groups", "max_parameters")),
    *(f"searches.*.{key}" for key in ("sampler", "minutes", "reports", "grace_period")),
    "searches.*.reduction_factor", "searches.*.retries",
    "*.tfidf_*", "*.bigram_buckets", "*.attention_residual", "*.attention_positions",
    "*.layer_devices", "*.max_length_ratio", "*.min_count",
    "corpora.*.max_characters", "corpora.*.alignment_base", "corpora.*.columns.*-*",
    "corpora.*.optional_languages", "experiments.*.data.references",
)  # fmt: skip
GONE = "heed 0.3.0 had this key, and this version has not: remove it, or use version 0.3.0"


def load(path: str | Path = PARAMS) -> Params:
    """Return the params in `path`, checked.

    Raises HeedError with a line for each mistake: file, line, key, what is allowed, what was found.
    """
    return parse(read_text(Path(path)), path)


def read_text(path: Path) -> str:
    """Return the text of a study's file. Raises HeedError if it cannot be read."""
    require_readable(
        path, ". Run heed in the top folder of a clone, or `heed study sample` to make one."
    )
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise HeedError(f"{path}: cannot be read: {error}") from None


def parse(text: str, path: str | Path = PARAMS) -> Params:
    """Return the params in the YAML `text`, as `load` does; `path` is for messages."""
    tree, values = read_yaml(text, path)
    try:
        return complete(read_section(AnyParams, add_kinds(values)))
    except RecordError as error:
        lines = []
        for key, message in error.mistakes:  # of a key with signs that a terminal obeys: escaped
            shown = ((part if part.isprintable() else ascii(part))[:MAX_SHOWN] for part in key)
            is_gone = any(fnmatchcase(".".join(key), removed) for removed in REMOVED)
            message = GONE if is_gone else message
            lines.append(f"{path}:{_line(tree, key)}: {'.'.join(shown)}: {message}")
        if len(lines) > MAX_MISTAKES:  # one indentation may be all that is wrong
            lines[MAX_MISTAKES:] = [f"{path}: further mistakes: {len(lines) - MAX_MISTAKES}"]
        raise HeedError("\n".join(lines)) from None


@functools.lru_cache(maxsize=1)  # a run reads params.yaml four times: .2 s each
def read_yaml(text: str, path: object) -> tuple[Node, Any]:
    """Return the YAML `text` as nodes, which know their lines, and as values, not to be changed.

    Raises HeedError when it is not valid YAML, not a mapping, or more than a study needs.
    """
    _refuse_conflict(text, path)
    yaml = YAML(typ="safe", pure=True)  # YAML 1.2, as DVC reads it
    try:
        tree = yaml.compose(StringIO(text))
        if tree is not None and _count_values(tree, {}) >= MAX_VALUES:
            raise HeedError(
                f"{path}:1: more than {MAX_VALUES:,} values, each counted as often as aliases "
                "(*name) repeat it: no study needs more"
            )
        values = None if tree is None else yaml.constructor.construct_document(tree)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(str(error.problem or error.context).split())
        raise HeedError(
            f"{path}:{mark.line + 1 if mark else 1}: not valid YAML: {problem}"
        ) from None
    # a ReaderError has a position in the text, but no line
    except (YAMLError, ValueError, AttributeError, TypeError, LookupError, RecursionError) as error:
        number = 1 + text[: getattr(error, "position", 0)].count("\n")
        # as in !!bool classification
        tag = "a tag (!!) that does not fit its value " * (type(error) is KeyError)
        problem = tag + " ".join(str(error).split())
        raise HeedError(f"{path}:{number}: not valid YAML: {problem}") from None
    if not isinstance(values, dict):
        raise HeedError(
            f"{path}:1: expected sections (study, seeds, sources, ...), found "
            f"{type(values).__name__}"
        )
    return tree, values


def _refuse_conflict(text: str, path: object) -> None:
    if conflict := re.search(r"^<<<<<<< ", text, re.MULTILINE):
        raise HeedError(
            f"{path}:{text[: conflict.start()].count(chr(10)) + 1}: a merge conflict: keep one "
            "side, and delete the lines <<<<<<<, ======= and >>>>>>>"
        )


def _count_values(node: Node, counted: dict[int, int]) -> int:
    """Return how many keys and values a node has; a node that holds itself has MAX_VALUES."""
    if isinstance(node, ScalarNode):
        if refused := [sign for sign in node.value if sign == "\0" or "\ud800" <= sign <= "\udfff"]:
            what = "the character 0" if refused[0] == "\0" else "half a character"
            problem = f"an escape of {what}: write the character itself"
            raise MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
        return 1
    if id(node) not in counted:
        counted[id(node)] = MAX_VALUES  # while it is counted
        is_list = isinstance(node, SequenceNode)
        children = node.value if is_list else itertools.chain.from_iterable(node.value)
        counted[id(node)] = 1 + sum(_count_values(child, counted) for child in children)
    return counted[id(node)]


def check_as_dvc_reads(text: str, path: object) -> None:
    """Check that DVC reads the same values in the YAML `text` as heed. Raises HeedError.

    It uses ruamel.yaml's C parser where there is one, which refuses a `:` or `?` in an unquoted
    text within braces, and reads some invisible characters as an end of line.
    """
    try:
        read_by_dvc = YAML(typ="safe").load(text)
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise HeedError(
            f"{path}:{line}: {error.problem}. heed can read it, DVC cannot: put the text in quotes"
        ) from None
    if read_by_dvc != read_yaml(text, path)[1]:
        raise HeedError(
            f"{path}: DVC reads other values than heed: look for invisible characters, and for & "
            "and ! without quotes"
        )


def _line(tree: Node, key: Key) -> int:
    """Return the line of `key` in the YAML tree, or of the nearest section above it."""
    node, line = tree, 1
    for part in key:
        if isinstance(node, MappingNode):
            # the last: before its own keys are those merged by <<
            pairs = [pair for pair in node.value if str(pair[0].value) == part]
            if not pairs:
                return line
            line, node = pairs[-1][0].start_mark.line + 1, pairs[-1][1]
        elif isinstance(node, SequenceNode) and part.isdigit() and int(part) < len(node.value):
            node = node.value[int(part)]
            line = node.start_mark.line + 1
    return line


# --- editing --------------------------------------------------------------------------------------


def changed_text(text: str, path: Path, change: Callable[[Any], None]) -> str:
    """Return the text of params after `change` of its YAML tree, checked; comments are kept.

    Raises HeedError as `load` does, for a mistake in the changed text.
    """
    yaml, changed = YAML(), StringIO()
    yaml.width, yaml.preserve_quotes = 10_000, True
    tree = yaml.load(text)
    change(tree)
    yaml.dump(tree, changed)
    parse(changed.getvalue(), path)
    return changed.getvalue()


def set_seeds(path: Path, count: int) -> str:
    """Write the seeds 1 to `count` into params; return a message. Raises HeedError."""
    read_text(path)  # its message; no lock in a folder that is not a clone
    with locked(path.parent / LOCKS / path.name, f"{path}: another command edits it: waiting"):
        text = read_text(path)
        params = parse(text, path)
        before, comparison = len(params.seeds), _comparison_of(params, path.parent / COMPARISON)
        is_todays = comparison and all(
            comparison.seeds_of(name) == params.seeds_of(name) for name in params.experiments
        )
        decided = _decided(comparison) if comparison and is_todays and params.study.looks else []
        looked = _looked(params, count, path.parent)

        def change(tree: Any) -> None:
            tree.update(seeds=as_yaml([*range(1, count + 1)]))
            for name in decided:
                tree["experiments"][name]["seeds"] = as_yaml(params.seeds_of(name))
            if looked:
                tree["study"]["looked"] = as_yaml(looked)

        write_text(path, changed_text(text, path, change))
    kept = " Trained runs are kept" if count > before else ""
    kept += f". Decided, and not trained further: {', '.join(decided)}" * bool(decided)
    return f"{path}: seeds 1 to {count}, {before} before.{kept}"


def require_looked(params: Params) -> None:
    """Raise HeedError where seeds were raised after a comparison, and params do not say so.

    What was compared before is not an input of a stage: a report can say only what is in params.
    """
    count, looked = len(params.seeds), _looked(params, len(params.seeds), Path())
    if new := sorted({*looked} - {*params.study.looked}):
        raise HeedError(
            f"{PARAMS}: seeds: the study was compared with {new[0]} before, without a declared "
            f"plan of looks, and the report has to say so. Write looked: {looked} below `study:`, "
            f"or run heed study --seeds {count}, which does"
        )


def _looked(params: Params, count: int, root: Path) -> list[int]:
    """Return the seeds with which a study was looked at before it has `count`, without a plan."""
    if params.study.looks:
        return params.study.looked
    now = {name: len(entry.seeds or range(count)) for name, entry in params.experiments.items()}
    looks = _read_looks(params, root)
    before = (seen for name in now for seen in looks[name] if seen < now[name])
    return sorted({*params.study.looked, *before})


def _read_looks(params: Params, root: Path) -> dict[str, set[int]]:
    """Return the numbers of seeds with which each experiment of a study was compared."""
    looks = {name: set[int]() for name in params.experiments}
    if (noted := root / LOOKS / f"{params.study.name}.json").exists():
        for name, seen in read_json(noted, f"rm {noted}").items():
            looks.setdefault(name, set()).update(seen)
    with contextlib.suppress(HeedError):  # a broken one is made again
        if compared := _comparison_of(params, root / COMPARISON):
            for name in compared.experiments:
                looks[name].add(len(compared.seeds_of(name)))
    return looks


def note_looks(params: Params) -> None:
    """Note in .heed that a study was compared: the next study's comparison takes its place."""
    looks = _read_looks(params, Path()).items()
    write_json(LOOKS / f"{params.study.name}.json", {name: sorted(seen) for name, seen in looks})


def _comparison_of(params: Params, folder: Path) -> Comparison | None:
    """Return the last comparison of a study's experiments, if there is one."""
    if not (folder / "comparison.json").exists():
        return None
    found = read_comparison(folder / "comparison.json")
    return found if [*found.experiments] == [*params.experiments] else None


def _decided(comparison: Comparison) -> list[str]:
    """Return the experiments whose primary comparison is decided: it needs no more seeds."""
    return [
        name
        for name, result in comparison.experiments.items()
        for others in result.comparisons.values()
        for difference in others.values()
        if difference.family == "primary" and difference.verdict not in (UNDECIDED, NOT_CONVERGED)
    ]


def without_schema(text: str) -> str:
    """Return the text of a study without its first line, the path of the schema."""
    return text.split("\n", 1)[1] if text.startswith("# yaml-language-server") else text


def as_yaml(value: Any) -> Any:
    """Return a value of an entry, on one line; DVC refuses some texts of YAML 1.2 unquoted."""
    if isinstance(value, dict):
        made: Any = CommentedMap({key: as_yaml(item) for key, item in value.items()})
    elif isinstance(value, list):
        made = CommentedSeq(map(as_yaml, value))
    else:
        is_quoted = isinstance(value, str) and not PLAIN.fullmatch(value)
        return DoubleQuotedScalarString(value) if is_quoted else value
    made.fa.set_flow_style()
    return made
