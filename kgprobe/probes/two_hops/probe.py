"""Probe that asks both facts of a path, and the composed question; docs/methods/two-hops.md.

All questions are cloze sentences with the answers of a relation (:class:`kgprobe.probes.distractors.comparison`), so
they are equally exact, and none needs a grader. The question about the second fact, the composed one and the control
are the same sentence with other subjects, and have the same answers.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from operator import attrgetter
from typing import Any

import msgspec

from kgprobe.base.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_ids
from kgprobe.models.scoring.contract import TextScorer
from kgprobe.probes.asking import in_order, nameless, not_begun
from kgprobe.probes.clozes import ClozeItem
from kgprobe.probes.distractors import DistractorOptions
from kgprobe.probes.distractors.comparison import DistractorComparison
from kgprobe.probes.distractors.evidence import DistractorEvidence, NamedEntity
from kgprobe.probes.outcome import Outcome, Verdict, unaskable
from kgprobe.probes.search.rivals import Rivals, Sentences
from kgprobe.probes.two_hops import TwoHopOptions
from kgprobe.probes.two_hops.evidence import COMPOSED, OtherPath, TwoHopEvidence, is_right
from kgprobe.sampling.distractors import Distractor
from kgprobe.sampling.facts import AskedFact, describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.pool_draws import generator_of
from kgprobe.sampling.question_negatives import Negative, Negatives
from kgprobe.sampling.two_hop_paths import OtherMiddles, OtherSubject, SecondHop, WaysOn, ways_on
from kgprobe.verbalize.answers import named_in
from kgprobe.verbalize.askable_relations import askable_relations, generic_setting
from kgprobe.verbalize.language import language_of
from kgprobe.verbalize.noun_phrases import cloze_for_phrase, composed, naming_cloze
from kgprobe.verbalize.sentences import Cloze

# Key of the random stream of second facts, different from all other streams of the same seed.
SECOND_FACTS = 13
# Former objects are not compared: they are neither right nor clearly wrong.
_FORMER = "never"
# Other answers that are drawn in place of those that a question names.
_SPARE = 4


@dataclass(frozen=True, slots=True)
class _Path:
    """A drawn path; see :class:`.evidence.TwoHopEvidence`."""

    first: AskedFact
    second: AskedFact
    shortcuts: int
    revealed: int
    other: OtherSubject | None = None


@dataclass(frozen=True, slots=True)
class _DrawnHop:
    """The drawn second fact of a path, and the numbers of those that are left out."""

    hop: SecondHop
    shortcuts: int
    revealed: int


class TwoHopProbe:
    """Probe of composition. A fact is asked with a second one, drawn at random; right if the composed question is."""

    def __init__(
        self, graph: Graph, scorer: TextScorer, options: TwoHopOptions, *, as_of: int, relations: Sequence[str] = ()
    ) -> None:
        """Read the relations' sentences.

        Facts are current at ``as_of`` (``yyyymmdd``). Without listed ``relations``, those of first facts are all active
        ones with a noun phrase.

        Raises:
            ArgumentError: the graph is asked in another language than English.
            UnknownNameError: a listed relation, or one of ``options.second``, is not active or lacks the sentence.
            KgprobeError: no relation has a noun phrase.
        """
        language = language_of(graph.language)
        if not language.is_english:
            raise ArgumentError("ask_in", f"is {language.code}; two hops need noun phrases, which have English rules.")
        rows = askable_relations(graph, ["clozes"])
        if relations:
            askable_relations(graph, ["clozes"], relations)
        naming = {relation: naming_cloze(row["clozes"], row["statements"]) for relation, row in rows.items()}
        seconds = {relation: cloze_for_phrase(row["clozes"]) for relation, row in rows.items()}
        chosen = relation_ids(graph, options.second)
        _check(relations, naming, "noun phrase, which a cloze sentence of the form 'The … of [X] is [Y]' gives")
        _check(chosen, seconds, "cloze sentence that takes a noun phrase, such as 'The … of [X] is [Y]'")
        self._naming = {id_: text for id_, text in naming.items() if text and (not relations or id_ in relations)}
        self._seconds = {id_: text for id_, text in seconds.items() if text and (not chosen or id_ in chosen)}
        if not self._naming:
            raise KgprobeError(
                "No relation has a noun phrase. Give one a cloze sentence of the form 'The … of [X] is [Y]'."
            )
        self.relations: Sequence[str] = list(self._naming)
        self._lacking = [rows[id_]["label"] or id_ for id_, text in naming.items() if text is None]
        self._generic = generic_setting(rows)
        self._graph, self._scorer, self._options, self._as_of = graph, scorer, options, as_of
        asking = DistractorOptions(distractors=options.distractors, former=_FORMER)
        self._comparison = DistractorComparison(graph, scorer, asking, as_of, _RelationAnswers(graph, as_of))
        self._others = OtherMiddles(graph, as_of)

    def describe(self) -> dict[str, Any]:
        """Return model, answers and sentences; see :class:`~kgprobe.probes.outcome.Probe`."""
        return {
            **self._comparison.describe(),
            **asdict(self._options),
            "as_of": self._as_of,
            "first_sentences": self._naming,
            "second_sentences": self._seconds,
            "without_phrase": self._lacking,
            **self._generic,
        }

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        """Return an outcome for each fact; see :class:`~kgprobe.probes.outcome.Probe`.

        Cost: a walk from each subject and each object, some look-ups for the control, and one scoring of four sentences
        with all answers for each path. Facts without a path cost no model.
        """
        described = describe_facts(self._graph, facts)
        reasons = [self._reason(fact) for fact in described]
        possible = [fact for fact, reason in zip(described, reasons, strict=True) if reason is None]
        ways = ways_on(self._graph, possible, list(self._seconds), self._as_of)
        drawn: list[tuple[AskedFact, _DrawnHop]] = []
        for place, fact in enumerate(described):
            if reasons[place] is None:
                hop = self._draw(fact, ways[fact.key.fact], seed)
                if isinstance(hop, str):
                    reasons[place] = hop
                else:
                    drawn.append((fact, hop))
        return in_order(described, reasons, self._outcomes(self._paths(drawn, seed), seed))

    def _reason(self, fact: AskedFact) -> str | None:
        """Return why a fact cannot be a first hop, by its own properties; None if it can."""
        if fact.relation not in self._naming:
            return "its relation is not asked: it is inactive, not selected, or has no noun phrase"
        if reason := nameless(fact) or not_begun(fact, self._as_of):
            return reason
        if fact.is_over(self._as_of):
            return "it has ended, and the questions are in the present tense"
        if fact.object_datatype:
            return "its object is a date, number or text, which has no facts"
        return "its subject is its object" if fact.object == fact.key.subject else None

    def _draw(self, fact: AskedFact, ways: WaysOn, seed: Sequence[int]) -> _DrawnHop | str:
        """Return a second fact of a fact, drawn from its own random stream, or the reason why there is none."""
        if ways.middles > 1:
            return "its subject has several objects by its relation, so the middle is not unique"
        if not ways.hops:
            return "its object has no askable relation with one object, other than both ends"
        hops, revealed = [], 0
        for hop in ways.hops:
            composed_text = self._composed(fact, hop.relation, fact.subject_label).prompt
            second_text = Cloze(self._seconds[hop.relation], fact.object_label).prompt
            if named_in(composed_text, fact.object_names) or named_in(f"{composed_text}\n{second_text}", hop.names):
                revealed += 1
            elif not hop.shortcut:
                hops.append(hop)
        shortcuts = len(ways.hops) - len(hops) - revealed
        if not hops:
            faults = {"a fact joins both ends": shortcuts, "the question names the middle or the answer": revealed}
            return f"all of its second facts are left out: {', or '.join(filter(faults.get, faults))}"
        place = int(generator_of(fact.key, [*seed, SECOND_FACTS]).integers(len(hops)))
        return _DrawnHop(hops[place], shortcuts, revealed)

    def _composed(self, fact: AskedFact, relation: str, subject: str) -> Cloze:
        return composed(self._seconds[relation], self._naming[fact.relation], subject)

    def _paths(self, drawn: Sequence[tuple[AskedFact, _DrawnHop]], seed: Sequence[int]) -> list[_Path]:
        """Return the paths with the control's subjects."""
        seconds = describe_facts(self._graph, [hop.hop.key for _, hop in drawn])
        pairs = [(first, second) for (first, _), second in zip(drawn, seconds, strict=True)]

        def admits(place: int, label: str, middle: str) -> bool:
            first, second = pairs[place]
            prompt = self._composed(first, second.relation, label).prompt
            return not named_in(prompt, (*first.object_names, *second.object_names, middle))

        others = self._others.draw(pairs, seed, admits)
        paths = []
        for (first, second), (_, hop), other in zip(pairs, drawn, others, strict=True):
            paths.append(_Path(first, second, hop.shortcuts, hop.revealed, other))
        return paths

    def _outcomes(self, paths: Sequence[_Path], seed: Sequence[int]) -> list[Outcome]:
        items = []
        for path in paths:
            first, second = path.first, path.second
            items.append(ClozeItem(first, [Cloze(self._naming[first.relation], first.subject_label)]))
            clozes = [
                Cloze(self._seconds[second.relation], second.subject_label),
                self._composed(first, second.relation, first.subject_label),
            ]
            if path.other is not None:
                clozes.append(self._composed(first, second.relation, path.other.label))
            items.append(ClozeItem(second, clozes))
        outcomes = iter(self._comparison.answer(items, seed))
        return [_outcome(path, list(islice(outcomes, 2))) for path in paths]


