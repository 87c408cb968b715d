"""Sentences of a relation with answers filled in: those of its data set, or else its cloze sentences."""

from collections.abc import Sequence
from dataclasses import dataclass

from kgprobe.models.scoring.sentences import Passage
from kgprobe.models.scoring.tokens import join
from kgprobe.verbalize.sentences import Cloze
from kgprobe.verbalize.templates.kinds import OBJECT
from kgprobe.verbalize.verbatim import BLANK, fill_verbatim


@dataclass(frozen=True, slots=True)
class SentenceTemplate:
    """A sentence of a relation.

    Attributes:
        place: position among the relation's sentences, counted from 1.
        verbatim: True if names are filled in unchanged; else names in a cloze sentence get their articles.
    """

    text: str
    place: int
    verbatim: bool

    def shown(self, subject: str) -> str:
        """Return the sentence with a blank for the answer."""
        if self.verbatim:
            return fill_verbatim(self.text, subject, BLANK).text
        return join(Cloze(self.text, subject).prompt, " ", BLANK)

    def passages(self, subject: str, answers: Sequence[str]) -> list[Passage]:
        """Return the sentence with each of the answers filled in; none may be white space alone."""
        if self.verbatim:
            sentences = [fill_verbatim(self.text, subject, answer) for answer in answers]
            return [Passage(sentence.text, sentence.start, sentence.end) for sentence in sentences]
        cloze = Cloze(self.text, subject)
        passages = []
        for answer in answers:
            (name,) = cloze.continuations([answer])
            text = join(cloze.prompt, " ", name)
            passages.append(Passage(text, len(text) - len(name), len(text)))
        return passages


def templates_in(texts: Sequence[str], *, verbatim: bool) -> list[SentenceTemplate]:
    """Return a relation's templates with a placeholder for the answer; positions count the others, too."""
    return [SentenceTemplate(text, place, verbatim) for place, text in enumerate(texts, start=1) if OBJECT in text]
