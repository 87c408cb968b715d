"""Questions that a language model words: what it is shown, what is read from its answer, and what speaks against it.

Section 2.2 of the parameterized-graph paper; docs/methods/questions.md. A model is shown some facts with a question
each, then the one to be asked: the subject, the relation's label and description, and the object only where it stands
in the question. Its words are asked only if nothing speaks against them. That is strict, as a template is always at
hand: a question has both ends and the words of one of the relation's names or templates in their order, and beside
them only words that the relation is described by. So a writer makes other sentences of what is known of the relation,
and no other meaning; little words may still be wrong (*Is Tokyo the capital with Japan?*).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kgprobe.records import Relation
from kgprobe.verbalize.answers import named_in, normalized
from kgprobe.verbalize.articles import mention
from kgprobe.verbalize.content import NEGATION, content_words
from kgprobe.verbalize.sentences import fill, wh_question
from kgprobe.verbalize.templates.check import check_reading
from kgprobe.verbalize.templates.examples import Example
from kgprobe.verbalize.templates.kinds import KINDS, OBJECT, SUBJECT, check_template
from kgprobe.verbalize.templates.proposals import turned_round
from kgprobe.verbalize.templates.wording import cloze_of_label
from kgprobe.verbalize.tense import tense_of

# Of a question; few have more than thirty.
QUESTION_TOKENS = 64

# Characters of a question besides its names.
_LONGEST = 120
# Letters of a word that all its forms have, mostly: government, governed.
_STEM = 5
# Words that say nothing which the relation does not; the s is that of a possessive.
_NEUTRAL = "name named call called known s"
_PLACEHOLDER = re.compile(r"[\[\]{}<>_|…]|\.\.\.|\b[XYZ]\b")
# What models put in front of a question: bullets, numbers, quotation marks, "Question:".
_BEFORE = re.compile(r"(?i)^[^\w\[]*(?:\d+[.)]\s*)?(?:question\s*\d*\s*:)?[^\w\[]*")
_BEHIND = re.compile(r"[\s\"”“'’*`]+$")
_ASKED_BY = re.compile(r"(?i)(?:[a-z]+ )?(who|whom|whose|what|which|where|when|how|why)\b(?: ([^\W_]+))?")
_CHOICE = re.compile(r"(?i)\bor\b")
# Japan's capital, at the end of a question or before its verb or other name.
_POSSESSIVE = re.compile(r"(\[[XY]\])['’]s? ([^\[?]+?)(?= (?:is|are|was|were)\b| \[|\?)")
# A name that takes one brings it along.
_ARTICLE = re.compile(r"(?i)\bthe \[[XY]\]")
_PERSONS = frozenset({"who", "whom", "whose"})


@dataclass(frozen=True, slots=True)
class Wanted:
    """A question that is to be written.

    Attributes:
        told: what the subject is called to the writer.
        subject: what it may be called in the question.
        shown: names of the object that a yes/no question is about, the label first; empty for a wh-question.
        right: names of the right answers that must not stand in the question.
        relation: with its templates.
    """

    told: str
    subject: Sequence[str]
    shown: Sequence[str]
    right: Sequence[str]
    relation: Relation

    @property
    def kind(self) -> str:
        """The kind of templates it is like, see :data:`kgprobe.verbalize.templates.kinds.KINDS`."""
        return "yes_no_question" if self.shown else "wh_question"


@dataclass(frozen=True, slots=True)
class _Shot:
    """A fact that a model is shown, with templates of its questions."""

    subject: str
    alias: str
    relation: str
    object: str
    yes_no: str
    wh: str


# About what no graph of facts is asked for.
_SHOTS = (
    _Shot(
        "Captain Hook",
        "James Hook",
        "ship (vessel on which the character sails)",
        "Jolly Roger",
        "Is [Y] the ship of [X]?",
        "What is the ship of [X]?",
    ),
    _Shot(
        "Pinocchio",
        "the wooden boy",
        "made by (person who carved the puppet)",
        "Geppetto",
        "Was [X] made by [Y]?",
        "Who was [X] made by?",
    ),
    _Shot(
        "Snow White",
        "Schneewittchen",
        "lives with (those with whom the character shares a home)",
        "the seven dwarfs",
        "Does [X] live with [Y]?",
        "Who does [X] live with?",
    ),
    _Shot(
        "Rapunzel",
        "Petrosinella",
        "place of captivity (building in which the character is kept)",
        "the tower",
        "Is [Y] the place of captivity of [X]?",
        "Which building is the place of captivity of [X]?",
    ),
)
_TASKS = {
    "yes_no_question": "Write a question that asks whether a relation holds between a subject and an object. It is"
    " answered by yes or no. Use both names as they are, and the words of the relation.",
    "wh_question": "Write a question that asks what a subject is related to. Use its name as it is, and the words of"
    " the relation. Do not answer it.",
}


def writing_prompt(wanted: Wanted, *, with_alias: bool) -> str:
    """What a model is to go on with, or to answer: the question, after examples of how that is done.

    Args:
        with_alias: whether the questions of the examples say what else the subject is called.
    """
    blocks = [_TASKS[wanted.kind]]
    for shot in _SHOTS:
        told = f"{shot.subject} (also called {shot.alias})"
        subject = told if with_alias else shot.subject
        question = fill(shot.yes_no, subject, shot.object) if wanted.shown else wh_question(shot.wh, subject)
        blocks.append(_block(told, shot.relation, shot.object if wanted.shown else "", question))
    relation = wanted.relation
    label = relation.label or relation.id
    described = f"{label} ({relation.description})" if relation.description else label
    blocks.append(_block(mention(wanted.told), described, mention(wanted.shown[0]) if wanted.shown else "", ""))
    return "\n\n".join(blocks)


def _block(subject: str, relation: str, object_: str, question: str) -> str:
    told = [("Subject", subject), ("Relation", relation), ("Object", object_)]
    lines = [f"{name}: {' '.join(text.split())}" for name, text in told if text]
    return "\n".join([*lines, f"Question: {question}".rstrip()])


def written_question(answer: str) -> str:
    """The question that an answer holds: its first line that ends as one does, or its first; empty where there is none.

    Bullets, quotation marks and *Question:* around it are left out.
    """
    lines = [_BEHIND.sub("", _BEFORE.sub("", line)) for line in answer.splitlines()]
    kept = [line for line in lines if line]
    return next((line for line in kept if line.endswith("?")), kept[0] if kept else "")


def objections(text: str, wanted: Wanted) -> list[str]:
    """What speaks against asking a question as it was written, to be read after it; nothing if it may be asked.

    Returns:
        all reasons, each a clause that begins in the same way whatever the question; behind a colon, what is meant.
    """
    if not text.strip():
        return ["says nothing"]
    template, rest, subjects, objects = _blanked(text, wanted)
    return [
        *_of_form(text, template, rest, wanted),
        *_of_names(text, rest, subjects, objects, wanted),
        *_of_meaning(template, rest, wanted),
    ]


def _blanked(text: str, wanted: Wanted) -> tuple[str, str, int, int]:
    """The text with placeholders for names, the same with gaps for them, and how often each end is named."""
    subjects, objects = _spellings(wanted.subject), _spellings(wanted.shown)
    longest_first = sorted(subjects | objects, key=lambda name: (-len(name), name))
    if not longest_first:
        return text, text, 0, 0
    pattern = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, longest_first))})(?!\w)")
    parts = pattern.split(text)
    ends = [SUBJECT if name in subjects else OBJECT for name in parts[1::2]]
    template = "".join(part for pair in zip(parts[::2], [*ends, ""], strict=True) for part in pair)
    return template, " , ".join(parts[::2]), ends.count(SUBJECT), ends.count(OBJECT)


def _spellings(names: Iterable[str]) -> set[str]:
    """Names as they may stand in a sentence, with or without their article, and at its beginning."""
    bare = [name.strip() for name in names if name.strip()]
    placed = [*bare, *map(mention, bare)]
    return {*placed, *(name[:1].upper() + name[1:] for name in placed)}


def _of_form(text: str, template: str, rest: str, wanted: Wanted) -> Iterator[str]:
    if len(text.splitlines()) > 1:
        yield "has more than one line"
    if _PLACEHOLDER.search(rest):
        yield "has a placeholder in it"
    if not text.endswith("?"):
        yield "does not end in a question mark"
    if re.search(r"[?!;:]|\.(?!\w)", rest.removesuffix("?")):
        yield "is more than one question"
    if len(rest) > _LONGEST:
        yield f"has more than {_LONGEST} characters besides names"
    fact = Example("", wanted.subject[0], wanted.shown[0] if wanted.shown else "", 1, None, None, 1)
    spaces = [problem for problem in check_template(wanted.kind, template) if "white space" in problem]
    if _ARTICLE.search(template) and not any(map(_ARTICLE.search, _templates(wanted.relation))):
        yield "reads ill: it has an article in front of a name that has none"
    for problem in (*spaces, *(said for _, said in check_reading(wanted.kind, template, [fact]))):
        yield problem if problem.startswith("does not begin with") else f"reads ill: it {problem}"


def _of_names(text: str, rest: str, subjects: int, objects: int, wanted: Wanted) -> Iterator[str]:
    if subjects != 1:
        yield f"does not name its subject once: it does {subjects} times"
    if wanted.shown and objects != 1:
        yield f"does not name its object once: it does {objects} times"
    searched = rest if wanted.shown else text
    # What has no letter, such as !!!, is no word to be found.
    symbols = [name for name in wanted.right if name.strip() and not normalized(name) and name.strip() in searched]
    if leaked := [*named_in(searched, wanted.right), *symbols]:
        yield f"says a right answer: {leaked[0]}"


def _of_meaning(template: str, rest: str, wanted: Wanted) -> Iterator[str]:
    relation = wanted.relation
    templates = _templates(relation)
    names = [relation.label, *relation.aliases]
    ways = [_skeleton(each, wanted) for each in (*templates, *_sentences_of(names))]
    if not any(_in_order(way, _skeleton(template, wanted)) for way in ways):
        yield "does not say its relation as one of its names or templates does"
    # Few words may tell apart what is said of one end and of the other: on the continent of, the continent of.
    turned = turned_round(template, relation) or any(
        _in_order(way, _skeleton(_swapped(template), wanted)) for way in ways
    )
    if turned and _words(template) not in map(_words, templates):
        yield "may take the subject for the object"
    known = _stems(" ".join([_NEUTRAL, relation.description, *names, *templates]))
    if added := _stems(rest) - known:
        yield f"says what the relation does not: {', '.join(sorted(added))}"
    if NEGATION.search(rest):
        yield "has a negation in it"
    if _CHOICE.search(rest) and not any(map(_CHOICE.search, templates)):
        yield "leaves a choice"
    tenses = {tense_of(each) for each in (*relation.yes_no_questions, *relation.wh_questions)}
    if None not in tenses and tense_of(template) not in tenses:
        yield "is in another tense than its relation's templates"
    if not wanted.shown and not _asks_alike(template, known, relation.wh_questions):
        yield "asks for something else: its question word does not suit the relation"


def _templates(relation: Relation) -> list[str]:
    return [template for kind in KINDS for template in getattr(relation, f"{kind}s")]


def _sentences_of(names: Iterable[str]) -> Iterator[str]:
    """What a relation's names say by themselves: *The capital of [X] is [Y]*, and *[Y] is the capital of [X]*."""
    for name in names:
        sentence = cloze_of_label(name)
        if sentence is not None:
            yield sentence
            if noun := re.fullmatch(r"The (.+ (?:of|by) \[X\]) (?:is|are) \[Y\]", sentence):
                yield f"[Y] is the {noun[1]}"


