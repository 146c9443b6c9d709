"""What several chapters' tables have in common."""

from collections.abc import Callable
from typing import Any

from heed.report.answer import Tested
from heed.report.blocks import Column
from heed.report.experiments import Experiment
from heed.report.formats import POINTS, PROBABILITY
from heed.report.language import say

Find = Callable[[Any], Any]


def joining(of: Callable[[Any], Experiment]) -> tuple[Column, ...]:
    """Return the columns with which every CSV file begins, so that files can be joined."""
    return (
        Column("experiment", "", value=lambda record: of(record).key),
        Column("corpus", "", value=lambda record: of(record).corpus_name),
        Column("mark", "", value=lambda record: of(record).mark),
    )


def of_comparison(of: Callable[[Any], Tested | None], get: Callable[[Tested], Any]) -> Find:
    """Return what gets a value of a record's comparison; None where the record has none."""

    def value(record: Any) -> Any:
        each = of(record)
        return None if each is None else get(each)

    return value


def tested(
    of: Callable[[Any], Tested | None], low: str, high: str
) -> tuple[Column, Column, Column, Column]:
    """Return the CSV columns of a comparison's interval and p values."""
    return (
        Column(low, "", POINTS, of_comparison(of, lambda each: each.low)),
        Column(high, "", POINTS, of_comparison(of, lambda each: each.high)),
        Column("p", "", PROBABILITY, of_comparison(of, lambda each: each.p)),
        Column("p_holm", "", PROBABILITY, of_comparison(of, lambda each: each.p_holm)),
    )


def corrected_p(of: Callable[[Any], Tested | None]) -> Column:
    """Return the column of a comparison's corrected p, in every form of a table."""
    value = of_comparison(of, lambda each: each.p_holm)
    return Column("p_holm", say("Corrected p"), PROBABILITY, value, short=say("corr. p"))


def pp() -> str:
    """Return the unit of percentage points."""
    return say("p.p.")