class _RelationAnswers:
    """Strategy: other objects of the fact's relation, drawn at random, without those that a sentence names."""

    def __init__(self, graph: Graph, as_of: int) -> None:
        self._negatives = Negatives(graph, as_of, _FORMER)

    def describe(self) -> dict[str, Any]:
        """Return the name of the strategy."""
        return {"strategy": "answers of the relation"}

    def rivals(self, asked: Sequence[Sentences], count: int, seed: Sequence[int]) -> list[list[Rivals]]:
        """Return at most count other answers of each fact, the same for all of its sentences."""
        drawn = self._negatives.draw([fact for fact, _ in asked], count + _SPARE, seed)
        lists = []
        for (fact, clozes), negatives in zip(asked, drawn, strict=True):
            text = "\n".join(map(attrgetter("prompt"), clozes))
            unnamed = [negative for negative in negatives if not named_in(text, (negative.label, *negative.aliases))]
            distractors = [_distractor(negative, fact) for negative in unnamed[:count]]
            reason = None if distractors else "its relation has no other answer"
            lists.append([Rivals(distractors, reason=reason)] * len(clozes))
        return lists


def _distractor(negative: Negative, fact: AskedFact) -> Distractor:
    return Distractor(negative.id, negative.label, negative.aliases, 0, f"object of {fact.relation_label}")


