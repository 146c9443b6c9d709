"""The tables as rows for CSV: one observation a row, plain numbers as printed, so that files can be joined."""

from heed.evaluation.results import Gain
from heed.report.answer import Tested
from heed.report.scores import Score
from heed.report.tables import FIGURES, Experiment, Table, number

Rows = list[list[str]]


def of_table(experiment: Experiment, table: Table) -> Rows:
    """Return a talk table: means, deviations in percentage points, the talk's figures, ours minus the talk's."""
    head = ["experiment", "corpus", "mark", "variant", "row", "kind", *FIGURES]
    head += [f"{figure}_std_pp" for figure in FIGURES[:3]] + [f"published_{figure}" for figure in FIGURES]
    rows = [[*head, *(f"{figure}_minus_published_pp" for figure in FIGURES[:3])]]
    for row in table.rows:
        cells = [row.cells.get(figure) for figure in FIGURES]
        rows.append(
            [*_of(experiment), table.key, row.name, row.kind]
            + [cell.text if cell else "" for cell in cells]
            + [_number(cell.deviation, 3) if cell else "" for cell in cells[:3]]
            + [cell.published if cell else "" for cell in cells]
            + [_ascii(cell.difference) if cell else "" for cell in cells[:3]]
        )
    return rows


def of_seeds(experiment: Experiment) -> Rows:
    """Return every run's value of every cell of the experiment."""
    rows = [["experiment", "corpus", "mark", "variant", "run", "row", "kind", "figure", "value"]]
    for table in experiment.tables:
        for row in table.rows:
            for figure, cell in row.cells.items():
                for run, value in zip(table.runs or ["the only one"], cell.by_seed, strict=True):
                    rows.append([*_of(experiment), table.key, run, row.name, row.kind, figure, value])
    return rows


def of_hyperparameters(experiment: Experiment) -> Rows:
    """Return the hyperparameters of every model, and the talk's."""
    rows = [["experiment", "corpus", "mark", "variant", "group", "hyperparameter", "value", "published"]]
    for table in experiment.tables:
        for group, settings in table.settings.items():
            rows += [[*_of(experiment), table.key, group, each.name, each.ours, each.talk] for each in settings]
    return rows


def of_summary(experiments: list[Experiment]) -> Rows:
    """Return the first table: accuracies of everything compared, the gain, the talk's, and the loss where there is one."""
    others = [experiment.line.controls | experiment.line.variants for experiment in experiments]
    names = list(dict.fromkeys(name for values in others for name in values))
    head = ["experiment", "corpus", "mark", "title", "baseline", "attention", "gain_pp", "gain_std_pp", "gain_low_pp", "gain_high_pp", "p", "p_holm",
            *names, "linear", "majority",
            "published_baseline", "published_attention", "published_gain_pp", "published_verdict", "baseline_loss_pp", "attention_loss_pp",
            "verdict"]  # fmt: skip
    rows = [head]
    for experiment, values in zip(experiments, others, strict=True):
        line = experiment.line
        losses = {loss.variant: loss.ours for loss in experiment.losses}
        rows.append(
            [*_of(experiment), experiment.title, _number(line.baseline), _number(line.attention), *_gain(line.gain)]
            + _tested(experiment.gain)
            + [_number(values.get(name)) for name in names]
            + [_number(line.linear), _number(line.majority), *(line.talk or ("", "")), _signed(line.talk_gain)]
            + [line.beside, *(_gain(losses.get(variant))[0] for variant in ("baseline", "attention"))]
            + [experiment.answer.verdict]
        )
    return rows


def of_comparisons(experiment: Experiment) -> Rows:
    """Return what each difference of the experiment is worth: one comparison a row, in percentage points but for the p values."""
    rows = [["experiment", "corpus", "mark", "first", "second", "family", "difference_pp", "low_pp", "high_pp", "p", "p_holm", "shown", "odds_ratio",
             "g", "seeds_won", "seeds_needed", "detectable_pp", "bootstrap_low_pp", "bootstrap_high_pp", "documents_p", "seeds_t_p",
             "seeds_sign_p", "seeds_sign_smallest_p"]]  # fmt: skip
    for each in experiment.comparisons:
        effect, others = each.effect, each.others
        low, high = others.bootstrap_pp or (None, None)
        rows.append([
            *_of(experiment), each.first, each.second, each.family, _signed(each.mean), *_tested(each), each.shown or "no",
            _number(effect.odds_ratio, 3), _number(effect.g, 3), _number(effect.seeds_won, 3),
            "" if each.seeds_needed is None else str(each.seeds_needed), _number(each.detectable, 2), _signed(low), _signed(high),
            _p(others.documents_p), _p(others.seeds_t_p), _p(others.seeds_sign_p), _p(others.seeds_sign_smallest_p),
        ])  # fmt: skip
    return rows


def of_scores(scores: list[Score]) -> Rows:
    """Return the score functions: one model that has it a row."""
    rows = [["experiment", "corpus", "mark", "score", "source", "variant", "where", "accuracy", "accuracy_std_pp", "gain_pp", "gain_low_pp",
             "gain_high_pp", "p", "p_holm"]]  # fmt: skip
    for score in scores:
        for each in score.measured:
            about = [*_of(each.experiment), score.name, score.source, each.variant, each.where, each.accuracy.text]
            gain = [_signed(each.gain.mean if each.gain else None), *_tested(each.gain)]
            rows.append([*about, _number(each.accuracy.deviation, 3), *gain])
    return rows


def _tested(each: Tested | None) -> list[str]:
    return [_signed(each.low), _signed(each.high), _p(each.p), _p(each.p_holm)] if each else [""] * 4


def _p(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _of(experiment: Experiment) -> list[str]:
    return [experiment.key, experiment.corpus_name, experiment.mark]


def _number(value: float | None, digits: int = 4) -> str:
    return "" if value is None else number(value, digits)


def _signed(value: float | None) -> str:
    return "" if value is None else f"{value:+.2f}"


def _gain(gain: Gain | None) -> list[str]:
    return [_signed(gain.mean_pp), _number(gain.std_pp, 2)] if gain else ["", ""]


def _ascii(text: str) -> str:
    return text.replace("−", "-")
