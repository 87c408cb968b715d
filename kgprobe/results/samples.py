"""Samples of a graph: facts, distractors, negatives, questions, statements."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar

from kgprobe.probes.questions.items import FactQuestion, Kind
from kgprobe.probes.questions.probe import prompt
from kgprobe.probes.statements.items import StatementItem
from kgprobe.results.result import Heading, Result, ResultRow, row_dicts, row_table
from kgprobe.sampling.distractors import Distractor
from kgprobe.sampling.facts import AskedFact
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.question_negatives import Negative
from kgprobe.tables import Table


@dataclass(frozen=True, slots=True)
class NamedFact:
    """A fact with the name of its relation.

    Attributes:
        relation: label of the relation, or its id if it has none.
    """

    fact: AskedFact
    relation: str

    @property
    def title(self) -> str:
        """Labels of the fact: ``France · capital · Paris``."""
        return f"{self.fact.subject_label} · {self.relation} · {self.fact.object_label}"

    @property
    def ids(self) -> tuple[str, str, str, str]:
        """Ids of the fact, its subject, relation and object."""
        return self.fact.key.fact, self.fact.key.subject, self.fact.relation, self.fact.object


@dataclass(frozen=True, slots=True)
class FactIds(ResultRow):
    """First columns of all samples: ids of the fact, its subject, relation and object."""

    fact: str
    subject: str
    relation: str
    object: str


@dataclass(frozen=True, slots=True)
class FactRow(ResultRow):
    """Row of a sample of facts."""

    fact: str
    subject: str
    subject_label: Annotated[str, Heading("subject")]
    relation: str
    object: str
    object_label: Annotated[str, Heading("object")]
    start: Annotated[str | None, Heading("since")]
    end: Annotated[str | None, Heading("until")]


@dataclass(frozen=True, slots=True, repr=False)
class FactSample(Result):
    """Facts that can be asked.

    Attributes:
        facts: the facts, in the order of their ids.
        askable: number of facts of the graph that can be asked.
    """

    facts: Sequence[NamedFact]
    askable: int

    columns: ClassVar[Sequence[str]] = FactRow.columns()

    @property
    def keys(self) -> list[FactKey]:
        """Keys of the facts, as other calls take them."""
        return [fact.fact.key for fact in self.facts]

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each fact."""
        return row_dicts([_fact_row(fact) for fact in self.facts])

    def tables(self) -> list[Table]:
        """Return one table of all facts."""
        rows = []
        for fact in self.facts:
            cells = _fact_row(fact).cells()
            rows.append({"subject": cells.pop("subject"), "relation": fact.relation, **cells})
        return [Table("facts", "", rows)] if rows else []


def _fact_row(named_fact: NamedFact) -> FactRow:
    fact = named_fact.fact
    return FactRow(
        fact.key.fact,
        fact.key.subject,
        fact.subject_label,
        fact.relation,
        fact.object,
        fact.object_label,
        fact.start,
        fact.end,
    )


@dataclass(frozen=True, slots=True)
class FactDistractors:
    """Distractors of a fact; those that a model finds plausible belong to one sentence.

    Attributes:
        sentence: cloze sentence that they complete; None if they are the same for all sentences.
        certified: number of the first distractors that are proved to be the most plausible; None if nothing is proved.
        reason: why there are none or fewer than requested; else None.
    """

    fact: NamedFact
    distractors: Sequence[Distractor]
    sentence: str | None = None
    certified: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class DistractorRow(ResultRow):
    """Row of a sample of distractors."""

    sentence: str | None
    rank: Annotated[int, Heading("")]
    id: Annotated[str, Heading("id")]
    label: Annotated[str, Heading("distractor")]
    aliases: list[str]
    former: bool
    reason: Annotated[str | None, Heading("why")]
    certified: bool | None


