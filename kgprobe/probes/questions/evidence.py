"""Evidence of the probe `questions`: the answer, its reading, and its error class."""

from collections.abc import Iterable
from itertools import chain

import msgspec

from kgprobe.probes.outcome import Alternatives
from kgprobe.verbalize.answers import sentences

# The error class of answers that were right before.
OBSOLETE = "obsolete"
# Maximum characters of an answer in a table.
_SHOWN = 80


class RightAnswer(msgspec.Struct, frozen=True):
    """A right answer with its names, the label first."""

    id: str
    names: tuple[str, ...]


def names_of(answers: Iterable[RightAnswer]) -> list[str]:
    """Return all names of some answers."""
    return list(chain.from_iterable(answer.names for answer in answers))


class FollowUp(msgspec.Struct, frozen=True):
    """A follow-up question after a mistake; the answer is None if the model gave none."""

    question: str
    answer: str | None
    verdict: str


class QuestionEvidence(msgspec.Struct, frozen=True, tag="questions", tag_field="probe"):
    """One question and its answer.

    Attributes:
        kind: ``yes/no`` or ``wh``.
        text: the question.
        answer: None if the model gave none.
        chance: chance level.
        expected: for a yes/no question, True if yes is right.
        negative: for a yes/no question, the id of the wrong object in place of the fact's.
        right: for a wh-question, all right answers, the fact's own object first.
        says: for a yes/no question, True for yes and False for no in the first word; None for neither.
        named: for a wh-question, the names of the fact's own object in the answer.
        named_beside: for a wh-question, the names of further right objects in the answer.
        graded: for a wh-question, the grader's verdict; None without a grader or with an unreadable reply.
        grade_unread: True if the grader's reply is unreadable.
        written: True if the text is a writer's, False if a template replaced it; None without a writer.
        fell_back: objections to the writer's text, if a template replaced it.
        error: the error class; None if the answer is not wrong.
        follow_ups: the follow-up questions after a mistake.
    """

    kind: str
    text: str
    answer: str | None
    chance: float
    expected: bool | None = None
    negative: str | None = None
    right: tuple[RightAnswer, ...] = ()
    says: bool | None = None
    named: tuple[str, ...] = ()
    named_beside: tuple[str, ...] = ()
    graded: bool | None = None
    grade_unread: bool = False
    written: bool | None = None
    fell_back: tuple[str, ...] = ()
    error: str | None = None
    follow_ups: tuple[FollowUp, ...] = ()

    @property
    def alternatives(self) -> Alternatives:
        """The answer; for an obsolete answer, also the text that names the former object: answer or yes/no question."""
        former = self.answer if self.expected is None else self.text
        return Alternatives(text=self.answer, former=former if self.error == OBSOLETE else None)

    @property
    def question(self) -> str:
        """The question."""
        return self.text

    @property
    def right_answer(self) -> str:
        """Yes or no, or the fact's own object with the further right ones."""
        if self.expected is not None:
            return "yes" if self.expected else "no"
        own, *others = (answer.names[0] for answer in self.right)
        return f"{own} (also right: {'; '.join(others)})" if others else own

    @property
    def prediction(self) -> str | None:
        """The first sentence of a wrong answer; None for a right one."""
        if self.error is None:
            return None
        first = (sentences(self.answer or "") or [""])[0]
        return first if len(first) <= _SHOWN else f"{first[: _SHOWN - 1]}…"

    @property
    def probability(self) -> None:
        """None: generated text has no probability of the right answer."""
        return
