"""Probe that compares the object with other objects of the relation, after few-shot examples.

Section 2 of the latent-knowledge paper; docs/methods/examples.md. The choices are hard negatives
(:mod:`kgprobe.sampling.question_negatives`), drawn by the seed; :mod:`.prompt_writer` writes the prompts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from operator import attrgetter
from typing import Any

from kgprobe.errors import ArgumentError
from kgprobe.graph.client import Graph
from kgprobe.models.scoring.contract import TextScorer
from kgprobe.models.scoring.tokens import TokenizedPrompt
from kgprobe.probes.asking import in_order
from kgprobe.probes.clozes import ClozeItem
from kgprobe.probes.examples import ExampleOptions, packing
from kgprobe.probes.examples.items import ChoiceItem, ask_after_examples, draw_choices, outcome_of
from kgprobe.probes.examples.prompts import PromptWriter, Room, sentence_prompt
from kgprobe.probes.outcome import Outcome
from kgprobe.progress import share_counter
from kgprobe.sampling.demonstrations import Demonstration
from kgprobe.sampling.facts import describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.question_negatives import Negatives


class ExampleProbe:
    """Probe that compares choices after examples of the relation, or in a cloze sentence without examples."""

    def __init__(
        self, graph: Graph, scorer: TextScorer, options: ExampleOptions, *, as_of: int, relations: Sequence[str] = ()
    ) -> None:
        """Read the relations.

        Args:
            as_of: reference date (``yyyymmdd``): examples and facts are true at it, other choices are not.
            relations: ids; by default every active relation.

        Raises:
            ArgumentError: ``packed`` without the prompt ``examples``, or ``separate_tokens`` without ``packed``.
            UnknownNameError, KgprobeError: see :class:`~kgprobe.probes.examples.prompts.PromptWriter`.
        """
        if options.packed and options.prompt != "examples":
            raise ArgumentError("packed", f"requires the prompt examples, not {options.prompt}.")
        if options.separate_tokens and not options.packed:
            raise ArgumentError("separate_tokens", "requires `packed`.")
        if options.separate_tokens and options.between == " ":
            options = replace(options, between=",")
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
            answered = self._after_sentences(chosen, list(filter(None, map(sentences.__getitem__, possible))))
        elif self._options.packed:
            answered = self._in_sequences(chosen, seed)
        else:
            demonstrations = self._prompts.demonstrations(seed) if chosen else {}
            answered = ask_after_examples(self._scorer, self._prompts.examples, chosen, demonstrations)
        return in_order(described, reasons, answered)

    def _after_sentences(self, items: Sequence[ChoiceItem], clozes: Sequence[ClozeItem]) -> Iterator[Outcome]:
        prompts = list(map(sentence_prompt, clozes))
        continuations = []
        for item, cloze in zip(items, clozes, strict=True):
            texts = (cloze.clozes[0].continuations([label]) for label in item.labels)
            continuations.append(list(chain.from_iterable(texts)))
        counter = share_counter(sum(map(len, continuations)))
        scored = self._scorer.score(list(map(attrgetter("text"), prompts)), continuations, progress=counter)
        return map(outcome_of, items, prompts, scored)

    def _in_sequences(self, items: Sequence[ChoiceItem], seed: Sequence[int]) -> Iterator[Outcome]:
        demonstrations = self._prompts.demonstrations(seed) if items else {}
        packs = list(self._packs(items, demonstrations, seed))
        counter = share_counter(sum(len(sequences.prompts) for sequences, _ in packs))
        outcomes: dict[str, Outcome] = {}
        for sequences, tokenized in packs:
            if tokenized is not None:
                scored = self._scorer.score_tokenized(tokenized, counter)
            else:
                scored = self._scorer.score(
                    sequences.prompts,
                    [[text] for text in sequences.continuations],
                    separator=self._prompts.examples.layout.separator,
                    beginnings=[sequences.beginning] * len(sequences.prompts),
                    progress=counter,
                )
            scores = sequences.gathered(scored)
            for item, prompt, item_scores in zip(sequences.items, sequences.own_prompts, scores, strict=True):
                outcomes[item.fact.key.fact] = outcome_of(item, prompt, item_scores)
        return (outcomes[item.fact.key.fact] for item in items)

    def _packs(
        self, items: Sequence[ChoiceItem], demonstrations: dict[str, list[Demonstration]], seed: Sequence[int]
    ) -> Iterator[tuple[packing.Sequences, list[TokenizedPrompt] | None]]:
        """Yield facts in sequences, and their tokenized prompts with separate tokens."""
        prompts = self._prompts.examples
        separate = packing.SeparateTokens(self._scorer, prompts.layout) if self._options.separate_tokens else None

        def text_fits(before: Sequence[packing.Pair], behind: Sequence[packing.Pair]) -> bool:
            return prompts.room.has_for(prompts.layout.pairs(before), prompts.layout.pairs(behind))

        fits = text_fits if separate is None else separate.fits
        for relation in dict.fromkeys(map(attrgetter("fact.relation"), items)):
            rest = [item for item in items if item.fact.relation == relation]
            while rest:
                size, examples = packing.packed_size(rest, demonstrations[relation], prompts.count, fits)
                group, rest = rest[:size], rest[size:]
                orders = [item.order(seed) for item in group]
                before = len(examples) - packing.EVERY * (size - 1)
                tokenized = (
                    None if separate is None else packing.pack_separately(group, orders, examples, before, separate)
                )
                yield packing.pack(group, orders, examples, before, prompts.layout), tokenized
