"""Gradients and states of sentences: what is measured, and what the figures show of it."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from heed.files import HeedError
from heed.hyperparameters.translator import TranslatorArchitecture
from heed.inputs.pairs import EncodedPairs
from heed.models.dependence import SourceGradients
from heed.models.translators import make_translator
from heed.report.results import Sources
from heed.tasks.translation import figures
from heed.tasks.translation.prediction import sentence_gradients, states_of

SOURCES = [np.asarray(source) for source in ([5, 6, 7, 8], [4, 5], [9, 6, 7])]
ROWS = np.asarray([30, 10, 20])
PAIRS = EncodedPairs(ROWS, SOURCES, SOURCES)
STATES = {
    "lstm": {"encoder_layers": 3, "decoder_layers": 2, "residual": True},
    "gru": {"recurrence": "gru", "decoder": "output"},
    "concatenate": {"decoder": "concatenate", "max_source_tokens": 3},
    "transformer": {"encoder": "transformer", "decoder": "transformer", "heads": 2},
}


@pytest.mark.parametrize("name", STATES)
def test_a_state_is_what_the_decoder_starts_from_whatever_the_batch(name: str) -> None:
    torch.manual_seed(0)
    h = TranslatorArchitecture(**{"embedding_dim": 6, "hidden_size": 4} | STATES[name])
    model = make_translator(12, 12, h).eval()
    states = states_of(model, PAIRS, ROWS, "cpu")
    for source, state in zip(SOURCES, states, strict=True):
        lengths = torch.tensor([len(source)])
        memory, first = model.encode(torch.from_numpy(source)[None], lengths)
        expected = memory.states[0].mean(0)  # of a transformer
        if name == "lstm":
            h_of_layers, cells = first[::2], first[1::2]
            assert all((h == c).all() for h, c in zip(h_of_layers, cells, strict=True))
            expected = torch.cat(h_of_layers, -1)[0]
        elif name != "transformer":
            expected = first[0][0]
        assert state.dtype == np.float32 and state.shape == expected.shape
        assert np.allclose(state, expected.detach().numpy(), atol=1e-6)


MODELS = {"baseline": "pair-baseline", "transformer": "pair-transformer"}
EXPERIMENT = SimpleNamespace(key="pair", title="A pair", mark="")
WORDS = np.repeat([4, 9, 20], 10)


@pytest.fixture
def results(tmp_path):
    """Return results with gradients of sentences of 4 and 12 words, and states of 30 sentences.

    Of the five dimensions of a state two vary most: one with the number of words.
    """
    states = np.random.default_rng(1).normal(0, 0.01, (30, 5))
    states[:, 3] += WORDS
    states[:, 1] += np.tile([-1.0, 1.0], 15)
    of_sentences = pd.DataFrame({"source_words": WORDS, "state": list(states.astype(np.float32))})
    for variant, model in MODELS.items():
        tables = []
        for length in (4, 12):
            norms = np.arange(1.0, length + 1)
            cut = np.where(np.arange(length) < (length - 1) // 8 * 8, 0.0, norms)
            measured = {None: norms, 8: cut} if variant == "baseline" else {None: None}
            for truncation, forward in measured.items():
                gradients = SourceGradients(norms, forward)
                tables.append(sentence_gradients(f"id-{length}", length, truncation, gradients))
        for stage in ("predict", "evaluate"):
            (tmp_path / stage / model).mkdir(parents=True)
        pd.concat(tables).to_parquet(tmp_path / "predict" / model / "gradients.parquet")
        of_sentences.to_parquet(tmp_path / "predict" / model / "states.parquet")
        lengths = pd.DataFrame({"seed": [1, 1, 2, 2], "longest": [5, 12, 5, 12]})
        lengths.to_csv(tmp_path / "evaluate" / model / "lengths.csv", index=False)
    experiment = SimpleNamespace(attention=["transformer"], controls=[], models=MODELS)
    return SimpleNamespace(
        comparison=SimpleNamespace(experiments={"pair": experiment}),
        folder=tmp_path,
        sources=Sources(),
        comparison_sources=(),
        models=lambda experiment: MODELS,
        evaluation_folder=lambda model: tmp_path / "evaluate" / model,
    )


def test_what_truncation_cuts_off_is_drawn_as_0(results):
    figure = figures.first_word(results, EXPERIMENT, [*MODELS])
    ((left, right),) = figure.panels
    whole, truncated = (
        {
            name: [(row["x"], row["y"]) for row in panel.rows if row.get("name") == name]
            for name in MODELS
        }
        for panel in (left, right)
    )
    expected = [[4.0, 1 / 2.5], [12.0, 1 / 6.5]]
    assert np.allclose(whole["baseline"], expected) and np.allclose(whole["transformer"], expected)
    assert np.allclose(truncated["baseline"], [[4.0, 1 / 2.5], [12.0, 0.0]])
    assert truncated["transformer"] == [], "a transformer has no time to go back through"
    assert left.y.domain[0] == 0 and "2 test sentences" in figure.caption
    files = {source.path.split("/")[-1] for source in figure.sources}
    assert files == {"gradients.parquet", "lengths.csv"}


def test_the_plane_has_the_directions_in_which_states_vary_most_and_says_how_much(results):
    (figure,) = figures.sentence_states(results, EXPERIMENT)
    (baseline, attention), (legend,) = figure.panels
    assert (baseline.title, attention.title) == ("baseline", "transformer")
    variances = np.var(WORDS), 1.0
    for label, variance in zip((baseline.x.title, baseline.y.title), variances, strict=True):
        assert f"{100 * variance / sum(variances):.0f}%" in label
    names = [row["text"] for row in legend.rows if row["kind"] == "text"]
    assert names == ["4 words", "9 words", "20 words"]
    shapes = dict.fromkeys(row["shape"] for row in legend.rows if row["kind"] == "point")
    means = [
        np.mean([row["x"] for row in baseline.rows if row["shape"] == each]) for each in shapes
    ]
    assert np.allclose(np.diff(means), [5, 11], atol=0.1), "distances in the plane are as they were"
    assert len(shapes) == 3


def test_a_plane_needs_a_variant_of_the_question_and_its_table(results):
    (results.folder / "predict/pair-transformer/states.parquet").unlink()
    with pytest.raises(HeedError, match=r"states\.parquet: not there\. Run: heed score pair-tra"):
        figures.sentence_states(results, EXPERIMENT)
    results.models = lambda experiment: {"input": "pair-input"}
    assert figures.sentence_states(results, EXPERIMENT) == []
