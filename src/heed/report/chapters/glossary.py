"""The glossary: a line and a drawing for each variant, and a line for each word of the report."""

from collections.abc import Iterable

from heed.report.blocks import Block, Disclosure, Group, Section, Span, Term, Texts
from heed.report.cautions import explain_collapse
from heed.report.chapters.shared import COLLAPSED, glossary_key
from heed.report.figures.networks import network
from heed.report.language import say
from heed.report.results import Results
from heed.report.variants import Variant, read_variants


def chapter(results: Results) -> list[Block]:
    """Return the section: the variants of the study, its opponents, and words of the report."""
    variants = read_variants(results)
    opponents = dict.fromkeys(
        name for result in results.comparison.experiments.values() for name in result.opponents
    )
    words = {**_words(results), **{name: _opponent(name) for name in opponents}}
    named = tuple(
        Term(glossary_key(word), name, (text,))
        for word, (name, text) in words.items()
        if word not in variants
    )
    models = tuple(term for entries in variants.values() for term in _terms(entries))
    blocks = (
        Disclosure(
            say("The models of this study: {names}", names=", ".join(variants)),
            (Group(models, "glossary"),),
        ),
        Disclosure(
            say("Words of this report: {names}", names=", ".join(each.name for each in named)),
            (Group(named, "glossary words"),),
        ),
    )
    return [Section("glossary", say("Models and words"), blocks)]


def _terms(entries: list[Variant]) -> Iterable[Term]:
    """Yield a term for each description of a variant; the first has the variant's own key."""
    for number, entry in enumerate(entries):
        key = glossary_key(entry.name) + (f"--{number + 1}" if number else "")
        where = ", ".join(entry.experiments)
        texts: Texts = (entry.description,)
        if len(entries) > 1:
            texts = (Span(f"{where}: ", "small"), entry.description)
        yield Term(key, entry.name, texts, network(entry, key))


def _opponent(name: str) -> tuple[str, str]:
    """Return the name and the description of an opponent."""
    texts = {
        "linear": say(
            "An opponent: TF-IDF with a linear support vector machine, tuned on the validation "
            "part."
        ),
        "majority": say("An opponent: it always predicts the most frequent classes or labels."),
        "statistical": say("An opponent: IBM model 1 and a trigram language model."),
        "copy": say("An opponent: it gives the source for its translation."),
    }
    return name, texts[name]


def _words(results: Results) -> dict[str, tuple[str, str]]:
    """Return the words of the report, each with its name and its explanation, by key."""
    explained = dict.fromkeys(map(explain_collapse, results.comparison.experiments.values()))
    return {
        **_roles(),
        **_verdicts(results),
        COLLAPSED: (say("collapsed run"), " ".join(explained)),
    }


def _roles() -> dict[str, tuple[str, str]]:
    """Return the words for what is compared."""
    return {
        "gain": (say("gain"), say("Attention minus baseline, paired by seed and test document.")),
        "control": (
            say("control"),
            say(
                "A model of the study without learned attention; its entry above says how else it "
                "differs. Where it gains as much, attention need not be the cause."
            ),
        ),
        "opponent": (
            say("opponent"),
            say("A reference model from outside, of another kind than the networks of the study."),
        ),
        "seed": (
            say("seed"),
            say(
                "A number that fixes the initial weights and the order of the batches. A training "
                "is repeated with several, since its result varies with them."
            ),
        ),
    }


def _alternatives(texts: Iterable[str]) -> str:
    """Return different texts, such as limits in several units, as a list of alternatives."""
    return f" {say('or')} ".join(dict.fromkeys(texts))


def _corrected_p(level: str) -> tuple[str, str]:
    """Return the word and the text on a corrected p."""
    return (
        say("corrected p"),
        say(
            "How probable a difference at least this large would be if the models were equally "
            "good, corrected by Holm for the number of comparisons. Below {level} it is "
            "significant.",
            level=level,
        ),
    )


def _verdicts(results: Results) -> dict[str, tuple[str, str]]:
    """Return the words for what is said of a difference."""
    method = results.comparison.significance
    measures = [each.measure for each in results.experiments]
    margin = _alternatives(each.margin(method.margin_pp) for each in measures)
    limit = _alternatives(each.of_validation.limit(method.convergence_pp) for each in measures)
    level = f"{method.alpha:g}"
    return {
        "verdict": (say("verdict"), say("What the tests support on a difference, in a word.")),
        "better": (
            say("better, worse"),
            say(
                "The difference is significant: its corrected p is below {level}. It is not "
                "practically none, and both models had converged; “worse” is also said where only "
                "the losing one had.",
                level=level,
            ),
        ),
        "same": (
            say("the same"),
            say(
                "Practically the same: the difference is shown to lie within {margin}.",
                margin=margin,
            ),
        ),
        "undecided": (
            say("undecided"),
            say(
                "Neither a difference nor equivalence is shown. It does not mean that there is no "
                "difference: the interval says how large it may be."
            ),
        ),
        "not-converged": (
            say("not converged"),
            say(
                "At least half of the trainings of one of the two models still improved by more "
                "than {limit} over their last two validations, or had no more than two: a longer "
                "training may reverse the difference.",
                limit=limit,
            ),
        ),
        "corrected-p": _corrected_p(level),
    }
