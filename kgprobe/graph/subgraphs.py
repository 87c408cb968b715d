"""Subgraphs, as data frames and graphs of networkx."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import date
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from kgprobe.base.arguments import several, whole_number
from kgprobe.base.dates import as_of_day
from kgprobe.base.errors import KgprobeError, UnknownNameError, how_to_install
from kgprobe.base.records import Entity, Fact
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.names import entity_ids, relation_ids
from kgprobe.graph.runs import FactBelief, find_run, read_beliefs

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    import py2neo

# Subject and id of a fact: ids are unique among the facts of a subject.
_Key = tuple[str, str]

_COLUMNS = (
    *("fact", "subject", "subject_label", "relation", "relation_label", "object", "object_label"),
    *("start", "end", "rank"),
)
_BELIEF_COLUMNS = tuple(field.name for field in fields(FactBelief))


@dataclass(frozen=True, slots=True, repr=False)
class Subgraph:
    """Facts with their entities and beliefs.

    >>> neighbourhood(graph, "Q142", relations=["P36", "P38"])
    <Subgraph of 3 facts, 4 entities>

    Attributes:
        facts: facts, sorted by subject, relation, object and id.
        entities: subjects, objects and requested entities, by id.
        relation_labels: labels of the relations by id; empty without a label.
        limit: maximum number of facts.
        complete: True if these are all facts; if not, there are ``limit`` facts, selected by the engine.
        run: run of the beliefs; None without.
        beliefs: beliefs by the facts' ids, where the run has one.
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
        """Message for an empty or truncated subgraph; None otherwise."""
        if not self.facts:
            names = ", ".join(entity.label or entity.id for entity in self.entities.values())
            return f"The graph has no facts{f' of {names}' if names else ''} that `relations` and `as_of` allow."
        return None if self.complete else f"There are more than these {self.limit:,} facts: `limit` was reached."

    def __len__(self) -> int:
        return len(self.facts)

    def __repr__(self) -> str:
        counts = f"<Subgraph of {len(self.facts):,} facts, {len(self.entities):,} entities>"
        return f"{counts}\n{self.note}" if self.note else counts

    def to_frame(self) -> "pd.DataFrame":
        """Return the facts as a data frame.

        >>> frame = facts_of(graph, ["Q142"], ["P36"]).to_frame()
        >>> frame[["subject_label", "relation_label", "object_label", "rank"]]
          subject_label relation_label object_label    rank
        0        France        capital        Paris  normal

        Columns: fact, subject, subject_label, relation, relation_label, object, object_label, start, end, rank; a
        missing label is empty, a missing bound None. With a run also the fields of
        :class:`~kgprobe.graph.runs.FactBelief`, None for facts without a belief. ``attrs["note"]`` is
        :attr:`note`.
        """
        import pandas as pd

        rows = []
        for fact in self.facts:
            belief = self.beliefs.get(fact.id)
            row = asdict(fact) | (dict.fromkeys(_BELIEF_COLUMNS) if belief is None else asdict(belief))
            row["fact"] = fact.id
            row["subject_label"] = self.entities[fact.subject].label
            row["relation_label"] = self.relation_labels[fact.relation]
            row["object_label"] = self.entities[fact.object].label
            rows.append(row)
        columns = [*_COLUMNS, *(() if self.run is None else _BELIEF_COLUMNS)]
        frame: pd.DataFrame = pd.DataFrame(rows, columns=columns, dtype=object)
        frame.attrs["note"] = self.note
        return frame

    def networkx(self) -> "nx.MultiDiGraph[str]":
        """Return a graph of networkx: entities are nodes, facts are edges from subject to object.

        >>> network = facts_of(graph, ["Q142"], ["P36"]).networkx()
        >>> network.nodes["Q142"]["label"]
        'France'
        >>> [(start, end, values["relation_label"]) for start, end, values in network.edges(data=True)]
        [('Q142', 'Q90', 'capital')]

        Nodes are entity ids, and keys of edges are fact ids. Attributes are the fields of
        :class:`~kgprobe.base.records.Entity` and :class:`~kgprobe.base.records.Fact`, and ``relation_label``; on edges
        also those of :class:`~kgprobe.graph.runs.FactBelief`, if the run has a belief. Attributes that are None are
        left out. Attributes of the graph are ``run`` and ``note``, which is :attr:`note`.
        """
        import networkx as nx

        network: nx.MultiDiGraph[str] = nx.MultiDiGraph(note=self.note, run=self.run)
        for entity in self.entities.values():
            network.add_node(entity.id, **_attributes(entity))
        for fact in self.facts:
            label = self.relation_labels[fact.relation]
            belief = self.beliefs.get(fact.id)
            values = _attributes(fact)
            if belief is not None:
                values |= _attributes(belief)
            network.add_edge(fact.subject, fact.object, key=fact.id, relation_label=label, **values)
        return network


