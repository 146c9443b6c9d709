"""Where a space stands between two words of a text, learned from the texts of a training part.

A word is joined to the word after it ("(") or before it (".") or to neither. For each word the
share of its occurrences that are joined is counted, to the left and to the right; between two words
the share decides that is further from one half. Pairs of words that are seen in training and for
which this rule is wrong are exceptions. Of words without letters and digits the first, third, …
occurrence in a text is counted apart from the second, fourth, …: so quotation marks open and close.
"""

import dataclasses
from pathlib import Path

import numpy as np

from heed.files import write_text
from heed.tokens.arrays import Side

SHARES = 1000  # shares are whole numbers of 0 to this: a file gives them back exactly
PRIOR = 0.5  # occurrences with the mean share of all words that each word has besides its own


@dataclasses.dataclass(frozen=True)
class Spacing:
    """What is known of the spaces between words; without arguments there is one everywhere.

    A form is a word and whether its occurrence is an odd or an even one: 2 * word, or 2 * word + 1.
    """

    left: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0, np.int64))  # (forms,)
    right: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0, np.int64))
    alternates: frozenset[int] = frozenset()  # words whose even occurrences are forms of their own
    exceptions: dict[tuple[int, int], bool] = dataclasses.field(default_factory=dict)  # of forms

    def joined(self, words: np.ndarray) -> np.ndarray:
        """Return whether no space is between each word and the next: (words - 1,)."""
        if not len(self.left):
            return np.zeros(max(0, len(words) - 1), bool)
        forms = _forms(words, np.zeros_like(words), self.alternates)
        by_rule = _apply_rule(self.right[forms[:-1]], self.left[forms[1:]])
        pairs = zip(forms[:-1].tolist(), forms[1:].tolist(), strict=True)
        exceptions = (self.exceptions.get(pair) for pair in pairs)
        return np.asarray(
            [
                rule if exception is None else exception
                for rule, exception in zip(by_rule.tolist(), exceptions, strict=True)
            ],
            bool,
        )

    def write(self, folder: Path, name: str) -> None:
        """Write NAME.spacing.csv, a line for each word, and NAME.exceptions.csv."""
        lines = ["left,left_even,right,right_even,alternates"]
        shares = np.stack([self.left, self.right]).reshape(2, -1, 2)
        for word, row in enumerate(shares.transpose(1, 0, 2).reshape(-1, 4).tolist()):
            lines.append(",".join(map(str, [*row, int(word in self.alternates)])))
        write_text(folder / f"{name}.spacing.csv", "\n".join([*lines, ""]))
        lines = ["left_form,right_form,joined"]
        lines += [f"{a},{b},{int(joined)}" for (a, b), joined in sorted(self.exceptions.items())]
        write_text(folder / f"{name}.exceptions.csv", "\n".join([*lines, ""]))

    @classmethod
    def read(cls, folder: Path, name: str, words: int) -> "Spacing":
        """Return the spacing that was written as `name`, of so many words.

        Raises:
            OSError: a file cannot be read.
            ValueError: a file has other content.

        """
        table = _read_table(folder / f"{name}.spacing.csv", 5)
        exceptions = _read_table(folder / f"{name}.exceptions.csv", 3)
        if len(table) != words:
            raise ValueError(f"{name}.spacing.csv has {len(table)} words, not {words}")
        if exceptions.size and exceptions[:, :2].max() >= 2 * words:
            raise ValueError(f"{name}.exceptions.csv has a form of no word")
        return cls(
            table[:, :2].reshape(-1),
            table[:, 2:4].reshape(-1),
            frozenset(np.flatnonzero(table[:, 4]).tolist()),
            {(a, b): bool(joined) for a, b, joined in exceptions.tolist()},
        )


def learn_spacing(
    side: Side, rows: np.ndarray, index: np.ndarray, words: tuple[str, ...]
) -> Spacing:
    """Return the spacing of the words of some rows.

    Args:
        side: the texts of a language.
        rows: of the training part.
        index: the word of each type of the lexicon, (types,)
        words: their texts.

    """
    is_selected = np.zeros(len(side.offsets) - 1, bool)
    is_selected[rows] = True
    texts = np.repeat(np.arange(len(is_selected)), np.diff(side.offsets))
    tokens = np.flatnonzero(is_selected[texts])
    alternates = frozenset(i for i, word in enumerate(words) if not any(map(str.isalnum, word)))
    forms = _forms(index[side.ids[tokens]].astype(np.int64), texts[tokens], alternates)
    is_pair = np.diff(texts[tokens]) == 0
    first, second = forms[:-1][is_pair], forms[1:][is_pair]
    joined = (side.starts[tokens[1:]] == side.ends[tokens[:-1]])[is_pair]
    mean = float(joined.mean()) if len(joined) else 0.0
    right, left = (_shares(each, joined, mean, 2 * len(words)) for each in (first, second))
    return Spacing(left, right, alternates, _exceptions(first, second, joined, left, right))


def _forms(words: np.ndarray, texts: np.ndarray, alternates: frozenset[int]) -> np.ndarray:
    """Return the form of each word, (words,); `texts` has the text that it is of, (words,)."""
    span = int(words.max(initial=0)) + 1
    keys = texts * span + words
    order = np.argsort(keys, kind="stable")
    is_first = np.diff(keys[order], prepend=-1) != 0
    group = np.maximum.accumulate(np.where(is_first, np.arange(len(order)), 0))
    occurrence = np.empty(len(words), np.int64)
    occurrence[order] = np.arange(len(order)) - group
    may_alternate = np.isin(words, np.asarray(sorted(alternates), np.int64))
    return 2 * words + np.where(may_alternate, occurrence % 2, 0)


def _shares(forms: np.ndarray, joined: np.ndarray, mean: float, count: int) -> np.ndarray:
    """Return the share of occurrences of each form that are joined, in SHARES: int64 (forms,)."""
    occurrences = np.bincount(forms, minlength=count)
    shares = (np.bincount(forms, joined, count) + PRIOR * mean) / (occurrences + PRIOR)
    return np.rint(SHARES * shares).astype(np.int64)


def _apply_rule(right: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Return whether words are joined by their shares, `right` of the first, `left` of the next."""
    surer = np.where(abs(2 * right - SHARES) > abs(2 * left - SHARES), right, left)
    return 2 * surer > SHARES


def _exceptions(
    first: np.ndarray, second: np.ndarray, joined: np.ndarray, left: np.ndarray, right: np.ndarray
) -> dict[tuple[int, int], bool]:
    """Return the pairs of forms for which the rule is wrong more often than right."""
    pairs, index = np.unique(first * len(left) + second, return_inverse=True)
    joins = 2 * np.bincount(index, joined, len(pairs)) > np.bincount(index, minlength=len(pairs))
    first, second = np.divmod(pairs, len(left))
    is_wrong = joins != _apply_rule(right[first], left[second])
    return {
        (a, b): joins
        for a, b, joins in zip(
            first[is_wrong].tolist(), second[is_wrong].tolist(), joins[is_wrong].tolist(),
            strict=True,
        )
    }  # fmt: skip


def _read_table(path: Path, columns: int) -> np.ndarray:
    """Return the whole numbers of a CSV file with a header, int64 (lines, columns)."""
    lines = path.read_text(encoding="utf-8").split("\n")[1:-1]
    rows = [[int(number) for number in line.split(",")] for line in lines]
    if any(len(row) != columns or min(row) < 0 for row in rows):
        raise ValueError(f"{path.name}: expected {columns} numbers of 0 and more in each line")
    return np.asarray(rows, np.int64).reshape(-1, columns)
