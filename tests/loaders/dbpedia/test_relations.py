"""Templates that come with the loader: complete, checked on facts, and enough for GraphEval's relations."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.loaders.dbpedia import OWN_TEMPLATES, own_templates
from kgprobe.sources.contract import open_source
from kgprobe.verbalize.sentences import Cloze, fill, wh_question
from kgprobe.verbalize.templates.check import check_file, check_relation
from kgprobe.verbalize.templates.examples import ExampleFact
from kgprobe.verbalize.templates.kinds import KINDS, REVERSE_KINDS, exchanged
from kgprobe.verbalize.tense import tense_of

# GraphEval (Liu et al. 2024), Table 5: its relations that relate two entities, thus without `homepage`.
GRAPHEVAL = """
birthPlace team subdivision country starring location type deathPlace timeZone genre position writer almaMater
occupation award recordLabel party producer formerTeam family currentMember battle nationality director associatedBand
associatedMusicalArtist class order
"""


def example(subject: str, object_: str, start: str | None = None, end: str | None = None) -> ExampleFact:
    return ExampleFact("", subject, object_, 1, start, end, 1)


MADE = [
    example("Lovely Cottage", "the Hague"),
    example("Hans of the Rhine", "Vistula", "1901", "1950"),
    example("47 Ronin", "14 March 1879", None, "1999"),
    example("United States", "78782 square kilometres", "1776"),
]
SHIPPED = own_templates()


@pytest.fixture(scope="module")
def real_facts(shared_data: Path) -> Mapping[str, Sequence[ExampleFact]]:
    """Up to ten facts of each relation of the DBpedia fragment, by the relation's name without prefix."""
    source = open_source("dbpedia", files=[shared_data / "dbpedia" / "dbpedia-fragment.ttl"])
    labels = {one.record.id: one.record.label for one in source.entities() if isinstance(one.record, Entity)}
    facts = defaultdict(list)
    for _, fact, *_ in source.facts():
        if isinstance(fact, Fact):
            examples = facts[fact.relation.partition(":")[2]]
            if len(examples) < 10:
                examples.append(example(labels[fact.subject], labels[fact.object], fact.start, fact.end))
    return facts


def test_templates_have_no_flaw_on_facts(real_facts: Mapping[str, Sequence[ExampleFact]]) -> None:
    for identifier, relation in SHIPPED.items():
        examples = [*real_facts.get(identifier.partition(":")[2], ()), *MADE][:10]
        assert [flaw for flaw in check_relation(relation, examples) if flaw.severity == "error"] == []
        for fact in examples:
            for sentence in sentences_of(relation, fact):
                assert not sentence[0].islower() or sentence[1:2].isupper(), sentence
                assert not re.search(r"\[[XY]\]|\bthe the\b", sentence, re.IGNORECASE), sentence


def sentences_of(relation: Relation, fact: ExampleFact) -> Iterator[str]:
    for cloze in (*relation.clozes, *relation.past_clozes):
        sentence = Cloze(cloze, fact.subject)
        yield f"{sentence.prompt} {sentence.continuations([fact.object])[0]}."
    for template in (*relation.statements, *relation.yes_no_questions):
        yield fill(template, fact.subject, fact.object)
    for question in relation.wh_questions:
        yield wh_question(question, fact.subject)


def test_templates_are_complete_and_without_flaws() -> None:
    checked = check_file(OWN_TEMPLATES)
    assert (checked.flaws, checked.without_clozes) == ([], [])
    for relation in SHIPPED.values():
        kinds = (relation.statements, relation.yes_no_questions, relation.wh_questions, (relation.label,))
        assert all(kinds), relation.id
        assert len(set(relation.clozes)) == 3, relation.id
        assert relation.description, relation.id


def test_past_clozes_and_reverse_templates_fit_the_others() -> None:
    """Past clozes are as many as the others and in the past; no template occurs twice, reverse ones included."""
    for relation in SHIPPED.values():
        assert len(relation.past_clozes) in (0, len(relation.clozes)), relation.id
        assert set(map(tense_of, relation.past_clozes)) <= {"past"}, relation.id
        reversed_past = [exchanged(text) for text in relation.reverse_past_clozes]
        assert set(map(tense_of, reversed_past)) <= {"past"}, relation.id
        templates = [text for kind in (*KINDS, *REVERSE_KINDS) for text in getattr(relation, f"{kind}s")]
        assert len(templates) == len(set(templates)), relation.id


def test_relations_of_grapheval_are_shipped() -> None:
    assert {f"dbo:{name}" for name in GRAPHEVAL.split()} | {"rdfs:seeAlso"} <= SHIPPED.keys()
    assert sum(name.startswith("dbo:") for name in SHIPPED) >= 200


def test_related_pages_are_facts(tmp_path: Path) -> None:
    path = tmp_path / "related.nt"
    see_also = "<http://www.w3.org/2000/01/rdf-schema#seeAlso>"
    path.write_text(f"<http://dbpedia.org/resource/A> {see_also} <http://dbpedia.org/resource/B> .\n")
    source = open_source("dbpedia", files=[path], relations=["rdfs:seeAlso"])
    (relation,) = [placed.record for placed in source.relations()]
    assert isinstance(relation, Relation)
    assert relation.clozes == SHIPPED["rdfs:seeAlso"].clozes
    assert [placed.record.id for placed in source.facts() if isinstance(placed.record, Fact)] == [
        "dbr:A rdfs:seeAlso dbr:B"
    ]
