"""``python -m benchmarks.check_example``: compare the example graph with collected Wikidata facts.

The example graph was written from general knowledge. This script compares its ids, labels, facts and dates with the
collection in ``../shared/data/wikidata`` and lists the differences.
"""

import csv
import gzip
import json
import sys
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from kgprobe.base.dates import first_day, last_day
from kgprobe.base.records import Entity, Fact
from kgprobe.sources.contract import open_source

COLLECTION = Path(__file__).resolve().parents[2] / "shared" / "data" / "wikidata"

# Relations with one object at a time: another object is a contradiction.
_ONE_OBJECT = frozenset({"P17", "P19", "P36", "P38", "P403", "P610"})
# Relations whose objects the example lists completely for a subject.
_ALL_OBJECTS = frozenset({"P30", "P37", "P47", "P463"})

# Relations that the collection has under their inverse.
_INVERSE = {"P1376": "P36"}

# Accepted differences with their reasons; keys as in :func:`differences`.
_REASONS = {
    "a border at sea; the example has those on land": (
        "Q145 P47 Q35, Q29 P47 Q1025, Q30 P47 Q717, Q34 P47 Q35, Q717 P47 Q786"
    ),
    "the border of Kosovo, which the example counts as a country": "Q403 P47 Q222",
    "until South Sudan became independent": "Q1049 P47 Q1036",
    "an island, an overseas territory or a border region": (
        "Q142 P30 Q15, Q142 P30 Q538, Q29 P30 Q15, Q30 P30 Q48, Q30 P30 Q538, Q38 P30 Q15, Q804 P30 Q18, Q805 P30 Q15"
    ),
    "official in a region, or a minority's language": (
        "Q159 P37 Q8798, Q159 P37 Q9292, Q215 P37 Q652, Q215 P37 Q9067, Q29 P37 Q7026, Q34 P37 Q1412, Q36 P37 Q9091, "
        "Q55 P37 Q1860"
    ),
    "in use, but the constitution names Arabic alone": "Q1025 P37 Q150, Q822 P37 Q150",
    "a partner, no member": "Q739 P463 Q7184, Q408 P463 Q7768",
    "a state of former times": "Q17151 P17 Q12544, Q17151 P17 Q83958, Q5753 P17 Q139319",
    "the treaty was signed in 1957 and came into force in 1958": "Q31 P463 Q458",
    "the euro was introduced years before its coins and notes": "Q41 P38 Q4916, Q183 P38 Q4916",
    "a member since 1945; it became a republic in 1961": "Q258 P463 Q1065",
    "a member since its independence in 1966; it became a republic in 1970": "Q734 P463 Q1065",
    "he acceded in 2006 and was crowned in 2008": "Q917 P35 Q57376",
    "the same name with the word language": "Q33298",
    "another spelling": "Q34060",
    "his title before his accession": "Q43274",
    "his full name": "Q1148669",
}
EXPLAINED = {key: reason for reason, keys in _REASONS.items() for key in keys.split(", ")}


class Triple(NamedTuple):
    """Fact without id and interval."""

    subject: str
    relation: str
    object: str


@dataclass(frozen=True, slots=True)
class Collection:
    """Collected Wikidata facts.

    Attributes:
        labels: label and aliases by id.
        facts: bounds by triple; empty texts for missing bounds.
    """

    labels: dict[str, tuple[str, ...]]
    facts: dict[Triple, tuple[str, str]]


@dataclass(slots=True)
class Comparison:
    """Agreement and differences of the example and the collection.

    Attributes:
        ids, labels: number of example entities in the collection, and of those with an equal label or alias.
        facts, dates: number of example facts in the collection, and of equal bounds.
        other_labels: (id, our name, their name) without an equal name.
        other_objects: triples of the collection that contradict the example.
        other_dates: common triples with disjoint bounds, ours and theirs.
    """

    ids: int = 0
    labels: int = 0
    facts: Counter[str] = field(default_factory=Counter)
    dates: int = 0
    other_labels: list[tuple[str, str, str]] = field(default_factory=list)
    other_objects: list[Triple] = field(default_factory=list)
    other_dates: list[tuple[Triple, str, str]] = field(default_factory=list)


