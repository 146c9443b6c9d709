"""The tables of the report as plain data: what stands in which row, before anything is HTML, LaTeX or CSV."""

import csv
import dataclasses
from pathlib import Path
from typing import Any

FIGURES = ("precision", "recall", "f1")
GROUP_1 = (
    ("epochs", "Epochs"),
    ("batch_size", "Batch size"),
    ("learning_rate", "Learning rate"),
    ("vocabulary_size", "Vocabulary size"),
)
GROUP_2 = (
    ("embedding_dim", "Embedding dimension"),
    ("hidden_size", "LSTM hidden size"),
    ("linear_size", "Linear layer size"),
    ("dropout", "Dropout rate"),
)
OWN = (
    ("attention", "Attention"), ("pooling", "Pooling"), ("embedding_dropout", "Embedding dropout"), ("embedding_std", "Embedding deviation"),
    ("max_tokens", "Length cap (tokens)"), ("lowercase", "Lower case"), ("select", "Epoch kept by"),
)  # fmt: skip
DASH = "–"


@dataclasses.dataclass(frozen=True)
class Row:
    """A row of a talk table: a class or an average. `published` and `difference` are empty where the talk has none."""

    name: str
    cells: dict[str, str]  # precision, recall, f1, support: as printed
    published: dict[str, str]
    difference: dict[str, str]
    seeds: dict[str, str]  # every seed's value, as printed
    kind: str  # class or average


@dataclasses.dataclass(frozen=True)
class Table:
    """The talk's table of one model or opponent, with what stands below it."""

    key: str
    title: str
    rows: list[Row]
    accuracy: float
    deviation: str
    gain: str
    hyperparameters: list[tuple[str, list[tuple[str, str]]]]
    has_published: bool


@dataclasses.dataclass(frozen=True)
class Experiment:
    """One experiment as the report prints it."""

    key: str
    title: str
    answer: str
    corpus: str
    substitute: str  # why our figures and the talk's are not comparable, or nothing
    pair: list[Table]  # baseline and attention, side by side
    others: list[Table]
    line: dict[str, str]  # its row of the first table
    losses: list[tuple[str, str, str]]  # model, our loss by suboptimal hyperparameters, the talk's


def number(value: float | None, digits: int = 4) -> str:
    """Return the number as printed; a dash for none."""
    return DASH if value is None else f"{value:.{digits}f}"


def points(value: float | None) -> str:
    """Return percentage points with their sign."""
    return DASH if value is None else f"{value:+.2f}".replace("-", "−")


def read_published(
    folder: Path,
) -> tuple[dict[tuple[str, str], dict[str, str]], dict[tuple[str, str, str], dict[str, str]]]:
    """Return the talk's summary by (experiment, variant), and its classes by (experiment, variant, class in lower case)."""
    with (folder / "talk_results.csv").open(encoding="utf-8", newline="") as file:
        results = {(row["experiment"], row["variant"]): row for row in csv.DictReader(file)}
    with (folder / "talk_classes.csv").open(encoding="utf-8", newline="") as file:
        classes = {(row["experiment"], row["variant"], row["class"].casefold()): row for row in csv.DictReader(file)}
    return results, classes


def experiments(params: Any, comparison: dict[str, Any], folder: Path) -> list[Experiment]:
    """Return the experiments in the order of params.yaml."""
    published = read_published(folder)
    found = comparison["experiments"]
    seeds = comparison["seeds"]
    return [_experiment(params, name, found, seeds, published) for name in params.experiments if name in found]


def _experiment(params: Any, name: str, found: dict[str, Any], seeds: list[int], published: Any) -> Experiment:
    declared, data = params.experiments[name], found[name]
    row = declared.published.experiment if declared.published else ""
    models = {variant: _table(variant, model, data, seeds, row, published) for variant, model in data["models"].items()}
    opponents = {name: _table(name, opponent, data, [], "", published) for name, opponent in data["opponents"].items()}
    pair = [models[variant] for variant in ("baseline", "attention") if variant in models]
    others = [table for variant, table in models.items() if variant not in ("baseline", "attention")]
    return Experiment(
        key=name,
        title=declared.title,
        answer=answer(declared.title, data, len(seeds)),
        corpus=_corpus(data["corpus"], seeds),
        substitute="" if not declared.published or declared.published.comparable else declared.published.reason,
        pair=pair,
        others=others + list(opponents.values()),
        line=_line(declared, data, published),
        losses=_losses(declared, data, found, published),
    )


