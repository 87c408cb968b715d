"""The source of years: the facts' own starts, or a date of their subjects."""

import pytest

from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.sampling.years import FACT_START, candidate_sources, choose_source
from tests.written_source import WrittenSource


@pytest.mark.parametrize(
    ("dated", "chosen"),
    [
        # Half of the facts have a start: other dates do not matter.
        ({FACT_START: 5, "P577": 10}, FACT_START),
        ({FACT_START: 4, "P577": 10}, "P577"),
        ({FACT_START: 4, "P577": 4}, FACT_START),
        ({FACT_START: 0, "P577": 3, "P571": 3}, "P577"),
        ({FACT_START: 0, "P577": 3, "P571": 4}, "P571"),
        ({"P577": 0}, "P577"),
    ],
)
def test_dates_of_own_starts_precede_those_of_subjects(graph: Graph, dated: dict[str, int], chosen: str) -> None:
    source = choose_source(graph, dated, 10)
    assert (source.relation, source.dated, source.facts) == (chosen, dated[chosen], 10)


def test_candidates_are_date_relations_in_order(graph: Graph) -> None:
    relations = [Relation("P571", "inception"), Relation("P577", "publication date"), Relation("P36", "capital")]
    facts = [Fact(f"f{place}", "a", relation.id, "b") for place, relation in enumerate(relations)]
    load(graph, WrittenSource([Entity("a", "a"), Entity("b", "b")], facts, relations))
    assert candidate_sources(graph, None) == [FACT_START, "P577", "P571"]
    assert candidate_sources(graph, "P36") == ["P36"]
    assert candidate_sources(graph, FACT_START) == [FACT_START]
