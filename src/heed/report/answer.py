"""The answer in words: one honest sentence an experiment, chosen by its numbers and by nothing else."""

import dataclasses
import statistics
from typing import Any

CONTROLS = ("mean", "wide", "uniform")
PAIR = ("baseline", "attention")


@dataclasses.dataclass(frozen=True)
class Answer:
    """A verdict of two or three words, and the sentence behind it."""

    verdict: str
    sentence: str


@dataclasses.dataclass(frozen=True)
class Difference:
    """A difference of accuracies in percentage points, paired by seed; no deviation of one value."""

    mean: float
    deviation: float | None

    @property
    def undecided(self) -> bool:
        """Whether the seeds cannot tell it from nothing: a rule of thumb, not a test."""
        return self.deviation is None or abs(self.mean) <= self.deviation


def points(value: float | None) -> str:
    """Return percentage points with their sign; a dash for none."""
    return "–" if value is None else f"{value:+.2f}".replace("-", "−")


def difference(entry: dict[str, Any], other: dict[str, Any]) -> Difference:
    """Return the accuracy of `entry` minus that of `other` (two models of one comparison) in percentage points."""
    pairs = zip(_accuracy(entry)["values"], _accuracy(other)["values"], strict=True)
    values = [100 * (ours - theirs) for ours, theirs in pairs]
    return Difference(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None)


def answer(data: dict[str, Any], seeds: int) -> Answer:
    """Return what one experiment of the comparison says: bad news first, and no more than the seeds can carry."""
    models = data["models"]
    if missing := [variant for variant in PAIR if variant not in models]:
        names = " and no ".join(missing)
        return Answer("no comparison", f"No comparison, since the study has no {names} model.")
    attention, gain = models["attention"], difference(models["attention"], models["baseline"])
    winners = _winners(data)
    verdict, finding = _finding(gain, seeds)
    parts = [f"{_and(winners)} did at least as well as attention ({_mean(attention):.4f})"] if winners else []
    parts += [finding, *_over_controls(models, seeds)]
    sentence = "; ".join(parts)
    return Answer(verdict + (", not the best" if winners else ""), sentence[0].upper() + sentence[1:] + ".")


def _finding(gain: Difference, seeds: int) -> tuple[str, str]:
    size = f"{points(gain.mean)} p.p."
    if gain.deviation is None:
        return "cannot tell", f"one seed cannot tell: the difference to the baseline was {size}"
    if gain.undecided:
        return (
            "cannot tell",
            f"{seeds} seeds cannot tell: the difference to the baseline was {size}, within one deviation ({gain.deviation:.2f})",
        )
    word = "worse" if gain.mean < 0 else "better"
    return (
        word,
        f"attention did {word} than the baseline: {size} (deviation {gain.deviation:.2f} over {seeds} seeds)",
    )


def _winners(data: dict[str, Any]) -> list[str]:
    """Return who did at least as well as attention, opponents first: a linear model that wins is the first news."""
    others = {f"the {name} model": entry for name, entry in data["opponents"].items()}
    others |= {_called(name): entry for name, entry in data["models"].items() if name not in PAIR}
    best = _mean(data["models"]["attention"])
    return [f"{name} ({_mean(entry):.4f})" for name, entry in others.items() if _mean(entry) >= best]


def _over_controls(models: dict[str, Any], seeds: int) -> list[str]:
    """Return what attention gained over each control that it beat: the part of the gain that is attention's own."""
    parts = []
    for name, model in models.items():
        over = difference(models["attention"], model)
        if name in PAIR or _mean(model) >= _mean(models["attention"]):
            continue
        text = f"{points(over.mean)} p.p. over {_called(name)}"
        if over.deviation is not None and over.undecided:
            text += f", within one deviation ({over.deviation:.2f}): {seeds} seeds cannot tell the two apart"
        parts.append(text)
    return parts


def _called(variant: str) -> str:
    return f"the {'control' if variant in CONTROLS else 'variant'} {variant}"


def _accuracy(entry: dict[str, Any]) -> dict[str, Any]:
    figures: dict[str, Any] = entry["summary"]["accuracy"]
    return figures


def _mean(entry: dict[str, Any]) -> float:
    return float(_accuracy(entry)["mean"])


def _and(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
