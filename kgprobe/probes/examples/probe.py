"""Probe that compares the object with other objects of the relation, after few-shot examples.

Section 2 of the latent-knowledge paper; docs/methods/examples.md. The choices are hard negatives
(:mod:`kgprobe.sampling.question_negatives`), drawn by the seed; :mod:`.prompt_writer` writes the prompts.
"""

from collections.abc import Sequence
from typing import Any

from kgprobe.graph.client import Graph
from kgprobe.models.scoring.contract import TextScorer
from kgprobe.probes.asking import in_order
from kgprobe.probes.examples import ExampleOptions, checked_options, packing
from kgprobe.probes.examples.items import ask_after_examples, ask_in_sentences, draw_choices
from kgprobe.probes.examples.prompts import PromptWriter, Room
from kgprobe.probes.outcome import Outcome
from kgprobe.sampling.facts import describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.question_negatives import Negatives


class ExampleProbe:
    """Probe that compares choices after examples of the relation, or in a cloze sentence without examples."""

    def __init__(
        self, graph: Graph, scorer: TextScorer, options: ExampleOptions, *, as_of: int, relations: Sequence[str] = ()
    ) -> None:
        """Read the relations; examples and facts are true at ``as_of`` (``yyyymmdd``), other choices are not."""
        options = checked_options(options)
        self._scorer = scorer
        self._options = options
        further = packing.EVERY * (packing.FACTS - 1) if options.packed else 0
        self._prompts = PromptWriter(graph, options, Room(scorer), as_of=as_of, relations=relations, further=further)
        self.relations: Sequence[str] = self._prompts.relations
        self._graph = graph
        self._negatives = Negatives(graph, as_of)

    def describe(self) -> dict[str, Any]:
        """Return model, choices and prompts; see :class:`~kgprobe.probes.outcome.Probe`."""
        return {
            "model": self._scorer.name,
            "scorer": self._scorer.describe(),
            "choices": self._options.choices,
            "packed": self._options.packed,
            **({"separate_tokens": True} if self._options.separate_tokens else {}),
            **self._prompts.describe(),
        }

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        """Return an outcome for each fact; see :class:`~kgprobe.probes.outcome.Probe`.

        The examples depend on the seed's first number, or on ``examples_seed``; the choices depend on the whole seed.
        With ``packed``, facts of a relation that are asked together share sequences.

        Cost: one scan of the graph's facts for a new seed, the drawing of the choices, and one scoring of them.
        """
        described = describe_facts(self._graph, facts)
        sentences = self._prompts.sentences(facts, seed)
        items = draw_choices(self._negatives, described, self._options.choices - 1, seed)
        reasons = []
        for item, sentence in zip(items, sentences, strict=True):
            no_others = None if item.others else "its relation has no other object to choose from"
            reasons.append(self._prompts.reason_unaskable(item.fact, sentence) or no_others)
        possible = [place for place, reason in enumerate(reasons) if reason is None]
        chosen = [items[place] for place in possible]
        if self._options.prompt == "sentences":
            usable = filter(None, map(sentences.__getitem__, possible))
            answered = ask_in_sentences(self._scorer, chosen, [sentence.clozes[0] for sentence in usable])
            return in_order(described, reasons, answered)
        demonstrations = self._prompts.demonstrations(seed) if chosen else {}
        if self._options.packed:
            answered = packing.ask_packed(
                self._scorer,
                self._prompts.examples,
                chosen,
                demonstrations,
                seed,
                separate_tokens=self._options.separate_tokens,
            )
        else:
            answered = ask_after_examples(self._scorer, self._prompts.examples, chosen, demonstrations)
        return in_order(described, reasons, answered)
