"""How well trained translators align sentences that people have aligned by hand.

`python -m benchmarks.alignments PAIRS LINKS MODEL ...` in the folder of a study whose models are
trained. PAIRS has a pair of tokenised sentences a line, `source ||| target`; LINKS their links,
`i-j` sure and `ipj` possible, words counted from 1 (the format of the RWTH pairs, German and
English of Europarl). Every target word is linked to the source word with the most of its weight,
while the given translation is read; a row has the alignment error of each seed (Och & Ney 2003,
eq. 21). Pairs that a model's tokenizer splits in other words are left out, and counted. Beside
them stand the links of the diagonal, those of IBM model 1, which counts the words of the same pairs
as the models trained on, and those of each model moved by one word. The last line has the shares of
words that none of these pairs has.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from heed.annotations import parse_links
from heed.paths import TOKENS
from heed.recipe import read_model_recipe
from heed.tasks.translation.evaluation import shift
from heed.tasks.translation.metrics import (
    Gold,
    Links,
    corpus_counts,
    error_rate,
    links_from_weights,
)
from heed.tasks.translation.reference_models import fit_ibm1
from heed.tasks.translation.texts import open_run
from heed.tokens.arrays import load_tokens
from heed.training.run import read_run, trained_seeds

Pair = tuple[list[str], list[str]]


def read_pairs(file: Path) -> list[Pair]:
    """Return the words of both sides of each line. Raises SystemExit: a line is no pair."""
    pairs = []
    for number, line in enumerate(file.read_text().splitlines(), 1):
        source, bar, target = line.partition(" ||| ")
        if not bar:
            raise SystemExit(f"{file}:{number}: not `source ||| target`")
        pairs.append((source.split(), target.split()))
    return pairs


def read_gold(file: Path) -> list[Gold]:
    """Return the sure links of each line, and all its links, counted from 0."""
    gold = []
    for number, line in enumerate(file.read_text().splitlines(), 1):
        both = parse_links(line.replace("p", "?"), f"{file}:{number}")
        sure, possible = ({(i - 1, j - 1) for i, j in links} for links in both)
        gold.append((sure, sure | possible))
    return gold


def error(links: list[Links], gold: list[Gold]) -> float:
    """Return the alignment error over all sentences, from 0 to 1."""
    return float(error_rate(corpus_counts(links, gold).sum(0)))


def diagonal(pair: Pair) -> Links:
    """Link each target word to the source word at the same part of the sentence."""
    source, target = map(len, pair)
    return {(min(source - 1, int((j + 0.5) * source / target)), j) for j in range(target)}


def align(model: str, seed: int, pairs: list[Pair]) -> dict[int, Links]:
    """Return the links of each pair whose words are the model's, by the number of the pair."""
    translator = open_run(read_run(model, seed))
    scored = translator.score(
        [" ".join(source) for source, _ in pairs], [" ".join(target) for _, target in pairs]
    )
    links = {}
    for number, (pair, translation) in enumerate(zip(pairs, scored, strict=True)):
        if translation.weights is None:
            raise SystemExit(f"{model} has no weights over the source")
        words = translation.source_words, translation.target_words
        if [len(side) for side in words] == [len(side) for side in pair]:
            links[number] = links_from_weights(translation.weights)
    return links


def align_by_counts(model: str, pairs: list[Pair]) -> tuple[list[Links], list[float]]:
    """Return the links of IBM model 1, and the shares of words unknown to the model's training.

    The shares are of the source, and of the target. Capitals make no other word.
    """
    recipe = read_model_recipe(model)
    tokens = load_tokens(TOKENS / recipe.corpus)
    train = tokens.rows("train", 0)
    table, sides = fit_ibm1(tokens, recipe.data, lowercase=True, train=train)
    of_pairs, unknown = [], []
    for side, (sentences, never) in enumerate(zip(sides, (-2, table.width), strict=True)):
        ids = np.unique(np.concatenate([sentences.rows[row] for row in train]))
        known = {sentences.words[id_]: id_ for id_ in ids}  # `never` has no entry in the table
        found = [
            np.array([known.get(word.lower(), never) for word in pair[side]]) for pair in pairs
        ]
        of_pairs.append(found)
        unknown.append(float((np.concatenate(found) == never).mean()))
    return [table.align(source, target) for source, target in zip(*of_pairs, strict=True)], unknown


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", type=Path)
    parser.add_argument("links", type=Path)
    parser.add_argument("models", nargs="+")
    given = parser.parse_args()
    pairs, gold = read_pairs(given.pairs), read_gold(given.links)
    if len(pairs) != len(gold):
        raise SystemExit(f"{len(pairs)} pairs, and links of {len(gold)}")
    by_counts, unknown = align_by_counts(given.models[0], pairs)
    rows: list[dict[str, object]] = [
        {"model": name, "pairs": len(pairs), "error": error(links, gold)}
        for name, links in (("diagonal", [*map(diagonal, pairs)]), ("IBM model 1", by_counts))
    ]
    for model in given.models:
        for seed in trained_seeds(model):
            found = align(model, seed, pairs)
            known = [gold[number] for number in found]
            moved = [shift(links, len(pairs[number][1])) for number, links in found.items()]
            rows.append({
                "model": model, "seed": seed, "pairs": len(found),
                "error": error([*found.values()], known), "moved by one word": error(moved, known),
            })  # fmt: skip
    print(pd.DataFrame(rows).round(3).to_string(index=False, na_rep=""))
    print("unknown words: {:.1%} of the source, {:.1%} of the target".format(*unknown))


if __name__ == "__main__":
    main()
