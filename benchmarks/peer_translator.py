"""JoeyNMT's training and beam search, run by the Python of its environment (benchmarks/peers.py).

Its own command's training: files of text, its loader, sentences in random order, packed for the
encoder. Without validation and messages. The search is of heed's model: both have the same layers
here, so JoeyNMT is given heed's weights, and an output bias, which heed has.
"""

import json
import logging
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from joeynmt import training
from joeynmt.batch import Batch
from joeynmt.config import load_config, parse_global_args
from joeynmt.model import build_model
from joeynmt.search import search
from joeynmt.vocabulary import build_vocab
from torch import nn

CPU, FIRST = torch.device("cpu"), 4  # steps that are not counted


def train(folder: Path, decoder: str) -> float:
    """Train an epoch by JoeyNMT's command; return target tokens a second."""
    marks: list[tuple[float, int]] = []  # of each step: the time before it, its target tokens
    step = training.TrainManager._train_step

    def timed(manager: Any, batch: Batch) -> Any:
        marks.append((time.process_time(), batch.ntokens))
        return step(manager, batch)

    training.TrainManager._train_step = timed
    training.train(0, None, load_config(folder / f"{decoder}.yaml"), skip_test=True)
    seconds = marks[-1][0] - marks[FIRST][0]
    return sum(count for _, count in marks[FIRST:-1]) / seconds


def translate(folder: Path) -> float:
    """Return sentences a second, in their order, 64 at a time, with heed's weights and beam 5."""
    model = _model_of_heed(folder)
    sources = torch.load(folder / "sources.pt")
    found: list[list[int]] = []
    started = 0.0
    for start in range(-64, len(sources), 64):  # the first batch twice: once without the clock
        if start == 0:
            found, started = [], time.process_time()
        rows = sources[max(0, start) : max(0, start) + 64]
        source = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=model.pad_index)
        lengths = torch.tensor([*map(len, rows)])
        batch = Batch(
            source, lengths, None, None, None, torch.arange(len(rows)), CPU,
            pad_index=model.pad_index, eos_index=model.eos_index, is_train=False,
        )  # fmt: skip
        back = batch.sort_by_src_length()
        output, _, _ = search(model, batch, max_output_length=-1, beam_size=5, beam_alpha=1.0)
        found += [_until_end(output[row], model.eos_index) for row in back]
    seconds = time.process_time() - started
    (folder / "joeynmt-translations.json").write_text(json.dumps(found))
    return len(sources) / seconds


def _until_end(ids: np.ndarray, end: int) -> list[int]:
    row = ids.tolist()
    return row[: row.index(end)] if end in row else row


def _model_of_heed(folder: Path) -> nn.Module:
    """Return JoeyNMT's model with the weights of heed's (decoder output, score general, tied)."""
    args = parse_global_args(load_config(folder / "search.yaml"))
    model = build_model(args.model, *build_vocab(args.data))
    saved = torch.load(folder / "translator.pt")
    swapped = [1, 0, *range(2, len(saved["target_embedding.weight"]))]  # padding and unknown
    bias = saved["output.bias"][swapped]
    model.decoder.output_layer.bias = nn.Parameter(bias)
    weights = {
        "src_embed.lut.weight": saved["source_embedding.weight"][swapped],
        "trg_embed.lut.weight": saved["target_embedding.weight"][swapped],
        "decoder.output_layer.weight": saved["target_embedding.weight"][swapped],
        "decoder.output_layer.bias": bias,
        "decoder.attention.key_layer.weight": saved["decoder.attention.score.weight.weight"].T,
        "decoder.att_vector_layer.weight": saved["readout.0.weight"],
        "decoder.att_vector_layer.bias": saved["readout.0.bias"],
    }
    directions = {"forward": "", "backward": "_reverse"}
    for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"):
        weights[f"decoder.rnn.{name}"] = saved[f"decoder.stack.layers.0.{name}"]
        for direction, suffix in directions.items():
            weights[f"encoder.rnn.{name}{suffix}"] = saved[
                f"encoder.layers.0.{direction}_lstm.{name}"
            ]
    model.load_state_dict(weights)
    return model.eval()


def main() -> None:
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    folder, what = Path(sys.argv[1]), sys.argv[2]
    print(translate(folder) if what == "search" else train(folder, what))


if __name__ == "__main__":
    main()
