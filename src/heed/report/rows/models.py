"""The rows of the paper's tables of models and of corpora."""

from heed.report.describe import describe_network
from heed.report.formats import format_count
from heed.report.results import Results
from heed.report.rows import Rows


def models(results: Results) -> Rows:
    """Return each network of a study once: its name in words, what it does, and its sizes."""
    records: dict[tuple[str, str], dict[str, object]] = {}
    for experiment in results.experiments:
        for name, model in experiment.result.models.items():
            words, does = experiment.words[name], describe_network(model.hyperparameters)
            known = records.setdefault(
                (words, does), {"words": words, "does": does, "parameters": set()}
            )
            known["parameters"] |= {model.parameters}  # type: ignore[operator]
    for each in records.values():
        each["parameters"] = _range(each["parameters"])  # type: ignore[arg-type]
    return Rows([*records.values()], location="experiments")


def _range(counts: set[int]) -> str:
    """Return one number of parameters in millions, or the least and the most."""
    ends = dict.fromkeys(f"{count / 1e6:.2f}" for count in (min(counts), max(counts)))
    return " to ".join(ends)


def corpora(results: Results) -> Rows:
    """Return the corpus of each experiment once, with the sizes of its splits."""
    records = {}
    for each in results.experiments:
        statistics = each.result.corpus.statistics
        near = statistics.near_duplicates
        records[each.corpus_name] = {
            "experiment": each,
            "tokens": statistics.tokens,
            "documents": statistics.documents,
            "splits": " / ".join(
                format_count(statistics.splits[split]) for split in ("train", "validation", "test")
            ),
            "near": f"{'' if near.complete else 'at least '}{format_count(near.total)}",
        }
    return Rows([*records.values()], location="experiments")
