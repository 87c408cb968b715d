"""Edits of a graph's facts: lines with subject, relation and new object, resolved in the graph.

Subject, relation and objects are ids or names. The old object is found in the graph, unless the line names it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kgprobe.edits.edit_files import EditFile, Record, text_of
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.names import close_relations, entities_called, names_of_relations, no_entity
from kgprobe.probes.asking import not_begun
from kgprobe.sampling.facts import describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.verbalize.tense import has_ended

# Facts of a subject that are read.
MOST_FACTS = 1_000
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity with its names, the label first."""

    id: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit of a fact, or a fact to unlearn.

    Attributes:
        id: unique in a file.
        relation: its id.
        object: the new object; for a fact to unlearn, its object.
        old: the object that the new one replaces; None if there is none.
        fact: the current fact that is replaced or unlearned; None if the edit adds a fact.
        forgets: True for a fact to unlearn.
    """

    id: str
    subject: Entity
    relation: str
    object: Entity
    old: Entity | None
    fact: FactKey | None
    forgets: bool = False

    @property
    def former(self) -> Entity | None:
        """The object of the fact that is replaced or unlearned; None if there is none."""
        return self.object if self.forgets else self.old


def facts_to_unlearn(graph: Graph, keys: Sequence[FactKey], as_of: int) -> tuple[list[Edit], list[str]]:
    """Return current facts as edits without a new object, and messages about other facts.

    Cost: a look-up from each subject.
    """
    edits, problems = [], []
    for number, fact in enumerate(describe_facts(graph, keys), start=1):
        if not_begun(fact, as_of) or has_ended(fact.end, as_of):
            problems.append(f"the fact {fact.key.fact} is not current at {as_of}, and questions are in the present.")
            continue
        subject = Entity(fact.key.subject, tuple(fact.subject_names))
        object_ = Entity(fact.object, tuple(fact.object_names))
        edits.append(Edit(f"e{number}", subject, fact.relation, object_, None, fact.key, forgets=True))
    return edits, problems


def entities_named(graph: Graph, ids: Iterable[str]) -> dict[str, Entity]:
    """Return entities with a label, by id. Cost: a look-up of each."""
    rows = graph.read("edits/names", ids=sorted(ids))
    return {row["id"]: Entity(row["id"], tuple(filter(str.strip, row["names"]))) for row in rows}


def find_edits(graph: Graph, file: EditFile, as_of: int) -> tuple[list[Edit], list[str]]:
    """Return the edits of a file, and messages about other lines.

    Left out are lines that the graph cannot resolve, lines that repeat an edit, and all lines that replace the same
    object by different ones.

    Cost: a walk from each subject; one scan of the entities if a line has names in place of ids.
    """
    triples, problems = _triples(graph, file)
    edits: dict[int, Edit] = {}
    held = _held(graph, {triple[0] for triple in triples.values()}, as_of)
    ids: set[str] = set()
    for subject, relation, new, _ in triples.values():
        ids.update((subject, new), (row["object"] for row in held.get((subject, relation), ())))
    by_id = entities_named(graph, ids)
    for number, (subject, relation, new, old) in triples.items():
        current = held.get((subject, relation), [])
        problem, replaced = _replaced(current, new, old, relation)
        if problem is None and subject in by_id and new in by_id:
            former = None if replaced is None else by_id[replaced["object"]]
            key = None if replaced is None else FactKey(subject, replaced["fact"])
            edits[number] = Edit(f"e{number}", by_id[subject], relation, by_id[new], former, key)
        else:
            problems.append(f"record {number}: {problem or 'its subject or its new object has no label.'}")
    consistent, further = _consistent(edits)
    return consistent, problems + further


def _consistent(edits: Mapping[int, Edit]) -> tuple[list[Edit], list[str]]:
    """Return the edits without repeated and contradictory ones, and messages about these.

    Args:
        edits: by the number of the record.
    """
    problems: list[str] = []
    repeated: list[int] = []
    seen: set[tuple[str, str, str | None, str]] = set()
    # Different edits with the same subject, relation and replaced object contradict each other.
    rivals: defaultdict[tuple[str, str, str], list[int]] = defaultdict(list)
    for number, edit in edits.items():
        old = None if edit.old is None else edit.old.id
        key = (edit.subject.id, edit.relation, old, edit.object.id)
        if key in seen:
            repeated.append(number)
            continue
        seen.add(key)
        if old is not None:
            rivals[edit.subject.id, edit.relation, old].append(number)
    left_out = set(repeated)
    for (subject, relation, old), numbers in rivals.items():
        if len(numbers) > 1:
            left_out.update(numbers)
            replaced = f"{old} as {relation} of {subject}"
            problems.append(f"records {_listed(numbers)}: they replace {replaced} by different objects.")
    if repeated:
        count = "record repeats" if len(repeated) == 1 else "records repeat"
        problems.append(f"{len(repeated):,} {count} an earlier edit: {_listed(repeated)}.")
    return [edit for number, edit in edits.items() if number not in left_out], problems


def _listed(numbers: Sequence[int]) -> str:
    listed = ", ".join(map(str, numbers[:_SHOWN]))
    return listed if len(numbers) <= _SHOWN else f"{listed}, …"


def _triples(graph: Graph, file: EditFile) -> tuple[dict[int, tuple[str, str, str, str | None]], list[str]]:
    """Return the ids of each record, see :func:`_ids_of`, and messages about records without them."""
    relations = names_of_relations(graph)
    texts: set[str] = set()
    for _, record in file.records:
        texts |= {text_of(record, [key]) for key in ("subject", "object", "old")}
    entities: Mapping[str, Sequence[str]] = {}
    *_, entities = entities_called(graph, texts - {""})
    triples: dict[int, tuple[str, str, str, str | None]] = {}
    problems = []
    for number, record in file.records:
        ids = _ids_of(graph, record, relations, entities)
        if isinstance(ids, str):
            problems.append(f"record {number}: {ids}")
        else:
            triples[number] = ids
    return triples, problems


def _ids_of(
    graph: Graph, record: Record, relations: Mapping[str, Sequence[str]], entities: Mapping[str, Sequence[str]]
) -> tuple[str, str, str, str | None] | str:
    """Return the ids of subject, relation, new and old object; or why a name has none, as a sentence."""
    name = text_of(record, ["relation"])
    ids = relations.get(name.lower(), ())
    if not ids:
        return f"no relation is called {name!r}{close_relations(name, relations)}."
    if len(ids) > 1:
        return f"{len(ids)} relations are called {name!r}: {', '.join(ids)}. Name one by its id."
    ends: list[str | None] = []
    for key in ("subject", "object", "old"):
        text = text_of(record, [key])
        candidates = entities.get(text, ())
        if text and not candidates:
            return f"{no_entity(graph, text)}. It is the {key} of an edit."
        if len(candidates) > 1:
            listed = ", ".join(candidates[:_SHOWN])
            return f"{len(candidates)} entities are called {text!r}: {listed}. Name the {key} by its id."
        ends.append(candidates[0] if candidates else None)
    return str(ends[0]), ids[0], str(ends[1]), ends[2]


def _held(graph: Graph, subjects: set[str], as_of: int) -> dict[tuple[str, str], list[Row]]:
    """Return the current facts of subjects, by subject and relation."""
    rows = graph.read("edits/facts_of_subjects", ids=sorted(subjects), as_of=as_of, limit=MOST_FACTS)
    held: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        held.setdefault((row["subject"], row["relation"]), []).append(row)
    return held


def _replaced(current: Sequence[Row], new: str, old: str | None, relation: str) -> tuple[str | None, Row | None]:
    """Return the problem of an edit, and the fact that it replaces; None for each that it has not."""
    if any(row["object"] == new for row in current):
        return "its new object is right in the graph already.", None
    if old is not None:
        matching = [row for row in current if row["object"] == old]
        listed = ", ".join(row["object"] for row in current[:_SHOWN]) or "none"
        problem = f"the graph has no current fact with the old object {old}; objects of {relation}: {listed}."
        return (None, matching[0]) if matching else (problem, None)
    if len(current) > 1:
        listed = ", ".join(f"{row['label']} ({row['object']})" for row in current[:_SHOWN])
        return f"its subject has {len(current)} objects of {relation}: {listed}. Name the replaced one as `old`.", None
    return None, current[0] if current else None
