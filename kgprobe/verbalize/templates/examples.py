"""Relations of the graph with their templates, example facts, and templates filled with these for display."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

import msgspec

from kgprobe.base.dates import first_day
from kgprobe.base.records import Relation, texts_of_properties
from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_ids
from kgprobe.graph.rows import rows_by
from kgprobe.verbalize.language import ENGLISH, Language
from kgprobe.verbalize.sentences import BLANK, Cloze, fill, wh_question
from kgprobe.verbalize.templates.kinds import KINDS
from kgprobe.verbalize.tense import has_ended, templates_of

# Objects per relation from which examples are taken.
OBJECTS = 200


@dataclass(frozen=True, slots=True)
class ExampleFact:
    """A fact with the labels of both ends.

    Attributes:
        degree: number of facts of the subject.
        start, end: ISO 8601 in the source's own precision; None is unbounded.
        holding: number of objects of the subject in this relation at the reference date.
    """

    fact: str
    subject: str
    object: str
    degree: int
    start: str | None
    end: str | None
    holding: int


def relations_of(graph: Graph, names: Sequence[str] = ()) -> list[Relation]:
    """Return the relations of the graph with their templates, by id; all, or those with some ids or names."""
    ids = relation_ids(graph, names)
    rows = rows_by("id", graph.read("sample/relations"))
    for row in graph.read("sample/relation_texts"):
        if row["id"] in rows:
            rows[row["id"]]["texts"] = texts_of_properties(row["properties"])
    return [msgspec.convert(rows[identifier], Relation) for identifier in ids or rows]


def examples_of(graph: Graph, relation: str, as_of: int) -> list[ExampleFact]:
    """Return facts of a relation, at most three for each of up to ``OBJECTS`` objects, by descending degree.

    Cost: a walk from these objects.
    """
    rows = graph.read("templates/examples", relation=relation, as_of=as_of, objects=OBJECTS)
    columns = itemgetter("fact", "subject_label", "object_label", "degree", "start", "end", "holding")
    examples = [ExampleFact(*columns(row)) for row in rows]
    return sorted(examples, key=lambda example: (-example.degree, example.fact))


@dataclass(frozen=True, slots=True)
class FilledTemplate:
    """A template with an example sentence.

    Attributes:
        kind: one of ``KINDS``; ``past_cloze`` also for a cloze that was put in the past.
        template: the template as used in prompts.
        sentence: the template with the names of a fact, and ``BLANK`` between a cloze and its continuation; None if
            the relation has no suitable fact.
    """

    kind: str
    template: str
    sentence: str | None
    fact: str | None


def filled_templates(
    relation: Relation, examples: Sequence[ExampleFact], as_of: int, language: Language = ENGLISH
) -> list[FilledTemplate]:
    """Return all templates of a relation, each filled with the first fact that suits it, or else another.

    Facts that ended before ``as_of`` (``yyyymmdd``) are put in the past.
    """
    begun = [example for example in examples if example.start is None or first_day(example.start) <= as_of]
    current_first = sorted(begun, key=lambda example: has_ended(example.end, as_of))
    ended_first = sorted(begun, key=lambda example: not has_ended(example.end, as_of))
    clozes = {kind: getattr(relation, f"{kind}s") for kind in KINDS}
    if ended_first and has_ended(ended_first[0].end, as_of):
        clozes["past_cloze"] = templates_of(relation.clozes, relation.past_clozes, ended=True, language=language)
    filled = []
    for kind, templates in clozes.items():
        suitable = ended_first if kind == "past_cloze" else current_first
        for template in templates:
            if suitable:
                sentence = _sentence(kind, template, suitable[0], language)
                filled.append(FilledTemplate(kind, template, sentence, suitable[0].fact))
            else:
                filled.append(FilledTemplate(kind, template, None, None))
    return filled


def _sentence(kind: str, template: str, example: ExampleFact, language: Language) -> str:
    if kind == "wh_question":
        return wh_question(template, example.subject, language)
    if kind.endswith("cloze"):
        cloze = Cloze(template, example.subject, language=language)
        return f"{cloze.prompt} {BLANK} {cloze.continuations([example.object])[0]}"
    return fill(template, example.subject, example.object, language)
