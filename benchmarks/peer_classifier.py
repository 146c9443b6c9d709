"""A training of LibMultiLabel's BiLSTM, run by the Python of its environment (benchmarks/peers.py).

Its own dataset, loader, model and trainer, with the defaults of its package: sentences in random
order, packed for the LSTM, label-wise attention, Adam, binary cross entropy, gradients cut at .5.
Without validation, checkpoints and messages. The loader works in this process, whose time counts.
"""

import json
import logging
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import lightning  # noqa: E402
from libmultilabel.nn.data_utils import PAD, UNK, get_dataset_loader  # noqa: E402
from libmultilabel.nn.nn_utils import init_device, init_model, init_trainer, set_seed  # noqa: E402


class Clock(lightning.Callback):
    """Counts tokens and this process's time, from the end of the first step on."""

    tokens, started, seconds = 0, 0.0, 0.0

    def on_train_batch_end(
        self, trainer: Any, module: Any, outputs: Any, batch: Any, step: int
    ) -> None:
        now = time.process_time()
        if step == 0:
            self.started = now
        else:
            self.tokens, self.seconds = (
                self.tokens + int(batch["length"].sum()), now - self.started
            )  # fmt: skip


def main() -> None:
    folder, steps = Path(sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(1)
    set_seed(1)
    sizes = json.loads((folder / "classifier.json").read_text())
    texts = np.load(folder / "texts.npz")
    words = [f"w{i}" for i in range(sizes["vocabulary"])]
    word_dict = {PAD: 0, UNK: 1} | {word: i for i, word in enumerate(words) if i > 1}
    data = [
        {"text": [words[i] for i in ids], "label": [str(label)]}
        for ids, label in zip(
            np.split(texts["ids"], texts["offsets"][1:-1]), texts["labels"], strict=True
        )
    ]
    classes = [str(label) for label in range(sizes["classes"])]
    loader = get_dataset_loader(
        data, classes, init_device(use_cpu=True), max_seq_length=sizes["max_tokens"],
        batch_size=sizes["batch"], shuffle=True, data_workers=0, word_dict=word_dict,
    )  # fmt: skip
    model = init_model(
        "BiLSTMLWAN", {"rnn_dim": 2 * sizes["hidden_size"], "rnn_layers": 1}, classes,
        embed_vecs=torch.randn(sizes["vocabulary"], sizes["embedding_dim"]) / 10,
        monitor_metrics=["Micro-F1"], multiclass=True, silent=True,
    )  # fmt: skip
    trainer = init_trainer(
        str(folder), epochs=1, silent=True, use_cpu=True, limit_train_batches=steps + 1,
        limit_val_batches=0, save_checkpoints=False,
    )  # fmt: skip
    clock = Clock()
    trainer.callbacks[:] = [clock]  # and none that stops it or writes a checkpoint
    trainer.fit(model, loader)
    print(clock.tokens / clock.seconds)


if __name__ == "__main__":
    main()
