"""Names in a generated text: names of right, formerly right, and other objects.

docs/methods/generation.md. Names are found as in answers to questions
(:func:`kgprobe.verbalize.answers.mentions_in`): whole words, ignoring case and accents; a longer name of an object of
the relation takes precedence.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kgprobe.graph.client import Graph
from kgprobe.probes.generation.evidence import NameInText
from kgprobe.probes.known_names import KnownNames, related_names
from kgprobe.sampling.facts import AskedFact
from kgprobe.verbalize.answers import Mention, all_mentions, mentions_in, normalized


@dataclass(frozen=True, slots=True)
class TrueNames:
    """Names of further objects of a fact's subject and relation.

    Attributes:
        further: names of further objects that are right.
        former: names of objects that were right and no longer are.
    """

    further: list[str]
    former: list[str]


@dataclass(frozen=True, slots=True)
class FoundNames:
    """Names in a text, in the order of the text; see the evidence."""

    named: tuple[NameInText, ...]
    former: tuple[NameInText, ...]
    further: tuple[NameInText, ...]
    other: NameInText | None


def true_names(graph: Graph, facts: Sequence[AskedFact], as_of: int) -> list[TrueNames]:
    """Return the names of each fact's further and former objects at ``as_of`` (``yyyymmdd``).

    Cost: a walk from each subject.
    """
    objects = {fact.key.fact: fact.object for fact in facts}
    true: dict[str, TrueNames] = {fact: TrueNames([], []) for fact in objects}
    for row in graph.read("sample/answers", rows=[fact.key._asdict() for fact in facts], as_of=as_of):
        names = [name for name in (row["label"], *row["aliases"]) if name.strip()]
        if row["id"] != objects[row["fact"]] and (row["current"] or row["former"]):
            of_fact = true[row["fact"]]
            (of_fact.further if row["current"] else of_fact.former).extend(names)
    return [true[fact.key.fact] for fact in facts]


def counted_end(text: str, until: str) -> int:
    """Return the number of characters of a text that count, including leading white space.

    Args:
        until: one of ``ENDS``.
    """
    if until == "end":
        return len(text)
    blank = len(text) - len(text.lstrip())
    return blank + len((text[blank:].splitlines() or [""])[0])


def find_names(text: str, fact: AskedFact, true: TrueNames, known: KnownNames) -> FoundNames:
    """Find the names of a fact's objects, and of other objects of the relation, in a text.

    Cost: about 12 look-ups per word; the names of the relation's objects are read once.
    """
    own = (fact.object_label, *fact.object_aliases)
    is_name = related_names(fact, (*own, *true.further, *true.former), known)
    right = {normalized(name) for name in (fact.subject_label, *fact.subject_aliases, *own, *true.further)}
    others = (mention for mention in all_mentions(text, is_name) if normalized(mention.name) not in right)
    first = next(others, None)
    return FoundNames(
        named=_placed(text, own, is_name),
        former=_placed(text, true.former, is_name),
        further=_placed(text, true.further, is_name),
        other=None if first is None else _name_in_text(first),
    )


def _placed(text: str, names: Sequence[str], is_name: Callable[[str], bool]) -> tuple[NameInText, ...]:
    mentions = sorted(mentions_in(text, names, is_name), key=lambda mention: (mention.start, -mention.end))
    return tuple(map(_name_in_text, mentions))


def _name_in_text(mention: Mention) -> NameInText:
    return NameInText(mention.name, mention.start, mention.end, mention.words)
