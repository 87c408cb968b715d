"""Confidence that a model states with its answer, ``--ask-confidence``: the request, and its reading.

docs/methods/calibration.md. The form is *Confidence: 80%*, on the line of the answer: models without a chat template
end an answer at a line break.
"""

import re
from collections.abc import Sequence
from itertools import cycle

import msgspec

from kgprobe.base.tables import Table
from kgprobe.probes.confidence import mean_of
from kgprobe.probes.outcome import STATED, RatedAnswer
from kgprobe.verbalize.answers import judgement_of
from kgprobe.verbalize.language import ENGLISH, Language

_INSTRUCTION = (
    "After the answer, state how probable it is that the answer is right, from 0% to 100%, as in: Confidence: 80%."
)
# Confidences of the examples in a prompt, whose answers are right; an example that says *unknown* has 0%.
_SHOWN = ("95%", "60%", "80%")
# Further tokens of an answer with its confidence.
CONFIDENCE_TOKENS = 16
_LABEL = re.compile(r"[\s(\[*_`]*\bconfidence(?: level| score)?\b[*_`\s]*[:=：][*_`\s]*", re.IGNORECASE)
# A range, or a number of more parts, is not read.
_NUMBER = re.compile(
    r"(?P<number>\d+(?:\.\d+|,\d{1,2})?)(?P<percent>\s*(?:[%％]|percent\b|per cent\b|/\s*100\b|out of 100\b))?"
    r"(?![\w%％])(?![.,]\d)(?!\s*(?:[/–—-]|to\b|or\b|of\b|percent|per cent|out of))(?!\s*(?:[,;&]|and\b)\s*\d)",
    re.IGNORECASE,
)
# Not in the form: such a number is not read, neither as a confidence nor as a part of the answer.
_LOOSE = re.compile(r"\b\d+(?:[.,]\d+)?\s?[%％]\s+(?:confiden(?:t|ce)|sure|certain)\b", re.IGNORECASE)


class StatedConfidence(msgspec.Struct, frozen=True):
    """Text after an answer that states a confidence, and its value in [0, 1]; None if it is not in the form."""

    text: str
    value: float | None

    def rated(self, *, right: bool, abstains: bool) -> RatedAnswer:
        """Return the answer with this confidence; an abstention has none."""
        if abstains:
            return RatedAnswer(STATED, None, right, "abstention or no answer")
        return RatedAnswer(STATED, self.value, right, "no readable number" if self.value is None else None)


def asking_confidence(prompt: str, language: Language = ENGLISH) -> str:
    """Return a prompt that also asks for a confidence, with one after the answer of each example.

    Args:
        prompt: an instruction, examples and the question, with empty lines between; the last line is the label of
            answers.
    """
    instruction, examples = prompt.split("\n\n", 1)
    label = examples.rpartition("\n")[2]
    numbers = cycle(_SHOWN)
    lines = []
    for line in examples.split("\n"):
        answer = line.removeprefix(label).strip() if line.startswith(label) else ""
        if answer:
            number = "0%" if judgement_of(answer, language) == "unknown" else next(numbers)
            line += f"{'' if line.endswith(('.', '。')) else '.'} Confidence: {number}"
        lines.append(line)
    return "\n\n".join([f"{instruction} {_INSTRUCTION}", "\n".join(lines)])


def split_confidence(text: str) -> tuple[str, StatedConfidence]:
    """Return an answer without its confidence, and the confidence.

    >>> split_confidence("Yes, in 1889. Confidence: 90%")
    ('Yes, in 1889.', StatedConfidence(text='Confidence: 90%', value=0.9))
    >>> [split_confidence(f"Confidence: {each}")[1].value for each in ("0.9", "1", "100", "80-90%", "high")]
    [0.9, None, 1.0, None, None]

    Several confidences must be equal. A number without a percent sign is one of percent, or a decimal fraction below 1.
    """
    labels = list(_LABEL.finditer(text))
    if not labels:
        return _LOOSE.sub("", text).strip(), StatedConfidence("", None)
    answer, stated = text[: labels[0].start()].strip(), text[labels[0].start() :].strip()
    numbers = [_NUMBER.match(text, label.end()) for label in labels]
    values = set(map(_value, numbers))
    if not answer and numbers[0] is not None:
        # The confidence comes first.
        end = labels[1].start() if len(labels) > 1 else len(text)
        answer = text[numbers[0].end() : end].strip(" .,;:)]*_`\n")
    return answer, StatedConfidence(stated, values.pop() if len(values) == 1 else None)


def _value(number: "re.Match[str] | None") -> float | None:
    if number is None:
        return None
    value = float(number["number"].replace(",", "."))
    if number["percent"] or value > 1 or not value:
        value /= 100
    elif value == 1:
        # One percent, or all.
        return None
    return value if value <= 1 else None


def stated_tables(rated: Sequence[RatedAnswer]) -> list[Table]:
    """Return the table of stated confidences; none if no answer was asked for one."""
    import pandas as pd

    answers = pd.DataFrame([each for each in rated if each.source == STATED], columns=RatedAnswer._fields)
    if answers.empty:
        return []
    read = answers.dropna(subset="confidence")
    row = {"answers": len(answers), "with a confidence": len(read)}
    row |= {name: int((answers["reason"] == name).sum()) for name in ("no readable number", "abstention or no answer")}
    means = {"mean confidence": mean_of(read["confidence"]), "accuracy": mean_of(read["right"])} if len(read) else {}
    return [Table("stated", "Stated confidence", [{**row, **means}])]