def facts_of(
    graph: Graph,
    entities: Sequence[str] = (),
    relations: Sequence[str] = (),
    *,
    as_of: int | str | date | None = None,
    limit: int = 10_000,
    run: str | None = None,
) -> Subgraph:
    """Return facts of the graph, of some or all entities and relations.

    >>> facts_of(graph, ["Q142"], ["P36"]).facts[0].object
    'Q90'
    >>> facts_of(graph, relations=["P38"], limit=100).note
    'There are more than these 100 facts: `limit` was reached.'

    Args:
        entities: subjects or objects, by id or name; empty for all.
        relations: relations, by id or name; empty for all.
        as_of: date at which the facts hold; None for facts of any time.
        limit: maximum number of facts, at least 1.
        run: name of a run, to add its beliefs; with entities, the facts that it has asked come first.

    Raises:
        ArgumentError: an argument is not allowed.
        UnknownNameError: an entity, relation or run is unknown.

    Cost: a walk through the entities' facts; without entities, through the facts of the relations' objects; without
    both, a scan. Each ends after ``limit`` facts, but also reads facts of other relations or other times. In addition,
    a look-up for each subject and object, and with a run and entities one reading of the run's beliefs.
    """
    _check(graph, entities, relations, limit, run)
    day = None if as_of is None else as_of_day(as_of)
    entities, relations = entity_ids(graph, entities), relation_ids(graph, relations)
    if entities:
        rows = _touching(graph, entities, relations, day, limit, run)
    elif relations:
        rows = graph.stream("explore/facts_of_relations", relations=list(relations), as_of=day, limit=limit + 1)
    else:
        rows = graph.stream("explore/facts", as_of=day, limit=limit + 1)
    selected: dict[_Key, Row] = {}
    complete = _select(rows, selected, limit)
    return _subgraph(graph, entities, selected.values(), limit, complete, run)


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
    """Return the facts around an entity: its facts, in a second step the facts of its neighbours, and so on.

    >>> around = neighbourhood(graph, "Q142", relations=["P47"], as_of=20240101)
    >>> sorted(entity.label for entity in around.entities.values())[:4]
    ['Andorra', 'Belgium', 'Brazil', 'France']
    >>> len(neighbourhood(graph, "Q142", relations=["P47"], as_of=20240101, steps=2)) > len(around)
    True

    Facts are walked in both directions.

    Args:
        entity: id or name of the entity.
        steps: number of steps, at least 1.
        relations, as_of: selection of facts, as in :func:`facts_of`.
        limit: maximum number of facts, at least 1; facts of fewer steps come first.
        run: as in :func:`facts_of`; in each step, the facts that it has asked come first.

    Raises:
        ArgumentError: an argument is not allowed.
        UnknownNameError: an entity, relation or run is unknown.

    Cost: as :func:`facts_of` for the entities of each step. An entity with very many facts, such as a large country,
    soon reaches the limit; use ``relations`` to avoid this.
    """
    _check(graph, [entity], relations, limit, run)
    day = None if as_of is None else as_of_day(as_of)
    steps = whole_number("steps", steps)
    (entity,), relations = entity_ids(graph, [entity]), relation_ids(graph, relations)
    selected: dict[_Key, Row] = {}
    reached, frontier, complete = {entity}, {entity}, True
    for _ in range(steps):
        complete = _select(_touching(graph, sorted(frontier), relations, day, limit, run), selected, limit)
        if not complete:
            break
        frontier = set(chain.from_iterable(map(itemgetter("subject", "object"), selected.values()))) - reached
        reached |= frontier
    return _subgraph(graph, [entity], selected.values(), limit, complete, run)


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
    """Yield rows of facts at entities, all or more than the limit; some facts occur twice."""
    parameters = {
        "entities": list(dict.fromkeys(entities)),
        "relations": list(relations),
        "as_of": as_of,
        "limit": limit + 1,
    }
    if run is not None:
        yield from graph.stream("explore/asked_facts_of_entities", run=run, **parameters)
    yield from graph.stream("explore/facts_of_entities", **parameters)


def _select(rows: Iterable[Row], selected: dict[_Key, Row], limit: int) -> bool:
    """Add rows to the selected ones up to the limit, and return True if all were added."""
    for row in rows:
        key = (row["subject"], row["fact"])
        if key not in selected:
            if len(selected) == limit:
                return False
            selected[key] = row
    return True


def _subgraph(
    graph: Graph, requested: Sequence[str], rows: Collection[Row], limit: int, complete: bool, run: str | None
) -> Subgraph:
    facts = [
        Fact(row["fact"], row["subject"], row["relation"], row["object"], row["rank"], row["start"], row["end"])
        for row in sorted(rows, key=itemgetter("subject", "relation", "object", "fact"))
    ]
    ids = dict.fromkeys(requested)
    for fact in facts:
        ids |= {fact.subject: None, fact.object: None}
    known = {row["id"]: _entity(row) for row in graph.read("explore/entities", ids=list(ids))}
    missing = [entity for entity in requested if entity not in known]
    if missing:
        raise UnknownNameError(f"The graph has no entity {', '.join(missing)}.")
    entities = {id_: known[id_] for id_ in ids}
    labels = {row["relation"]: row["relation_label"] or "" for row in rows}
    beliefs = {} if run is None else read_beliefs(graph, run, (fact.id for fact in facts))
    return Subgraph(tuple(facts), entities, labels, limit, complete, run, beliefs)


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
    keys = ("id", "subject", "object", "texts")
    return {name: value for name, value in asdict(record).items() if value is not None and name not in keys}


def py2neo_graph(graph: Graph) -> "py2neo.Graph":
    """Return a connection of py2neo to the same graph, for notebooks that use py2neo.

    py2neo is not developed since 2021. :meth:`kgprobe.graph.client.Graph.query` and the official ``neo4j`` driver
    replace it.

    >>> explored = py2neo_graph(graph)
    >>> explored.evaluate("MATCH (e:Entity {id: $id}) RETURN e.label", id="Q142")
    'France'

    Raises:
        KgprobeError: py2neo is not installed.
    """
    try:
        import py2neo
    except ModuleNotFoundError as error:
        raise KgprobeError(f"py2neo is not installed: {how_to_install('explore')}.") from error
    server = graph.endpoint
    return py2neo.Graph(server.address, auth=(server.user, server.password), name=server.database)
