"""Parts of the graph as tables of pandas and graphs of networkx."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from kgprobe.arguments import several, whole_number
from kgprobe.errors import UnknownNameError
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.names import entity_ids, relation_ids
from kgprobe.intervals import as_of_day
from kgprobe.records import Entity, Fact

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

# A fact by its subject and its own id, since ids of facts are unique among those of a subject.
_Key = tuple[str, str]

_COLUMNS = (
    *("fact", "subject", "subject_label", "relation", "relation_label", "object", "object_label"),
    *("start", "end", "rank"),
)


@dataclass(frozen=True, slots=True, repr=False)
class Subgraph:
    """Facts, with what is known of their subjects and objects.

    >>> neighbourhood(graph, "Q142", relations=["P36", "P38"])
    <Subgraph of 3 facts, 4 entities>

    Attributes:
        facts: sorted by subject, relation, object and id.
        entities: by id: the ends of the facts, and the entities that were asked for, with or without facts.
        relation_labels: by id, of the facts' relations; empty where one has none.
        limit: how many facts there could be at most.
        complete: whether these are all; if not, there are ``limit`` of them, and which is left to the engine.
    """

    facts: tuple[Fact, ...]
    entities: Mapping[str, Entity]
    relation_labels: Mapping[str, str]
    limit: int
    complete: bool

    @property
    def note(self) -> str | None:
        """What one has to know of facts that are not all there are; None where they are."""
        return None if self.complete else f"There are more than these {self.limit:,} facts: `limit` was reached."

    def __len__(self) -> int:
        return len(self.facts)

    def __repr__(self) -> str:
        counts = f"<Subgraph of {len(self.facts):,} facts, {len(self.entities):,} entities>"
        return f"{counts}\n{self.note}" if self.note else counts

    def frame(self) -> "pd.DataFrame":
        """The facts as a table of pandas, one a row.

        >>> frame = facts_of(graph, ["Q142"], ["P36"]).frame()
        >>> frame[["subject_label", "relation_label", "object_label", "rank"]]
          subject_label relation_label object_label    rank
        0        France        capital        Paris  normal

        Columns: fact, subject, subject_label, relation, relation_label, object, object_label, start, end, rank; a
        label that is missing is empty, a bound that is missing is None. ``attrs["note"]`` is :attr:`note`.
        """
        import pandas as pd

        rows = [
            (
                *(fact.id, fact.subject, self.entities[fact.subject].label),
                *(fact.relation, self.relation_labels[fact.relation]),
                *(fact.object, self.entities[fact.object].label, fact.start, fact.end, fact.rank),
            )
            for fact in self.facts
        ]
        frame: pd.DataFrame = pd.DataFrame(rows, columns=[*_COLUMNS], dtype=object)
        frame.attrs["note"] = self.note
        return frame

    def networkx(self) -> "nx.MultiDiGraph[str]":
        """The facts as a graph of networkx: an entity is a node, a fact an edge from its subject to its object.

        >>> network = facts_of(graph, ["Q142"], ["P36"]).networkx()
        >>> network.nodes["Q142"]["label"]
        'France'
        >>> [(start, end, values["relation_label"]) for start, end, values in network.edges(data=True)]
        [('Q142', 'Q90', 'capital')]

        Nodes are named by ids, and edges have the facts' ids as keys. Attributes are the fields of
        :class:`~kgprobe.records.Entity` and :class:`~kgprobe.records.Fact`, and ``relation_label``; what is None is
        left out. The graph's own attribute ``note`` is :attr:`note`.
        """
        import networkx as nx

        network: nx.MultiDiGraph[str] = nx.MultiDiGraph(note=self.note)
        for entity in self.entities.values():
            network.add_node(entity.id, **_attributes(entity))
        for fact in self.facts:
            label = self.relation_labels[fact.relation]
            network.add_edge(fact.subject, fact.object, key=fact.id, relation_label=label, **_attributes(fact))
        return network


def facts_of(
    graph: Graph,
    entities: Sequence[str] = (),
    relations: Sequence[str] = (),
    *,
    as_of: int | str | date | None = None,
    limit: int = 10_000,
) -> Subgraph:
    """Facts of the graph: of some entities, of some relations, of both, or any.

    >>> facts_of(graph, ["Q142"], ["P36"]).facts[0].object
    'Q90'
    >>> facts_of(graph, relations=["P38"], limit=100).note
    'There are more than these 100 facts: `limit` was reached.'

    Args:
        entities: subjects or objects, each by its id or a name; none for those of all.
        relations: each by its id or a name; none for all.
        as_of: a date at which the facts hold; None for facts of any time.
        limit: how many facts at most, from 1 on.

    Raises:
        ArgumentError: an argument cannot be what it is.
        UnknownNameError: the graph has no entity or relation that is called so.

    Cost: a walk through the entities' facts; without entities, through the facts of the relations' objects; without
    either, a scan. None of them reads on when it has found more than ``limit``, but facts that are of other relations
    or do not hold at ``as_of`` are read as well. Then a look-up for each subject and object.
    """
    _check(entities, relations, limit)
    day = None if as_of is None else as_of_day(as_of)
    entities, relations = entity_ids(graph, entities), relation_ids(graph, relations)
    if entities:
        rows = _touching(graph, entities, relations, day, limit)
    elif relations:
        rows = graph.stream("explore/facts_of_relations", relations=_distinct(relations), as_of=day, limit=limit + 1)
    else:
        rows = graph.stream("explore/facts", as_of=day, limit=limit + 1)
    taken: dict[_Key, Row] = {}
    complete = _take(rows, taken, limit)
    return _subgraph(graph, entities, taken, limit, complete)


def neighbourhood(
    graph: Graph,
    entity: str,
    *,
    steps: int = 1,
    relations: Sequence[str] = (),
    as_of: int | str | date | None = None,
    limit: int = 1_000,
) -> Subgraph:
    """The facts around an entity: its own, in a second step those of the entities that they lead to, and so on.

    >>> around = neighbourhood(graph, "Q142", relations=["P47"], as_of=20240101)
    >>> sorted(entity.label for entity in around.entities.values())[:4]
    ['Andorra', 'Belgium', 'Brazil', 'France']
    >>> len(neighbourhood(graph, "Q142", relations=["P47"], as_of=20240101, steps=2)) > len(around)
    True

    Facts are walked in both directions.

    Args:
        entity: its id, or a name.
        steps: how far, from 1 on.
        relations, as_of: which facts, as in :func:`facts_of`.
        limit: how many facts at most, from 1 on; those of fewer steps come first.

    Raises:
        ArgumentError: an argument cannot be what it is.
        UnknownNameError: the graph has no entity or relation that is called so.

    Cost: as :func:`facts_of` of the entities of each step but the last. An entity of very many facts, such as a large
    country, soon fills the limit; ``relations`` keep away from it.
    """
    _check([entity], relations, limit)
    day = None if as_of is None else as_of_day(as_of)
    steps = whole_number("steps", steps)
    (entity,), relations = entity_ids(graph, [entity]), relation_ids(graph, relations)
    taken: dict[_Key, Row] = {}
    reached, frontier, complete = {entity}, {entity}, True
    for _ in range(steps):
        complete = _take(_touching(graph, sorted(frontier), relations, day, limit), taken, limit)
        if not complete:
            break
        frontier = {end for row in taken.values() for end in (row["subject"], row["object"])} - reached
        reached |= frontier
    return _subgraph(graph, [entity], taken, limit, complete)


def _check(entities: Sequence[str], relations: Sequence[str], limit: int) -> None:
    several("entities", entities)
    several("relations", relations)
    whole_number("limit", limit)


def _touching(
    graph: Graph, entities: Sequence[str], relations: Sequence[str], as_of: int | None, limit: int
) -> Iterator[Row]:
    """Rows of facts at entities: all of them, or more than the limit."""
    return graph.stream(
        "explore/facts_of_entities",
        entities=_distinct(entities),
        relations=_distinct(relations),
        as_of=as_of,
        limit=limit + 1,
    )


def _distinct(ids: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(ids))


def _take(rows: Iterable[Row], taken: dict[_Key, Row], limit: int) -> bool:
    """Put rows to those that were taken, as long as there is room; whether there was for all."""
    for row in rows:
        key = (row["subject"], row["fact"])
        if key not in taken:
            if len(taken) == limit:
                return False
            taken[key] = row
    return True


def _subgraph(graph: Graph, asked: Sequence[str], taken: Mapping[_Key, Row], limit: int, complete: bool) -> Subgraph:
    facts = [
        Fact(row["fact"], row["subject"], row["relation"], row["object"], row["rank"], row["start"], row["end"])
        for row in taken.values()
    ]
    facts.sort(key=lambda fact: (fact.subject, fact.relation, fact.object, fact.id))
    ids = _distinct([*asked, *(end for fact in facts for end in (fact.subject, fact.object))])
    entities = {row["id"]: _entity(row) for row in graph.read("explore/entities", ids=ids)}
    missing = [entity for entity in asked if entity not in entities]
    if missing:
        raise UnknownNameError(f"The graph has no entity {', '.join(missing)}.")
    labels = {row["relation"]: row["relation_label"] or "" for row in taken.values()}
    return Subgraph(tuple(facts), {id_: entities[id_] for id_ in ids}, labels, limit, complete)


def _entity(row: Row) -> Entity:
    return Entity(
        id=row["id"],
        label=row["label"] or "",
        aliases=tuple(row["aliases"] or ()),
        description=row["description"] or "",
        types=tuple(row["types"] or ()),
        popularity=row["popularity"],
        value=row["value"],
        datatype=row["datatype"],
    )


def _attributes(record: Entity | Fact) -> dict[str, Any]:
    return {
        name: value
        for name, value in asdict(record).items()
        if value is not None and name not in ("id", "subject", "object")
    }
