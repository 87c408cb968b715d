"""The sentences of a relation with an answer in each: as its data set writes them, or else its clozes."""

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
        place: among the relation's, counted from 1.
        verbatim: whether it is filled as it is written; else it is a cloze, and names get their articles.
    """

    text: str
    place: int
    verbatim: bool

    def shown(self, subject: str) -> str:
        """The sentence with a blank for the answer, as a person reads it."""
        if self.verbatim:
            return fill_verbatim(self.text, subject, BLANK).text
        return join(Cloze(self.text, subject).prompt, " ", BLANK)

    def passages(self, subject: str, answers: Sequence[str]) -> list[Passage]:
        """The sentence with each answer in its place; none of them white space alone."""
        if self.verbatim:
            filled = [fill_verbatim(self.text, subject, answer) for answer in answers]
            return [Passage(one.text, one.start, one.end) for one in filled]
        cloze = Cloze(self.text, subject)
        passages = []
        for answer in answers:
            (name,) = cloze.continuations([answer])
            text = join(cloze.prompt, " ", name)
            passages.append(Passage(text, len(text) - len(name), len(text)))
        return passages


def templates_in(texts: Sequence[str], *, verbatim: bool) -> list[SentenceTemplate]:
    """Templates of a relation in their order; those without a place for the answer are left out, and keep theirs."""
    return [SentenceTemplate(text, place, verbatim) for place, text in enumerate(texts, start=1) if OBJECT in text]
