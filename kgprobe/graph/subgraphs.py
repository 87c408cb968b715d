"""Parts of the graph as tables of pandas and graphs of networkx."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import date
from itertools import chain
from typing import TYPE_CHECKING, Any

from kgprobe.arguments import several, whole_number
from kgprobe.dates import as_of_day
from kgprobe.errors import UnknownNameError
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.fact_beliefs import FactBelief, read_beliefs
from kgprobe.graph.names import entity_ids, relation_ids
from kgprobe.graph.run_nodes import find_run
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
_OF_BELIEFS = tuple(field.name for field in fields(FactBelief))


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
        run: whose beliefs stand beside the facts; None where nobody asked for any.
        beliefs: by the facts' ids, of those that the run came near.
    """

    facts: tuple[Fact, ...]
    entities: Mapping[str, Entity]
    relation_labels: Mapping[str, str]
    limit: int
    complete: bool
    run: str | None
    beliefs: Mapping[str, FactBelief]

    @property
    def note(self) -> str | None:
        """Say that there are more facts, or none; None otherwise."""
        if not self.facts:
            named = ", ".join(entity.label or entity.id for entity in self.entities.values())
            return f"The graph has no facts{f' of {named}' if named else ''} that `relations` and `as_of` allow."
        return None if self.complete else f"There are more than these {self.limit:,} facts: `limit` was reached."

    def __len__(self) -> int:
        return len(self.facts)

    def __repr__(self) -> str:
        counts = f"<Subgraph of {len(self.facts):,} facts, {len(self.entities):,} entities>"
        return f"{counts}\n{self.note}" if self.note else counts

    def to_frame(self) -> "pd.DataFrame":
        """The facts as a table of pandas, one a row.

        >>> frame = facts_of(graph, ["Q142"], ["P36"]).to_frame()
        >>> frame[["subject_label", "relation_label", "object_label", "rank"]]
          subject_label relation_label object_label    rank
        0        France        capital        Paris  normal

        Columns: fact, subject, subject_label, relation, relation_label, object, object_label, start, end, rank; a
        label that is missing is empty, a bound that is missing is None. With a run there are also those of
        :class:`~kgprobe.graph.fact_beliefs.FactBelief`, None for a fact that it never came near.
        ``attrs["note"]`` is :attr:`note`.
        """
        import pandas as pd

        rows = [
            (
                *(fact.id, fact.subject, self.entities[fact.subject].label),
                *(fact.relation, self.relation_labels[fact.relation]),
                *(fact.object, self.entities[fact.object].label, fact.start, fact.end, fact.rank),
                *self._believed(fact),
            )
            for fact in self.facts
        ]
        columns = [*_COLUMNS, *(_OF_BELIEFS if self.run is not None else ())]
        frame: pd.DataFrame = pd.DataFrame(rows, columns=columns, dtype=object)
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
        :class:`~kgprobe.records.Entity` and :class:`~kgprobe.records.Fact`, and ``relation_label``; on edges also those
        of :class:`~kgprobe.graph.fact_beliefs.FactBelief`, where a run came near the fact. What is None is left out.
        The graph's own attributes are ``note``, which is :attr:`note`, and ``run``.
        """
        import networkx as nx

        network: nx.MultiDiGraph[str] = nx.MultiDiGraph(note=self.note, run=self.run)
        for entity in self.entities.values():
            network.add_node(entity.id, **_attributes(entity))
        for fact in self.facts:
            label = self.relation_labels[fact.relation]
            belief = self.beliefs.get(fact.id)
            values = _attributes(fact) | ({} if belief is None else _attributes(belief))
            network.add_edge(fact.subject, fact.object, key=fact.id, relation_label=label, **values)
        return network

    def _believed(self, fact: Fact) -> Iterable[object]:
        if self.run is None:
            return ()
        belief = self.beliefs.get(fact.id)
        return (None if belief is None else getattr(belief, name) for name in _OF_BELIEFS)


def facts_of(
    graph: Graph,
    entities: Sequence[str] = (),
    relations: Sequence[str] = (),
    *,
    as_of: int | str | date | None = None,
    limit: int = 10_000,
    run: str | None = None,
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
        run: the name of a run, whose beliefs then stand beside the facts; of the facts of entities, those that it asked
            come first.

    Raises:
        ArgumentError: an argument cannot be what it is.
        UnknownNameError: the graph has no entity or relation that is called so, or no such run.

    Cost: a walk through the entities' facts; without entities, through the facts of the relations' objects; without
    either, a scan. None of them reads on when it has found more than ``limit``, but facts that are of other relations
    or do not hold at ``as_of`` are read as well. Then a look-up for each subject and object. With a run and entities,
    also that of reading the run's beliefs.
    """
    _check(graph, entities, relations, limit, run)
    day = None if as_of is None else as_of_day(as_of)
    entities, relations = entity_ids(graph, entities), relation_ids(graph, relations)
    if entities:
        rows = _touching(graph, entities, relations, day, limit, run)
    elif relations:
        rows = graph.stream("explore/facts_of_relations", relations=_distinct(relations), as_of=day, limit=limit + 1)
    else:
        rows = graph.stream("explore/facts", as_of=day, limit=limit + 1)
    taken: dict[_Key, Row] = {}
    complete = _take(rows, taken, limit)
    return _subgraph(graph, entities, taken, limit, complete, run)