def _corpus(corpus: dict[str, Any], seeds: list[int]) -> str:
    parts = corpus["parts"]
    text = (
        f"Corpus {corpus['name']}: {corpus['documents']:,} documents, {corpus['tokens']:,} tokens; "
        f"{parts['train']:,} to train, {parts['validation']:,} to validate, {parts['test']:,} to test"
    )
    text += f"; {corpus['folds']} folds, seed s tests on fold (s − 1) mod {corpus['folds']}" if corpus["folds"] else ""
    text += f"; {len(seeds)} seeds ({', '.join(map(str, seeds))})."
    if corpus["kind"].startswith("sample"):
        text += " Generated text."
    return text + (" REDUCED: a random part of its source." if corpus["reduced"] else "")


def answer(title: str, data: dict[str, Any], seeds: int) -> str:
    """Return one honest sentence: bad news first, and no more than the seeds can carry."""
    models, opponents = data["models"], data["opponents"]
    if "baseline" not in models or "attention" not in models:
        return f"{title}: no comparison, since the study has no {'baseline' if 'baseline' not in models else 'attention'} model."
    attention = models["attention"]["summary"]["accuracy"]["mean"]
    gain = models["attention"]["gain"]
    better = {f"the {name} model": opponents[name]["summary"]["accuracy"]["mean"] for name in ("linear", "majority")}
    better |= {
        f"the variant {name}": model["summary"]["accuracy"]["mean"]
        for name, model in models.items()
        if name not in ("baseline", "attention")
    }
    winners = [f"{name} ({value:.4f})" for name, value in better.items() if value >= attention]
    warning = f"{' and '.join(winners)} did at least as well as attention ({attention:.4f}); " if winners else ""
    controls = [
        f"{points(100 * (attention - value))} p.p. over {name}"
        for name, value in better.items()
        if name.startswith("the variant") and value < attention
    ]
    mean, deviation = gain["mean_pp"], gain["std_pp"]
    size = f"{points(mean)} p.p."
    if deviation is None:
        finding = f"one seed cannot tell; the difference was {size}"
    elif abs(mean) <= deviation:
        finding = f"{seeds} seeds cannot tell; the difference to the baseline was {size}, within one deviation ({deviation:.2f})"
    elif mean < 0:
        finding = f"attention did worse than the baseline: {size} (deviation {deviation:.2f} over {seeds} seeds)"
    else:
        finding = f"attention did better than the baseline: {size} (deviation {deviation:.2f} over {seeds} seeds)"
    return f"{title}: {warning}{'; '.join([finding, *controls])}."


def _line(declared: Any, data: dict[str, Any], published: Any) -> dict[str, str]:
    """Return the experiment's row of the first table."""
    results, _ = published
    models, line = data["models"], {"title": declared.title}

    def accuracy(entry: dict[str, Any] | None) -> str:
        return number(entry["summary"]["accuracy"]["mean"]) if entry else DASH

    line["baseline"], line["attention"] = accuracy(models.get("baseline")), accuracy(models.get("attention"))
    gain = (models.get("attention") or {}).get("gain")
    line["gain"] = points(gain["mean_pp"]) if gain else DASH
    line["deviation"] = number(gain["std_pp"], 2) if gain else DASH
    others = [f"{name} {accuracy(model)}" for name, model in models.items() if name not in ("baseline", "attention")]
    line["controls"] = ", ".join(others) or DASH
    line["linear"], line["majority"] = (
        accuracy(data["opponents"].get("linear")),
        accuracy(data["opponents"].get("majority")),
    )
    line["published"] = line["comparable"] = DASH
    if declared.published:
        pair = [results.get((declared.published.experiment, variant)) for variant in ("baseline", "attention")]
        if pair[0] and pair[1]:
            talk_gain = 100 * (float(pair[1]["accuracy"]) - float(pair[0]["accuracy"]))
            line["published"] = (
                f"{number(float(pair[0]['accuracy']))} → {number(float(pair[1]['accuracy']))} ({points(talk_gain)})"
            )
        line["comparable"] = (
            "comparable" if declared.published.comparable else f"not comparable: {declared.published.reason}"
        )
    return line


def _losses(declared: Any, data: dict[str, Any], found: dict[str, Any], published: Any) -> list[tuple[str, str, str]]:
    """Return, for both models, what the suboptimal hyperparameters cost in accuracy: ours and the talk's."""
    if not declared.suboptimal_of or declared.suboptimal_of not in found:
        return []
    results, _ = published
    good = found[declared.suboptimal_of]["models"]
    losses = []
    for variant in ("baseline", "attention"):
        if variant in good and variant in data["models"]:
            spoiled, tuned = (models[variant]["summary"]["accuracy"]["mean"] for models in (data["models"], good))
            bad, best = (results.get((key, variant)) for key in ("imdb-suboptimal", "imdb"))
            theirs = 100 * (float(bad["accuracy"]) - float(best["accuracy"])) if bad and best else None
            losses.append((variant, points(100 * (spoiled - tuned)), points(theirs)))
    return losses


