"""The stage `opponents`: reference models from outside, fitted on each fold, without which a report
would mislead.
"""

from typing import TYPE_CHECKING

import pandas as pd

from heed.files import write_json, writing_folder
from heed.paths import OPPONENTS, STATISTICS, TOKENS
from heed.tasks import part
from heed.tasks.interface import Fitted
from heed.tokens.arrays import load_tokens

if TYPE_CHECKING:
    from heed.study import Experiment


def write_opponents(name: str, experiment: "Experiment") -> None:
    """Fit the opponents of an experiment and write results/opponents/NAME (docs/contracts.md).

    Raises:
        HeedError: no tokens; a corpus without what the experiment asks for; nothing to learn.

    """
    tokens = load_tokens(TOKENS / experiment.corpus)
    schema = part(experiment.task, "recipe")
    data = schema.resolve_data(
        experiment.data.model_dump(), tokens.meta, f"experiments.{name}.data"
    )
    fitted: Fitted = part(experiment.task, "opponents").fit(tokens, data, experiment)
    statistics = []
    with writing_folder(OPPONENTS / name, checksums=True) as out:
        for (opponent, fold), table in fitted.predictions.items():
            table.to_parquet(out / f"{opponent}-{fold}.parquet", index=False)
            test = table[table["split"] == "test"]
            of_fold = fitted.statistics(test)
            of_fold.insert(0, "opponent", opponent)
            of_fold.insert(1, "fold", fold)
            of_fold.insert(2, "id", test["id"].to_numpy())
            statistics.append(of_fold)
        pd.concat(statistics, ignore_index=True).to_parquet(out / STATISTICS, index=False)
        write_json(out / "opponents.json", fitted.about)