def neighbourhood(
    graph: Graph,
    entity: str,
    *,
    steps: int = 1,
    relations: Sequence[str] = (),
    as_of: int | str | date | None = None,
    limit: int = 1_000,
    run: str | None = None,
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
        run: as in :func:`facts_of`; of the facts of a step, those that it asked come first.

    Raises:
        ArgumentError: an argument cannot be what it is.
        UnknownNameError: the graph has no entity or relation that is called so, or no such run.

    Cost: as :func:`facts_of` of the entities of each step but the last. An entity of very many facts, such as a large
    country, soon fills the limit; ``relations`` keep away from it.
    """
    _check(graph, [entity], relations, limit, run)
    day = None if as_of is None else as_of_day(as_of)
    steps = whole_number("steps", steps)
    (entity,), relations = entity_ids(graph, [entity]), relation_ids(graph, relations)
    taken: dict[_Key, Row] = {}
    reached, frontier, complete = {entity}, {entity}, True
    for _ in range(steps):
        complete = _take(_touching(graph, sorted(frontier), relations, day, limit, run), taken, limit)
        if not complete:
            break
        frontier = {end for row in taken.values() for end in (row["subject"], row["object"])} - reached
        reached |= frontier
    return _subgraph(graph, [entity], taken, limit, complete, run)


def _check(graph: Graph, entities: Sequence[str], relations: Sequence[str], limit: int, run: str | None) -> None:
    several("entities", entities)
    several("relations", relations)
    whole_number("limit", limit)
    if run is not None:
        find_run(graph, run)


def _touching(
    graph: Graph,
    entities: Sequence[str],
    relations: Sequence[str],
    as_of: int | None,
    limit: int,
    run: str | None,
) -> Iterator[Row]:
    """Rows of facts at entities, some of them twice: all facts, or more than the limit."""
    which = {
        "entities": _distinct(entities),
        "relations": _distinct(relations),
        "as_of": as_of,
        "limit": limit + 1,
    }
    asked: Iterator[Row] = iter(())
    if run is not None:
        asked = graph.stream("explore/asked_facts_of_entities", run=run, **which)
    return chain(asked, graph.stream("explore/facts_of_entities", **which))


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


def _subgraph(
    graph: Graph, asked: Sequence[str], taken: Mapping[_Key, Row], limit: int, complete: bool, run: str | None
) -> Subgraph:
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
    beliefs = {} if run is None else read_beliefs(graph, run, (fact.id for fact in facts))
    return Subgraph(tuple(facts), {id_: entities[id_] for id_ in ids}, labels, limit, complete, run, beliefs)


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


def _attributes(record: Entity | Fact | FactBelief) -> dict[str, Any]:
    return {
        name: value
        for name, value in asdict(record).items()
        if value is not None and name not in ("id", "subject", "object")
    }