@dataclass(frozen=True, slots=True, repr=False)
class DistractorSample(Result):
    """Distractors: wrong objects that are compared with right ones.

    Attributes:
        strategy: name and options of the strategy, and its model if it needs one.
        chosen: one entry for each fact, in order; one for each of a fact's sentences if the strategy asks a model.
    """

    strategy: Mapping[str, Any]
    chosen: Sequence[FactDistractors]

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns: fact, strategy, sentence, distractor, and the reason why it is one."""
        return (*FactIds.columns(), *self.strategy, *DistractorRow.columns())

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each distractor, the best first; ``certified`` is None if nothing is proved."""
        rows = []
        for each in self.chosen:
            first = {**FactIds(*each.fact.ids).to_dict(), **self.strategy}
            rows += [{**first, **row.to_dict()} for row in _distractor_rows(each)]
        return rows

    def tables(self) -> list[Table]:
        """Return one table for each fact, or for each sentence."""
        tables = []
        for each in self.chosen:
            title = f"{each.fact.title}: {self.strategy['strategy']} distractors"
            title += f" after “{each.sentence} …”" if each.sentence else ""
            tables.append(row_table("distractors", title, _distractor_rows(each)))
        return tables


def _distractor_rows(chosen: FactDistractors) -> list[DistractorRow]:
    return [
        DistractorRow(
            chosen.sentence,
            rank,
            distractor.id,
            distractor.label,
            list(distractor.aliases),
            distractor.former,
            distractor.reason,
            None if chosen.certified is None else rank <= chosen.certified,
        )
        for rank, distractor in enumerate(chosen.distractors, start=1)
    ]


@dataclass(frozen=True, slots=True)
class SampledNegative:
    """A negative, and the facts in which it is right.

    Attributes:
        subjects: number of other subjects that have it as an object of the relation.
        example: label of one of them.
        until: end of the time when it was right, as the source gives it; None if unknown, or if it never was.
    """

    negative: Negative
    subjects: int
    example: str | None
    until: str | None


@dataclass(frozen=True, slots=True)
class FactNegatives:
    """Negatives of a fact."""

    fact: NamedFact
    negatives: Sequence[SampledNegative]


@dataclass(frozen=True, slots=True)
class NegativeRow(ResultRow):
    """Row of a sample of negatives."""

    rank: int
    id: str
    label: str
    aliases: list[str]
    former: bool
    until: str | None
    subjects_elsewhere: int
    example: str | None


@dataclass(frozen=True, slots=True, repr=False)
class NegativeSample(Result):
    """Negatives: wrong objects for yes/no questions.

    Attributes:
        drawn: one entry for each fact, in order.
    """

    drawn: Sequence[FactNegatives]

    columns: ClassVar[Sequence[str]] = (*FactIds.columns(), *NegativeRow.columns())

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each negative, in the order of drawing."""
        rows = []
        for each in self.drawn:
            ids = FactIds(*each.fact.ids).to_dict()
            for rank, sampled in enumerate(each.negatives, start=1):
                negative = sampled.negative
                row = NegativeRow(
                    rank,
                    negative.id,
                    negative.label,
                    list(negative.aliases),
                    negative.former,
                    sampled.until,
                    sampled.subjects,
                    sampled.example,
                )
                rows.append({**ids, **row.to_dict()})
        return rows

    def tables(self) -> list[Table]:
        """Return one table for each fact."""
        return [
            Table("negatives", f"{each.fact.title}: hard negatives", _negative_cells(each.negatives))
            for each in self.drawn
        ]


def _negative_cells(negatives: Sequence[SampledNegative]) -> list[dict[str, Any]]:
    rows = []
    for rank, sampled in enumerate(negatives, start=1):
        more = f" and {sampled.subjects - 1:,} more" if sampled.subjects > 1 else ""
        before = f"until {sampled.until}" if sampled.until else "before"
        rows.append(
            {
                "": rank,
                "id": sampled.negative.id,
                "negative": sampled.negative.label,
                "object of": f"{sampled.example}{more}" if sampled.subjects else None,
                "was right": before if sampled.negative.former else None,
            }
        )
    return rows


@dataclass(frozen=True, slots=True)
class NamedQuestion:
    """A question with the name of its fact."""

    fact: NamedFact
    question: FactQuestion

    @property
    def title(self) -> str:
        """Fact and kind of question (``France · capital · Paris: wh question``), or the reason why there is none."""
        if self.question.reason is not None:
            return f"{self.fact.title}: cannot be asked: {self.question.reason}."
        return f"{self.fact.title}: {self.question.kind.value} question"

    @property
    def prompt(self) -> str | None:
        """Prompt of the model; None if the question cannot be asked."""
        return None if self.question.reason is not None else prompt(self.question)

    @property
    def right(self) -> str | None:
        """Right answers with their other names, the fact's own object first; None if the question cannot be asked."""
        question = self.question
        if question.reason is not None:
            return None
        if question.kind is Kind.WH:
            own, *others = (_with_other_names(answer.names) for answer in (question.own, *question.others))
            return f"{own}; also right: {'; '.join(others)}" if others else own
        if question.negative is None:
            return "yes"
        return "no" + (f": {question.negative.label} was right before" if question.negative.former else "")

    def row(self) -> dict[str, Any]:
        """Return the question with all present and former right answers."""
        question = self.question
        can_be_asked = question.reason is None
        return {
            **FactIds(*self.fact.ids).to_dict(),
            "kind": question.kind.value if can_be_asked else None,
            "question": question.text or None,
            "prompt": self.prompt,
            "chance": question.chance if can_be_asked else None,
            "expected": question.expected if can_be_asked and question.kind is Kind.YES_NO else None,
            "negative": asdict(question.negative) if question.negative else None,
            "right": [{"id": answer.id, "names": list(answer.names)} for answer in question.right],
            "former": [{"id": answer.id, "names": list(answer.names)} for answer in question.former],
            "reason": question.reason,
        }


