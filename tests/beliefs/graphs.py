"""Random graphs with everything that makes propagation hard: parallel edges, loops, both directions."""

import random

from kgprobe.records import Entity, Fact, Relation


def random_graph(entities: int, facts: int, seed: int) -> tuple[list[Entity], list[Fact], list[Relation]]:
    """Entities of one type, facts of three relations: one inactive, some facts ended long ago."""
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
    return [Entity(id_, f"label of {id_}", types=("t",)) for id_ in ids], list(made.values()), relations
