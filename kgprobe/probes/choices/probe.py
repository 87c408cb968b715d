"""Facts answered by choice: which of its relation's answers makes the most probable sentence?

docs/methods/choices.md. What stands in the way of a fact's answer is its outcome's reason.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kgprobe.dates import first_day
from kgprobe.graph.client import Graph
from kgprobe.models.scoring.contract import TextScorer
from kgprobe.models.scoring.sentences import leading_with_bos, score_passages
from kgprobe.probes.choices import ChoiceOptions
from kgprobe.probes.choices.evidence import Choice, ChoiceEvidence, ChoiceSentence
from kgprobe.probes.choices.scores import Floats, reduced
from kgprobe.probes.choices.sentences import SentenceTemplate, templates_in
from kgprobe.probes.choices.spaces import AnswerSpace, AnswerSpaces
from kgprobe.probes.outcome import Outcome, Verdict, unaskable
from kgprobe.progress import share_counter
from kgprobe.sampling.facts import AskedFact, askable_relations, describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.verbalize.tense import has_ended, templates_of


@dataclass(frozen=True, slots=True)
class _Words:
    """The sentences of a relation: those of its data set, or its clozes where it has none."""

    present: Sequence[str]
    past: Sequence[str]
    verbatim: bool


@dataclass(frozen=True, slots=True)
class _Question:
    """A fact with the sentences and the answers it is asked with; see :class:`.evidence.ChoiceEvidence`."""

    fact: AskedFact
    templates: Sequence[SentenceTemplate]
    space: AnswerSpace
    right: int
    apart: tuple[int, ...]


class ChoiceProbe:
    """Asks facts by all answers of their relations. A fact is right when its object makes the most probable sentence.

    Attributes:
        relations: ids of those whose facts can be asked, sorted.
    """

    def __init__(
        self, graph: Graph, scorer: TextScorer, options: ChoiceOptions, *, as_of: int, relations: Sequence[str] = ()
    ) -> None:
        """Read the relations' sentences.

        Args:
            as_of: what is true at this date (``yyyymmdd``) is right; facts that ended before it are asked in the past
                tense.
            relations: ids; none means every active relation that has a sentence.

        Raises:
            UnknownNameError: a relation that was named is not active or has no sentence.
            KgprobeError: no relation has a sentence.
        """
        rows = askable_relations(graph, ["sentences", "clozes"], relations)
        self.relations: Sequence[str] = list(rows)
        self._words = {
            relation: _Words(row["sentences"] or row["clozes"], row["past_clozes"], bool(row["sentences"]))
            for relation, row in rows.items()
        }
        given = {row["id"]: row["answers"] for row in graph.read("sample/closed_relations")}
        self._given = {relation: given[relation] for relation in self.relations if relation in given}
        self._spaces = AnswerSpaces(graph, self._given, options.max_choices)
        self._leading = leading_with_bos(scorer) if options.always_bos else scorer.leading
        self._graph = graph
        self._scorer = scorer
        self._options = options
        self._as_of = as_of

    def describe(self) -> dict[str, Any]:
        """The model, the options, the sentences and the answers; see :class:`~kgprobe.probes.outcome.Probe`."""
        return {
            "model": self._scorer.name,
            "scorer": self._scorer.describe(),
            **asdict(self._options),
            "leading_tokens": list(self._leading),
            "as_of": self._as_of,
            "sentences": {relation: asdict(words) for relation, words in self._words.items()},
            "answers": self._given,
        }

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:  # noqa: ARG002
        """One outcome a fact, the same for every seed; see :class:`~kgprobe.probes.outcome.Probe`.

        Cost: a walk from each subject, and one scoring of as many sentences a fact as its relation has answers, times
        the relation's sentences where all are asked. The answers of a relation are read once.

        Raises:
            KgprobeError: the model cannot be asked at all.
        """
        described = describe_facts(self._graph, facts)
        true = self._true(facts)
        asked = [self._question(fact, true.get(fact.key.fact, {})) for fact in described]
        questions = [one for one in asked if isinstance(one, _Question)]
        outcomes = iter(self._outcomes(questions))
        return [
            unaskable(fact.key, fact.relation, one) if isinstance(one, str) else next(outcomes)
            for fact, one in zip(described, asked, strict=True)
        ]

    def _true(self, facts: Sequence[FactKey]) -> dict[str, dict[str, bool]]:
        """By fact and entity, whether what was ever true of its subject and relation is true at the date."""
        rows = self._graph.read("sample/answers", rows=[key._asdict() for key in facts], as_of=self._as_of)
        true: dict[str, dict[str, bool]] = {}
        for row in rows:
            true.setdefault(row["fact"], {})[row["id"]] = row["current"]
        return true

    def _question(self, fact: AskedFact, true: dict[str, bool]) -> _Question | str:
        """What is asked about a fact, or why it cannot be."""
        if fact.relation not in self._words:
            return "its relation is not among those asked: inactive, not named, or without a sentence"
        if not fact.subject_label.strip():
            return "its subject's label is white space"
        if fact.start is not None and first_day(fact.start) > self._as_of:
            return f"it begins in {fact.start}, after {self._as_of}"
        ended = has_ended(fact.end, self._as_of)
        templates = self._templates(fact.relation, ended)
        if isinstance(templates, str):
            return templates
        space = self._spaces.of(fact.relation)
        if space.reason is not None:
            return space.reason
        if fact.object not in space.ids:
            return (
                f"its object {fact.object_label or fact.object} ({fact.object}) is not among the {len(space.ids):,}"
                f" answers of {fact.relation}"
            )
        right = space.ids.index(fact.object)
        # What was true before is wrong in a sentence about today, and as right as the object in one about then.
        beside = {entity for entity, current in true.items() if current or ended}
        apart = tuple(
            place
            for place, (identifier, label) in enumerate(zip(space.ids, space.labels, strict=True))
            if place != right and (identifier in beside or label == space.labels[right])
        )
        if len(space.ids) - len(apart) < 2:
            return f"none of the {len(space.ids):,} answers of {fact.relation} is wrong for it"
        return _Question(fact, templates, space, right, apart)

    def _templates(self, relation: str, ended: bool) -> Sequence[SentenceTemplate] | str:
        """The sentences that a fact of a relation is asked in, or why there is none."""
        words = self._words[relation]
        texts = templates_of(words.present, words.past if not words.verbatim else (), ended)
        if not texts:
            return f"it has ended, and the relation {relation} has no sentence in the past tense"
        templates = templates_in(texts, verbatim=words.verbatim)
        place = self._options.template
        if place is None:
            return templates or f"no sentence of the relation {relation} has a place for the answer, [Y]"
        chosen = [template for template in templates if template.place == place]
        if place > len(texts):
            return f"the relation {relation} has {len(texts)} sentences for it, and no number {place} (`template`)"
        return chosen or f"sentence {place} of the relation {relation} has no place for the answer, [Y]"

    def _outcomes(self, questions: Sequence[_Question]) -> list[Outcome]:
        sentences = [
            template.passages(question.fact.subject_label, question.space.labels)
            for question in questions
            for template in question.templates
        ]
        scored = score_passages(
            self._scorer,
            sentences,
            leading=self._leading,
            from_span=self._options.conditional,
            progress=share_counter(sum(map(len, sentences))),
        )
        found = iter(zip(sentences, scored, strict=True))
        outcomes = []
        for question in questions:
            own = [next(found) for _ in question.templates]
            reason = next((reason for _, its in own for reason in its.reasons.values()), None)
            if reason is not None:
                # Of a closed space, none can be left out.
                outcomes.append(unaskable(question.fact.key, question.fact.relation, reason))
                continue
            options = self._options
            outcomes.append(
                _outcome(
                    question,
                    [reduced(its, texts, options.reduction, conditional=options.conditional) for texts, its in own],
                )
            )
        return outcomes


def _outcome(question: _Question, scores: Sequence[Floats]) -> Outcome:
    fact, space = question.fact, question.space
    evidence = ChoiceEvidence(
        choices=tuple(Choice(*one) for one in zip(space.ids, space.labels, strict=True)),
        right=question.right,
        apart=question.apart,
        sentences=tuple(
            ChoiceSentence(template.place, template.shown(fact.subject_label), its)
            for template, its in zip(question.templates, scores, strict=True)
        ),
    )
    verdict = Verdict.RIGHT if evidence.prediction is None else Verdict.WRONG
    return Outcome(fact.key, verdict, fact.relation, evidence.question, evidence=evidence)
