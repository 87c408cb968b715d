"""Sides of labelled statements: nothing that is learned from on the other one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kgprobe.judge.labels import Splits, split_statements

NAMES = st.integers(0, 30).map(str)
STATEMENTS = st.lists(st.tuples(NAMES, st.sampled_from("abcde"), NAMES), min_size=1, max_size=60)


def split(statements: list[tuple[str, str, str]], share: float = 0.3, seed: int = 0) -> Splits:
    return split_statements(*map(list, zip(*statements, strict=True)), share=share, seed=seed)


@given(STATEMENTS, st.floats(0.05, 0.6), st.integers(0, 3))
def test_no_entity_and_no_relation_is_on_two_sides(statements, share, seed):
    sides = split(statements, share, seed)
    everything = np.concatenate([sides.train, sides.other_entities, sides.other_relations, sides.between])
    assert sorted(everything.tolist()) == list(range(len(statements)))
    learned = [statements[place] for place in sides.train]
    entities = {entity for head, _, tail in learned for entity in (head, tail)}
    assert not entities & {name for place in sides.other_entities for name in statements[place][::2]}
    inner = {statements[place][1] for place in (*sides.train, *sides.other_entities, *sides.between)}
    assert not inner & {statements[place][1] for place in sides.other_relations}
    assert len(sides.other_relations) <= share * len(statements)


def test_shares_are_about_what_is_asked_for():
    random = np.random.default_rng(0)
    # A few objects have most of the statements, as in real graphs; each fact has a false one beside it.
    hubs = random.zipf(1.5, 2000) % 300
    statements = [
        (f"s{number}", f"r{number % 20}", f"o{tail}")
        for number in range(1000)
        for tail in (hubs[number], hubs[1000 + number])
    ]
    sides = split(statements)
    assert 0.25 <= len(sides.other_relations) / 2000 <= 0.3
    rest = 2000 - len(sides.other_relations)
    assert 0.15 <= len(sides.other_entities) / rest <= 0.4
    assert len(sides.between) / rest < 0.25
    assert len(sides.train) / rest > 0.5


def test_another_seed_gives_other_sides():
    statements = [(f"s{number}", f"r{number % 9}", f"o{number % 40}") for number in range(200)]
    first, again, other = split(statements), split(statements), split(statements, seed=1)
    assert first.train.tolist() == again.train.tolist()
    assert first.train.tolist() != other.train.tolist()


def test_of_one_relation_none_is_held_out():
    sides = split([(f"s{number}", "r", f"o{number}") for number in range(50)])
    assert not len(sides.other_relations)
    assert len(sides.other_entities)
