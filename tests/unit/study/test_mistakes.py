"""Every mistake of mistakes.yaml in params.yaml is a line: file, line, key, what is allowed."""

import re

import pytest
import yaml

from heed.files import HeedError
from heed.study import parse
from tests.conftest import ROOT
from tests.unit.search.makers import STUDY as SEARCH
from tests.unit.study.test_models import OLD, QUICK
from tests.unit.tasks.translation.conftest import PARAMS as PAIR

SMALL = (ROOT / "tests/studies/small.yaml").read_text()
TABLE = re.sub(
    r"kind: sample-(sentiment|letters),",
    "kind: table, text_column: t, label_column: l,",
    re.sub(r"sample: \{kind: sample, [^}]*\}", "sample: {kind: table, FILE}", SMALL),
)
TABLE = re.sub(r"\{label: \w+\}", "{label: l}", TABLE)
STUDIES = {
    "small": SMALL, "table": TABLE.replace("FILE", f"path: x.csv, sha256: {'a' * 64}"),
    "lectures": (ROOT / "workflow/studies/lectures.yaml").read_text(), "search": SEARCH,
    "explained": (ROOT / "tests/studies/parts/explained.yaml").read_text() + SMALL, "pair": PAIR,
    "presets": QUICK, "old": OLD,
}  # fmt: skip
MISTAKES = yaml.safe_load((ROOT / "tests/unit/study/mistakes.yaml").read_text())
CASES = [
    pytest.param(STUDIES[study], case, id=f"{case['key']}: {case['wrong']}"[:70])
    for study, cases in MISTAKES.items()
    for case in cases
]


@pytest.mark.parametrize(("study", "case"), CASES)
def test_a_mistake_is_named_with_line_key_and_what_to_do(study, case):
    """Another mistake that follows from it may be named too where `others` is true."""
    key, right, wrong = (case[name] for name in ("key", "right", "wrong"))
    assert right in study
    text = study.replace(right, wrong, 1)
    with pytest.raises(HeedError) as caught:
        parse(text)
    lines = str(caught.value).splitlines()
    found = [line for line in lines if f": {key}: " in line and case["says"] in line]
    if case["says"].startswith("heed 0.3.0 had"):  # the whole message
        found = [line for line in found if line.endswith(f": {key}: {case['says']}")]
    assert found and (len(lines) == 1 or case.get("others")), lines
    number = re.match(r"params\.yaml:(\d+): ", found[0])
    assert number, found
    named = case.get("at", key.rpartition(".")[2])  # what stands in the line that is named
    assert named in text.splitlines()[int(number[1]) - 1]
