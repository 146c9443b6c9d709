"""The state of a sentence is what its decoder starts from; a plane shows how much it leaves out."""

from types import SimpleNamespace

import matplotlib.figure
import numpy as np
import pandas as pd
import pytest
import torch

from heed.files import HeedError
from heed.hyperparameters.translator import TranslatorArchitecture
from heed.inputs.pairs import EncodedPairs
from heed.models.translators import make_translator
from heed.report.results import Sources
from heed.tasks.translation import figures
from heed.tasks.translation.prediction import states_of

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


MODELS = {"baseline": "pair-baseline", "attention": "pair-attention"}
EXPERIMENT = SimpleNamespace(key="pair", title="A pair", mark="")
WORDS = np.repeat([4, 9, 20], 10)


def write_states(folder, states: np.ndarray) -> None:
    table = pd.DataFrame({"id": [f"pair-{i}" for i in range(len(states))], "source_words": WORDS})
    table["state"] = list(states.astype(np.float32))
    folder.mkdir(parents=True, exist_ok=True)
    table.to_parquet(folder / "states.parquet")


@pytest.fixture
def results(tmp_path):
    """Return results with states of 30 sentences in 5 dimensions, of which two vary most."""
    generator = np.random.default_rng(1)
    states = generator.normal(0, 0.01, (30, 5))
    states[:, 3] += WORDS  # the first direction
    states[:, 1] += np.tile([-1.0, 1.0], 15)
    for model in MODELS.values():
        write_states(tmp_path / "predict" / model, states)
    results = SimpleNamespace(attention=["attention"], models=MODELS)
    return SimpleNamespace(
        folder=tmp_path,
        sources=Sources(),
        models=lambda experiment: MODELS,
        comparison=SimpleNamespace(experiments={"pair": results}),
        comparison_sources=(),
    )


def draw(results) -> matplotlib.figure.Figure:
    drawing = matplotlib.figure.Figure()
    (figure,) = figures.sentence_states(results, EXPERIMENT)
    figure.draw(drawing)
    return drawing


def test_the_plane_has_the_directions_in_which_states_vary_most_and_says_how_much(results):
    baseline, attention = draw(results).axes
    assert (baseline.get_title(), attention.get_title()) == ("baseline", "attention")
    variances = np.var(WORDS), 1.0
    shares = [100 * each / sum(variances) for each in variances]
    labels = baseline.get_xlabel(), baseline.get_ylabel()
    for label, share in zip(labels, shares, strict=True):
        assert f"{share:.0f}%" in label
    marks = {line.get_label(): line for line in baseline.lines}
    assert list(marks) == ["4 words", "9 words", "20 words"]
    means = [line.get_xdata().mean() for line in marks.values()]
    assert np.allclose(np.diff(means), [5, 11], atol=0.1), "distances in the plane are as they were"
    assert len({line.get_marker() for line in marks.values()}) == 3


def test_without_baseline_and_variant_of_the_question_there_is_no_figure(results):
    results.models = lambda experiment: {"input": "pair-input"}
    assert figures.sentence_states(results, EXPERIMENT) == []


def test_without_a_plane_there_is_no_figure_and_a_missing_table_is_one_message(results):
    for same_or_of_one_dimension in (np.ones((30, 4)), WORDS[:, None]):
        write_states(results.folder / "predict/pair-attention", same_or_of_one_dimension)
        assert figures.sentence_states(results, EXPERIMENT) == []
    (results.folder / "predict/pair-attention/states.parquet").unlink()
    with pytest.raises(HeedError, match=r"states\.parquet: not there\. Run: heed score pair-att"):
        figures.sentence_states(results, EXPERIMENT)
