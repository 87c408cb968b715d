"""Held-out groups: by fact, by entity and by relation; and training groups that would reveal them.

By fact: a share of the groups, whose entities and relations may be in training. By relation: relations with a share of
the other groups. By entity: entities that no training group names, with all groups between them. Groups with one
entity on either side are left out.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kgprobe.judge.labels import draw_entities, draw_relations
from kgprobe.labelling.exports.sft import BY_ENTITY, BY_FACT, BY_RELATION
from kgprobe.labelling.exports.sft.groups import KNOWN
from kgprobe.labelling.exports.sft.wordings import WordedGroup

# Reasons for groups that are neither taught nor held out.
BETWEEN = "some of its entities are held out"
SAME_PAIR = "it is between the same entities as a held-out fact or a control"
SAME_PROMPT = "its prompt is that of a held-out fact or a control"
SAME_RELATION = "its relation is held out"
CONTROL = "it has the subject and relation of a control"


@dataclass(frozen=True, slots=True)
class Division:
    """Groups to teach, divided into training and test.

    Attributes:
        training: groups to train on, before :class:`Guard` removes some.
        held_out: groups of the test set, by unit: ``fact``, ``entity``, ``relation``.
        between: groups with some held-out entity.
    """

    training: Sequence[WordedGroup]
    held_out: Mapping[str, Sequence[WordedGroup]]
    entities: Collection[str]
    relations: Collection[str]
    between: Sequence[WordedGroup]


def divide_groups(groups: Sequence[WordedGroup], share: float, units: Collection[str], seed: int) -> Division:
    """Divide groups into training and test.

    The draw by fact depends on a group's ids only, so that later exports hold out the same facts.

    Each unit holds out a ``share`` of the groups, in [0, 1); about this share by entity and relation. A unit that
    cannot hold out any without all holds out none.
    """
    random = np.random.default_rng([seed, len(groups)])
    held_out: dict[str, list[WordedGroup]] = {unit: [] for unit in (BY_FACT, BY_ENTITY, BY_RELATION)}
    rest = list(groups)
    if BY_FACT in units:
        held_out[BY_FACT], rest = _parted(rest, lambda group: group.group.order(seed, "held out") < share * 2**64)
    relations: set[str] = set()
    if BY_RELATION in units and rest:
        relations = draw_relations([group.group.relation for group in rest], share, random)
        held_out[BY_RELATION], rest = _parted(rest, lambda group: group.group.relation in relations)
    entities, between = frozenset[str](), list[WordedGroup]()
    if BY_ENTITY in units and rest and share:
        entities, held_out[BY_ENTITY], between, rest = _by_entity(rest, share, random)
    return Division(rest, held_out, entities, relations, between)


def _by_entity(
    groups: list[WordedGroup], share: float, random: np.random.Generator
) -> tuple[frozenset[str], list[WordedGroup], list[WordedGroup], list[WordedGroup]]:
    """Return held-out entities, the groups between them, the groups with some of them, and the others."""
    entities = frozenset(draw_entities(list(_pairs(groups)), share, random))
    inside, outside = _parted(groups, lambda group: group.entities <= entities)
    crossing, training = _parted(outside, lambda group: not group.entities.isdisjoint(entities))
    if not inside or not training:
        return frozenset(), [], [], groups
    return entities, inside, crossing, training


def _parted(
    groups: Sequence[WordedGroup], belongs: Callable[[WordedGroup], bool]
) -> tuple[list[WordedGroup], list[WordedGroup]]:
    """Return the groups that belong, and the others."""
    inside: list[WordedGroup] = []
    outside: list[WordedGroup] = []
    for group in groups:
        (inside if belongs(group) else outside).append(group)
    return inside, outside


def _pairs(groups: Iterable[WordedGroup]) -> Iterator[tuple[str, str]]:
    """Yield the subject with each object."""
    for group in groups:
        for object_ in sorted(group.objects):
            yield group.group.subject, object_


class Guard:
    """Rules that keep training from revealing held-out facts and controls.

    A training group must not have a held-out entity or relation, the same two entities as a held-out fact or control
    (in either direction, so also not its inverse or the same fact at another time), the subject and relation of a
    control, or an equal prompt, such as the question about a namesake.

    ``removed`` is the number of removed facts, by reason, without known ones.
    """

    def __init__(self, division: Division, controls: Collection[WordedGroup]) -> None:
        self.removed: Counter[str] = Counter()
        self._entities, self._relations = frozenset(division.entities), frozenset(division.relations)
        self._controls = {(control.group.subject, control.group.relation) for control in controls}
        self._pairs: set[frozenset[str]] = set()
        self._prompts: set[str] = set()
        for groups in (*division.held_out.values(), controls):
            self._pairs.update(map(frozenset, _pairs(groups)))
            for group in groups:
                self._prompts |= group.prompts
        for group in division.between:
            self.removed[BETWEEN] += len(group.facts)

    def allowed(self, groups: Iterable[WordedGroup]) -> Iterator[WordedGroup]:
        """Yield the groups that reveal nothing; count the others."""
        for group in groups:
            reason = self._objection(group)
            if reason is None:
                yield group
            elif group.group.purpose != KNOWN:
                self.removed[reason] += len(group.facts)

    def _objection(self, group: WordedGroup) -> str | None:
        if (group.group.subject, group.group.relation) in self._controls:
            return CONTROL
        if group.group.relation in self._relations:
            return SAME_RELATION
        if not group.entities.isdisjoint(self._entities):
            return BETWEEN
        if not self._pairs.isdisjoint(map(frozenset, _pairs([group]))):
            return SAME_PAIR
        return None if self._prompts.isdisjoint(group.prompts) else SAME_PROMPT
