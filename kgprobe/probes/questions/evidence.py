"""What a question showed: the answer, how it was read, and what kind of mistake a wrong one is."""

import msgspec

from kgprobe.probes.outcome import Alternatives
from kgprobe.verbalize.answers import sentences

# The class of mistakes that were right before.
OBSOLETE = "obsolete"
# Characters of an answer where it stands in a table.
_SHOWN = 80


class RightAnswer(msgspec.Struct, frozen=True):
    """Something that is right, with what it is called; the label first."""

    id: str
    names: tuple[str, ...]


class FollowUp(msgspec.Struct, frozen=True):
    """A question after a mistake; the answer is None where none came."""

    question: str
    answer: str | None
    verdict: str


class QuestionEvidence(msgspec.Struct, frozen=True, tag="questions", tag_field="probe"):
    """One question and its answer.

    Attributes:
        kind: ``yes/no`` or ``wh``.
        text: the question.
        answer: None where none came.
        chance: how often guessing is right.
        expected: of a yes/no question, whether yes is right.
        negative: of a yes/no question, the id of what it is about in place of the fact's object.
        right: of a wh-question, all that is right: the fact's own object, then what else is.
        says: of a yes/no question, what the answer's first word says; None for neither.
        named: of a wh-question, which names of the fact's own object stand in the answer.
        named_beside: of a wh-question, which names of what else is right do.
        graded: of a wh-question, what the grader says; None without one, or where it says neither yes nor no.
        grade_unread: whether the grader was asked and says neither.
        written: whether the text is a writer's, or a template's in its place; None where nobody writes.
        fell_back: what speaks against the writer's text, where a template's stands in its place.
        error: the class of a mistake; None where the answer is no mistake.
        follow_ups: what was asked after a mistake.
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
        """The answer; where the mistake is to name what was right before, the answer or the yes/no question has it."""
        told = self.answer if self.expected is None else self.text
        return Alternatives(text=self.answer, former=told if self.error == OBSOLETE else None)

    @property
    def question(self) -> str:
        """The question."""
        return self.text

    @property
    def right_answer(self) -> str:
        """Yes or no, or the fact's own object with what else is right."""
        if self.expected is not None:
            return "yes" if self.expected else "no"
        own, *others = (one.names[0] for one in self.right)
        return f"{own} (beside it: {'; '.join(others)})" if others else own

    @property
    def prediction(self) -> str | None:
        """The first sentence of a wrong answer; None of a right one."""
        if self.error is None:
            return None
        first = (sentences(self.answer or "") or [""])[0]
        return first if len(first) <= _SHOWN else f"{first[: _SHOWN - 1]}…"

    @property
    def probability(self) -> None:
        """Nothing is known of it: what is read is text."""
        return
