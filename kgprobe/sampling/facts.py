"""Facts that can be asked, and their names."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from kgprobe.graph.client import Graph
from kgprobe.sampling.keys import FactKey, FactKeys, key_rows


@dataclass(frozen=True, slots=True)
class AskedFact:
    """A fact with the names of both ends."""

    key: FactKey
    relation: str
    subject_label: str
    subject_aliases: tuple[str, ...]
    object: str
    object_label: str
    object_aliases: tuple[str, ...]
    start: str | None
    end: str | None

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


def askable_facts(graph: Graph, relations: Sequence[str], as_of: int) -> FactKeys:
    """Return the facts of these relations that are current at ``as_of`` (``yyyymmdd``) with names at both ends.

    Cost: one scan of the graph's facts, streamed.
    """
    rows = graph.stream("sample/askable", relations=list(relations), as_of=as_of)
    return FactKeys((row["subject"].encode(), row["fact"].encode()) for row in rows)


def describe_facts(graph: Graph, keys: Sequence[FactKey]) -> list[AskedFact]:
    """Return facts with the names of both ends, in the order of the keys. Cost: a look-up from each subject."""
    described = facts_present(graph, keys)
    return [described[key] for key in keys]


def facts_present(graph: Graph, keys: Sequence[FactKey]) -> dict[FactKey, AskedFact]:
    """Return the facts that the graph has, with the names of both ends, by key. Cost: a look-up from each subject."""
    described = {}
    for row in graph.read("sample/facts", rows=key_rows(keys)) if keys else ():
        key = FactKey(row["subject"], row["fact"])
        described[key] = msgspec.convert({**row, "key": key}, AskedFact)
    return described
