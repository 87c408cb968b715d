"""Clozes proposed for a relation by a language model: the prompt, the parsing, and the checks.

The prompt shows a few relations with facts and a cloze each, then the relation without cloze. Answers are parsed by
line; names of a shown fact are replaced by the placeholders. A proposal must pass all checks of `kgprobe templates
check` without warning, and must not express another relation.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np

from kgprobe.records import Relation
from kgprobe.verbalize.templates.check import check_relation
from kgprobe.verbalize.templates.examples import Example
from kgprobe.verbalize.templates.generic import cloze_of_label
from kgprobe.verbalize.templates.kinds import OBJECT, SUBJECT

SHOWN_FACTS = 3

_TASK = (
    "Write one sentence that says how two things are related. Write [X] in place of the first thing and [Y] in place of"
    " the second. The sentence ends in [Y]."
)
# Prefixes that models put before a sentence: bullets, numbers, quotation marks, "Sentence:".
_BEFORE = re.compile(r"(?i)^[^\w\[]*(?:\d+[.)]\s*)?(?:(?:sentence|template|answer)\s*\d*\s*:)?[^\w\[]*")
_PLACEHOLDER = re.compile(r"\[[XY]\]")
_LONGEST = 120


@dataclass(frozen=True, slots=True)
class Shot:
    """A relation in the prompt: its name, facts as pairs of names, and a cloze if it is an example."""

    label: str
    description: str
    facts: Sequence[tuple[str, str]]
    cloze: str | None = None


# For graphs without templates.
SHOTS = (
    Shot(
        "capital",
        "city where the government is",
        [("France", "Paris"), ("Japan", "Tokyo")],
        "The capital of [X] is [Y]",
    ),
    Shot("author", "", [("Hamlet", "William Shakespeare"), ("Emma", "Jane Austen")], "[X] was written by [Y]"),
    Shot("located on island", "", [("Palermo", "Sicily"), ("Havana", "Cuba")], "[X] lies on the island of [Y]"),
    Shot(
        "field of work", "", [("Marie Curie", "physics"), ("Emmy Noether", "algebra")], "[X] works in the field of [Y]"
    ),
)


def shot_of(relation: Relation, examples: Sequence[Example], cloze: str | None = None) -> Shot:
    """Return a relation with some of its facts for the prompt."""
    facts = [(example.subject, example.object) for example in _different(examples)[:SHOWN_FACTS]]
    return Shot(relation.label, relation.description, facts, cloze)


def shots_of(
    relations: Sequence[Relation], examples: Callable[[Relation], Sequence[Example]], seed: int
) -> Sequence[Shot]:
    """Draw relations with facts and a cloze each, as few-shot examples.

    Args:
        relations: relations of a graph.
        examples: returns facts of a relation.

    Returns:
        ``SHOTS`` if no relation has a cloze and a fact.
    """
    eligible = [relation for relation in relations if relation.clozes and relation.label]
    shots: list[Shot] = []
    for place in np.random.default_rng(seed).permutation(len(eligible)):
        facts = examples(eligible[place])
        if facts:
            shots.append(shot_of(eligible[place], facts, eligible[place].clozes[0]))
        if len(shots) == len(SHOTS):
            break
    return shots or SHOTS


def writing_prompt(shots: Sequence[Shot], target: Shot) -> str:
    """Return the prompt for a cloze of ``target``, with examples."""
    return "\n\n".join([_TASK, *map(_block, shots), _block(target)])


def _block(shot: Shot) -> str:
    described = f"{shot.label} ({shot.description})" if shot.description else shot.label
    facts = [f"Example: [X] = {subject}, [Y] = {object_}" for subject, object_ in shot.facts]
    return "\n".join([f"Relation: {described}", *facts, f"Sentence: {shot.cloze}." if shot.cloze else "Sentence:"])


def _different(examples: Sequence[Example]) -> list[Example]:
    """Return the examples that share no name with an earlier one."""
    kept: list[Example] = []
    seen: set[str] = set()
    for example in examples:
        if seen.isdisjoint((example.subject, example.object)):
            kept.append(example)
            seen |= {example.subject, example.object}
    return kept


def proposed(answer: str, shown: Shot) -> list[str]:
    """Return the distinct clozes in an answer, in order.

    Parsing ends at a line that begins a new relation, invented by the model.
    """
    clozes = []
    for line in answer.splitlines():
        if re.match(r"\s*(?:Relation|Example)\s*:", line):
            break
        text = _BEFORE.sub("", " ".join(line.split())).rstrip("\"'”’*. ")
        for subject, object_ in shown.facts:
            if not _PLACEHOLDER.search(text) and text.count(subject) == text.count(object_) == 1:
                text = text.replace(object_, OBJECT).replace(subject, SUBJECT)
        if _PLACEHOLDER.search(text):
            clozes.append(text)
    return list(dict.fromkeys(clozes))


def objections(cloze: str, relation: Relation, examples: Sequence[Example], others: Sequence[Relation]) -> list[str]:
    """Return the objections to a proposed cloze; empty if it can be asked.

    Args:
        relation: the relation of the cloze; its own templates are ignored.
        examples: facts of the relation.
        others: other relations of the graph.

    Returns:
        Predicates of the cloze: errors and warnings of `kgprobe templates check`; a reversed direction (*[X] is the
        author of [Y]*, where [Y] is the author); and the meaning of another relation, if the cloze contains that name
        and none of its own, or repeats a cloze of that relation.
    """
    alone = Relation(relation.id, relation.label, clozes=(cloze,))
    problems = [flaw.problem for flaw in check_relation(alone, examples)]
    if len(cloze) > _LONGEST:
        problems.append(f"has more than {_LONGEST} characters")
    names = chain.from_iterable((example.subject, example.object) for example in examples)
    if name := next((name for name in names if len(name) > 2 and _contains(cloze, name)), None):
        problems.append(f"contains a name of one fact: {name!r}")
    if role := turned_round(cloze, relation):
        problems.append(f"is reversed: [Y] is the {role}")
    if not any(_contains(cloze, name) for name in (relation.label, *relation.aliases) if name):
        problems += islice(_other_meanings(cloze, relation, others), 1)
    return problems


def turned_round(template: str, relation: Relation) -> str | None:
    """Return the name of a relation that describes the object (author) if a template gives it to the subject.

    Args:
        template: a sentence, or a question.

    Symmetric relations (sibling) are included, so their templates must use other words.
    """
    for name in (relation.label, *relation.aliases):
        is_noun = (cloze_of_label(name) or "").startswith("The ")
        verb = r"(?:is|was|are|were)"
        pattern = rf"(?i)(?:^\[X\] {verb}|\b{verb} \[X\]) (?:the|an?) (?:\w+ )?{re.escape(name)}(?!\w)"
        if is_noun and re.search(pattern, template):
            return name
    return None


def _other_meanings(cloze: str, relation: Relation, others: Sequence[Relation]) -> Iterator[str]:
    words = _words(cloze)
    names = " ".join((relation.label, *relation.aliases)).lower()
    for other in others:
        if other.id == relation.id:
            continue
        if words in map(_words, (*other.clozes, *other.past_clozes)):
            yield f"repeats a cloze of {other.label or other.id}"
        elif other.label and other.label.lower() not in names and _contains(cloze, other.label):
            yield f"names another relation: {other.label!r}"


def _contains(cloze: str, phrase: str) -> bool:
    return re.search(rf"(?i)(?<!\w){re.escape(phrase)}(?!\w)", cloze) is not None


def _words(cloze: str) -> list[str]:
    return re.findall(r"\[[XY]\]|\w+", cloze.lower())


def shares_word(cloze: str, relation: Relation) -> bool:
    """Return True if a cloze shares the first five letters of a word with the relation's names or description."""
    return not _stems(cloze).isdisjoint(_stems(" ".join((relation.label, *relation.aliases, relation.description))))


def _stems(text: str) -> set[str]:
    return {word[:5] for word in re.findall(r"[^\W\d_]{4,}", text.lower())}
