"""Choices after examples: as many examples as fit, one scoring of all choices, an outcome a fact.

Section 2 of the latent-knowledge paper; docs/methods.md, 3. The facts, their choices and the examples come from a graph
(:mod:`.probe`) or from a data set (:mod:`kgprobe.datasets`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kgprobe.models.scoring.contract import TextScorer
from kgprobe.models.scoring.scored import Scored
from kgprobe.probes.distractors.evidence import LeftOut, Named
from kgprobe.probes.examples.evidence import ExampleEvidence
from kgprobe.probes.examples.items import ChoiceItem
from kgprobe.probes.examples.prompts import Layout, Prompt, Room, fitting
from kgprobe.probes.outcome import Outcome, Verdict, unaskable
from kgprobe.progress import share_counter
from kgprobe.sampling.demonstrations import Demonstration, demonstrations_for
from kgprobe.verbalize.sentences import Cloze, object_continuations


@dataclass(frozen=True, slots=True)
class ExamplePrompts:
    """Writes what stands before the choices of a fact.

    Attributes:
        layout: what stands between.
        count: how many examples are wanted.
        room: of the model's context; None where no model sets a limit.
        templates: by relation, the cloze sentence that examples and fact are put in; empty where names stand alone.
    """

    layout: Layout
    count: int
    room: Room | None
    templates: Mapping[str, str] = field(default_factory=dict)

    def subject(self, relation: str, label: str) -> str:
        """A subject as it is written."""
        template = self.templates.get(relation)
        return label if template is None else Cloze(template, label).prompt

    def objects(self, relation: str, labels: Sequence[str]) -> list[str]:
        """Objects as they are written."""
        template = self.templates.get(relation)
        if template is None:
            return list(labels)
        return [text for label in labels for text in object_continuations(template, [label])]

    def worded(self, relation: str, demonstrations: Sequence[Demonstration]) -> list[Demonstration]:
        """Demonstrations as they are written."""
        return [
            replace(
                one,
                subject_label=self.subject(relation, one.subject_label),
                object_label=self.objects(relation, [one.object_label])[0],
            )
            for one in demonstrations
        ]

    def prompt(self, item: ChoiceItem, demonstrations: Sequence[Demonstration]) -> Prompt:
        """As many of the first examples that do not give the fact away as there are and the context takes.

        Args:
            demonstrations: of its relation, worded.
        """
        relation = item.fact.relation
        subject = self.subject(relation, item.fact.subject_label)
        fitting_ones = demonstrations_for([item.fact], demonstrations, self.count)
        room = self.room
        if room is not None:
            tail = self.layout.example(subject, max(self.objects(relation, item.labels), key=len))
            most = fitting(
                len(fitting_ones), lambda count: room.has_for(self.layout.examples(fitting_ones[:count]), tail)
            )
            fitting_ones = fitting_ones[:most]
        return self.layout.prompt(fitting_ones, subject)


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
    its = [prompts.prompt(item, demonstrations[item.fact.relation]) for item in items]
    continuations = [
        prompts.objects(item.fact.relation, item.labels) if prompt.examples else []
        for item, prompt in zip(items, its, strict=True)
    ]
    scored = scorer.score(
        [prompt.text for prompt in its],
        continuations,
        separator=prompts.layout.separator,
        beginnings=[prompt.beginning for prompt in its],
        progress=share_counter(sum(map(len, continuations))),
    )
    return map(outcome_of, items, its, scored)


def outcome_of(item: ChoiceItem, prompt: Prompt, scored: Scored) -> Outcome:
    """Whether the object came first; or why it cannot be said."""
    fact = item.fact
    if not len(scored.values):
        reason = "no example of its relation is left for it, or fits into the model's context"
        return unaskable(fact.key, fact.relation, reason)
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