def _table(
    variant: str, entry: dict[str, Any], data: dict[str, Any], seeds: list[int], row: str, published: Any
) -> Table:
    results, by_class = published
    talk = results.get((row, variant), {})
    rows = [
        _row(name, figures, by_class.get((row, variant, name.casefold()), {}), seeds, "class")
        for name, figures in ((name, entry["classes"][name]) for name in data["classes"])
    ]
    support = sum(figures["support"]["mean"] for figures in entry["classes"].values())
    summary = entry["summary"]
    accuracy = {"f1": summary["accuracy"], "support": {"mean": support, "values": []}}
    rows.append(
        _row(
            "accuracy",
            accuracy,
            {"f1": talk.get("accuracy", ""), "support": talk.get("test_items", "")},
            seeds,
            "average",
        )
    )
    for average in ("macro", "weighted"):
        figures = {figure: summary[f"{average}_{figure}"] for figure in FIGURES}
        theirs = {figure: talk.get(f"{average}_{figure}", "") for figure in FIGURES} | {
            "support": talk.get("test_items", "")
        }
        rows.append(
            _row(f"{average} avg", figures | {"support": {"mean": support, "values": []}}, theirs, seeds, "average")
        )
    deviation = summary["accuracy"]["std_pp"]
    gain = entry.get("gain")
    return Table(
        key=variant,
        title=TITLES.get(variant, f"Variant {variant}"),
        rows=rows,
        accuracy=summary["accuracy"]["mean"],
        deviation=(f"{deviation:.3f} p.p." if deviation is not None else f"{DASH} (of one value there is none)")
        + (f"; the talk: {talk['std_percent']}%" if talk else ""),
        gain=f"{points(gain['mean_pp'])} p.p. (deviation {number(gain['std_pp'], 2)})" if gain else "",
        hyperparameters=_hyperparameters(entry, talk) if "hyperparameters" in entry else [],
        has_published=bool(talk),
    )


TITLES = {
    "baseline": "Without attention",
    "attention": "With attention",
    "mean": "Control: without attention, mean pooling",
    "wide": "Control: without attention, as many parameters",
    "uniform": "Control: uniform attention weights",
    "linear": "Opponent: linear model on TF-IDF",
    "majority": "Opponent: majority class",
}


def _row(name: str, figures: dict[str, Any], talk: dict[str, str], seeds: list[int], kind: str) -> Row:
    cells, theirs, difference, by_seed = {}, {}, {}, {}
    for figure in (*FIGURES, "support"):
        entry = figures.get(figure)
        digits = 4 if figure != "support" else 0
        if figure == "support" and entry and entry["mean"] != round(entry["mean"]):
            digits = 1
        cells[figure] = number(entry["mean"], digits) if entry else ""
        values = entry["values"] if entry and seeds else []
        by_seed[figure] = ", ".join(
            f"{seed}: {number(value, digits)}" for seed, value in zip(seeds, values, strict=False)
        )
        theirs[figure] = talk.get(figure, "")
        if theirs[figure] and figure != "support":
            theirs[figure] = number(float(theirs[figure]))  # the talk prints four digits; the CSV drops a last 0
        difference[figure] = ""
        if entry and theirs[figure] and figure != "support":
            difference[figure] = f"{100 * (entry['mean'] - float(theirs[figure])):+.1f}".replace("-", "−")
    return Row(name, cells, theirs, difference, by_seed, kind)


def _hyperparameters(entry: dict[str, Any], talk: dict[str, str]) -> list[tuple[str, list[tuple[str, str]]]]:
    h = entry["hyperparameters"]

    def lines(keys: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
        return [(label, _plain(h[key])) for key, label in keys]

    heads = str(h["heads"]) if h["attention"] != "none" else "0"
    millions = f"{entry['parameters']:,}" + (f" (the talk: {talk['parameters_million']} million)" if talk else "")
    epochs = ("Best epochs", ", ".join(map(str, entry["best_epochs"])))
    return [
        ("Group 1", lines(GROUP_1)),
        ("Group 2", [*lines(GROUP_2), ("Attention heads", heads), ("Parameters", millions)]),
        ("What the talk leaves open", [*lines(OWN), epochs]),
    ]


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) and value >= 10_000 else str(value)


def csv_rows(table: Table) -> list[list[str]]:
    """Return the table as rows of text, the first the heading."""
    head = ["class", *FIGURES, "support", *(f"published_{figure}" for figure in (*FIGURES, "support"))]
    keys = (*FIGURES, "support")
    return [head] + [[row.name, *(row.cells[k] for k in keys), *(row.published[k] for k in keys)] for row in table.rows]
