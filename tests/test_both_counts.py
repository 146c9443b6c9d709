"""Both counts of parameters agree: by formula (0.2.0) and as torch counts what is built."""

from functools import partial

import pytest

from heed.hyperparameters import CorpusSizes
from heed.models.size import count_parameters, match_parameters
from heed.study import load
from heed.tasks import task_module
from tests.conftest import ROOT

STUDIES = [
    *sorted((ROOT / "workflow/studies").glob("*.yaml")),
    *sorted((ROOT / "tests/studies").glob("*.yaml")),
]


@pytest.mark.parametrize("types", [(700, 900), (40_000, 60_000)])
@pytest.mark.parametrize("path", STUDIES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_counts_are_equal(path, types):
    params, sizes = load(path), CorpusSizes(types, 34)
    for name, model in params.models.items():
        task = params.task(model)
        old, new = task_module(task, "capacity"), task_module(task, "network")
        build = partial(new.build, sizes=sizes)
        h = params.resolved(name, {})
        assert count_parameters(partial(build, h)) == old.count(h, types, 34), name
        rules = task_module(task, "rules")
        matched = params.resolved(model.match, {})
        if rules.wide_contradiction(name, matched) is None:
            wide = old.widen(h, matched, types, 34)
            parameters = count_parameters(partial(build, matched))
            control = partial(new.without_attention, h)
            size = match_parameters(lambda n, c=control, b=build: b(c(n)), parameters)
            assert control(size) == wide
            assert count_parameters(partial(build, wide)) == old.count(wide, types, 34)
