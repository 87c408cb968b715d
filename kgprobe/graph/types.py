"""Labels of entities by type, such as ``:Country``, and twins of facts by relation, such as ``[:CAPITAL]``.

For colours in Neo4j Browser, for Bloom and Graph Data Science, and for shorter Cypher. A type keeps the label of its
instances as ``node_label``, and the counter of the graph has the types of twins: from before the first one is written
until after the last one is removed, so that an interrupted call is completed by the next one.
"""

import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from itertools import count as numbers

from kgprobe.base.arguments import check_choice, whole_number
from kgprobe.base.errors import KgprobeError
from kgprobe.base.progress import OnProgress, StepProgress, no_progress
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.derive import rows_by_subject
from kgprobe.graph.state import PAINTED
from kgprobe.graph.twins import twin_types, write_twins

TYPED = ("entities", "relations")
# Labels and relationship types that kgprobe writes; others of its labels begin with Kgprobe.
_RESERVED = frozenset(
    {
        *("Entity", "Literal", "Type", "Relation", "Run", "Belief", "MostlyKnown", "HalfKnown", "MostlyUnknown"),
        *("FACT", "INSTANCE_OF", "OBJECT_OF", "JUDGED", "BELIEVES", "ABOUT", *PAINTED),
    }
)
_LONGEST = 60
_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True)
class TypeName:
    """The name in Cypher of a type or a relation.

    Attributes:
        name: the label of the type's instances, or the type of the twins of the relation's facts.
        id: id of the type or relation.
        label: its name.
        size: number of instances or facts.
    """

    name: str
    id: str
    label: str
    size: int


def add_types(
    graph: Graph, of: str = "entities", count: int = 12, on_progress: OnProgress = no_progress
) -> list[TypeName]:
    """Label the instances of the largest types, or add typed twins to the facts of the largest relations.

    >>> kgprobe.add_types(graph, "relations")
    Traceback (most recent call last):
    kgprobe.base.errors.KgprobeError: Labels and twins need a graph on Neo4j; ...

    A twin is a relationship parallel to a fact: its type is the relation, such as ``CAPITAL``, and its properties are
    those of the fact, whose id it has as ``fact``. Loads, rounds and changes of the view update twins with their
    facts. Entities that are loaded later get their labels at the next call. The labels or twins of an earlier call are
    removed first. Copies of the graph, digests and all queries of kgprobe leave both out.

    Args:
        graph: a graph on Neo4j 5.26 or later.
        of: ``entities`` or ``relations``.
        count: number of types or relations.
        on_progress: called with the labelled instances or written twins.

    Returns:
        The types or relations with their names in Cypher, the largest first.

    Raises:
        ArgumentError: an argument is not allowed.
        KgprobeError: the graph is on the embedded engine.

    Cost: a walk through the instances or facts, and of relations a scan of the facts; in transactions of bounded size.
    """
    whole_number("count", count)
    if graph.is_embedded:
        raise KgprobeError(
            "Labels and twins need a graph on Neo4j; `kgprobe graph copy --output FOLDER` copies this one to Neo4j."
        )
    remove_types(graph, of)
    if of == "entities":
        names = _type_names(graph.read("types/largest", limit=count), "T", label_of)
        report = _counting(names, "entities", on_progress)
        for name in names:
            graph.write("types/mark", type=name.id, label=name.name)
            for batch in _batches(graph.stream("types/instances", type=name.id)):
                graph.write("types/add", ids=[row["id"] for row in batch], label=name.name)
                report(len(batch))
        return names
    names = _type_names(graph.read("twins/largest", limit=count), "R", relationship_type_of)
    report = _counting(names, "twins", on_progress)
    if names:
        graph.write("twins/mark", relations=[name.id for name in names], types=[name.name for name in names])
    for name in names:
        for batch in _batches(graph.stream("twins/facts", relation=name.id)):
            graph.transaction(partial(write_twins, rows=_by_subject(batch)))
            report(len(batch))
    return names


def labels_of_types(graph: Graph) -> list[str]:
    """Return the labels of types that instances have, that of the largest type first. Cost: a scan of the types."""
    return [row["label"] for row in graph.read("types/names")]


def remove_types(graph: Graph, of: str = "entities") -> int:
    """Remove the labels of types from entities, or the twins of facts; return the number of types or relations.

    Cost: the labelled instances, or a scan of the relationships; in transactions of bounded size.
    """
    check_choice("of", of, TYPED)
    if of == "entities":
        rows = graph.read("types/names")
        for row in rows:
            while graph.write("types/remove", label=row["label"], size=_AT_ONCE)[0]["removed"]:
                pass
            graph.write("types/mark", type=row["type"], label=None)
        return len(rows)
    types = twin_types(graph.read)
    if types is None:
        return 0
    # Without relations, rounds and loads write no more twins meanwhile.
    graph.write("twins/mark", relations=[], types=types.all)
    for batch in _batches(graph.stream("twins/all", types=types.all)):
        graph.write("twins/drop", types=types.all, rows=_by_subject(batch))
    graph.write("twins/mark", relations=None, types=None)
    return len(types.all)


def _batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while batch := list(islice(rows, _AT_ONCE)):
        yield batch


def _by_subject(facts: list[Row]) -> list[Row]:
    return rows_by_subject((fact["subject"], fact["fact"]) for fact in facts)


def _counting(names: list[TypeName], unit: str, on_progress: OnProgress) -> Callable[[int], None]:
    """Return a function that reports progress, from the number of further labels or twins."""
    total, done = sum(name.size for name in names), 0

    def report(more: int) -> None:
        nonlocal done
        done += more
        on_progress(StepProgress("Labelling" if unit == "entities" else "Adding", done, max(done, total), unit))

    return report


def _type_names(rows: list[Row], prefix: str, convert: Callable[[str], str]) -> list[TypeName]:
    """Return names in Cypher: distinct, and none of kgprobe's own.

    Args:
        rows: ``{id, label, size}``; the first of those with equal labels gets the plain name.
        prefix: of names that are empty or begin with a digit, which Cypher allows only in quotes.
        convert: returns a text as a name; empty where the text has no letters or digits.
    """
    names: dict[str, TypeName] = {}
    for row in rows:
        base = convert(row["label"]) or convert(row["id"])
        base = base if base[:1].isalpha() else f"{prefix}{base}"
        candidates = chain([base, f"{base}_{convert(row['id'])}"], (f"{base}_{number}" for number in numbers(2)))
        name = next(
            name for name in candidates if name not in names and not (name in _RESERVED or name.startswith("Kgprobe"))
        )
        names[name] = TypeName(name, **row)
    return list(names.values())


def label_of(name: str) -> str:
    """Return a name as a label.

    >>> label_of("sovereign state"), label_of("3D film"), label_of("→")
    ('SovereignState', '3DFilm', '')
    """
    return "".join(word[:1].upper() + word[1:] for word in _words(name))[:_LONGEST]


def relationship_type_of(name: str) -> str:
    """Return a name as a relationship type.

    >>> relationship_type_of("head of government"), relationship_type_of("größte Stadt")
    ('HEAD_OF_GOVERNMENT', 'GRÖSSTE_STADT')
    """
    return "_".join(_words(name)).upper()[:_LONGEST]


def _words(name: str) -> list[str]:
    """Return the parts of a name that Cypher allows without quotes: letters with their marks, and digits."""
    normal = unicodedata.normalize("NFKC", name)
    return "".join(char if unicodedata.category(char)[0] in "LMN" else " " for char in normal).split()
