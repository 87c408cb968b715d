"""Samples of a graph, as a probe would draw them: facts, distractors, negatives, questions, statements."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import replacing
from kgprobe.base.sanitize import spreadsheet_cell
from kgprobe.base.tables import INTERNAL, Heading, Names, ResultRow
from kgprobe.graph.client import Graph
from kgprobe.models.model import Model
from kgprobe.models.scoring.tokens import join
from kgprobe.probes.clozes import ClozeItems
from kgprobe.probes.distractors import DistractorOptions
from kgprobe.probes.questions.evidence import RightAnswer
from kgprobe.probes.questions.items import FactQuestion, QuestionItems, QuestionKind
from kgprobe.probes.questions.probe import prompt
from kgprobe.probes.search.rivals import Rivals, Sentences
from kgprobe.probes.search.strategies import STRATEGIES, StrategyContext, make_strategy
from kgprobe.probes.statements.items import StatementItems
from kgprobe.results.result import Listing, Result
from kgprobe.sampling.distractors import FormerObjects, former_objects
from kgprobe.sampling.drawing import DrawOptions
from kgprobe.sampling.facts import AskedFact, describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.lookup import describe_pool
from kgprobe.sampling.question_negatives import Negatives
from kgprobe.sampling.selection import choose_facts
from kgprobe.verbalize.askable_relations import askable_relations
from kgprobe.verbalize.corrections import COLUMNS
from kgprobe.verbalize.sentences import Cloze
from kgprobe.verbalize.templates.kinds import OBJECT
from kgprobe.verbalize.tense import has_ended, speaks_of_today


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
    def ids(self) -> tuple[str, str, str, str, str, str, str]:
        """Ids of the fact, its subject, relation and object; labels of these three."""
        ids = self.fact.key.fact, self.fact.key.subject, self.fact.relation, self.fact.object
        return *ids, self.fact.subject_label, self.relation, self.fact.object_label


def named_facts(graph: Graph, facts: Sequence[AskedFact]) -> list[NamedFact]:
    """Return facts with the labels of their relations."""
    labels: dict[str, str] = {row["id"]: row["label"] or row["id"] for row in graph.read("sample/relations")}
    return [NamedFact(fact, labels[fact.relation]) for fact in facts]


@dataclass(frozen=True, slots=True)
class FactIds(ResultRow):
    """First columns of the rows about a fact: its id; ids and labels of its subject, relation and object."""

    fact: str
    subject: str
    relation: str
    object: str
    subject_label: str
    relation_label: str
    object_label: str

    @property
    def title(self) -> str:
        """Labels of the fact: ``France · capital · Paris``."""
        return f"{self.subject_label} · {self.relation_label} · {self.object_label}"


@dataclass(frozen=True, slots=True)
class FactRow(FactIds):
    """Row of a sample of facts."""

    subject_label: Annotated[str, Heading("subject")]
    relation_label: Annotated[str, Heading("relation")]
    object_label: Annotated[str, Heading("object")]
    start: Annotated[str | None, Heading("since")]
    end: Annotated[str | None, Heading("until")]


@dataclass(frozen=True, slots=True, repr=False)
class FactSample(Result):
    """Facts that can be asked, in the order of their ids.

    Attributes:
        keys: keys of the facts, as other calls take them.
        askable: number of facts of the graph that can be asked.
    """

    facts: Annotated[Sequence[FactRow], Listing("")]
    keys: Annotated[Sequence[FactKey], INTERNAL]
    askable: int


def draw_facts(
    graph: Graph, relations: Sequence[str], limit: int, seed: int, day: int, draw: DrawOptions
) -> FactSample:
    """Draw facts that can be asked; see :func:`kgprobe.sample_facts`."""
    askable = list(askable_relations(graph, ids=relations))
    chosen = choose_facts(graph, askable, as_of=day, limit=limit, seed=seed, draw=draw)
    keys = [chosen.keys[position] for position in range(len(chosen.keys))]
    facts = named_facts(graph, describe_facts(graph, keys))
    rows = [FactRow(*labelled.ids, labelled.fact.start, labelled.fact.end) for labelled in facts]
    kind = " with a former object" if draw.with_former else ""
    note = f"{chosen.available:,} facts{kind} can be asked at {day}."
    return FactSample(rows, keys, chosen.available, notes=(note, *chosen.notes))


@dataclass(frozen=True, slots=True)
class DistractorRow(FactIds):
    """Row of a sample of distractors, the best first.

    Attributes:
        sentence: cloze sentence that it completes; None if the distractors are the same for all sentences.
        certified: True if it is proved to be among the most plausible; None if nothing is proved.
    """

    sentence: str | None
    rank: Annotated[int, Heading("")]
    id: Annotated[str, Heading("id")]
    label: Annotated[str, Heading("distractor")]
    aliases: Sequence[str]
    former: bool
    reason: Annotated[str | None, Heading("why")]
    certified: bool | None


def _distractors_of(sample: "DistractorSample", row: DistractorRow) -> str:
    """Return the title of the table of a distractor."""
    sentence = "" if row.sentence is None else f" after “{row.sentence} …”"
    return f"{row.title}: {sample.strategy['strategy']} distractors{sentence}"


@dataclass(frozen=True, slots=True, repr=False)
class DistractorSample(Result):
    """Distractors: wrong objects that are compared with right ones; a table for each of a fact's sentences.

    Attributes:
        strategy: name and options of the strategy, and its model if it needs one; last columns of each row.
    """

    distractors: Annotated[Sequence[DistractorRow], Listing("", by=_distractors_of)]
    strategy: Mapping[str, Any]

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns: those of the rows, and the strategy's."""
        return (*DistractorRow.columns(), *self.strategy)

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each distractor, with the strategy."""
        return [{**row, **self.strategy} for row in Result.rows(self)]


def choose_distractors(
    graph: Graph, keys: Sequence[FactKey], options: DistractorOptions, model: Model | None, seed: int, day: int
) -> DistractorSample:
    """Choose the distractors of facts; see :func:`kgprobe.sample_distractors`."""
    asks_model = STRATEGIES.get(options.strategy).asks_model
    scorer = model.scorer() if asks_model and model is not None else None
    strategy = make_strategy(options.strategy, StrategyContext(graph, scorer, day, options.former), options)
    # A row has a column `former` of its own.
    described = {**strategy.describe(), "former_objects": options.former}
    notes: list[str] = []
    if asks_model:
        pairs = _with_sentences(graph, keys, ClozeItems(graph, day, sentences=options.sentences), seed, notes)
        described |= {"model": model.name} if model is not None else {}
    else:
        # Strategies without a model ignore the sentence; one placeholder is enough.
        pairs = [(fact, [Cloze(f"It is {OBJECT}", fact.subject_label)]) for fact in describe_facts(graph, keys)]
    rivals = strategy.rivals(pairs, options.distractors, [seed])
    facts = named_facts(graph, [fact for fact, _ in pairs])
    rows: list[DistractorRow] = []
    for fact, (_, clozes), lists in zip(facts, pairs, rivals, strict=True):
        for cloze, rival in zip(clozes, lists, strict=True):
            rows += _distractor_rows(fact, rival, cloze.prompt if asks_model else None)
            rule = former_objects(options.former, day, speaks_of_today(cloze.template))
            notes += _shortage_notes(graph, fact, rival, options.distractors, rule)
    return DistractorSample(rows, described, notes=list(dict.fromkeys(notes)))


def _distractor_rows(fact: NamedFact, rivals: Rivals, sentence: str | None) -> list[DistractorRow]:
    rows = []
    for rank, each in enumerate(rivals.distractors, start=1):
        certified = None if rivals.certified is None else rank <= rivals.certified
        aliases = list(each.aliases)
        row = DistractorRow(
            *fact.ids, sentence, rank, each.id, each.label, aliases, each.former, each.reason, certified
        )
        rows.append(row)
    return rows


def _with_sentences(
    graph: Graph, keys: Sequence[FactKey], items: ClozeItems, seed: int, notes: list[str]
) -> list[Sentences]:
    """Return facts with their cloze sentences; add a note on each fact without one.

    Raises:
        KgprobeError: no fact has a cloze sentence.
    """
    described = items.of(keys, [seed])
    silent = [item for item in described if item.reason]
    for fact, item in zip(named_facts(graph, [item.fact for item in silent]), silent, strict=True):
        notes.append(f"{fact.title} has no cloze sentence: {item.reason}.")
    if len(silent) == len(described):
        raise KgprobeError("None of the facts has a cloze sentence for the model. " + " ".join(notes[:1]))
    return [(item.fact, item.clozes) for item in described]


def _shortage_notes(
    graph: Graph, fact: NamedFact, rivals: Rivals, requested: int, former: FormerObjects
) -> Iterator[str]:
    """Yield the reasons why a fact has unusual distractors, or fewer than requested."""
    if rivals.reason:
        yield f"{fact.title}: {rivals.reason}."
    if len(rivals.distractors) < requested:
        pool = describe_pool(graph, fact.fact, former)
        note = (
            f"{fact.title}: {len(rivals.distractors):,} distractors, not {requested:,}. There are {pool.size:,}"
            f" entities {pool.kind}; left out: {', '.join(pool.left_out)}."
        )
        if not pool.typed:
            note += f" {fact.fact.object_label} has no type, so the relation's objects count as its kind."
        yield note


@dataclass(frozen=True, slots=True)
class NegativeRow(FactIds):
    """Row of a sample of negatives, in the order of drawing.

    Attributes:
        until: end of the time when it was right, as the source gives it; None if unknown, or if it never was.
        subjects_elsewhere: number of other subjects that have it as an object of the relation.
        example: label of one of them.
        candidates: number of objects of the relation, from which negatives are drawn.
        former_objects: treatment of former objects: ``wrong``, ``never`` or ``right``.
    """

    rank: Annotated[int, Heading("")]
    id: Annotated[str, Heading("id")]
    label: Annotated[str, Heading("negative")]
    aliases: Sequence[str]
    former: bool
    until: str | None
    subjects_elsewhere: int
    example: str | None
    candidates: int | None
    former_objects: str

    def cells(self, names: Names | None = None) -> dict[str, Any]:
        """Return the cells of a table, with the facts in which the negative is or was right."""
        elsewhere = self.example if self.subjects_elsewhere else None
        if self.subjects_elsewhere > 1:
            elsewhere = f"{self.example} and {self.subjects_elsewhere - 1:,} more"
        before = f"until {self.until}" if self.until else "before"
        return ResultRow.cells(self, names) | {"object of": elsewhere, "was right": before if self.former else None}


@dataclass(frozen=True, slots=True, repr=False)
class NegativeSample(Result):
    """Negatives: wrong objects for yes/no questions."""

    negatives: Annotated[Sequence[NegativeRow], Listing("", by=lambda _, row: f"{row.title}: hard negatives")]


def draw_negatives(
    graph: Graph, keys: Sequence[FactKey], limit: int, seed: int, day: int, former: str = "wrong"
) -> NegativeSample:
    """Draw negatives of facts; see :func:`kgprobe.sample_negatives`."""
    described = describe_facts(graph, keys)
    drawn = Negatives(graph, day, former).draw(described, limit, [seed])
    rows: list[NegativeRow] = []
    notes = []
    for fact, negatives in zip(named_facts(graph, described), drawn, strict=True):
        ids = [negative.id for negative in negatives]
        facts = graph.read("sample/elsewhere", relation=fact.fact.relation, subject=fact.fact.key.subject, ids=ids)
        elsewhere = {row["id"]: (row["until"], row["subjects"], row["example"]) for row in facts}
        for rank, each in enumerate(negatives, start=1):
            aliases = list(each.aliases)
            row = NegativeRow(
                *fact.ids,
                rank,
                each.id,
                each.label,
                aliases,
                each.former,
                *elsewhere[each.id],
                candidates=each.candidates,
                former_objects=former,
            )
            rows.append(row)
        if len(negatives) < limit:
            notes.append(f"{fact.title}: {len(negatives):,} hard negatives, not {limit:,}: no more exist.")
    return NegativeSample(rows, notes=list(dict.fromkeys(notes)))


@dataclass(frozen=True, slots=True)
class QuestionRow(FactIds):
    """Row of a sample of questions, with all present and former right answers.

    Attributes:
        about: fact and kind of question (``France · capital · Paris: wh question``), or the reason why there is none.
        answer: right answers with their other names, the fact's own object first; None if the question cannot be asked.
    """

    about: Annotated[str, Heading("fact")]
    kind: str | None = None
    question: Annotated[str | None, Heading("question")] = None
    prompt: str | None = None
    chance: float | None = None
    expected: bool | None = None
    negative: Mapping[str, Any] | None = None
    answer: Annotated[str | None, Heading("right")] = None
    right: Sequence[Mapping[str, Any]] = ()
    former: Sequence[Mapping[str, Any]] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class QuestionSample(Result):
    """Questions as a model would be asked, one for each fact."""

    questions: Annotated[Sequence[QuestionRow], Listing("")]


def write_questions(graph: Graph, keys: Sequence[FactKey], items: QuestionItems, seed: int) -> QuestionSample:
    """Write the questions about facts; see :func:`kgprobe.sample_questions`."""
    questions = items.of(keys, [seed])
    facts = named_facts(graph, [question.fact for question in questions])
    return QuestionSample(list(map(_question_row, facts, questions)))


def _question_row(fact: NamedFact, question: FactQuestion) -> QuestionRow:
    row = QuestionRow(
        *fact.ids,
        about=f"{fact.title}: cannot be asked: {question.reason}.",
        question=question.text or None,
        negative=asdict(question.negative) if question.negative else None,
        right=[{"id": answer.id, "names": list(answer.names)} for answer in question.right],
        former=[{"id": answer.id, "names": list(answer.names)} for answer in question.former],
        reason=question.reason,
    )
    if question.reason is not None:
        return row
    return replace(
        row,
        about=f"{fact.title}: {question.kind.value} question",
        kind=question.kind.value,
        prompt=prompt(question),
        chance=question.chance,
        expected=question.expected if question.kind is QuestionKind.YES_NO else None,
        answer=_right_answer(question),
    )


def _right_answer(question: FactQuestion) -> str:
    if question.kind is QuestionKind.WH:
        own, *others = map(_with_other_names, (question.own, *question.others))
        return f"{own}; also right: {'; '.join(others)}" if others else own
    if question.negative is None:
        return "yes"
    return f"no: {question.negative.label} was right before" if question.negative.former else "no"


def _with_other_names(answer: RightAnswer) -> str:
    first, *others = answer.names
    return f"{first} (also: {', '.join(others)})" if others else first


@dataclass(frozen=True, slots=True)
class StatementRow(FactIds):
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
    """Statements as a model would judge them; a table for each fact that can be asked."""

    statements: Annotated[Sequence[StatementRow], Listing("", by=lambda _, row: f"{row.title}: {row.statement}")]


def write_statements(
    graph: Graph, keys: Sequence[FactKey], items: StatementItems, limit: int, seed: int
) -> StatementSample:
    """Write the statements of facts and of their negatives; see :func:`kgprobe.sample_statements`."""
    statements = items.of(keys, [seed])
    rows: list[StatementRow] = []
    notes = []
    for fact, item in zip(named_facts(graph, [item.fact for item in statements]), statements, strict=True):
        if item.reason is not None:
            notes.append(f"{fact.title} cannot be asked: {item.reason}.")
            continue
        for rank, negative in enumerate(item.negatives, start=1):
            false = negative.fact
            ids = false.subject, false.relation, false.object
            rows.append(StatementRow(*fact.ids, item.text, rank, false.replaced, *ids, negative.text))
        if len(item.negatives) < limit:
            notes.append(f"{fact.title}: {len(item.negatives):,} negatives, not {limit:,}: no more exist.")
    return StatementSample(rows, notes=list(dict.fromkeys(notes)))


@dataclass(frozen=True, slots=True)
class SentenceRow(ResultRow):
    """Row of a sample of sentences, in the form of a table of annotations (:mod:`kgprobe.verbalize.corrections`).

    Attributes:
        triples_raw: ids of subject, relation and object.
        triples: their labels, with the fact's interval.
        context: tense of the sentence, ``present`` or ``past``.
        errors: kinds of errors, for people to fill in.
        correction: the sentence without errors, for people to fill in.
    """

    triples_raw: str
    triples: Annotated[str, Heading("fact")]
    context: Annotated[str, Heading("context")]
    verbalization: Annotated[str, Heading("sentence")]
    errors: str = ""
    correction: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class SentenceSample(Result):
    """Cloze sentences with their objects, to be annotated by people."""

    sentences: Annotated[Sequence[SentenceRow], Listing("")]

    def write(self, path: str | Path) -> Path:
        """Write a CSV table with empty columns for errors and corrections, and return its path.

        Raises:
            KgprobeError: the file cannot be written.
        """
        target = Path(path)
        with replacing(target) as unfinished, open(unfinished, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            for row in self.rows():
                writer.writerow({name: spreadsheet_cell(cell) for name, cell in row.items()})
        return target


def write_sentences(
    graph: Graph, relations: Sequence[str], limit: int, sentences: int | None, seed: int, day: int, draw: DrawOptions
) -> SentenceSample:
    """Draw facts and write their sentences; see :func:`kgprobe.sample_sentences`."""
    items = ClozeItems(graph, day, sentences=sentences, relations=relations)
    chosen = choose_facts(graph, items.relations, as_of=day, limit=limit, seed=seed, draw=draw)
    keys = [chosen.keys[position] for position in range(len(chosen.keys))]
    rows = []
    silent: list[str] = []
    described = items.of(keys, [seed])
    for labelled, item in zip(named_facts(graph, [item.fact for item in described]), described, strict=True):
        if item.reason is not None:
            silent.append(f"{labelled.title} has no sentence: {item.reason}.")
        fact = item.fact
        labels = f"{fact.subject_label}, {labelled.relation}, {fact.object_label}"
        triples = f"({labels}, start={fact.start}, end={fact.end})"
        context = "past" if has_ended(fact.end, day) else "present"
        for cloze in item.clozes:
            continuations = cloze.continuations([fact.object_label])
            text = join(cloze.prompt, cloze.language.joiner, "".join(continuations))
            rows.append(SentenceRow(repr((fact.key.subject, fact.relation, fact.object)), triples, context, text))
    return SentenceSample(rows, notes=(*chosen.notes, *silent))
