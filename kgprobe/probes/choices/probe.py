"""Probe that chooses the answer which makes the relation's sentence most probable.

docs/methods/choices.md. The answers of a relation are a closed space: those given by its data set, or else all of its
objects. The scores ``sum`` and ``mean`` are defined as in lm-pub-quiz. With conditional scores, ``characters`` and
``bytes`` are the ``acc_norm`` and ``acc_bytes`` of lm-evaluation-harness.
"""

from collections.abc import Container, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgprobe.base.progress import share_counter
from kgprobe.graph.client import Graph, Row
from kgprobe.models.scoring.contract import TextScorer
from kgprobe.models.scoring.sentences import Passage, ScoredPassages, leading_with_bos, score_passages
from kgprobe.models.scoring.tokens import join
from kgprobe.probes.asking import in_order, not_begun
from kgprobe.probes.choices import ChoiceOptions
from kgprobe.probes.choices.evidence import AnswerChoice, ChoiceEvidence, ChoiceSentence
from kgprobe.probes.outcome import Outcome, Verdict, unaskable
from kgprobe.sampling.facts import AskedFact, describe_facts, read_answers
from kgprobe.sampling.keys import FactKey
from kgprobe.verbalize.askable_relations import askable_relations, generic_setting
from kgprobe.verbalize.language import ENGLISH, Language, language_of
from kgprobe.verbalize.sentences import BLANK, Cloze, fill_verbatim
from kgprobe.verbalize.templates.kinds import OBJECT
from kgprobe.verbalize.tense import has_ended, templates_of

Floats = NDArray[np.float64]

# Number of answers without a name in a message.
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class AnswerSpace:
    """The answers of a relation: ids and labels, in order."""

    ids: Sequence[str]
    labels: Sequence[str]


def read_space(graph: Graph, relation: str, given: Sequence[str], most: int) -> AnswerSpace | str:
    """Return the answers of a relation, or the reason why it has no answer space.

    Cost: a look-up for each answer, up to the maximum plus one.

    ``given`` are ids in the order of the data set; empty for the relation's objects, by entity number.
    """
    if given:
        count, has = len(given), f"{len(given):,} answers"
        rows = graph.read("sample/closed_answers", ids=list(given)) if count <= most else []
    else:
        rows = graph.read("sample/object_labels", id=relation, limit=most + 1)
        count, has = len(rows), f"more than {most:,} objects"
    if count > most:
        return f"the relation {relation} has {has}; `max_choices` allows {most:,}"
    labels = {row["id"]: row["label"] for row in rows if row["label"].strip()}
    ids = given or list(labels)
    nameless = [identifier for identifier in ids if identifier not in labels]
    if nameless:
        listed = ", ".join(nameless[:_SHOWN]) + (", …" if len(nameless) > _SHOWN else "")
        return f"of the {len(ids):,} answers of {relation}, the graph has no name of {len(nameless):,}: {listed}"
    return AnswerSpace(ids, list(map(labels.__getitem__, ids)))


@dataclass(frozen=True, slots=True)
class SentenceTemplate:
    """A sentence of a relation.

    Its place is counted from 1. If ``verbatim``, names are filled in unchanged; else those in a cloze sentence get
    their articles.
    """

    text: str
    place: int
    verbatim: bool
    language: Language = ENGLISH

    def shown(self, subject: str) -> str:
        """Return the sentence with a blank for the answer."""
        if self.verbatim:
            return fill_verbatim(self.text, subject, BLANK).text
        return join(Cloze(self.text, subject, language=self.language).prompt, self.language.joiner, BLANK)

    def passages(self, subject: str, answers: Sequence[str]) -> list[Passage]:
        """Return the sentence with each of the answers filled in; none may be white space alone."""
        cloze = Cloze(self.text, subject, language=self.language)
        passages = []
        for answer in answers:
            if self.verbatim:
                sentence = fill_verbatim(self.text, subject, answer)
                passages.append(Passage(sentence.text, sentence.start, sentence.end))
                continue
            (name,) = cloze.continuations([answer])
            text = join(cloze.prompt, self.language.joiner, name)
            passages.append(Passage(text, len(text) - len(name), len(text)))
        return passages


