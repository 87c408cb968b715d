"""Samples of a graph: facts, distractors, negatives, questions, statements."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kgprobe.probes.questions.items import Kind, Question
from kgprobe.probes.questions.probe import prompt
from kgprobe.probes.statements.items import StatementItem
from kgprobe.results.result import Result
from kgprobe.sampling.distractors import Distractor
from kgprobe.sampling.facts import AskedFact
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.question_negatives import Negative
from kgprobe.tables import Table

# How a row names its fact.
_FACT = ("fact", "subject", "relation", "object")


@dataclass(frozen=True, slots=True)
class NamedFact:
    """A fact with the name of its relation.

    Attributes:
        relation: its label, or its id where it has none.
    """

    fact: AskedFact
    relation: str

    @property
    def title(self) -> str:
        """``France · capital · Paris``."""
        return f"{self.fact.subject_label} · {self.relation} · {self.fact.object_label}"

    def row(self) -> dict[str, Any]:
        """The ids of the fact and of what it says."""
        fact = self.fact
        return dict(zip(_FACT, (fact.key.fact, fact.key.subject, fact.relation, fact.object), strict=True))


@dataclass(frozen=True, slots=True, repr=False)
class FactSample(Result):
    """Facts that can be asked.

    Attributes:
        facts: in the order of their ids.
        askable: how many there are that can be asked.
    """

    facts: Sequence[NamedFact]
    askable: int

    @property
    def keys(self) -> list[FactKey]:
        """The facts as other calls take them."""
        return [named.fact.key for named in self.facts]

    @property
    def columns(self) -> Sequence[str]:
        """Ids, labels, and from when until when a fact holds."""
        return ("fact", "subject", "subject_label", "relation", "object", "object_label", "start", "end")

    def rows(self) -> list[dict[str, Any]]:
        """One a fact."""
        return [
            {
                "fact": named.fact.key.fact,
                "subject": named.fact.key.subject,
                "subject_label": named.fact.subject_label,
                "relation": named.fact.relation,
                "object": named.fact.object,
                "object_label": named.fact.object_label,
                "start": named.fact.start,
                "end": named.fact.end,
            }
            for named in self.facts
        ]

    def tables(self) -> list[Table]:
        """One, of all facts."""
        rows = [
            {
                "subject": named.fact.subject_label,
                "relation": named.relation,
                "object": named.fact.object_label,
                "since": named.fact.start,
                "until": named.fact.end,
            }
            for named in self.facts
        ]
        return [Table("facts", "", rows)] if rows else []


@dataclass(frozen=True, slots=True)
class FactDistractors:
    """The distractors of a fact; of those that a model finds plausible, those of one sentence.

    Attributes:
        sentence: after which they stand; None where they are the same after all.
        certified: how many of the first are proved to be the most plausible; None where nothing is.
        reason: what stood in the way, or what is to be said of those that are there; else None.
    """

    named: NamedFact
    distractors: Sequence[Distractor]
    sentence: str | None = None
    certified: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class DistractorSample(Result):
    """Wrong objects that would stand beside right ones.

    Attributes:
        strategy: its name and options, and the model where it asks one.
        chosen: one a fact, in order; where a model is asked, one for each of a fact's sentences.
    """

    strategy: Mapping[str, Any]
    chosen: Sequence[FactDistractors]

    @property
    def columns(self) -> Sequence[str]:
        """The fact, the strategy, the sentence, and the distractor with the reason why it is one."""
        its = ("sentence", "rank", "id", "label", "aliases", "former", "reason", "certified")
        return (*_FACT, *self.strategy, *its)

    def rows(self) -> list[dict[str, Any]]:
        """One a distractor, best first; ``certified`` is None where nothing is proved."""
        return [
            {
                **each.named.row(),
                **self.strategy,
                "sentence": each.sentence,
                "rank": rank,
                "id": distractor.id,
                "label": distractor.label,
                "aliases": list(distractor.aliases),
                "former": distractor.former,
                "reason": distractor.reason,
                "certified": None if each.certified is None else rank <= each.certified,
            }
            for each in self.chosen
            for rank, distractor in enumerate(each.distractors, start=1)
        ]

    def tables(self) -> list[Table]:
        """One a fact, or a sentence."""
        return [
            Table(
                "distractors",
                f"{each.named.title}: {self.strategy['strategy']} distractors"
                + (f" after “{each.sentence} …”" if each.sentence else ""),
                [
                    {"": rank, "id": distractor.id, "distractor": distractor.label, "why": distractor.reason}
                    for rank, distractor in enumerate(each.distractors, start=1)
                ],
            )
            for each in self.chosen
        ]


@dataclass(frozen=True, slots=True)
class SampledNegative:
    """A negative, and where it is right.

    Attributes:
        subjects: how many others have it as an object of the relation.
        example: the label of one.
        until: until when it was right, as the source says it; None where that is not known, or it never was.
    """

    negative: Negative
    subjects: int
    example: str | None
    until: str | None


@dataclass(frozen=True, slots=True)
class FactNegatives:
    """The negatives of a fact."""

    named: NamedFact
    negatives: Sequence[SampledNegative]


@dataclass(frozen=True, slots=True, repr=False)
class NegativeSample(Result):
    """What may stand in a fact's place in a yes/no question to which no is right.

    Attributes:
        drawn: one a fact, in order.
    """

    drawn: Sequence[FactNegatives]

    @property
    def columns(self) -> Sequence[str]:
        """The fact, the negative, and where that is right."""
        its = ("rank", "id", "label", "aliases", "former", "until", "subjects_elsewhere", "example")
        return (*_FACT, *its)

    def rows(self) -> list[dict[str, Any]]:
        """One a negative, in the order drawn."""
        return [
            {
                **each.named.row(),
                "rank": rank,
                "id": one.negative.id,
                "label": one.negative.label,
                "aliases": list(one.negative.aliases),
                "former": one.negative.former,
                "until": one.until,
                "subjects_elsewhere": one.subjects,
                "example": one.example,
            }
            for each in self.drawn
            for rank, one in enumerate(each.negatives, start=1)
        ]

    def tables(self) -> list[Table]:
        """One a fact."""
        return [
            Table("negatives", f"{each.named.title}: hard negatives", [*_negative_rows(each.negatives)])
            for each in self.drawn
        ]


def _negative_rows(negatives: Sequence[SampledNegative]) -> Iterator[dict[str, Any]]:
    for rank, one in enumerate(negatives, start=1):
        more = f" and {one.subjects - 1:,} more" if one.subjects > 1 else ""
        before = f"until {one.until}" if one.until else "before"
        yield {
            "": rank,
            "id": one.negative.id,
            "negative": one.negative.label,
            "object of": f"{one.example}{more}" if one.subjects else None,
            "was right": before if one.negative.former else None,
        }


@dataclass(frozen=True, slots=True)
class NamedQuestion:
    """A question with the name of its fact."""

    named: NamedFact
    question: Question

    @property
    def title(self) -> str:
        """``France · capital · Paris: wh question``, or why there is none."""
        if self.question.reason is not None:
            return f"{self.named.title}: cannot be asked: {self.question.reason}."
        return f"{self.named.title}: {self.question.kind.value} question"

    @property
    def prompt(self) -> str | None:
        """What a model would be given; None where nothing can be asked."""
        return None if self.question.reason is not None else prompt(self.question)

    @property
    def right(self) -> str | None:
        """What is right, with its other names, the fact's own object first; None where nothing can be asked."""
        question = self.question
        if question.reason is not None:
            return None
        if question.kind is Kind.WH:
            own, *others = (
                f"{one.names[0]} (also: {', '.join(one.names[1:])})" if one.names[1:] else one.names[0]
                for one in (question.own, *question.others)
            )
            return f"{own}; right beside it: {'; '.join(others)}" if others else own
        if question.negative is None:
            return "yes"
        return "no" + (f": {question.negative.label} was right before" if question.negative.former else "")

    def row(self) -> dict[str, Any]:
        """The question with all that is right and was."""
        question = self.question
        asked = question.reason is None
        return {
            **self.named.row(),
            "kind": question.kind.value if asked else None,
            "question": question.text or None,
            "prompt": self.prompt,
            "chance": question.chance if asked else None,
            "expected": question.expected if asked and question.kind is Kind.YES_NO else None,
            "negative": asdict(question.negative) if question.negative else None,
            "right": [{"id": one.id, "names": list(one.names)} for one in question.right],
            "former": [{"id": one.id, "names": list(one.names)} for one in question.former],
            "reason": question.reason,
        }


