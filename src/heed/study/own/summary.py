"""What `heed corpus add` prints: the facts of the corpus, and the sizes chosen from them."""

from collections.abc import Iterator

from heed.study.corpora import Corpus
from heed.study.own.entries import VARIANTS, CorpusEntries
from heed.study.own.facts import LONG, OwnCorpusFacts
from heed.study.own.files import SPLIT_NAMES, UserFiles
from heed.study.tasks import PRESETS, rules_of
from heed.task import task_module

NAMED_CLASSES = 6  # of a label; of more, the largest and the smallest are named
RARE = 10  # a class with fewer rows: of the usual split, its test part has at most two of them


def describe_corpus(files: UserFiles, corpus: Corpus, facts: OwnCorpusFacts) -> Iterator[str]:
    """Yield lines on the files and what was found in them."""
    delimiter = f"; fields are separated by {corpus.delimiter!r}" if corpus.delimiter else ""
    yield f"{files}: {facts.documents:,} texts in {_columns(corpus.text_names)}{delimiter}"
    for label, classes in facts.classes.items():
        yield f"  label in column {label!r}: {_describe_classes(classes, facts.documents)}"
        if 2 * len(classes) > facts.documents:
            yield (
                f"  Column {label!r} has {len(classes):,} classes in {facts.documents:,} rows: is "
                "it a label? If not, remove the corpus (heed corpus remove) and use another "
                "--label-column"
            )
        elif rare := sum(count < RARE for count in classes.values()):
            yield _describe_rare(label, min(classes.items(), key=lambda item: item[1]), rare)
    yield (
        f"  {facts.mean_length:,.0f} tokens a text on average; {LONG}% of the texts have at most "
        f"{facts.long_length:,}"
    )
    parts = ", ".join(f"{count:,} for {part}" for part, count in facts.parts.items())
    drawn = "drawn at random" if corpus.split.kind == "random" else "as given"
    left_out = f"; {facts.left_out:,} are left out of train" if facts.left_out else ""
    yield f"  {parts}: {drawn}{left_out}"


def _columns(names: list[str]) -> str:
    return f"column{'s' * (len(names) > 1)} {', '.join(map(repr, names))}"


def _describe_classes(classes: dict[str, int], documents: int) -> str:
    """Return the number of classes, and of each its share of the documents."""
    shares = [
        f"{name} ({_format_share(count / documents)})"
        for name, count in sorted(classes.items(), key=lambda item: -item[1])
    ]
    if len(shares) > NAMED_CLASSES:
        shares = [*shares[: NAMED_CLASSES // 2], "…", *shares[-NAMED_CLASSES // 2 :]]
    return f"{len(classes):,} classes: {', '.join(shares)}"


def _format_share(share: float) -> str:
    """Return a share in percent; one that would round to 0% is less than 1%."""
    return f"{100 * share:.0f}%" if share > 0.005 else "<1%"


def _describe_rare(label: str, smallest: tuple[str, int], rare: int) -> str:
    """Return a warning of classes that no model can learn, and no test can judge."""
    name, count = smallest
    rows = f"{count} row{'s' * (count > 1)}"
    which = (
        f"class {name!r} has {rows}" if rare == 1 else f"{rare} classes have fewer than {RARE} rows"
    )
    smallest_of = "" if rare == 1 else f" ({name!r}: {count})"
    return (
        f"  Column {label!r}: {which}{smallest_of}, too few to learn from and to test on. Collect "
        "more of them, join them with another class, or leave them out of the file"
    )


def describe_entries(entries: CorpusEntries, facts: OwnCorpusFacts) -> Iterator[str]:
    """Yield lines on the models and the sizes that were chosen for this corpus."""
    preset = PRESETS[entries.task][entries.preset]
    epochs, batch = (preset.values.get(key) for key in ("epochs", "batch_size"))
    opponents = " and ".join(rules_of(entries.task).OPPONENTS)
    for experiment in entries.experiments:
        yield f"experiment {experiment}: models {', '.join(VARIANTS)}; opponents {opponents}"
    yield f"  preset {entries.preset}: {preset.description}"
    yield f"  {epochs} epochs, {batch} texts a batch"
    which = "both ends" if preset.values.get("truncation") == "ends" else "the start"
    whole = 100 * facts.share_within(entries.max_tokens)
    yield (
        f"  {entries.max_tokens:,} tokens of a text are read, from {which}: of {whole:.0f}% of the "
        "texts all"
    )
    recommend_linear = task_module(entries.task, "presets").recommend_linear
    if reason := recommend_linear(facts.parts["train"], facts.mean_length):
        yield f"  {reason}"


def describe_unused(columns: list[str], corpus: Corpus) -> Iterator[str]:
    """Yield a hint for a column that may be meant to assign rows to parts, and is not used."""
    used = {*corpus.text_names, *corpus.label_names, corpus.split_column, corpus.group_column}
    for column in columns:
        if column.lower() in SPLIT_NAMES and column not in used and corpus.split.kind != "given":
            yield f"  column {column!r} is not used: if it has the parts, --split-column {column}"
