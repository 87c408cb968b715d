"""Random graphs with everything that makes propagation hard: parallel edges, loops, both directions."""

import random
from collections.abc import Sequence

from kgprobe.base.records import Entity, Fact, Relation

NAMELESS = "e1"


def random_graph(entities: int, facts: int, seed: int) -> tuple[list[Entity], list[Fact], list[Relation]]:
    """Entities of one type, one of them without a name; facts of three relations, one inactive, some ended long ago."""
    generator = random.Random(seed)
    ids = [f"e{number}" for number in range(entities)]
    made = {}
    while len(made) < facts:
        subject, object_ = generator.choice(ids), generator.choice(ids)
        relation = generator.choice(["r0", "r1", "dead"])
        end = "1990" if generator.random() < 0.2 else None
        fact = Fact(f"{subject} {relation} {object_} {len(made)}", subject, relation, object_, end=end)
        made[fact.id] = fact
    relations = [Relation(id_, id_, active=id_ != "dead", clozes=("[X] is [Y]",)) for id_ in ("r0", "r1", "dead")]
    people = [Entity(id_, "" if id_ == NAMELESS else f"label of {id_}", types=("t",)) for id_ in ids]
    return people, list(made.values()), relations


def askable_of(facts: Sequence[Fact]) -> list[Fact]:
    """Facts of active relations that have not ended, with a name at both ends."""
    return [
        fact
        for fact in facts
        if fact.relation != "dead" and fact.end is None and NAMELESS not in (fact.subject, fact.object)
    ]