@dataclass(frozen=True, slots=True, repr=False)
class QuestionSample(Result):
    """Questions that would be asked.

    Attributes:
        questions: one a fact, in order.
    """

    questions: Sequence[NamedQuestion]

    @property
    def columns(self) -> Sequence[str]:
        """The fact, the question, and what is right."""
        its = ("kind", "question", "prompt", "chance", "expected", "negative", "right", "former", "reason")
        return (*_FACT, *its)

    def rows(self) -> list[dict[str, Any]]:
        """One a fact."""
        return [asked.row() for asked in self.questions]

    def tables(self) -> list[Table]:
        """One, of all questions."""
        rows = [
            {
                "fact": asked.named.title,
                "question": asked.question.text or f"cannot be asked: {asked.question.reason}",
                "right": asked.right,
            }
            for asked in self.questions
        ]
        return [Table("questions", "", rows)]


@dataclass(frozen=True, slots=True)
class FactStatements:
    """A fact with its statement and those of its negatives."""

    named: NamedFact
    item: StatementItem


@dataclass(frozen=True, slots=True, repr=False)
class StatementSample(Result):
    """Statements that would be judged.

    Attributes:
        facts: one a fact, in order.
    """

    facts: Sequence[FactStatements]

    @property
    def columns(self) -> Sequence[str]:
        """The fact, and a negative in its place, with the statements of both."""
        negative = ("false_subject", "false_relation", "false_object", "false_statement")
        return ("fact", "subject", "relation", "object", "statement", "rank", "replaced", *negative)

    def rows(self) -> list[dict[str, Any]]:
        """One a negative, in the order drawn."""
        return [
            {
                **each.named.row(),
                "statement": each.item.text,
                "rank": rank,
                "replaced": negative.fact.replaced,
                "false_subject": negative.fact.subject,
                "false_relation": negative.fact.relation,
                "false_object": negative.fact.object,
                "false_statement": negative.text,
            }
            for each in self.facts
            for rank, negative in enumerate(each.item.negatives, start=1)
        ]

    def tables(self) -> list[Table]:
        """One a fact that can be asked."""
        return [
            Table(
                "negatives",
                f"{each.named.title}: {each.item.text}",
                [
                    {"": rank, "replaced": negative.fact.replaced, "false statement": negative.text}
                    for rank, negative in enumerate(each.item.negatives, start=1)
                ],
            )
            for each in self.facts
            if each.item.reason is None
        ]
