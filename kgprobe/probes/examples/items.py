"""Facts with their choices, asked after few-shot examples.

Section 2 of the latent-knowledge paper; docs/methods/examples.md. The facts, their choices and the examples come from
a graph (:mod:`.probe`) or from a data set (:mod:`kgprobe.datasets`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter

from kgprobe.base.progress import share_counter
from kgprobe.models.scoring.contract import ScoredContinuations, TextScorer
from kgprobe.probes.distractors.evidence import LeftOut, NamedEntity
from kgprobe.probes.examples.evidence import ExampleEvidence
from kgprobe.probes.examples.prompts import NO_EXAMPLE, ExamplePrompts, Prompt, sentence_prompt
from kgprobe.probes.outcome import Outcome, Verdict, unaskable
from kgprobe.sampling.demonstrations import Demonstration
from kgprobe.sampling.facts import AskedFact
from kgprobe.sampling.pool_draws import generator_of
from kgprobe.sampling.question_negatives import Negative, Negatives
from kgprobe.verbalize.sentences import Cloze

# Key of this random stream, different from all other streams of the same seed.
ORDER = 9
# Number of further objects to draw, since objects with equal labels count once.
_NAMESAKES = 10


@dataclass(frozen=True, slots=True)
class ChoiceItem:
    """A fact with its other choices, whose labels are distinct."""

    fact: AskedFact
    others: Sequence[Negative]

    @property
    def labels(self) -> list[str]:
        """Labels of the choices, the object's first."""
        return [self.fact.object_label, *map(attrgetter("label"), self.others)]

    def order(self, seed: Sequence[int]) -> list[int]:
        """Return the positions of the choices in random order, from the fact's own random stream."""
        order: list[int] = generator_of(self.fact.key, [*seed, ORDER]).permutation(len(self.others) + 1).tolist()
        return order


def draw_choices(
    negatives: Negatives, facts: Sequence[AskedFact], others: int, seed: Sequence[int]
) -> list[ChoiceItem]:
    """Draw up to ``others`` other objects of the relation as choices for each fact."""
    drawn = negatives.draw(facts, others + _NAMESAKES, seed)
    items = []
    for fact, objects in zip(facts, drawn, strict=True):
        distinct: dict[str, Negative] = {}
        for other in objects:
            if other.label.strip() and other.label != fact.object_label:
                distinct.setdefault(other.label, other)
        items.append(ChoiceItem(fact, list(distinct.values())[:others]))
    return items


def ask_after_examples(
    scorer: TextScorer,
    prompts: ExamplePrompts,
    items: Sequence[ChoiceItem],
    demonstrations: Mapping[str, Sequence[Demonstration]],
) -> Iterator[Outcome]:
    """Yield an outcome for each fact by one scoring of all choices; a relation's common prefix is computed once."""
    written: list[Prompt] = []
    continuations: list[Sequence[str]] = []
    for item in items:
        choices = prompts.objects(item.fact.relation, item.labels)
        prompt = prompts.prompt(item.fact, demonstrations[item.fact.relation], choices)
        written.append(prompt)
        continuations.append(choices if prompt.examples else [])
    scored = scorer.score(
        list(map(attrgetter("text"), written)),
        continuations,
        separator=prompts.layout.separator,
        beginnings=list(map(attrgetter("beginning"), written)),
        progress=share_counter(sum(map(len, continuations))),
    )
    return map(outcome_of, items, written, scored)


def ask_in_sentences(scorer: TextScorer, items: Sequence[ChoiceItem], clozes: Sequence[Cloze]) -> Iterator[Outcome]:
    """Yield an outcome for each fact, asked in its cloze sentence. Cost: one scoring of all choices."""
    prompts = list(map(sentence_prompt, clozes))
    continuations = []
    for item, cloze in zip(items, clozes, strict=True):
        texts = (cloze.continuations([label]) for label in item.labels)
        continuations.append(list(chain.from_iterable(texts)))
    counter = share_counter(sum(map(len, continuations)))
    joiner = clozes[0].language.joiner if clozes else " "
    texts_ = list(map(attrgetter("text"), prompts))
    scored = scorer.score(texts_, continuations, separator=joiner, progress=counter)
    return map(outcome_of, items, prompts, scored)


def outcome_of(item: ChoiceItem, prompt: Prompt, scored: ScoredContinuations) -> Outcome:
    """Return the outcome of a fact: right if the object has the best score."""
    fact = item.fact
    if not len(scored.values):
        return unaskable(fact.key, fact.relation, NO_EXAMPLE)
    kept = [place for place in range(1, len(scored.values)) if place not in scored.reasons]
    if 0 in scored.reasons or not kept:
        return unaskable(fact.key, fact.relation, next(iter(scored.reasons.values())))
    others = [item.others[place - 1] for place in kept]
    evidence = ExampleEvidence(
        subject=fact.subject_label,
        object=NamedEntity(fact.object, fact.object_label),
        asked=prompt.ending,
        examples=prompt.examples,
        others=tuple(NamedEntity(other.id, other.label) for other in others),
        log_probabilities=scored.values[[0, *kept]],
        left_out=tuple(LeftOut(item.others[place - 1].id, reason) for place, reason in scored.reasons.items()),
    )
    verdict = Verdict.RIGHT if evidence.is_right else Verdict.WRONG
    return Outcome(fact.key, verdict, fact.relation, prompt.text, evidence=evidence)
