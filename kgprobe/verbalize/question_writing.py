"""Questions written by a language model: the prompt, the parsing of its answer, and the checks of the question.

Section 2.2 of the parameterized-graph paper; docs/methods/questions.md. The prompt shows some facts with a question
each, then the new fact: the subject, the label and description of the relation, and the object only for a yes/no
question. A question that fails a check is replaced by a template, so the checks are strict: it must contain both ends
and, in order, the words of a name or template of the relation. All its other words must occur in the description of the
relation. So the writer can vary the sentence, but not the meaning; stop words can still be wrong (*Is Tokyo the capital
with Japan?*). In other languages than English, the prompt has the same examples and names the language; the rules of
:mod:`.templates.forms` replace those of English.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, compress

from kgprobe.base.records import Relation
from kgprobe.verbalize.answers import content_words, denies, named_in, normalized
from kgprobe.verbalize.articles import mention
from kgprobe.verbalize.language import ENGLISH, Language
from kgprobe.verbalize.sentences import fill
from kgprobe.verbalize.templates.check import check_reading
from kgprobe.verbalize.templates.examples import ExampleFact
from kgprobe.verbalize.templates.forms import form_problems, templates_of_label
from kgprobe.verbalize.templates.generic import cloze_of_label
from kgprobe.verbalize.templates.kinds import KINDS, OBJECT, QUESTION_MARKS, SUBJECT, check_template, exchanged
from kgprobe.verbalize.templates.proposals import turned_round
from kgprobe.verbalize.tense import tense_of

# Maximum tokens of a question; few have more than thirty.
QUESTION_TOKENS = 64

# Maximum characters of a question without its names.
_LONGEST = 120
# Letters of a word that most of its forms share: government, governed.
_STEM = 5
# Words that add no meaning; s is that of a possessive.
_NEUTRAL = "name named call called known s"
_PLACEHOLDER = re.compile(r"[\[\]{}<>_|…]|\.\.\.|\b[XYZ]\b")
# Prefixes that models put before a question: bullets, numbers, quotation marks, "Question:".
_BEFORE = re.compile(r"(?i)^[^\w\[]*(?:\d+[.)]\s*)?(?:question\s*\d*\s*:)?[^\w\[]*")
_BEHIND = re.compile(r"[\s\"”“'’*`]+$")
_ASKED_BY = re.compile(r"(?i)(?:[a-z]+ )?(who|whom|whose|what|which|where|when|how|why)\b(?: ([^\W_]+))?")
_CHOICE = re.compile(r"(?i)\bor\b")
# Japan's capital, at the end of a question or before its verb or other name.
_POSSESSIVE = re.compile(r"(\[[XY]\])['’]s? ([^\[?]+?)(?= (?:is|are|was|were)\b| \[|\?)")
# A name that takes the article gets it when it is filled in.
_ARTICLE = re.compile(r"(?i)\bthe \[[XY]\]")
_PERSONS = frozenset({"who", "whom", "whose"})


@dataclass(frozen=True, slots=True)
class QuestionTask:
    """A question to be written.

    Attributes:
        subject: names of the subject that are allowed in the question.
        shown: names of the object of a yes/no question, the label first; empty for a wh-question.
        right: names of the right answers, which must not occur in the question.
    """

    prompt_subject: str
    subject: Sequence[str]
    shown: Sequence[str]
    right: Sequence[str]
    relation: Relation
    language: Language = ENGLISH

    @property
    def object(self) -> str:
        """Label of the object of a yes/no question; empty for a wh-question."""
        return "".join(self.shown[:1])

    @property
    def kind(self) -> str:
        """Kind of the templates of such questions, one of :data:`kgprobe.verbalize.templates.kinds.KINDS`."""
        return "yes_no_question" if self.shown else "wh_question"


@dataclass(frozen=True, slots=True)
class _Shot:
    """A fact in the prompt, with templates of its questions."""

    subject: str
    alias: str
    relation: str
    object: str
    yes_no_question: str
    wh_question: str


# Fictional facts, which no graph is asked for.
_FACTS = """\
Captain Hook|James Hook|ship (vessel on which the character sails)|Jolly Roger
Pinocchio|the wooden boy|made by (person who carved the puppet)|Geppetto
Snow White|Schneewittchen|lives with (those with whom the character shares a home)|the seven dwarfs
Rapunzel|Petrosinella|place of captivity (building in which the character is kept)|the tower"""
_QUESTIONS = """\
Is [Y] the ship of [X]?|What is the ship of [X]?
Was [X] made by [Y]?|Who was [X] made by?
Does [X] live with [Y]?|Who does [X] live with?
Is [Y] the place of captivity of [X]?|Which building is the place of captivity of [X]?"""
_SHOTS = [
    _Shot(*fact.split("|"), *questions.split("|"))
    for fact, questions in zip(_FACTS.splitlines(), _QUESTIONS.splitlines(), strict=True)
]
_TASKS = {
    "yes_no_question": "Write a question that asks whether a relation holds between a subject and an object. It is"
    " answered by yes or no. Use both names as they are, and the words of the relation.",
    "wh_question": "Write a question that asks what a subject is related to. Use its name as it is, and the words of"
    " the relation. Do not answer it.",
}


def writing_prompt(task: QuestionTask, *, with_alias: bool) -> str:
    """Return the prompt for a question, with examples, whose questions include an alias of the subject if asked."""
    english = task.language.is_english
    blocks = [_TASKS[task.kind] if english else f"{_TASKS[task.kind]} Write the question in {task.language.name}."]
    for shot in _SHOTS:
        full_subject = f"{shot.subject} (also called {shot.alias})"
        subject = full_subject if with_alias else shot.subject
        question = fill(getattr(shot, task.kind), subject, shot.object)
        blocks.append(_block(full_subject, shot.relation, shot.object if task.shown else "", question))
    relation = task.relation
    label = relation.label or relation.id
    described = f"{label} ({relation.description})" if relation.description else label
    ends = (task.prompt_subject, task.object)
    subject, object_ = map(mention, ends) if english else ends
    blocks.append(_block(subject, described, object_, ""))
    return "\n\n".join(blocks)


def _block(subject: str, relation: str, object_: str, question: str) -> str:
    fields = [("Subject", subject), ("Relation", relation), ("Object", object_)]
    lines = [f"{name}: {' '.join(text.split())}" for name, text in fields if text]
    return "\n".join([*lines, f"Question: {question}".rstrip()])


def written_question(answer: str) -> str:
    """Return the question in an answer: the first line with a question mark at the end, else the first line.

    Bullets, quotation marks and *Question:* around it are removed; the result is empty if nothing is left.
    """
    lines = [_BEHIND.sub("", _BEFORE.sub("", line)) for line in answer.splitlines()]
    # The first line of the best kind: questions before others before empty lines.
    return max(lines, key=lambda line: (line.endswith(QUESTION_MARKS), bool(line)), default="")


def objections(text: str, task: QuestionTask) -> list[str]:
    """Return the objections to a written question: predicates, each a fixed phrase, with details after a colon."""
    if not text.strip():
        return ["is empty"]
    template, rest, subjects, objects = _blanked(text, task)
    return [
        *_objections_to_form(text, rest, template, task),
        *_objections_to_names(text, rest, subjects, objects, task),
        *_objections_to_relation(template, task),
        *_objections_to_wording(template, rest, task),
    ]


def _blanked(text: str, task: QuestionTask) -> tuple[str, str, int, int]:
    """Return the text with placeholders for names, the text between the names, and the mentions of each end."""
    subjects, objects = _spellings(task.subject, task.language), _spellings(task.shown, task.language)
    longest_first = sorted(subjects | objects, key=lambda name: (-len(name), name))
    if not longest_first:
        return text, text, 0, 0
    names = "|".join(map(re.escape, longest_first))
    pattern = re.compile(rf"(?<!\w)({names})(?!\w)" if task.language.joiner else f"({names})")
    parts = pattern.split(text)
    parts[1::2] = [SUBJECT if name in subjects else OBJECT for name in parts[1::2]]
    ends = parts[1::2]
    return "".join(parts), " , ".join(parts[::2]), ends.count(SUBJECT), ends.count(OBJECT)


def _spellings(names: Iterable[str], language: Language) -> set[str]:
    """Return the forms of names in a sentence, with and without article, and at its beginning."""
    spellings: set[str] = set()
    for name in filter(None, map(str.strip, names)):
        for placed in (name, mention(name)) if language.is_english else language.spellings(name):
            spellings |= {placed, placed[:1].upper() + placed[1:]}
    return spellings


def _objections_to_form(text: str, rest: str, template: str, task: QuestionTask) -> Iterator[str]:
    objections = {
        "has more than one line": len(text.splitlines()) > 1,
        "contains a placeholder": _PLACEHOLDER.search(rest),
        "does not end in a question mark": not text.endswith(QUESTION_MARKS),
        "is more than one question": re.search(r"[?!;:？！；：。]|\.(?!\w)", re.sub("[?？]$", "", rest)),
        f"has more than {_LONGEST} characters without names": len(rest) > _LONGEST,
    }
    yield from compress(objections, objections.values())
    if _ARTICLE.search(template) and not any(map(_ARTICLE.search, _templates(task.relation))):
        yield "reads badly: it has an article before a name that takes none"
    if not task.language.is_english:
        yield from (f"reads badly: it {problem}" for problem in form_problems(task.kind, template, task.language))
        return
    fact = ExampleFact("", task.subject[0], task.object, 1, None, None, 1)
    for problem in check_template(task.kind, template):
        if "white space" in problem:
            yield f"reads badly: it {problem}"
    for _, problem in check_reading(task.kind, template, [fact]):
        yield problem if problem.startswith("does not begin with") else f"reads badly: it {problem}"


def _objections_to_names(text: str, rest: str, subjects: int, objects: int, task: QuestionTask) -> Iterator[str]:
    if subjects != 1:
        yield f"does not name its subject exactly once: {subjects} times"
    if task.shown and objects != 1:
        yield f"does not name its object exactly once: {objects} times"
    searched = rest if task.shown else text
    # Names without letters, such as !!!, are not words.
    symbols = [name for name in task.right if name.strip() and not normalized(name) and name.strip() in searched]
    if leaked := [*named_in(searched, task.right, language=task.language), *symbols]:
        yield f"contains a right answer: {leaked[0]}"


def _objections_to_relation(template: str, task: QuestionTask) -> Iterator[str]:
    relation = task.relation
    templates = _templates(relation)
    sentences = [*templates, *_sentences_of([relation.label, *relation.aliases], task.language)]
    skeletons = [_skeleton(sentence, task) for sentence in sentences]
    if not _matches_any(skeletons, _skeleton(template, task)):
        yield "does not use the words of a name or template of its relation"
    # Both directions can differ in few words: on the continent of, the continent of.
    is_turned = turned_round(template, relation) or _matches_any(skeletons, _skeleton(exchanged(template), task))
    if is_turned and _words(template) not in map(_words, templates):
        yield "may confuse the subject with the object"


def _objections_to_wording(template: str, rest: str, task: QuestionTask) -> Iterator[str]:
    relation = task.relation
    templates = _templates(relation)
    language = task.language
    described = " ".join([_NEUTRAL, relation.description, relation.label, *relation.aliases, *templates])
    known = _stems(described, language)
    if added := _stems(rest, language) - known:
        yield f"adds words that do not describe the relation: {', '.join(sorted(added))}"
    if denies(rest, language):
        yield "contains a negation"
    if not language.is_english:
        return
    if _CHOICE.search(rest) and not any(map(_CHOICE.search, templates)):
        yield "contains alternatives"
    tenses = set(map(tense_of, (*relation.yes_no_questions, *relation.wh_questions)))
    if None not in tenses and tense_of(template) not in tenses:
        yield "differs in tense from the templates of its relation"
    if not task.shown and not _asks_alike(template, known, relation.wh_questions):
        yield "asks for something else: its question word does not suit the relation"


def _templates(relation: Relation) -> list[str]:
    return list(chain.from_iterable(getattr(relation, f"{kind}s") for kind in KINDS))


def _sentences_of(names: Iterable[str], language: Language) -> Iterator[str]:
    """Yield the sentences made of a relation's names: *The capital of [X] is [Y]*, *[Y] is the capital of [X]*."""
    for name in names:
        if forms := templates_of_label(name, language) if name else None:
            yield from forms
        if not language.is_english:
            continue
        sentence = cloze_of_label(name)
        if sentence is not None:
            yield sentence
            if noun := re.fullmatch(r"The (.+ (?:of|by) \[X\]) (?:is|are) \[Y\]", sentence):
                yield f"[Y] is the {noun[1]}"


