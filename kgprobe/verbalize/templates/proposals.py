"""Clozes that a language model proposes for a relation: what it is shown, what is read from its answers, what is wrong.

A model is shown a few relations with facts and a cloze each, then the relation that has none. Its answers are read line
by line; where it wrote a fact's names instead of the placeholders, the placeholders take their place. What it proposes
has to pass all that `kgprobe templates check` looks at, warnings included, and must not say another relation.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kgprobe.records import Relation
from kgprobe.verbalize.templates.check import check_relation
from kgprobe.verbalize.templates.examples import Example
from kgprobe.verbalize.templates.kinds import OBJECT, SUBJECT
from kgprobe.verbalize.templates.wording import cloze_of_label

SHOWN_FACTS = 3

_TASK = (
    "Write one sentence that says how two things are related. Write [X] in place of the first thing and [Y] in place of"
    " the second. The sentence ends in [Y]."
)
# What models put in front of a sentence: bullets, numbers, quotation marks, "Sentence:".
_BEFORE = re.compile(r"(?i)^[^\w\[]*(?:\d+[.)]\s*)?(?:(?:sentence|template|answer)\s*\d*\s*:)?[^\w\[]*")
_LONGEST = 120


@dataclass(frozen=True, slots=True)
class Shot:
    """A relation as a model is shown it: its name, facts as pairs of names, and a cloze if it is an example."""

    label: str
    description: str
    facts: Sequence[tuple[str, str]]
    cloze: str | None = None


# For graphs whose relations have no templates at all.
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
    """A relation with some of its facts; see :class:`Shot`."""
    facts = [(example.subject, example.object) for example in _different(examples)[:SHOWN_FACTS]]
    return Shot(relation.label, relation.description, facts, cloze)


def shots_of(
    relations: Sequence[Relation], examples: Callable[[Relation], Sequence[Example]], seed: int
) -> Sequence[Shot]:
    """Some relations with facts and a cloze each, drawn at random, for a model to learn from.

    Args:
        relations: those of a graph.
        examples: gives facts of one.
        seed: what the choice follows from.

    Returns:
        ``SHOTS`` where the graph has no cloze, or no fact of a relation that has one.
    """
    able = [relation for relation in relations if relation.clozes and relation.label]
    order = np.random.default_rng(seed).permutation(len(able))
    shots: list[Shot] = []
    for relation in (able[place] for place in order):
        its = examples(relation)
        if its:
            shots.append(shot_of(relation, its, relation.clozes[0]))
        if len(shots) == len(SHOTS):
            break
    return shots or SHOTS


def writing_prompt(shots: Sequence[Shot], asked: Shot) -> str:
    """What a model is to go on with, or to answer: a cloze for ``asked``, after examples of how that is done."""
    blocks = [_TASK, *(_block(shot) for shot in shots), _block(asked)]
    return "\n\n".join(blocks)


def _block(shot: Shot) -> str:
    described = f"{shot.label} ({shot.description})" if shot.description else shot.label
    facts = [f"Example: [X] = {subject}, [Y] = {object_}" for subject, object_ in shot.facts]
    return "\n".join([f"Relation: {described}", *facts, f"Sentence: {shot.cloze}." if shot.cloze else "Sentence:"])


def _different(examples: Sequence[Example]) -> list[Example]:
    """The examples, each subject and each object once."""
    kept: list[Example] = []
    seen: set[str] = set()
    for example in examples:
        if example.subject not in seen and example.object not in seen:
            kept.append(example)
            seen |= {example.subject, example.object}
    return kept


def proposed(answer: str, shown: Shot) -> list[str]:
    """The clozes that an answer holds, each once, in their order; whatever else it says is passed over.

    Lines that begin a relation of the model's own end it, as what comes then is no answer any more.
    """
    found = []
    for line in answer.splitlines():
        if re.match(r"\s*(?:Relation|Example)\s*:", line):
            break
        text = _BEFORE.sub("", " ".join(line.split())).rstrip("\"'”’*. ")
        for subject, object_ in shown.facts:
            if SUBJECT not in text and OBJECT not in text and text.count(subject) == text.count(object_) == 1:
                text = text.replace(object_, OBJECT).replace(subject, SUBJECT)
        if SUBJECT in text or OBJECT in text:
            found.append(text)
    return list(dict.fromkeys(found))


def objections(cloze: str, relation: Relation, examples: Sequence[Example], others: Sequence[Relation]) -> list[str]:
    """What speaks against a proposed cloze, to be read after it; nothing if it may be asked.

    Args:
        relation: the one it is for; its own templates have no say.
        examples: facts of it.
        others: the graph's other relations.

    Returns:
        what `kgprobe templates check` finds, errors and warnings; whether it takes the subject for the object
        (*[X] is the author of [Y]*, where the author is [Y]); and whether it speaks of another relation: it has that
        one's name in it and none of its own, or says what that one's cloze says.
    """
    alone = Relation(relation.id, relation.label, clozes=(cloze,))
    found = [flaw.problem for flaw in check_relation(alone, examples)]
    if len(cloze) > _LONGEST:
        found.append(f"has more than {_LONGEST} characters")
    named = [name for example in examples for name in (example.subject, example.object) if len(name) > 2]
    found += [
        f"has a name in it that is one fact's: {name!r}" for name in dict.fromkeys(named) if _speaks(cloze, name)
    ][:1]
    if turned := turned_round(cloze, relation):
        found.append(f"is the wrong way round: the {turned} is what [Y] is")
    if not any(_speaks(cloze, name) for name in (relation.label, *relation.aliases) if name):
        found += list(_of_others(cloze, relation, others))[:1]
    return found


def turned_round(template: str, relation: Relation) -> str | None:
    """The name of a relation that is what its object is (author: Jane Austen), where a template says it of the subject.

    Args:
        template: a sentence, or a question.

    Relations whose two ends are alike (sibling) are taken for such ones too, and have to be said in other words.
    """
    for name in (relation.label, *relation.aliases):
        noun = (cloze_of_label(name) or "").startswith("The ")
        verb = r"(?:is|was|are|were)"
        said = rf"(?i)(?:^\[X\] {verb}|\b{verb} \[X\]) (?:the|an?) (?:\w+ )?{re.escape(name)}(?!\w)"
        if noun and re.search(said, template):
            return name
    return None


def _of_others(cloze: str, relation: Relation, others: Sequence[Relation]) -> Iterator[str]:
    said = _said(cloze)
    own = " ".join((relation.label, *relation.aliases)).lower()
    for other in others:
        if other.id == relation.id:
            continue
        if any(said == _said(each) for each in (*other.clozes, *other.past_clozes)):
            yield f"says what {other.label or other.id} says"
        elif other.label and other.label.lower() not in own and _speaks(cloze, other.label):
            yield f"speaks of another relation: {other.label!r}"


def _speaks(cloze: str, phrase: str) -> bool:
    return re.search(rf"(?i)(?<!\w){re.escape(phrase)}(?!\w)", cloze) is not None


def _said(cloze: str) -> str:
    return " ".join(re.findall(r"\[[XY]\]|\w+", cloze.lower()))


def shares_word(cloze: str, relation: Relation) -> bool:
    """Whether a cloze has a word of the relation's label, aliases or description in it, in any form of five letters."""
    told = {word[:5] for word in _long_words(" ".join((relation.label, *relation.aliases, relation.description)))}
    return not told.isdisjoint(word[:5] for word in _long_words(cloze))


def _long_words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]{4,}", text.lower())
