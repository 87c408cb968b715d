"""The whole graph on a page: expected facts, and shares known by types of subject and object.

docs/methods/learner.md has the beliefs about facts that a run did not ask. Nothing here asks a model or scans the
graph: the columns and the learning are those on disk, which the estimate of :mod:`kgprobe.results.graph_rates` uses.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kgprobe.base.intervals import Percent
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.beliefs.corrected_rates import CorrectedRates
from kgprobe.beliefs.graph_rates import ENOUGH
from kgprobe.beliefs.register import LEARNERS
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.names import relation_names
from kgprobe.graph.runs import run_folder
from kgprobe.running.frame import open_frame
from kgprobe.running.learning import open_learning, parts_of
from kgprobe.sampling.columns.graph_columns import AskableFacts, GraphColumns

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]

# Maximum number of unasked facts on a page, and of links between types.
LISTED_FACTS = 20_000
LISTED_LINKS = 200
EXPECTED_COLUMNS = (
    *("fact", "subject", "subject_label", "relation", "relation_label", "object", "object_label"),
    "known",
)
_ENTITIES_AT_ONCE = 1_000
_NO_TYPE = "no type"


@dataclass(frozen=True, slots=True)
class TypeLink(ResultRow):
    """The facts of one relation between two types. An entity of several types counts for the largest one.

    Attributes:
        facts: number of facts; of a measurement, of asked facts.
        asked: number of asked facts among them.
        known: share of known facts: estimated over the graph, else of the asked ones; None if none was asked.
        estimated: True if it is estimated over the graph.
    """

    subject_type: Annotated[str, Heading("subject type")]
    relation: Annotated[str, Heading("relation")]
    object_type: Annotated[str, Heading("object type")]
    facts: Annotated[int, Heading("facts")]
    asked: Annotated[int, Heading("asked")]
    known: Annotated[float | None, Heading("known", Percent)]
    estimated: bool


@dataclass(frozen=True, slots=True)
class BelievedGraph:
    """The graph of a run, or the asked facts of a measurement, for the map on a page.

    Attributes:
        links: facts by type of the subject, relation and type of the object; those with most facts first.
        types: labels of types by id of the entities at the ends of asked and listed facts.
        unasked: number of facts that can be asked and have no answer; 0 for a measurement, which expects nothing.
        expected_known: the sum of the predicted probabilities of knowing these, 1 - E[theta].
        expected: up to ``LISTED_FACTS`` of these, near asked facts if there are more. ``EXPECTED_COLUMNS``.
    """

    links: Sequence[TypeLink]
    types: Mapping[str, str]
    unasked: int = 0
    expected_known: float = 0.0
    expected: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(EXPECTED_COLUMNS)), compare=False)


def graph_of_run(graph: Graph, run: Row, asked: pd.DataFrame) -> BelievedGraph:
    """Return the graph of a run: its estimates, and its beliefs about all facts that it can ask.

    Args:
        asked: its facts with answers: fact, right, wrong.

    Cost: some passes over the columns of all facts in memory, one for each link with an estimate, and the rounds that
    the kept learning lacks.
    """
    facts = open_frame(graph, run, run_folder(run)).facts
    learning = open_learning(graph, run, facts)
    beliefs = learning.beliefs
    positions = facts.positions(asked["fact"].tolist())
    is_found = positions >= 0
    answers, is_right = np.zeros(len(facts), np.int64), np.zeros(len(facts), np.bool_)
    answers[positions[is_found]] = (asked["right"] + asked["wrong"]).to_numpy(np.int64)[is_found]
    is_right[positions[is_found]] = (asked["right"] > asked["wrong"]).to_numpy(np.bool_)[is_found]
    is_asked = answers > 0
    unasked = ~is_asked & ~beliefs.unaskable
    names = relation_names(graph, [facts.columns.relation_ids[code] for code in np.unique(facts.relations).tolist()])
    types, labels = _largest_types(facts.columns), _type_names(facts.columns)
    predicts = LEARNERS[run["learner"]].beliefs == "model"
    listed = _listed(facts, is_asked, unasked & predicts)
    known = np.concatenate([1 - beliefs.model.posterior(part).theta for part in parts_of(len(facts))])
    shown = np.unique(np.concatenate([facts.subjects[listed | is_asked], facts.objects[listed | is_asked]]))
    ids = facts.columns.entity_ids.take(shown).to_pylist()
    return BelievedGraph(
        links=_links(facts, types, labels, names, is_asked | unasked, answers, is_right, learning.rates),
        types=dict(zip(ids, map(labels.__getitem__, types[shown].tolist()), strict=True)),
        unasked=int(unasked.sum()),
        expected_known=float(known[unasked].sum()),
        expected=_expected(facts, np.flatnonzero(listed), names, known),
    )


def _largest_types(columns: GraphColumns) -> Int64s:
    """Return the type of each entity that most entities have; for a literal its datatype, else the last number.

    Numbers count the types, then the datatypes, then "no type".
    """
    types, datatypes = columns.types, columns.datatypes
    count = len(columns.type_ids)
    largest: Int64s = np.where(datatypes >= 0, count + datatypes.astype(np.int64), count + len(columns.datatype_names))
    entities, owned = types.pairs(np.arange(len(columns.entity_ids)))
    sizes = np.bincount(owned, minlength=count)
    # The last type of each entity is its largest one; ties go to the smaller number.
    order = np.lexsort((-owned.astype(np.int64), sizes[owned], entities))
    largest[entities[order]] = owned[order]
    return largest


def _type_names(columns: GraphColumns) -> list[str]:
    """Return the names of the numbers of :func:`_largest_types`."""
    labels = columns.type_labels()
    return [*(labels.get(id_) or id_ for id_ in columns.type_ids), *columns.datatype_names, _NO_TYPE]


def _listed(facts: AskableFacts, is_asked: Bools, unasked: Bools) -> Bools:
    """Return True for the unasked facts on the page: all, or up to ``LISTED_FACTS`` next to asked ones, evenly."""
    if unasked.sum() <= LISTED_FACTS:
        return unasked
    is_end = np.zeros(len(facts.columns.entity_ids), np.bool_)
    is_end[facts.subjects[is_asked]] = is_end[facts.objects[is_asked]] = True
    near = np.flatnonzero(unasked & (is_end[facts.subjects] | is_end[facts.objects]))
    listed = np.zeros(len(facts), np.bool_)
    listed[near[:: max(1, -(-len(near) // LISTED_FACTS))]] = True
    return listed


def _links(
    facts: AskableFacts,
    types: Int64s,
    labels: Sequence[str],
    names: Mapping[str, str],
    counts: Bools,
    answers: Int64s,
    is_right: Bools,
    rates: CorrectedRates,
) -> list[TypeLink]:
    """Return the links with most facts, among the facts that count; see :func:`_most` for the others.

    Args:
        rates: gives the estimates over the graph.
    """
    ends = {"subject": types[facts.subjects], "relation": facts.relations, "object": types[facts.objects]}
    triples = pd.DataFrame({**ends, "answers": answers, "right": is_right})[counts]
    links = []
    for (subject, relation, object_), row in _most(triples):
        known, estimated = row.known, False
        if row.answers >= ENOUGH:
            members = (ends["subject"] == subject) & (ends["relation"] == relation) & (ends["object"] == object_)
            rate = rates.rate(members)
            if rate is not None and rate.labelled >= ENOUGH:
                known, estimated = rate.value, True
        name = names[facts.columns.relation_ids[relation]]
        links.append(TypeLink(labels[subject], name, labels[object_], row.facts, row.answered, known, estimated))
    return links


def _most(triples: pd.DataFrame) -> Iterator[tuple[Any, Any]]:
    """Yield subject, relation and object of the largest groups, with facts, asked facts, answers and known share.

    Args:
        triples: subject, relation, object, number of answers, and True if most are right.
    """
    ends = ["subject", "relation", "object"]
    triples = triples.assign(asked=triples["answers"] > 0)
    sums = {name: (name, "sum") for name in ("asked", "answers", "right")}
    groups = triples.groupby(ends).agg(facts=("right", "size"), **sums)
    largest = groups.reset_index().sort_values(["facts", *ends], ascending=[False, True, True, True])
    for row in largest.head(LISTED_LINKS).itertuples():
        yield (
            (row.subject, row.relation, row.object),
            _LinkCounts(int(row.facts), int(row.asked), int(row.answers), int(row.right)),
        )


@dataclass(frozen=True, slots=True)
class _LinkCounts:
    """Numbers of facts, asked facts, answers, and asked facts with mostly right answers."""

    facts: int
    answered: int
    answers: int
    right: int

    @property
    def known(self) -> float | None:
        """The share of the asked facts that are known; None if none was asked."""
        return self.right / self.answered if self.answered else None


def _expected(facts: AskableFacts, positions: Int64s, names: Mapping[str, str], known: Floats) -> pd.DataFrame:
    """Return the unasked facts at these positions; see ``EXPECTED_COLUMNS``."""
    columns = facts.columns
    keys = facts.keys(positions)
    relations = [columns.relation_ids[code] for code in facts.relations[positions].tolist()]
    objects = facts.objects[positions]
    rows: pd.DataFrame = pd.DataFrame(
        {
            "fact": [key.fact for key in keys],
            "subject": [key.subject for key in keys],
            "subject_label": columns.labels_of(facts.subjects[positions]),
            "relation": relations,
            "relation_label": [names[relation] for relation in relations],
            "object": columns.entity_ids.take(objects).to_pylist(),
            "object_label": columns.labels_of(objects),
            "known": known[positions],
        },
        columns=list(EXPECTED_COLUMNS),
    )
    return rows


def graph_of_asked(graph: Graph, asked: pd.DataFrame) -> BelievedGraph:
    """Return the asked facts of a measurement. Cost: look-ups of the facts' ends.

    Args:
        asked: fact, subject, relation, relation_label, object, right, wrong.
    """
    types = _types_in(graph, pd.unique(asked[["subject", "object"]].to_numpy().ravel()).tolist())
    triples = pd.DataFrame(
        {
            "subject": asked["subject"].map(types),
            "relation": asked["relation_label"],
            "object": asked["object"].map(types),
            "answers": asked["right"] + asked["wrong"],
            "right": asked["right"] > asked["wrong"],
        }
    )
    links = []
    for (subject, relation, object_), row in _most(triples):
        links.append(TypeLink(subject, relation, object_, row.facts, row.answered, row.known, estimated=False))
    return BelievedGraph(links, types)


def _types_in(graph: Graph, entities: Sequence[str]) -> dict[str, str]:
    """Return the label of the largest type of each entity, among the types of these entities."""
    rows = list(_read(graph, entities))
    sizes = Counter(type_ for row in rows for type_ in row["types"] or ())
    largest: dict[str, str] = {}
    for row in rows:
        own = min(row["types"] or (), key=lambda type_: (-sizes[type_], type_), default="")
        largest[row["id"]] = own or row["datatype"] or _NO_TYPE
    labels = {row["id"]: row["label"] for row in _read(graph, sorted(sizes)) if row["label"]}
    return {entity: labels.get(largest.get(entity, _NO_TYPE), largest.get(entity, _NO_TYPE)) for entity in entities}


def _read(graph: Graph, entities: Sequence[str]) -> Iterator[Row]:
    for start in range(0, len(entities), _ENTITIES_AT_ONCE):
        yield from graph.read("explore/entities", ids=list(entities[start : start + _ENTITIES_AT_ONCE]))