def _skeleton(template: str, task: QuestionTask) -> list[str]:
    """Return the ends and the stems of the words of a template in order; for a wh-question without the object."""
    ends = (SUBJECT, OBJECT) if task.shown else (SUBJECT,)
    skeleton: list[str] = []
    for part in re.split(r"(\[[XY]\])", _POSSESSIVE.sub(r"\2 of \1", template)):
        if part in (SUBJECT, OBJECT):
            skeleton += [part] if part in ends else []
        else:
            skeleton += [
                word[:_STEM] for word in normalized(part).split() if word in content_words(part, task.language)
            ]
    return skeleton


def _matches_any(skeletons: Iterable[Sequence[str]], question: Sequence[str]) -> bool:
    """Return True if a question contains a skeleton with all ends of the question and some word, in order."""
    ends = {part for part in question if part.startswith("[")}
    for skeleton in skeletons:
        rest = iter(question)
        if ends < set(skeleton) and all(part in rest for part in skeleton):
            return True
    return False


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower().replace("the [", "["))


def _stems(text: str, language: Language = ENGLISH) -> set[str]:
    return {word[:_STEM] for word in content_words(text, language)}


def _asks_alike(question: str, known: set[str], templates: Sequence[str]) -> bool:
    """Return True if a wh-question asks for the same kind of answer as the templates of its relation.

    A noun after *which* must be one of ``known``, the stems of the words that describe the relation.
    """
    opening = _ASKED_BY.match(question)
    if opening is None:
        return False
    usual = {match[1].lower() for match in map(_ASKED_BY.match, templates) if match}
    word = opening[1].lower()
    if word in ("what", "which"):
        return _stems(opening[2] or "") <= known and not usual <= _PERSONS
    if word == "where":
        return "where" in usual or any(re.match(r"(?i)(?:in|on|at|near) (?:which|what)\b", each) for each in templates)
    return word in usual or (word in _PERSONS and not usual.isdisjoint(_PERSONS))
