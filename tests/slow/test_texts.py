"""Hostile texts and labels, from a table to the report."""

import json
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.conftest import ROOT
from tests.hostile import HOSTILE
from tests.slow.study import Heed, Study

PIECES = [
    *(text for text, *_ in HOSTILE if isinstance(text, str)), "<script>alert(1)</script>",
    "\\input{/etc/passwd}", "=1+1", "{{ 7 * 7 }}", "<padding>", "<unknown>", "\u2028", "\ufeff",
    "\u200b", "a" * 5000, "é" * 999, "%s %n", "../../x", "NA", "None", "]]>", "$x_1^2$ & # ~",
]  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=60),
    st.text(alphabet="\x00\x07\x85\u202e\ud800\udfff \n\r\t<br>&\\{}$%#_^~\"'", max_size=40),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map(" ".join),
)
LABELS = ["<b>good</b> & co", "\\textbf{bad} $%#_", "=HYPERLINK(1)\u202e", "NA"]
COUNT = 120
VARIANTS = ("last-state", "average", "attention-pooling", "self-attention")  # of `heed corpus add`
TRAININGS = [f"train mine-{each}" for each in VARIANTS]
COMMANDS = [
    "download mine", "tokenize mine", "recipe mine", *TRAININGS, "score mine",
    "reference_models mine", "compare", "report",
]  # fmt: skip
TITLE = r"Hostile <script>alert(1)</script> \input{x} & 100%"


def test_hostile_texts_from_the_table_to_the_report(tmp_path: Path, heed: Heed) -> None:
    @settings(
        max_examples=1, derandomize=True, phases=[Phase.generate], database=None, deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.lists(TEXTS, min_size=COUNT, max_size=COUNT))
    def written(texts: list[str]) -> None:
        labels = LABELS * (COUNT // len(LABELS))
        pairs = enumerate(zip(texts, labels, strict=True))
        rows = [{"text": f"{text} w{i % 7}", "label": label} for i, (text, label) in pairs]
        (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    written()
    reports = []
    for number, threads in enumerate(("1", "3")):
        study = Study(tmp_path / f"clone {number}", heed)
        study.make("")
        params = study.path / "params.yaml"
        params.unlink()
        (study.path / "workflow").symlink_to(ROOT / "workflow")
        (study.path / "mine.jsonl").write_bytes((tmp_path / "mine.jsonl").read_bytes())
        columns = "--text-column text --label-column label"
        study.run(f"corpus add mine.jsonl {columns} --as-labels --seeds 5")  # NA is a class
        title = next(line for line in params.read_text().splitlines() if "title: " in line)
        params.write_text(params.read_text().replace(title, f"  title: '{TITLE}'"))
        for command in COMMANDS:
            study.run(command, HEED_THREADS=threads)
        reports.append(study.files())
        page = (study.path / "reports/index.html").read_text()
        pages = [page, *(path.read_text() for path in study.path.glob("reports/documents/*.html"))]
        for harm in ("<script>alert", "<b>good", "\u202e"):
            assert not any(harm in text for text in pages)
        assert "\\input{x}" not in (study.path / "reports/report.tex").read_text()
    assert reports[0] == reports[1]