def read_collection(folder: Path) -> Collection:
    """Read the collection's entities and facts.

    Raises:
        FileNotFoundError: the collection does not exist.
    """
    labels: dict[str, tuple[str, ...]] = {}
    with gzip.open(folder / "entities.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            entity = json.loads(line)
            labels.setdefault(entity["id"], (entity["label"], *entity["aliases"]))
    facts: dict[Triple, tuple[str, str]] = {}
    with gzip.open(folder / "facts.tsv.gz", "rt", encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            bounds = row["start"] or "", row["end"] or ""
            facts[Triple(row["subject"], row["relation"], row["object"])] = bounds
            if row["relation"] in _INVERSE:
                facts.setdefault(Triple(row["object"], _INVERSE[row["relation"]], row["subject"]), bounds)
    return Collection(labels, facts)


def read_example() -> tuple[list[Entity], list[Fact]]:
    """Return the example graph's entities and facts."""
    source = open_source("example")
    entities = [placed.record for placed in source.entities() if isinstance(placed.record, Entity)]
    facts = [placed.record for placed in source.facts() if isinstance(placed.record, Fact)]
    return entities, facts


def compare(entities: Iterable[Entity], facts: Iterable[Fact], collection: Collection) -> Comparison:
    """Compare the example graph with the collection."""
    result = Comparison()
    for entity in entities:
        _compare_names(entity, collection, result)
    triples: dict[Triple, list[Fact]] = defaultdict(list)
    for fact in facts:
        triples[Triple(fact.subject, fact.relation, fact.object)].append(fact)
    for triple, terms in triples.items():
        if triple in collection.facts:
            result.facts[triple.relation] += 1
            _compare_dates(triple, terms, collection.facts[triple], result)
    result.other_objects.extend(_contradictions(set(triples), collection))
    return result


def _compare_names(entity: Entity, collection: Collection, result: Comparison) -> None:
    theirs = collection.labels.get(entity.id)
    if theirs is None:
        return
    result.ids += 1
    if {_plain(name) for name in (entity.label, *entity.aliases)} & {_plain(name) for name in theirs}:
        result.labels += 1
    else:
        result.other_labels.append((entity.id, entity.label, theirs[0]))


def _contradictions(triples: set[Triple], collection: Collection) -> Iterator[Triple]:
    """Yield triples of the collection that contradict the example's."""
    described = {(triple.subject, triple.relation) for triple in triples}
    agreed = {(triple.subject, triple.relation) for triple in triples if triple in collection.facts}
    used = {(triple.relation, triple.object) for triple in triples}
    for triple in collection.facts:
        key = triple.subject, triple.relation
        if key not in described or triple in triples:
            continue
        other_single = triple.relation in _ONE_OBJECT and key not in agreed
        missing = triple.relation in _ALL_OBJECTS and (triple.relation, triple.object) in used
        if other_single or missing:
            yield triple


def _compare_dates(triple: Triple, terms: list[Fact], theirs: tuple[str, str], result: Comparison) -> None:
    for name, bound in zip(("start", "end"), theirs, strict=True):
        ours = [value for term in terms if (value := getattr(term, name)) is not None]
        if not bound or not ours:
            continue
        if any(first_day(value) <= last_day(bound) and first_day(bound) <= last_day(value) for value in ours):
            result.dates += 1
        else:
            result.other_dates.append((triple, "/".join(ours), bound))


def _plain(name: str) -> str:
    """Return a name without case, accents and punctuation."""
    decomposed = unicodedata.normalize("NFKD", name.casefold())
    return "".join(character for character in decomposed if character.isalnum())


def differences(result: Comparison) -> list[str]:
    """Return all differences by key: an entity's id, or subject, relation and object separated by spaces."""
    keys = [identifier for identifier, _, _ in result.other_labels]
    keys += [" ".join(triple) for triple in result.other_objects]
    return keys + [" ".join(triple) for triple, _, _ in result.other_dates]


def main() -> None:
    """Print the agreement and list the differences."""
    if not COLLECTION.is_dir():
        sys.exit(f"{COLLECTION} does not exist; nothing to compare with.")
    entities, facts = read_example()
    collection = read_collection(COLLECTION)
    result = compare(entities, facts, collection)
    names = {entity.id: entity.label for entity in entities}

    def name(identifier: str) -> str:
        return names.get(identifier) or collection.labels.get(identifier, ("",))[0] or identifier

    print(f"{result.ids:,} of {len(entities):,} ids are covered; {result.labels:,} of them agree in a name.")
    print(f"{result.facts.total():,} of {len(facts):,} facts are confirmed, {result.dates:,} dates with them:")
    print("  " + ", ".join(f"{relation} {count}" for relation, count in result.facts.most_common()))
    differing = {identifier: f"{ours} here, {theirs} there" for identifier, ours, theirs in result.other_labels}
    for triple in result.other_objects:
        differing[" ".join(triple)] = f"{name(triple.subject)}, {name(triple.object)}: there, not here"
    for triple, ours, theirs in result.other_dates:
        differing[" ".join(triple)] = f"{name(triple.subject)}, {name(triple.object)}: {ours} here, {theirs} there"
    print(f"{len(differing)} differences, {len(differing.keys() - EXPLAINED.keys())} of them unexplained:")
    for key, difference in differing.items():
        print(f"  {key}: {difference} ({EXPLAINED.get(key, 'unexplained')})")


if __name__ == "__main__":
    main()
