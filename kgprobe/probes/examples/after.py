"""Choices after few-shot examples: build the prompts, score all choices, and decide.

Section 2 of the latent-knowledge paper; docs/methods/examples.md. The facts, their choices and the examples come from
a graph (:mod:`.probe`) or from a data set (:mod:`kgprobe.datasets`).
"""

from collections.abc import Iterator, Mapping, Sequence

from kgprobe.models.scoring.contract import ScoredContinuations, TextScorer
from kgprobe.probes.distractors.evidence import LeftOut, NamedEntity
from kgprobe.probes.examples.evidence import ExampleEvidence
from kgprobe.probes.examples.items import ChoiceItem
from kgprobe.probes.examples.prompts import NO_EXAMPLE, ExamplePrompts, Prompt
from kgprobe.probes.outcome import Outcome, Verdict, unaskable
from kgprobe.progress import share_counter
from kgprobe.sampling.demonstrations import Demonstration


def ask_after_examples(
    scorer: TextScorer,
    prompts: ExamplePrompts,
    items: Sequence[ChoiceItem],
    demonstrations: Mapping[str, Sequence[Demonstration]],
) -> Iterator[Outcome]:
    """Yield an outcome for each fact.

    Cost: one scoring of all choices, with the common prefix of a relation's prompts computed once.

    Args:
        demonstrations: formatted examples, by relation.
    """
    objects = [prompts.objects(item.fact.relation, item.labels) for item in items]
    written: list[Prompt] = []
    continuations: list[Sequence[str]] = []
    for item, choices in zip(items, objects, strict=True):
        prompt = prompts.prompt(item.fact, demonstrations[item.fact.relation], choices)
        written.append(prompt)
        continuations.append(choices if prompt.examples else [])
    scored = scorer.score(
        [prompt.text for prompt in written],
        continuations,
        separator=prompts.layout.separator,
        beginnings=[prompt.beginning for prompt in written],
        progress=share_counter(sum(map(len, continuations))),
    )
    return map(outcome_of, items, written, scored)


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
