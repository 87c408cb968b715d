"""Names in what a model wrote: the object's, those of what else is or was right, those of other objects.

docs/methods/generation.md. Names are found as in answers to questions
(:func:`kgprobe.verbalize.answers.mentions_in`): whole words, whatever their capitals and accents, and a longer name
of an object of the relation wins.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kgprobe.graph.client import Graph
from kgprobe.probes.generation.evidence import NameInText
from kgprobe.probes.known_names import KnownNames, beside
from kgprobe.sampling.facts import AskedFact
from kgprobe.verbalize.answers import Mention, all_mentions, mentions_in, normalized


@dataclass(frozen=True, slots=True)
class TrueNames:
    """What is true of a fact's subject and relation, beside the fact's own object.

    Attributes:
        beside: the names of other objects that are.
        former: those of objects that were, and are no more.
    """

    beside: list[str]
    former: list[str]


@dataclass(frozen=True, slots=True)
class FoundNames:
    """Which names stand in a text, those of each kind in the order of the text; see the evidence."""

    named: tuple[NameInText, ...]
    former: tuple[NameInText, ...]
    beside: tuple[NameInText, ...]
    other: NameInText | None


def true_names(graph: Graph, facts: Sequence[AskedFact], as_of: int) -> list[TrueNames]:
    """What is, and was, true beside each fact at ``as_of`` (``yyyymmdd``). Cost: a walk from each subject."""
    objects = {fact.key.fact: fact.object for fact in facts}
    found: dict[str, TrueNames] = {fact: TrueNames([], []) for fact in objects}
    for row in graph.read("sample/answers", rows=[fact.key._asdict() for fact in facts], as_of=as_of):
        names = [name for name in (row["label"], *row["aliases"]) if name.strip()]
        if row["id"] != objects[row["fact"]] and (row["current"] or row["former"]):
            its = found[row["fact"]]
            (its.beside if row["current"] else its.former).extend(names)
    return [found[fact.key.fact] for fact in facts]


def counted_end(text: str, until: str) -> int:
    """How many characters of a text count, white space in front among them.

    Args:
        until: one of ``ENDS``.
    """
    if until == "end":
        return len(text)
    blank = len(text) - len(text.lstrip())
    return blank + len((text[blank:].splitlines() or [""])[0])


def find_names(text: str, fact: AskedFact, true: TrueNames, known: KnownNames) -> FoundNames:
    """The names in a text.

    Cost: a dozen look-ups a word; the names of the relation's objects are read once.
    """
    own = (fact.object_label, *fact.object_aliases)
    may_hold = beside(fact, (*own, *true.beside, *true.former), known)
    right = {normalized(name) for name in (fact.subject_label, *fact.subject_aliases, *own, *true.beside)}
    others = (one for one in all_mentions(text, may_hold) if normalized(one.name) not in right)
    first = next(others, None)
    return FoundNames(
        named=_placed(text, own, may_hold),
        former=_placed(text, true.former, may_hold),
        beside=_placed(text, true.beside, may_hold),
        other=None if first is None else _kept(first),
    )


def _placed(text: str, names: Sequence[str], may_hold: Callable[[str], bool]) -> tuple[NameInText, ...]:
    found = sorted(mentions_in(text, names, may_hold), key=lambda one: (one.start, -one.end))
    return tuple(map(_kept, found))


def _kept(mention: Mention) -> NameInText:
    return NameInText(mention.name, mention.start, mention.end, mention.words)
