"""Generated German messages of three classes, with the noise of real feedback, as a table."""

import csv
import dataclasses
import random
from pathlib import Path

CLASSES = {"lob": 0.4, "beschwerde": 0.4, "anfrage": 0.2}  # their shares
ANOTHER_MATTER, WRONG_LABEL = 0.12, 0.04  # shares of messages

SUBJECTS = [
    "die Lieferung", "der Service", "das Gerät", "die Verpackung", "der Akku", "das Zimmer",
    "das Frühstück", "der Versand", "die App", "die Bedienung", "der Kundendienst", "das Display",
    "die Anleitung", "der Preis", "die Montage", "das Personal", "die Buchung", "der Stoff",
    "die Farbe", "das Ladekabel", "die Tastatur", "der Drucker", "das Paket", "die Rechnung",
    "die Verarbeitung",
]  # fmt: skip
GOOD = [
    "hervorragend", "tadellos", "freundlich", "schnell", "sauber", "praktisch", "angenehm",
    "wunderbar", "solide", "günstig", "liebevoll", "durchdacht", "leise", "zuverlässig",
    "einwandfrei", "köstlich", "großzügig", "hilfsbereit", "makellos", "pünktlich",
]  # fmt: skip
BAD = [
    "mangelhaft", "langsam", "unfreundlich", "schmutzig", "defekt", "laut", "teuer", "enttäuschend",
    "unbrauchbar", "verspätet", "zerkratzt", "lieblos", "umständlich", "fehlerhaft", "wackelig",
    "fade", "beschädigt", "unvollständig", "schlampig", "ärgerlich",
]  # fmt: skip
JOY = [
    "hält, was es verspricht", "hat uns begeistert", "kam früher als erwartet",
    "funktioniert auf Anhieb", "macht viel Freude", "übertrifft alle Erwartungen",
]  # fmt: skip
FAULTS = [
    "kam zerbrochen an", "funktioniert seit gestern nicht mehr", "fehlte im Karton",
    "ging nach zwei Tagen kaputt", "lässt sich nicht öffnen", "wurde nie geliefert",
    "riecht unangenehm",
]  # fmt: skip
NEGATIONS = ["nicht", "keineswegs", "gar nicht"]
REQUESTS = [
    "Können Sie mir bitte {} zusenden?", "Ich bitte um Auskunft über {}.",
    "Wie lange dauert es, bis {} bereit ist?", "Bitte ändern Sie {} in meinem Konto.",
    "Wo finde ich {}?", "Ich möchte {} umtauschen.", "Wann erhalte ich {}?",
    "Ist es möglich, {} zu verlängern?", "Bitte stornieren Sie {}.",
    "Gibt es {} auch in anderer Größe?",
]  # fmt: skip
OBJECTS = [
    "eine Rechnung", "den Garantieschein", "die Bestellung", "meine Adresse", "das Ersatzteil",
    "einen Termin", "die Reservierung", "den Vertrag", "das Passwort", "die Gutschrift",
    "den Newsletter", "ein Angebot",
]  # fmt: skip
FILLER = [
    "Ich habe letzte Woche bestellt.", "Wir waren zu zweit unterwegs.", "Die Nummer steht oben.",
    "Vielen Dank im Voraus.", "Das war unser dritter Besuch.", "Mit freundlichen Grüßen.",
    "Bestellt wurde am Montag.", "Meine Schwester hat es auch.", "Gekauft im Angebot.",
    "Ich schreibe Ihnen zum ersten Mal.",
]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Opinion:
    """The words of an opinion; `opposite` are the adjectives of the other one."""

    adverbs: list[str]
    adjectives: list[str]
    phrases: list[str]
    opposite: list[str]
    after_negation: str

    def sentence(self, rng: random.Random) -> str:
        """Return a sentence; in two of five the opposite is negated, or was so at first."""
        subject, kind = rng.choice(SUBJECTS), rng.random()
        subject = subject[0].upper() + subject[1:]
        if kind < 0.35:
            return f"{subject} ist {rng.choice(self.adverbs)}{rng.choice(self.adjectives)}."
        if kind < 0.6:
            return f"{subject} {rng.choice(self.phrases)}."
        if kind < 0.8:
            negated = f"{rng.choice(NEGATIONS)} {rng.choice(self.opposite)}"
            return f"{subject} ist {negated}{self.after_negation}."
        before, now = rng.choice(self.opposite), rng.choice(self.adjectives)
        return f"{subject} war zuerst {before}, jetzt ist alles {now}."


OPINIONS = {
    "lob": Opinion(["", "sehr ", "wirklich ", "rundum "], GOOD, JOY, BAD, ", im Gegenteil"),
    "beschwerde": Opinion(["", "sehr ", "leider ", "völlig "], BAD, FAULTS, GOOD, ""),
}


def write_messages(path: Path, documents: int) -> None:
    """Write a CSV with the columns `text` and `klasse`; the same number gives the same bytes."""
    rng = random.Random(1)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "klasse"])
        writer.writerows(_draw(rng) for _ in range(documents))


def _draw(rng: random.Random) -> tuple[str, str]:
    """Return the text and the label of a message."""
    classes = [*CLASSES]
    name = rng.choices(classes, [*CLASSES.values()])[0]
    sentences = [_sentence(name, rng) for _ in range(rng.choice([1, 1, 2]))]
    if rng.random() < ANOTHER_MATTER:
        sentences.append(_sentence(rng.choice(classes), rng))
    sentences += rng.sample(FILLER, rng.choice([0, 1, 2, 3]))
    rng.shuffle(sentences)
    label = name if rng.random() > WRONG_LABEL else rng.choice(classes)
    return " ".join(sentences), label


def _sentence(name: str, rng: random.Random) -> str:
    if name in OPINIONS:
        return OPINIONS[name].sentence(rng)
    return rng.choice(REQUESTS).format(rng.choice(OBJECTS))
