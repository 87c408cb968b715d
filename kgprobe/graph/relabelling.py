"""Facts carry what their relation is called, for people: Neo4j Browser captions an edge by one of its properties."""

from collections.abc import Iterable

from kgprobe.graph.client import Graph, Row

_FACTS_AT_ONCE = 5_000


def relabel(graph: Graph) -> dict[str, str]:
    """Bring the facts of relations up to date that have another label than when their facts were written.

    What was interrupted goes on with the next call: a relation is marked until all its facts carry its label.

    Returns:
        what all relations are called, by id.

    Cost: the relations; of a marked one, the facts at its objects and at the subjects of what is to be changed.
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
