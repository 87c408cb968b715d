"""Templates proposed for a relation by a language model: the prompt, the parsing, and the checks.

The prompt shows a few relations with facts and a template of each kind, then the relation without templates. Answers
are parsed by line; names of a shown fact are replaced by the placeholders. A proposal must pass all checks of
`kgprobe.check_templates` without warning, and must not express another relation. In other languages than English, it
must have the language's form (:mod:`.forms`) instead of English tense and articles, and its direction is not checked.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, islice

import numpy as np

from kgprobe.base.records import Relation
from kgprobe.verbalize.language import ENGLISH, Language
from kgprobe.verbalize.templates.check import NO_VERB, check_relation
from kgprobe.verbalize.templates.examples import ExampleFact
from kgprobe.verbalize.templates.forms import UNKNOWN_VERB, UNKNOWN_VERB_FIRST, form_problems
from kgprobe.verbalize.templates.generic import cloze_of_label, label_of
from kgprobe.verbalize.templates.kinds import FULL_STOPS, OBJECT, REVERSE_KINDS, SUBJECT, check_template, exchanged
from kgprobe.verbalize.tense import in_the_past

SHOWN_FACTS = 3

# Kinds of templates that a model writes, with their names in the prompt, in its order.
LINES = {
    "cloze": "Sentence",
    "past_cloze": "Past sentence",
    "statement": "Statement",
    "yes_no_question": "Yes/no question",
    "wh_question": "Wh-question",
    "reverse_cloze": "Reverse sentence",
    "reverse_past_cloze": "Past reverse sentence",
    "reverse_wh_question": "Reverse wh-question",
}
_KIND_OF = {name.lower(): kind for kind, name in LINES.items()}
_TASK = (
    "Write sentences and questions that express how two things are related. Write [X] in place of the first thing and"
    " [Y] in place of the second. The sentence ends in [Y], the reverse sentence means the same and ends in [X]. The"
    " past sentences are the same in the past tense. The yes/no question has both, the wh-question only [X] and asks"
    " for [Y], the reverse wh-question only [Y] and asks for [X]. Answer with the same eight lines."
)
# Prefixes that models put before a sentence: bullets, numbers, quotation marks, "Sentence:".
_BEFORE = re.compile(r"(?i)^[^\w\[¿]*(?:\d+[.)]\s*)?(?:(?:sentence|template|answer)\s*\d*\s*[:：])?[^\w\[¿]*")
_LINE = re.compile(rf"(?i)^[^\w\[]*(?:\d+[.)])?[^\w\[]*({'|'.join(LINES.values())})[^\w\[:：]*[:：][^\w\[¿]*(.*)$")
# Quotation marks and emphasis at the end of a proposal.
_BEHIND = "\"'”’*`“»」 "
_PLACEHOLDER = re.compile(r"\[[XY]\]")
_LONGEST = 120
# Maximum words in which a sentence differs from itself in the past: does not have, did not have.
_DIFFERENT_WORDS = 2


@dataclass(frozen=True, slots=True)
class Shot:
    """A relation in the prompt: its name, facts as pairs of names, and templates by kind if it is an example."""

    label: str
    description: str
    facts: Sequence[tuple[str, str]]
    templates: Mapping[str, str]


def _shot(label: str, description: str, facts: str, *templates: str) -> Shot:
    pairs = [tuple(fact.split(" - ")) for fact in facts.split(", ")]
    return Shot(label, description, [(pair[0], pair[1]) for pair in pairs], dict(zip(LINES, templates, strict=True)))


# The first one is in every prompt, because it has all kinds; the others are for graphs without templates.
SHOTS = (
    _shot(
        "capital",
        "city where the government is",
        "France - Paris, Japan - Tokyo",
        "The capital of [X] is [Y]",
        "The capital of [X] was [Y]",
        "[Y] is the capital of [X].",
        "Is [Y] the capital of [X]?",
        "What is the capital of [X]?",
        "[Y] is the capital of [X]",
        "[Y] was the capital of [X]",
        "Which country has [Y] as its capital?",
    ),
    _shot(
        "author",
        "",
        "Hamlet - William Shakespeare, Emma - Jane Austen",
        "[X] was written by [Y]",
        "[X] was written by [Y]",
        "[Y] wrote [X].",
        "Did [Y] write [X]?",
        "Who wrote [X]?",
        "[Y] is the author of [X]",
        "[Y] was the author of [X]",
        "What did [Y] write?",
    ),
    _shot(
        "located on island",
        "",
        "Palermo - Sicily, Havana - Cuba",
        "[X] lies on the island of [Y]",
        "[X] lay on the island of [Y]",
        "[X] lies on the island of [Y].",
        "Does [X] lie on the island of [Y]?",
        "On which island does [X] lie?",
        "[Y] is the island of [X]",
        "[Y] was the island of [X]",
        "What lies on the island of [Y]?",
    ),
    _shot(
        "field of work",
        "",
        "Marie Curie - physics, Emmy Noether - algebra",
        "[X] works in the field of [Y]",
        "[X] worked in the field of [Y]",
        "[X] works in the field of [Y].",
        "Does [X] work in the field of [Y]?",
        "In which field does [X] work?",
        "[Y] is the field of work of [X]",
        "[Y] was the field of work of [X]",
        "Who works in the field of [Y]?",
    ),
)
# Kinds that a relation of the graph must have to be an example.
_EXEMPLARY = ("cloze", "statement", "yes_no_question", "wh_question")


def shot_of(relation: Relation, examples: Sequence[ExampleFact], templates: Mapping[str, str] | None = None) -> Shot:
    """Return a relation with some of its facts for the prompt; its label is its id in words if it has none."""
    facts = [(example.subject, example.object) for example in _different(examples)[:SHOWN_FACTS]]
    return Shot(label_of(relation) or relation.id, relation.description, facts, templates or {})


def shots_of(
    relations: Sequence[Relation],
    examples: Callable[[Relation], Sequence[ExampleFact]],
    seed: int,
    language: Language = ENGLISH,
) -> Sequence[Shot]:
    """Draw relations with facts and templates, as few-shot examples.

    They are the first of ``SHOTS``, and relations of the graph that have a fact and a template of each forward
    kind; the others of ``SHOTS`` are in place of missing ones. In another language than English, they are such
    relations alone, or ``SHOTS`` if there is none.
    """
    eligible = [
        relation
        for relation in relations
        if relation.label and all(getattr(relation, f"{kind}s") for kind in _EXEMPLARY)
    ]
    own: list[Shot] = []
    for place in np.random.default_rng(seed).permutation(len(eligible)):
        facts = examples(eligible[place])
        if facts:
            own.append(shot_of(eligible[place], facts, _first_templates(eligible[place], language)))
        if len(own) == len(SHOTS) - language.is_english:
            break
    if not language.is_english:
        return own or SHOTS
    return [SHOTS[0], *own, *SHOTS[len(own) + 1 :]]


def _first_templates(relation: Relation, language: Language) -> dict[str, str]:
    """Return the first template of each kind; the sentence in the past also if it can be derived."""
    first = {kind: next(iter(getattr(relation, f"{kind}s")), None) for kind in LINES}
    if language.is_english:
        first["past_cloze"] = in_the_past(relation.clozes[0]) or first["past_cloze"]
    return {kind: template for kind, template in first.items() if template is not None}


def writing_prompt(shots: Sequence[Shot], target: Shot, language: Language = ENGLISH) -> str:
    """Return the prompt for templates of ``target``, with examples; it ends in the name of the first line."""
    task = _TASK
    if not language.is_english:
        examples = " The examples are in English." if all(shot in SHOTS for shot in shots) else ""
        task += (
            f" Write them in {named_language(language)}, without an article before [X] or [Y].{examples} Begin the"
            f" lines with their English names: {', '.join(LINES.values())}."
        )
    blocks = [_block(shot, ENGLISH if shot in SHOTS else language) for shot in shots]
    return "\n\n".join([task, *blocks, _block(target, language)])


def named_language(language: Language) -> str:
    """Return the name of a language for a prompt, or else its code."""
    return language.name if language.note is None else f"the language {language.name!r} (ISO 639)"


def _block(shot: Shot, language: Language) -> str:
    described = f"{shot.label} ({shot.description})" if shot.description else shot.label
    lines = [f"Relation: {described}"]
    lines += [f"Example: [X] = {subject}, [Y] = {object_}" for subject, object_ in shot.facts]
    for kind, template in shot.templates.items():
        lines.append(f"{LINES[kind]}: {template}{language.full_stop if kind.endswith('cloze') else ''}")
    return "\n".join(lines if shot.templates else [*lines, f"{LINES['cloze']}:"])


def _different(examples: Sequence[ExampleFact]) -> list[ExampleFact]:
    """Return the examples that share no name with an earlier one."""
    kept: list[ExampleFact] = []
    seen: set[str] = set()
    for example in examples:
        if seen.isdisjoint((example.subject, example.object)):
            kept.append(example)
            seen |= {example.subject, example.object}
    return kept


def proposed(answer: str, shown: Shot, language: Language = ENGLISH) -> list[tuple[str, str]]:
    """Return the distinct templates in an answer with their kinds, in order.

    Lines without the name of a kind are clozes. Parsing ends at a line that begins a new relation, invented by the
    model.
    """
    templates = []
    for line in answer.splitlines():
        if re.match(r"\s*(?:Relation|Example)\s*:", line):
            break
        text = " ".join(line.split())
        label = _LINE.match(text)
        kind = _KIND_OF[label[1].lower()] if label else "cloze"
        template = _placeheld(kind, label[2] if label else _BEFORE.sub("", text), shown, language)
        if _PLACEHOLDER.search(template):
            templates.append((kind, template))
    return list(dict.fromkeys(templates))


def _placeheld(kind: str, text: str, shown: Shot, language: Language) -> str:
    """Return a template with the end of its kind, and placeholders in place of the names of a shown fact."""
    bare = text.rstrip(_BEHIND)
    if not kind.endswith("question"):
        stop = bare[-1:] if bare.endswith(FULL_STOPS) else language.full_stop
        bare = bare.rstrip(_BEHIND + "".join(FULL_STOPS)) + (stop if kind == "statement" else "")
    counts = {"wh_question": (1, 0), "reverse_wh_question": (0, 1)}.get(kind, (1, 1))
    for subject, object_ in shown.facts:
        if not _PLACEHOLDER.search(bare) and (bare.count(subject), bare.count(object_)) == counts:
            bare = bare.replace(object_, OBJECT).replace(subject, SUBJECT)
    return bare


def objections(
    kind: str,
    template: str,
    relation: Relation,
    examples: Sequence[ExampleFact],
    others: Sequence[Relation],
    past: str | None = None,
    language: Language = ENGLISH,
) -> list[str]:
    """Return the objections to a proposed template; empty if it can be asked.

    Args:
        relation: the relation of the template; its own templates are ignored.
        past: the same cloze in the past, in which case its verb need not be known.

    Returns:
        Predicates of the template: errors and warnings of `kgprobe.check_templates`; in English, a reversed direction
        (*[X] is the author of [Y]*, where [Y] is the author); and the meaning of another relation, if the template
        contains that name and none of its own, or repeats a template of that relation.
    """
    problems = check_template(kind, template) or _flaws(kind, template, relation, examples, past, language)
    if len(template) > _LONGEST:
        problems.append(f"has more than {_LONGEST} characters")
    names = chain.from_iterable((example.subject, example.object) for example in examples)
    shortest = 3 if language.joiner else 2
    if name := next((name for name in names if len(name) >= shortest and _has_name(template, name, language)), None):
        problems.append(f"contains a name of one fact: {name!r}")
    if language.is_english and (role := turned_round(template, relation)):
        problems.append(f"is reversed: [Y] is the {role}")
    if not any(_contains(template, name, language) for name in (relation.label, *relation.aliases) if name):
        problems += islice(_other_meanings(template, relation, others, language), 1)
    return problems


def _has_name(template: str, name: str, language: Language) -> bool:
    return any(_contains(template, spelling, language) for spelling in language.spellings(name))


def _flaws(
    kind: str,
    template: str,
    relation: Relation,
    examples: Sequence[ExampleFact],
    past: str | None,
    language: Language,
) -> list[str]:
    """Return the problems of `kgprobe.check_templates` and of the language's form.

    Reverse templates are checked with both ends exchanged.
    """
    is_reverse = kind in REVERSE_KINDS
    placed = exchanged if is_reverse else str
    fields = {f"{kind.removeprefix('reverse_')}s": (placed(template),)}
    if past is not None:
        fields["past_clozes"] = (placed(past),)
    if is_reverse:
        examples = [replace(example, subject=example.object, object=example.subject) for example in examples]
    alone = replace(Relation(relation.id, relation.label), **fields)  # type: ignore[arg-type]
    problems = [placed(flaw.problem) for flaw in check_relation(alone, examples, language)]
    for text in (template,) if past is None else (template, past):
        forms = form_problems(kind, text, language)
        problems += [problem for problem in forms if problem not in (UNKNOWN_VERB, UNKNOWN_VERB_FIRST)]
    return [problem for problem in problems if past is None or problem != NO_VERB]


def counterpart(cloze: str, pasts: Sequence[str], language: Language = ENGLISH) -> str | None:
    """Return a cloze in the past: derived from its English verb if that is known, else the proposal with its words.

    >>> counterpart("[X] is ruled by [Y]", [])
    '[X] was ruled by [Y]'
    >>> counterpart("[X] reveres [Y]", ["[X] was fond of [Y]", "[X] revered [Y]"])
    '[X] revered [Y]'

    The result is None if there is none; the cloze itself if it is in the past.
    """
    derived = in_the_past(cloze) if language.is_english else None
    others = (past for past in pasts if past != cloze and _corresponds(cloze, past, language))
    return derived or next(others, None if language.is_english or cloze not in pasts else cloze)


def _corresponds(cloze: str, past: str, language: Language) -> bool:
    """Return True if a sentence differs from a cloze in few words, and names both ends in the same order."""
    words, past_words = (Counter(_words(text, language.joiner)) for text in (cloze, past))
    different = max((words - past_words).total(), (past_words - words).total())
    return different <= _DIFFERENT_WORDS and _PLACEHOLDER.findall(cloze) == _PLACEHOLDER.findall(past)


def turned_round(template: str, relation: Relation) -> str | None:
    """Return the name of a relation that describes the object (author) if a template gives it to the subject.

    Symmetric relations (sibling) are included, so their templates must use other words.
    """
    for name in (relation.label, *relation.aliases):
        is_noun = (cloze_of_label(name) or "").startswith("The ")
        verb = r"(?:is|was|are|were)"
        pattern = rf"(?i)(?:^\[X\] {verb}|\b{verb} \[X\]) (?:the|an?) (?:\w+ )?{re.escape(name)}(?!\w)"
        if is_noun and re.search(pattern, template):
            return name
    return None


def _other_meanings(template: str, relation: Relation, others: Sequence[Relation], language: Language) -> Iterator[str]:
    words = _words(template, language.joiner)
    names = " ".join((relation.label, *relation.aliases)).lower()
    for other in others:
        if other.id == relation.id:
            continue
        templates = chain.from_iterable(getattr(other, f"{kind}s") for kind in LINES)
        if any(words == _words(text, language.joiner) for text in templates):
            yield f"repeats a template of {other.label or other.id}"
        elif other.label and other.label.lower() not in names and _contains(template, other.label, language):
            yield f"names another relation: {other.label!r}"


def _contains(template: str, phrase: str, language: Language) -> bool:
    # Nearly all phrases are not in the template, so that no pattern is compiled for them.
    is_in = phrase.lower() in template.lower()
    if not language.joiner:
        # A single character is a word in many others.
        return is_in and len(phrase) > 1
    return is_in and re.search(rf"(?i)(?<!\w){re.escape(phrase)}(?!\w)", template) is not None


@lru_cache(maxsize=100_000)
def _words(template: str, joiner: str) -> tuple[str, ...]:
    """Return the words and placeholders of a template; characters are words if nothing is between words."""
    return tuple(re.findall(r"\[[XY]\]|\w+" if joiner else r"\w", template.lower()))


def shares_word(template: str, relation: Relation, language: Language = ENGLISH) -> bool:
    """Return True if a template shares the first five letters of a word with the relation's names or description.

    In a language without spaces, they share two characters in a row.
    """
    described = " ".join((relation.label, *relation.aliases, relation.description))
    return not _stems(template, language).isdisjoint(_stems(described, language))


def _stems(text: str, language: Language) -> set[str]:
    if not language.joiner:
        return set(re.findall(r"(?=([^\W\d_]{2}))", text.lower()))
    return {word[:5] for word in re.findall(r"[^\W\d_]{4,}", text.lower())}
