"""Groups of facts: all facts of a subject and relation that have the same purpose in a training set.

Objects of the same subject and relation answer the same question, so a group is never divided between training and
test. A group with a fact to teach is taught. Otherwise it is refused if none of its facts is known, and known if none
is refused.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from kgprobe.base.errors import ArgumentError
from kgprobe.labelling.roles import TAUGHT
from kgprobe.labelling.table import SLICK, LabelTable, check_classes, count_classes, no_facts_of
from kgprobe.sampling.keys import FactKey, seeded_number

# Purposes of examples, with the role of taught facts.
REFUSED, KNOWN = "refused", "known"
PURPOSES = (TAUGHT, REFUSED, KNOWN)
# Reason for which facts are left out, unless predicted ones are taken.
UNANSWERED = "the model was not asked about them"
# Classes of known facts, of each scheme.
KNOWN_CLASSES = ("highly known", "surely known", "recalled")


@dataclass(frozen=True, slots=True)
class ClassedFact:
    """A fact of a chosen class, with the probability, in [0, 1], that the model knows it."""

    key: FactKey
    object: str
    class_: str
    known: float


@dataclass(frozen=True, slots=True)
class FactGroup:
    """Facts of one subject and relation with the same purpose (``PURPOSES``): at least one, by id."""

    subject: str
    relation: str
    purpose: str
    facts: tuple[ClassedFact, ...]

    def order(self, seed: int, kind: str) -> int:
        """Return its place in a random order: a hash of seed and ids; see :func:`seeded_number`."""
        return seeded_number(seed, kind, f"{self.subject} {self.relation}")


@dataclass(frozen=True, slots=True)
class ChosenGroups:
    """The groups of a label table, by purpose, each in random order; numbers of left-out facts by reason."""

    by_purpose: Mapping[str, Sequence[FactGroup]]
    left_out: Mapping[str, int]


def choose_groups(
    table: LabelTable,
    teach: Collection[str],
    refuse: Collection[str],
    *,
    predicted: bool,
    with_known: bool,
    limit: int | None,
    seed: int,
) -> ChosenGroups:
    """Return the groups with facts of some classes, and those of known facts.

    Cost: a pass over the table. Memory: the facts of the chosen classes; with refusals or ``with_known``, also the
    known facts.

    ``predicted`` also takes facts that the model was not asked, by their predicted beliefs. The last group may exceed
    the ``limit`` of facts to teach.
    """
    check_classes([*teach, *refuse])
    both = [name for name in teach if name in refuse]
    if both:
        raise ArgumentError("refuse", f"has {', '.join(both)}, which is also in `teach`; choose one of them.")
    # Known facts decide which groups are refused.
    purposes = {TAUGHT: teach, REFUSED: refuse, KNOWN: KNOWN_CLASSES if with_known or refuse else ()}
    chosen: defaultdict[tuple[str, str], dict[str, list[ClassedFact]]] = defaultdict(dict)
    unanswered = 0
    for row in table.rows():
        purpose, class_ = _purpose_of(row.classes_to_take(predicted), purposes)
        if purpose is None:
            unanswered += _purpose_of(row.classes, purposes)[0] is not None
        else:
            fact = ClassedFact(FactKey(row.subject, row.fact), row.object, class_, row.known)
            chosen[row.subject, row.relation].setdefault(purpose, []).append(fact)
    for name, classes in (("teach", teach), ("refuse", refuse)):
        _require_facts(name, classes, chosen, table, predicted=predicted)
    by_purpose, left_out = _grouped(chosen)
    if unanswered:
        left_out[UNANSWERED] = unanswered
    for groups in by_purpose.values():
        groups.sort(key=lambda group: (group.order(seed, "sft"), group.subject, group.relation))
    by_purpose[TAUGHT] = list(_limited(by_purpose[TAUGHT], limit))
    return ChosenGroups(by_purpose, left_out)


def _grouped(
    facts: Mapping[tuple[str, str], Mapping[str, list[ClassedFact]]],
) -> tuple[dict[str, list[FactGroup]], Counter[str]]:
    """Return groups by purpose, and the number of left-out facts by reason."""
    by_purpose: dict[str, list[FactGroup]] = {purpose: [] for purpose in PURPOSES}
    left_out: Counter[str] = Counter()
    for (subject, relation), own in facts.items():
        purpose = TAUGHT if TAUGHT in own else next(iter(own))
        if purpose != TAUGHT and len(own) > 1:
            left_out["others of its subject and relation are known"] += len(own[REFUSED])
            continue
        ordered = tuple(sorted(own[purpose], key=lambda fact: fact.key))
        by_purpose[purpose].append(FactGroup(subject, relation, purpose, ordered))
    return by_purpose, left_out


def _purpose_of(own: Sequence[str], purposes: Mapping[str, Collection[str]]) -> tuple[str | None, str]:
    """Return the first purpose with one of a fact's classes, and that class; None and an empty text for none."""
    for purpose, classes in purposes.items():
        for name in own:
            if name in classes:
                return purpose, name
    return None, ""


def _require_facts(
    argument: str,
    classes: Iterable[str],
    chosen: Mapping[tuple[str, str], Mapping[str, Sequence[ClassedFact]]],
    table: LabelTable,
    *,
    predicted: bool,
) -> None:
    """Raise ArgumentError if a class has no facts, with those that have some. Cost: then a pass over the table."""
    present = {fact.class_ for own in chosen.values() for facts in own.values() for fact in facts}
    if present.issuperset(classes):
        return
    sizes, left_out = count_classes(table.rows(), predicted=predicted)
    empty = [name for name in classes if not sizes[name]]
    if empty:
        recall = ""
        if any(name in SLICK for name in empty) and not any(sizes[name] for name in SLICK):
            recall = " SliCK's classes need the way recall: kgprobe label --ways …,recall."
        raise ArgumentError(argument, no_facts_of(empty, table.name, sizes, left_out) + recall)


def _limited(groups: Iterable[FactGroup], limit: int | None) -> Iterable[FactGroup]:
    """Yield groups until they have as many facts."""
    count = 0
    for group in groups:
        if limit is not None and count >= limit:
            return
        count += len(group.facts)
        yield group
