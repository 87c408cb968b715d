"""Second reading of templates that a model wrote: does the model read them as good sentences about their relation?

Each template is filled with some facts. A model behind an API is asked a yes/no question about each sentence; the
result is the share of yes. Small models answer such questions at random, so a model on this machine scores the
sentence instead. After a relation's name and the two names, the sentence should be more probable than

1. the same sentence after the names of other relations: it means the relation;
2. the same sentence with both names exchanged: it has the right direction;
3. its words in random order (characters in a language without spaces): it is a sentence.

The result is the lowest of the three shares of won comparisons. Questions with one name, and relations with facts in
both directions, have no second comparison. docs/methods/sentences.md has measured values.
"""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from itertools import chain, islice
from typing import NamedTuple, TypeAlias

import numpy as np

from kgprobe.base.records import Relation
from kgprobe.models.generating.generator import Generator, Request, Unanswered
from kgprobe.models.scoring.contract import TextScorer
from kgprobe.models.scoring.tokens import TextError
from kgprobe.verbalize.answers import read_yes_no
from kgprobe.verbalize.articles import mention
from kgprobe.verbalize.language import ENGLISH, Language
from kgprobe.verbalize.sentences import fill
from kgprobe.verbalize.templates.generic import label_of
from kgprobe.verbalize.templates.kinds import QUESTION_MARKS
from kgprobe.verbalize.templates.proposals import SHOTS, named_language

# Facts with which a template is read.
READ_FACTS = 3
# Other relations, and random orders of words, with which a local model compares a sentence.
READ_RELATIONS = 3
READ_ORDERS = 3
# Minimum share in favour of a template; with at most 1 − PASSED, it fails.
PASSED = 2 / 3
_ANSWER_TOKENS = 64


class ReadingVerdict(Enum):
    """Verdict of the second reading."""

    PASSED = "passed"
    UNCERTAIN = "uncertain"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class TemplateReading:
    """A template to be read with at least one fact; symmetric if its relation has facts in both directions."""

    kind: str
    template: str
    relation: Relation
    facts: Sequence[tuple[str, str]]
    is_symmetric: bool = False
    language: Language = ENGLISH

    def text(self, subject: str, object_: str) -> str:
        """Return the template, filled with two names, with the punctuation mark of a sentence or question."""
        template = self.language.sentence(self.template) if self.kind.endswith("cloze") else self.template
        return fill(template, subject, object_, self.language)


# Returns the share in favour of each template, in [0, 1].
Reader: TypeAlias = Callable[[Sequence[TemplateReading]], list[float]]


def verdict_of(share: float) -> ReadingVerdict:
    """Return the verdict of a share in favour of a template.

    >>> [verdict_of(share).value for share in (1.0, 0.5, 0.0)]
    ['passed', 'uncertain', 'failed']
    """
    # Shares are sums of thirds.
    if share >= PASSED - 1e-9:
        return ReadingVerdict.PASSED
    return ReadingVerdict.FAILED if share <= 1 - PASSED + 1e-9 else ReadingVerdict.UNCERTAIN


def asking_reader(generator: Generator) -> Reader:
    """Return a reader that asks a model a yes/no question for each template and fact.

    An answer that is neither yes nor no counts as half. The reader raises TextError if a question gets no answer.
    """
    return partial(_read_by_asking, generator)


def _read_by_asking(generator: Generator, readings: Sequence[TemplateReading]) -> list[float]:
    requests, sizes, languages = [], [], []
    for reading in readings:
        prompts = reading_prompts(reading)
        requests += [Request(prompt, _ANSWER_TOKENS) for prompt in prompts]
        sizes.append(len(prompts))
        languages += [reading.language] * len(prompts)
    votes = []
    for answer, language in zip(generator.answer(requests), languages, strict=True):
        if isinstance(answer, Unanswered):
            raise TextError(f"the second reading got no answer: {answer.reason}")
        yes = None if answer.refused else read_yes_no(answer.text).yes
        if yes is None and not answer.refused:
            yes = read_yes_no(answer.text, language).yes
        votes.append(0.5 if yes is None else float(yes))
    shares, begin = [], 0
    for size in sizes:
        shares.append(float(np.mean(votes[begin : begin + size])))
        begin += size
    return shares


_MEANINGS = {
    "yes_no_question": "ask whether this fact is true, with subject and object in the right roles",
    "wh_question": "ask for the object of this fact, without giving it away",
    "reverse_wh_question": "ask for the subject of this fact, without giving it away",
    "past_cloze": "state this fact in the past tense, with subject and object in the right roles",
    "reverse_past_cloze": "state this fact in the past tense, with subject and object in the right roles",
}
_STATES = "state this fact, with subject and object in the right roles"


def reading_prompts(reading: TemplateReading) -> list[str]:
    """Return a yes/no question for each fact of a reading."""
    relation = reading.relation
    described = label_of(relation) or relation.id
    if relation.description:
        described = f"{described} ({relation.description})"
    noun = "question" if reading.kind.endswith("question") else "sentence"
    meaning = _MEANINGS.get(reading.kind, _STATES)
    good = "good English" if reading.language.is_english else f"correct in {named_language(reading.language)}"
    prompts = []
    for subject, object_ in reading.facts[:READ_FACTS]:
        prompts.append(
            f"Subject: {subject}\nRelation: {described}\nObject: {object_}\n"
            f"{noun.capitalize()}: {reading.text(subject, object_)}\n\n"
            f"Is this {noun} {good}, and does it {meaning}? Answer yes or no."
        )
    return prompts


