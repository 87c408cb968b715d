"""Facts that can be asked, and their names."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import home
from kgprobe.graph.client import Graph, Row
from kgprobe.sampling.keys import FactKey, key_rows

_FACTS_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class EntityType:
    """A type of an entity, with its number of members; the label is the id if it has none."""

    id: str
    label: str
    size: int


@dataclass(frozen=True, slots=True)
class AskedFact:
    """A fact with all that is needed to ask it; facts of a data set have names only.

    Attributes:
        start, end: dates as the source gives them.
        until: last day of the fact (``yyyymmdd``), if it is known.
        ended: True for a fact that has ended on an unknown day.
        subject_types, object_types: in the order of the source.
        subject_datatype, object_datatype: of a literal, else empty.
        object_number: number of the object in the graph; None if it was not loaded as an entity.
        relation_size: number of objects of the relation.
        total: upper bound of the entities' numbers.
    """

    key: FactKey
    relation: str
    subject_label: str
    subject_aliases: tuple[str, ...]
    object: str
    object_label: str
    object_aliases: tuple[str, ...]
    start: str | None
    end: str | None
    until: int | None = None
    ended: bool = False
    subject_types: tuple[EntityType, ...] = ()
    subject_datatype: str = ""
    object_types: tuple[EntityType, ...] = ()
    object_datatype: str = ""
    object_number: int | None = None
    relation_label: str = ""
    relation_size: int = 0
    total: int = 0

    def is_over(self, day: int) -> bool:
        """Return True for a fact that has ended before a day, or on an unknown day."""
        return self.ended or (self.until is not None and self.until < day)

    @property
    def subject_names(self) -> list[str]:
        """The subject's label and aliases, without those of white space."""
        return names_of(self.subject_label, self.subject_aliases)

    @property
    def object_names(self) -> list[str]:
        """The object's label and aliases, without those of white space."""
        return names_of(self.object_label, self.object_aliases)


def names_of(label: str, aliases: Sequence[str]) -> list[str]:
    """Return an entity's label and aliases, without those of white space."""
    return list(filter(str.strip, (label, *aliases)))


def describe_facts(graph: Graph, keys: Sequence[FactKey]) -> list[AskedFact]:
    """Return facts with all that is needed to ask them, in the order of the keys. Cost: a look-up from each subject.

    Raises:
        KgprobeError: a fact is not in the graph.
    """
    described = facts_present(graph, keys)
    missing = next((key for key in keys if key not in described), None)
    if missing is not None:
        raise KgprobeError(
            f"The fact {missing.fact} of {missing.subject} is no longer in the graph. After changes by hand, delete "
            f"{home() / 'columns'}, so that the graph is read again."
        )
    return [described[key] for key in keys]


def facts_present(graph: Graph, keys: Sequence[FactKey]) -> dict[FactKey, AskedFact]:
    """Return the facts that the graph has, see :func:`describe_facts`, by key."""
    described = {}
    for row in graph.read("sample/facts", rows=key_rows(keys)) if keys else ():
        key = FactKey(row["subject"], row["fact"])
        places = {id_: place for place, id_ in enumerate(row["object_order"])}
        row["object_types"].sort(key=lambda type_: places.get(type_["id"], len(places)))
        described[key] = msgspec.convert({**row, "key": key}, AskedFact)
    return described


def existing_facts(graph: Graph, keys: Sequence[FactKey]) -> list[FactKey]:
    """Return the keys whose fact is in the graph, in order. Cost: a look-up from each subject."""
    rows = key_rows(keys)
    existing = set()
    for first in range(0, len(rows), _FACTS_AT_ONCE):
        block = rows[first : first + _FACTS_AT_ONCE]
        for row in graph.read("sample/fact_ends", rows=block, by="degree"):
            existing.add(FactKey(row["subject"], row["fact"]))
    return [key for key in keys if key in existing]


def read_answers(graph: Graph, facts: Sequence[FactKey], as_of: int) -> dict[str, list[Row]]:
    """Return all objects of each fact's subject and relation, by fact.

    A row has the object's id, label and aliases, its last day (``until``, 99991231 if unknown), and says if it is right
    at a date (``current``), or was before (``former``). Cost: a walk from each subject.
    """
    answers: defaultdict[str, list[Row]] = defaultdict(list)
    if facts:
        for row in graph.read("sample/answers", rows=key_rows(facts), as_of=as_of):
            answers[row["fact"]].append(row)
    return answers