def _with_other_names(names: Sequence[str]) -> str:
    return f"{names[0]} (also: {', '.join(names[1:])})" if names[1:] else names[0]


@dataclass(frozen=True, slots=True, repr=False)
class QuestionSample(Result):
    """Questions as a model would be asked.

    Attributes:
        questions: one for each fact, in order.
    """

    questions: Sequence[NamedQuestion]

    columns: ClassVar[Sequence[str]] = (
        *FactIds.columns(),
        *("kind", "question", "prompt", "chance", "expected", "negative", "right", "former", "reason"),
    )

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each fact."""
        return [question.row() for question in self.questions]

    def tables(self) -> list[Table]:
        """Return one table of all questions."""
        rows = [
            {
                "fact": each.fact.title,
                "question": each.question.text or f"cannot be asked: {each.question.reason}",
                "right": each.right,
            }
            for each in self.questions
        ]
        return [Table("questions", "", rows)]


@dataclass(frozen=True, slots=True)
class FactStatements:
    """A fact with its statement and those of its negatives."""

    fact: NamedFact
    item: StatementItem


@dataclass(frozen=True, slots=True)
class StatementRow(ResultRow):
    """Row of a sample of statements: a negative of a fact, with the statements of both."""

    statement: str
    rank: Annotated[int, Heading("")]
    replaced: Annotated[str, Heading("replaced")]
    false_subject: str
    false_relation: str
    false_object: str
    false_statement: Annotated[str, Heading("false statement")]


@dataclass(frozen=True, slots=True, repr=False)
class StatementSample(Result):
    """Statements as a model would judge them.

    Attributes:
        facts: one entry for each fact, in order.
    """

    facts: Sequence[FactStatements]

    columns: ClassVar[Sequence[str]] = (*FactIds.columns(), *StatementRow.columns())

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each negative, in the order of drawing."""
        rows = []
        for each in self.facts:
            ids = FactIds(*each.fact.ids).to_dict()
            rows += [{**ids, **row.to_dict()} for row in _statement_rows(each.item)]
        return rows

    def tables(self) -> list[Table]:
        """Return one table for each fact that can be asked."""
        return [
            row_table("negatives", f"{each.fact.title}: {each.item.text}", _statement_rows(each.item))
            for each in self.facts
            if each.item.reason is None
        ]


def _statement_rows(item: StatementItem) -> list[StatementRow]:
    return [
        StatementRow(
            item.text,
            rank,
            negative.fact.replaced,
            negative.fact.subject,
            negative.fact.relation,
            negative.fact.object,
            negative.text,
        )
        for rank, negative in enumerate(item.negatives, start=1)
    ]