def scoring_reader(scorer: TextScorer, relations: Sequence[Relation], seed: int) -> Reader:
    """Return a reader that compares the log-probabilities of sentences; it raises TextError where there are none.

    Of the graph's relations, ``READ_RELATIONS`` are compared; those of few-shot examples replace missing ones.

    A reading costs ``READ_FACTS`` prompts for each relation compared, and as many for exchanged names and orders.
    """
    return partial(_read_by_scoring, scorer, relations, seed)


class _Compared(NamedTuple):
    """A sentence in a comparison.

    Attributes:
        prompt: names of a relation, a subject and an object.
        contrast: number of the comparison in which the own sentence should win; 0 for the own sentence.
    """

    prompt: str
    text: str
    contrast: int


def _read_by_scoring(
    scorer: TextScorer, relations: Sequence[Relation], seed: int, readings: Sequence[TemplateReading]
) -> list[float]:
    groups = [_sentences(reading, relations, seed) for reading in readings]
    sentences = list(chain.from_iterable(groups))
    prompts = [f"{_BEGINNING}{sentence.prompt}" for sentence in sentences]
    texts = [[sentence.text] for sentence in sentences]
    values = []
    for scored in scorer.score(prompts, texts, beginnings=[_BEGINNING] * len(prompts)):
        for reason in scored.reasons.values():
            raise TextError(reason)
        values.append(float(scored.values[0]))
    rest = iter(values)
    return [_lowest_share(group, list(islice(rest, len(group)))) for group in groups]


def _sentences(reading: TemplateReading, relations: Sequence[Relation], seed: int) -> list[_Compared]:
    """Return the sentences to score for a reading: for each fact the own one, then those to compare it with."""
    label, language = label_of(reading.relation) or reading.relation.id, reading.language
    others = _other_labels(reading.relation, relations, seed)
    generator = np.random.default_rng([seed, zlib.crc32(reading.template.encode())])
    sentences = []
    for subject, object_ in reading.facts[:READ_FACTS]:
        text, exchanged = reading.text(subject, object_), reading.text(object_, subject)
        prompt = _block(label, subject, object_, text, language)
        sentences.append(_Compared(prompt, text, 0))
        sentences += [_Compared(_block(other, subject, object_, text, language), text, 1) for other in others]
        if not (reading.is_symmetric or reading.kind.endswith("wh_question")):
            sentences.append(_Compared(prompt, exchanged, 2))
        words, mark = text[:-1].split() if language.joiner else list(text[:-1]), text[-1:]
        for _ in range(READ_ORDERS):
            order = generator.permutation(len(words))
            sentences.append(_Compared(prompt, language.joiner.join(words[place] for place in order) + mark, 3))
    return sentences


def _lowest_share(sentences: Sequence[_Compared], values: Sequence[float]) -> float:
    """Return the lowest share of won comparisons; sentences equal to the own one count as half."""
    wins: dict[int, list[float]] = {}
    own, own_text = 0.0, ""
    for sentence, value in zip(sentences, values, strict=True):
        if sentence.contrast == 0:
            own, own_text = value, sentence.text
        elif sentence.contrast == 1 or sentence.text != own_text:
            wins.setdefault(sentence.contrast, []).append(float(own > value))
        else:
            wins.setdefault(sentence.contrast, []).append(0.5)
    return min(float(np.mean(won)) for won in wins.values())


def _other_labels(relation: Relation, relations: Sequence[Relation], seed: int) -> list[str]:
    """Return the labels of ``READ_RELATIONS`` other relations."""
    own = {name.lower() for name in (label_of(relation), *relation.aliases)}
    labels = [label for label in map(label_of, relations) if label and label.lower() not in own]
    order = np.random.default_rng(seed).permutation(len(labels))
    drawn = [labels[place] for place in order]
    drawn += [shot.label for shot in SHOTS if shot.label not in own]
    return list(dict.fromkeys(drawn))[:READ_RELATIONS]


def _block(label: str, subject: str, object_: str, text: str, language: Language = ENGLISH) -> str:
    noun = "Question" if text.endswith(QUESTION_MARKS) else "Sentence"
    if language.is_english:
        subject, object_ = mention(subject), mention(object_)
    return f"Relation: {label}\nSubject: {subject}\nObject: {object_}\n{noun}:"


def _example_blocks() -> str:
    blocks = []
    for shot, kind in zip(SHOTS, ("statement", "wh_question", "cloze", "yes_no_question"), strict=True):
        subject, object_ = shot.facts[0]
        text = fill(shot.templates[kind], subject, object_)
        text = f"{text}." if kind == "cloze" else text
        blocks.append(f"{_block(shot.label, subject, object_, text)} {text}")
    return "\n\n".join(blocks) + "\n\n"


_BEGINNING = _example_blocks()
