"""Update the relation labels on facts, which Neo4j Browser shows as captions of edges."""

from collections.abc import Iterable

from kgprobe.graph.client import Graph, Row

_FACTS_AT_ONCE = 5_000


def relabel(graph: Graph) -> dict[str, str]:
    """Update the facts of relations whose label has changed since the facts were written.

    A relation is marked until all its facts have its label; the next call continues an interrupted update.

    Cost: the relations; for a marked one, the facts at its objects and at the subjects of changed facts.

    Returns:
        The labels of all relations, by id.
    """
    relations = graph.read("load/relation_labels")
    for relation in relations:
        if relation["relabel"]:
            facts = graph.stream("load/mislabelled_facts", relation=relation["id"])
            for rows in _rows_by_subject(facts):
                graph.write("load/relabelled_facts", label=relation["label"], rows=rows)
            graph.write("load/relabelled", relation=relation["id"])
    return {relation["id"]: relation["label"] for relation in relations}


def _rows_by_subject(facts: Iterable[Row]) -> Iterable[list[Row]]:
    subjects: dict[str, dict[str, bool]] = {}
    for number, fact in enumerate(facts, start=1):
        subjects.setdefault(fact["subject"], {})[fact["fact"]] = True
        if number % _FACTS_AT_ONCE == 0:
            yield [{"subject": subject, "facts": ids} for subject, ids in subjects.items()]
            subjects.clear()
    if subjects:
        yield [{"subject": subject, "facts": ids} for subject, ids in subjects.items()]
