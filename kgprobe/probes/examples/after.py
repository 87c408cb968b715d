"""Choices after examples: as many examples as fit, one scoring of all choices, an outcome a fact.

Section 2 of the latent-knowledge paper; docs/methods/examples.md. The facts, their choices and the examples come from
a graph (:mod:`.probe`) or from a data set (:mod:`kgprobe.datasets`).
"""

from collections.abc import Iterator, Mapping, Sequence

from kgprobe.models.scoring.contract import ScoredContinuations, TextScorer
from kgprobe.probes.distractors.evidence import LeftOut, Named
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
    """One outcome a fact. Cost: one scoring of all choices; what a relation's prompts begin with is computed once.

    Args:
        demonstrations: by relation, worded.
    """
    objects = [prompts.objects(item.fact.relation, item.labels) for item in items]
    its = [
        prompts.prompt(item.fact, demonstrations[item.fact.relation], behind)
        for item, behind in zip(items, objects, strict=True)
    ]
    continuations = [behind if prompt.examples else [] for behind, prompt in zip(objects, its, strict=True)]
    scored = scorer.score(
        [prompt.text for prompt in its],
        continuations,
        separator=prompts.layout.separator,
        beginnings=[prompt.beginning for prompt in its],
        progress=share_counter(sum(map(len, continuations))),
    )
    return map(outcome_of, items, its, scored)


def outcome_of(item: ChoiceItem, prompt: Prompt, scored: ScoredContinuations) -> Outcome:
    """Whether the object came first; or why it cannot be said."""
    fact = item.fact
    if not len(scored.values):
        return unaskable(fact.key, fact.relation, NO_EXAMPLE)
    kept = [place for place in range(1, len(scored.values)) if place not in scored.reasons]
    if 0 in scored.reasons or not kept:
        return unaskable(fact.key, fact.relation, next(iter(scored.reasons.values())))
    others = [item.others[place - 1] for place in kept]
    evidence = ExampleEvidence(
        subject=fact.subject_label,
        object=Named(fact.object, fact.object_label),
        asked=prompt.asked,
        examples=prompt.examples,
        others=tuple(Named(other.id, other.label) for other in others),
        log_probabilities=scored.values[[0, *kept]],
        left_out=tuple(LeftOut(item.others[place - 1].id, reason) for place, reason in scored.reasons.items()),
    )
    verdict = Verdict.RIGHT if evidence.is_right else Verdict.WRONG
    return Outcome(fact.key, verdict, fact.relation, prompt.text, evidence=evidence)