def _outcome(path: _Path, hops: Sequence[Outcome]) -> Outcome:
    """Return the outcome of a path from those of both facts."""
    first, second = path.first, path.second
    evidences: dict[str, DistractorEvidence] = {}
    for name, outcome in zip(("first", "second"), hops, strict=True):
        if not isinstance(outcome.evidence, DistractorEvidence):
            return unaskable(first.key, first.relation, f"its {name} hop: {outcome.reason}")
        evidences[name] = outcome.evidence
    other = None
    if path.other is not None:
        subject = NamedEntity(path.other.id, path.other.label)
        other = OtherPath(subject, NamedEntity(path.other.middle, path.other.middle_label))
    evidence = TwoHopEvidence(
        subject=first.subject_label,
        object=NamedEntity(first.object, first.object_label),
        relations=(
            NamedEntity(first.relation, first.relation_label),
            NamedEntity(second.relation, second.relation_label),
        ),
        second_fact=second.key.fact,
        other=other,
        shortcuts=path.shortcuts,
        revealed=path.revealed,
        first=evidences["first"],
        # The composed question is the one that is shown.
        second=msgspec.structs.replace(evidences["second"], shown=COMPOSED),
    )
    verdict = Verdict.RIGHT if is_right(evidence.second, COMPOSED) else Verdict.WRONG
    return Outcome(first.key, verdict, first.relation, evidence.second.sentences[COMPOSED].prompt, evidence=evidence)


def _check(chosen: Sequence[str], sentences: dict[str, str | None], needed: str) -> None:
    """Raise UnknownNameError if a chosen relation lacks a sentence."""
    lacking = [relation for relation in chosen if sentences.get(relation) is None]
    if lacking:
        raise UnknownNameError(f"These relations are not active, or have no {needed}: {', '.join(lacking)}.")