def reduced(scored: ScoredPassages, passages: Sequence[Passage], reduction: str, *, conditional: bool) -> Floats:
    """Return a score for each sentence, shape (sentences,); higher is more probable.

    ``reduction`` is one of ``REDUCTIONS``; if ``conditional``, scores are from the answer on. No sum may be missing.
    """
    if reduction == "sum":
        return scored.values
    lengths = scored.tokens.copy()
    if reduction != "mean":
        for number, passage in enumerate(passages):
            text = passage.text[passage.start :] if conditional else passage.text
            lengths[number] = len(text if reduction == "characters" else text.encode())
    reduced_scores: Floats = scored.values / lengths
    return reduced_scores


@dataclass(frozen=True, slots=True)
class _Words:
    """The sentences of a relation: those of its data set, or else its cloze sentences."""

    present: Sequence[str]
    past: Sequence[str]
    verbatim: bool


@dataclass(frozen=True, slots=True)
class _Question:
    """A fact with its sentences and answers; see :class:`.evidence.ChoiceEvidence`."""

    fact: AskedFact
    templates: Sequence[SentenceTemplate]
    space: AnswerSpace
    right: int
    apart: tuple[int, ...]


class ChoiceProbe:
    """Probe that compares all answers of a relation. A fact is right if its object makes the most probable sentence."""

    def __init__(
        self, graph: Graph, scorer: TextScorer, options: ChoiceOptions, *, as_of: int, relations: Sequence[str] = ()
    ) -> None:
        """Read the relations' sentences.

        Without listed ones, they are all active ones with a sentence. Right answers are those at ``as_of``
        (``yyyymmdd``); facts that ended before it are asked in the past tense.
        """
        rows = askable_relations(graph, ["sentences", "clozes"], relations)
        self.relations: Sequence[str] = list(rows)
        self._generic = generic_setting(rows)
        self._words = {}
        for relation, row in rows.items():
            verbatim = row["sentences"]
            self._words[relation] = _Words(verbatim or row["clozes"], row["past_clozes"], bool(verbatim))
        closed = sorted(graph.read("sample/closed_relations"), key=itemgetter("id"))
        self._given = {row["id"]: row["answers"] for row in closed if row["id"] in rows}
        # Answer spaces by relation, read on first use.
        self._spaces: dict[str, AnswerSpace | str] = {}
        self._leading = leading_with_bos(scorer) if options.always_bos else scorer.leading
        self._graph = graph
        self._language = language_of(graph.language)
        self._scorer = scorer
        self._options = options
        self._as_of = as_of

    def describe(self) -> dict[str, Any]:
        """Return model, options, sentences and answers; see :class:`~kgprobe.probes.outcome.Probe`."""
        return {
            "model": self._scorer.name,
            "scorer": self._scorer.describe(),
            **asdict(self._options),
            "leading_tokens": list(self._leading),
            "as_of": self._as_of,
            "sentences": {relation: asdict(words) for relation, words in self._words.items()},
            "answers": self._given,
            **self._generic,
        }

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:  # noqa: ARG002
        """Return an outcome for each fact, independent of the seed; see :class:`~kgprobe.probes.outcome.Probe`.

        Cost: a walk from each subject, and one scoring of answers times asked sentences per fact. The answers of a
        relation are read once.
        """
        described = describe_facts(self._graph, facts)
        answers = read_answers(self._graph, facts, self._as_of)
        questions: list[_Question] = []
        reasons: list[str | None] = []
        for fact in described:
            question = self._question(fact, answers[fact.key.fact])
            if isinstance(question, str):
                reasons.append(question)
            else:
                reasons.append(None)
                questions.append(question)
        return in_order(described, reasons, self._outcomes(questions))

    def _question(self, fact: AskedFact, answers: Sequence[Row]) -> _Question | str:
        """Return the question about a fact, or the reason why there is none."""
        if fact.relation not in self._words:
            return "its relation is not asked: it is inactive, not selected, or has no sentence"
        if not fact.subject_label.strip():
            return "its subject's label is white space"
        if reason := not_begun(fact, self._as_of):
            return reason
        ended = has_ended(fact.end, self._as_of)
        templates = self._templates(fact.relation, ended)
        if isinstance(templates, str):
            return templates
        if fact.relation not in self._spaces:
            given = self._given.get(fact.relation, ())
            self._spaces[fact.relation] = read_space(self._graph, fact.relation, given, self._options.max_choices)
        space = self._spaces[fact.relation]
        if isinstance(space, str):
            return space
        # Former answers are wrong in a sentence in the present tense, and right in one in the past tense.
        also_right = {row["id"] for row in answers if row["current"] or ended}
        return _question_in(space, fact, templates, also_right)

    def _templates(self, relation: str, ended: bool) -> Sequence[SentenceTemplate] | str:
        """Return the sentences in which a fact of the relation is asked, or the reason why there are none."""
        words = self._words[relation]
        texts = templates_of(words.present, words.past if not words.verbatim else (), ended, self._language)
        if not texts:
            return f"it has ended, and the relation {relation} has no sentence in the past tense"
        # The positions also count the sentences without a place for the answer.
        places = enumerate(texts, start=1)
        own = (words.verbatim, self._language)
        templates = [SentenceTemplate(text, place, *own) for place, text in places if OBJECT in text]
        place = self._options.template
        if place is None:
            return templates or f"no sentence of the relation {relation} has a place for the answer, [Y]"
        chosen = [template for template in templates if template.place == place]
        if place > len(texts):
            return f"the relation {relation} has {len(texts)} sentences for it, and no number {place} (`template`)"
        return chosen or f"sentence {place} of the relation {relation} has no place for the answer, [Y]"

    def _outcomes(self, questions: Sequence[_Question]) -> list[Outcome]:
        sentences: list[list[Passage]] = []
        for question in questions:
            subject, answers = question.fact.subject_label, question.space.labels
            sentences += [template.passages(subject, answers) for template in question.templates]
        scored = score_passages(
            self._scorer,
            sentences,
            leading=self._leading,
            from_span=self._options.conditional,
            progress=share_counter(sum(map(len, sentences))),
        )
        results = iter(zip(sentences, scored, strict=True))
        return [self._outcome(question, list(islice(results, len(question.templates)))) for question in questions]

    def _outcome(self, question: _Question, results: Sequence[tuple[Sequence[Passage], ScoredPassages]]) -> Outcome:
        """Return the outcome of a question by its sentences, each with every answer, and their scores."""
        fact, space, options = question.fact, question.space, self._options
        sentences = []
        for template, (passages, scored) in zip(question.templates, results, strict=True):
            # A closed space needs the scores of all answers.
            if scored.reasons:
                return unaskable(fact.key, fact.relation, next(iter(scored.reasons.values())))
            scores = reduced(scored, passages, options.reduction, conditional=options.conditional)
            sentences.append(ChoiceSentence(template.place, template.shown(fact.subject_label), scores))
        evidence = ChoiceEvidence(
            choices=tuple(map(AnswerChoice, space.ids, space.labels)),
            right=question.right,
            apart=question.apart,
            sentences=tuple(sentences),
        )
        verdict = Verdict.RIGHT if evidence.prediction is None else Verdict.WRONG
        return Outcome(fact.key, verdict, fact.relation, evidence.question, evidence=evidence)


def _question_in(
    space: AnswerSpace, fact: AskedFact, templates: Sequence[SentenceTemplate], also_right: Container[str]
) -> _Question | str:
    """Return the question about a fact with the answers of a space, or the reason why there is none."""
    count = len(space.ids)
    if fact.object not in space.ids:
        label = fact.object_label or fact.object
        return f"its object {label} ({fact.object}) is not among the {count:,} answers of {fact.relation}"
    right = space.ids.index(fact.object)
    apart = []
    for place, (identifier, label) in enumerate(zip(space.ids, space.labels, strict=True)):
        if place != right and (identifier in also_right or label == space.labels[right]):
            apart.append(place)
    if count - len(apart) < 2:
        return f"none of the {count:,} answers of {fact.relation} is wrong for it"
    return _Question(fact, templates, space, right, tuple(apart))