def _skeleton(template: str, wanted: Wanted) -> list[str]:
    """The ends and the stems of a template's words, in their order; of a wh-question the subject alone."""
    ends = (SUBJECT, OBJECT) if wanted.shown else (SUBJECT,)
    skeleton: list[str] = []
    for part in re.split(r"(\[[XY]\])", _POSSESSIVE.sub(r"\2 of \1", template)):
        if part in (SUBJECT, OBJECT):
            skeleton += [part] if part in ends else []
        else:
            skeleton += [word[:_STEM] for word in normalized(part).split() if word in content_words(part)]
    return skeleton


def _in_order(way: Sequence[str], said: Sequence[str]) -> bool:
    """Whether all of a skeleton stands in another, in the same order: the ends that the other has, and some word."""
    rest = iter(said)
    ends = {part for part in said if part.startswith("[")}
    return ends < set(way) and all(part in rest for part in way)


def _swapped(template: str) -> str:
    ends = {SUBJECT: OBJECT, OBJECT: SUBJECT}
    return re.sub(r"\[[XY]\]", lambda match: ends[match[0]], template)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower().replace("the [", "["))


def _stems(text: str) -> set[str]:
    return {word[:_STEM] for word in content_words(text)}


def _asks_alike(question: str, known: set[str], templates: Sequence[str]) -> bool:
    """Whether a wh-question asks for what its relation's templates ask for.

    Args:
        known: stems of the words that the relation is described by, to which a noun behind *which* has to belong.
    """
    asked = _ASKED_BY.match(question)
    usual = {found[1].lower() for template in templates if (found := _ASKED_BY.match(template))}
    if asked is None:
        return False
    word = asked[1].lower()
    if word in ("what", "which"):
        return _stems(asked[2] or "") <= known and not usual <= _PERSONS
    if word == "where":
        return "where" in usual or any(re.match(r"(?i)(?:in|on|at|near) (?:which|what)\b", each) for each in templates)
    return word in usual or (word in _PERSONS and not usual.isdisjoint(_PERSONS))
