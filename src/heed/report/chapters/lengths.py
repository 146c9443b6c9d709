"""The file of accuracy, or BLEU, by the length of the text: the values that the figures draw."""

from heed.report.blocks import PAGE, Column, Group, Paragraph, Span, Table, make_rows
from heed.report.chapters.shared import join_columns
from heed.report.experiments import Experiment
from heed.report.figures.lengths import by_group
from heed.report.figures.variants import ordered_variants, read_tables
from heed.report.formats import decimals
from heed.report.language import say
from heed.report.results import Results


def lengths_file(results: Results, experiment: Experiment) -> Group:
    """Return the file of every group of lengths, of all models, and a link to it.

    BLEU is between 0 and 100, accuracy between 0 and 1.
    """
    translated = experiment.measure.is_translation
    figure, counted = ("bleu", "sentences") if translated else ("accuracy", "documents")
    value = decimals(2) if translated else decimals(4)
    columns = (
        *join_columns(lambda _: experiment),
        Column("variant", "", value=lambda record: record["variant"]),
        Column("longest", "", value=lambda record: str(record["longest"])),
        Column("mean_length", "", decimals(1), lambda record: record["length"]),
        Column(counted, "", decimals(1), lambda record: record["count"]),
        Column(figure, "", value, lambda record: record["mean"]),
        Column("worst_seed", "", value, lambda record: record["min"]),
        Column("best_seed", "", value, lambda record: record["max"]),
    )
    variants = ordered_variants(results, experiment)
    records = [
        {"variant": variant, **group}
        for variant, table in read_tables(results, experiment, "lengths", variants).items()
        for group in by_group(table).reset_index().to_dict("records")
    ]
    key, title = f"{experiment.key}_lengths", say("every group of lengths (CSV)")
    table = Table(key, title, columns, make_rows(columns, records), files=("csv",), media=())
    link = Span(title, link=f"tables/{key}.csv")
    texts = (say("All models, by the length of the text:"), " ", link)
    return Group((table, Paragraph(texts, "small", media=(PAGE,))))
