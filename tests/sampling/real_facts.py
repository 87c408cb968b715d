"""Real facts of Wikidata, few enough for naive definitions."""

import gzip
import json
import random
from pathlib import Path

from kgprobe.base.records import Entity, Fact, Relation

# Number of facts of a graph.
_FACTS = 300

Records = tuple[list[Entity], list[Fact], list[Relation]]


def cut(entities: list[Entity], facts: list[Fact], relations: list[Relation]) -> Records:
    """Return some facts, a third of them dated if there are as many, with their ends and relations."""
    generator = random.Random(0)
    known = {entity.id for entity in entities}
    facts = [fact for fact in facts if fact.subject in known and fact.object in known]
    dated = [fact for fact in facts if fact.end]
    few = generator.sample(dated, min(len(dated), _FACTS // 3))
    facts = sorted({*few, *generator.sample(facts, min(len(facts), _FACTS))}, key=lambda fact: fact.id)
    ends = {fact.subject for fact in facts} | {fact.object for fact in facts}
    used = {fact.relation for fact in facts}
    return (
        [entity for entity in entities if entity.id in ends],
        facts,
        [relation for relation in relations if relation.id in used],
    )


def wikidata(folder: Path) -> Records:
    entities = []
    with gzip.open(folder / "wikidata" / "entities.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            entities.append(Entity(row["id"], row["label"], tuple(row["aliases"]), types=tuple(row["types"])))
    typed = {entity.id for entity in entities if entity.types}
    facts = []
    with gzip.open(folder / "wikidata" / "facts.tsv.gz", "rt", encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            subject, relation, object_, start, end, _ = line.rstrip("\n").split("\t")
            # Most entities of the file have no types.
            if subject in typed or end or hash_of(subject) % 20 == 0:
                id_ = f"{subject} {relation} {object_} {start}"
                facts.append(Fact(id_, subject, relation, object_, start=start or None, end=end or None))
    relations = []
    for line in (folder / "wikidata" / "relations.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        relations.append(Relation(row["id"], row["label"], statements=tuple(row["bear_templates"])))
    return cut(entities, facts, relations)


def hash_of(identifier: str) -> int:
    return sum(identifier.encode())
