"""Facts answered after examples: is the object more probable than other objects of the relation?

Section 2 of the latent-knowledge paper; docs/methods/examples.md. The choices are hard negatives
(:mod:`kgprobe.sampling.question_negatives`), and follow from the seed; what stands before them is
:mod:`.prompt_writer`'s.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from kgprobe.errors import ArgumentError
from kgprobe.graph.client import Graph
from kgprobe.models.scoring.contract import TextScorer
from kgprobe.models.scoring.tokens import TokenizedPrompt
from kgprobe.probes.clozes import ClozeItem
from kgprobe.probes.examples import ExampleOptions
from kgprobe.probes.examples.after import ask_after_examples, outcome_of
from kgprobe.probes.examples.items import ChoiceItem, draw_choices
from kgprobe.probes.examples.packing import (
    EVERY,
    FACTS,
    SeparateTokens,
    Sequences,
    pack,
    pack_separately,
    packed_size,
    text_fits,
)
from kgprobe.probes.examples.prompt_writer import PromptWriter, of_sentence
from kgprobe.probes.examples.prompts import Room
from kgprobe.probes.outcome import Outcome, unaskable
from kgprobe.progress import share_counter
from kgprobe.sampling.demonstrations import Demonstration
from kgprobe.sampling.facts import describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.question_negatives import Negatives


class ExampleProbe:
    """Asks facts after examples of their relation, or after its cloze sentence alone, by comparison of choices."""

    def __init__(
        self, graph: Graph, scorer: TextScorer, options: ExampleOptions, *, as_of: int, relations: Sequence[str] = ()
    ) -> None:
        """Read the relations.

        Args:
            as_of: examples and facts are those that hold at this date (``yyyymmdd``), choices what is wrong at it.
            relations: ids; none means every active relation.

        Raises:
            UnknownNameError: a relation that was named is not active, or has no cloze sentence where one is needed.
            ArgumentError: facts are to be packed, and not behind examples alone; or tokens are to be separate, and
                facts not packed.
            KgprobeError: there is none.
        """
        if options.packed and options.prompt != "examples":
            raise ArgumentError("packed", f"goes with the prompt examples, not with {options.prompt}.")
        if options.separate_tokens and not options.packed:
            raise ArgumentError("separate_tokens", "goes with `packed` alone.")
        if options.separate_tokens and options.between == " ":
            options = replace(options, between=",")
        self._scorer = scorer
        self._options = options
        further = EVERY * (FACTS - 1) if options.packed else 0
        self._prompts = PromptWriter(graph, options, Room(scorer), as_of=as_of, relations=relations, further=further)
        self.relations: Sequence[str] = self._prompts.relations
        self._graph = graph
        self._negatives = Negatives(graph, as_of)

    def describe(self) -> dict[str, Any]:
        """The model, the choices and what stands before them; see :class:`~kgprobe.probes.outcome.Probe`."""
        return {
            "model": self._scorer.name,
            "scorer": self._scorer.describe(),
            "choices": self._options.choices,
            "packed": self._options.packed,
            **({"separate_tokens": True} if self._options.separate_tokens else {}),
            **self._prompts.describe(),
        }

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        """One outcome a fact; see :class:`~kgprobe.probes.outcome.Probe`.

        Examples follow from the seed's first number, or from a seed of their own, choices from all of it. Where facts
        are packed, those of a relation that are asked together share sequences.

        Cost: one scan of the graph's facts for a new seed; then the drawing of the choices and one scoring of them.
        """
        described = describe_facts(self._graph, facts)
        sentences = self._prompts.sentences(facts, seed)
        items = draw_choices(self._negatives, described, self._options.choices - 1, seed)
        reasons = [self._why_not(item, cloze) for item, cloze in zip(items, sentences, strict=True)]
        possible = [place for place, reason in enumerate(reasons) if reason is None]
        chosen = [items[place] for place in possible]
        if self._options.prompt == "sentences":
            found = self._after_sentences(chosen, [its for its in (sentences[place] for place in possible) if its])
        elif self._options.packed:
            found = self._in_sequences(chosen, seed)
        else:
            demonstrations = self._prompts.demonstrations(seed) if chosen else {}
            found = ask_after_examples(self._scorer, self._prompts.examples, chosen, demonstrations)
        outcomes = dict(zip(possible, found, strict=True))
        return [
            outcomes[place] if reason is None else unaskable(fact.key, fact.relation, reason)
            for place, (fact, reason) in enumerate(zip(described, reasons, strict=True))
        ]

    def _why_not(self, item: ChoiceItem, sentence: ClozeItem | None) -> str | None:
        """Why a fact cannot be asked of any model; None if it can."""
        reason = self._prompts.why_not(item.fact, sentence)
        return reason if reason or item.others else "its relation has no other object to choose from"

    def _after_sentences(self, items: Sequence[ChoiceItem], clozes: Sequence[ClozeItem]) -> Iterator[Outcome]:
        sentences = [cloze.clozes[0] for cloze in clozes]
        prompts = [of_sentence(cloze) for cloze in clozes]
        continuations = [
            [text for label in item.labels for text in sentence.continuations([label])]
            for item, sentence in zip(items, sentences, strict=True)
        ]
        counter = share_counter(sum(map(len, continuations)))
        scored = self._scorer.score([prompt.text for prompt in prompts], continuations, progress=counter)
        return map(outcome_of, items, prompts, scored)

    def _in_sequences(self, items: Sequence[ChoiceItem], seed: Sequence[int]) -> Iterator[Outcome]:
        demonstrations = self._prompts.demonstrations(seed) if items else {}
        packs = list(self._packs(items, demonstrations, seed))
        counter = share_counter(sum(len(one.prompts) for one, _ in packs))
        found: dict[str, Outcome] = {}
        for one, tokenized in packs:
            if tokenized is not None:
                scored = self._scorer.score_tokenized(tokenized, counter)
            else:
                scored = self._scorer.score(
                    one.prompts,
                    [[text] for text in one.continuations],
                    separator=self._prompts.examples.layout.separator,
                    beginnings=[one.beginning] * len(one.prompts),
                    progress=counter,
                )
            for item, prompt, its in zip(one.items, one.asked, one.gathered(scored), strict=True):
                found[item.fact.key.fact] = outcome_of(item, prompt, its)
        return (found[item.fact.key.fact] for item in items)

    def _packs(
        self, items: Sequence[ChoiceItem], demonstrations: dict[str, list[Demonstration]], seed: Sequence[int]
    ) -> Iterator[tuple[Sequences, list[TokenizedPrompt] | None]]:
        """Give facts in sequences; with separate tokens, also what the scorer takes for them."""
        prompts = self._prompts.examples
        separate = SeparateTokens(self._scorer, prompts.layout) if self._options.separate_tokens else None
        fits = text_fits(prompts.layout, prompts.room) if separate is None else separate.fits
        for relation in dict.fromkeys(item.fact.relation for item in items):
            its = [item for item in items if item.fact.relation == relation]
            while its:
                size, examples = packed_size(its, demonstrations[relation], prompts.count, fits)
                orders = [item.order(seed) for item in its[:size]]
                before = len(examples) - EVERY * (size - 1)
                tokenized = (
                    None if separate is None else pack_separately(its[:size], orders, examples, before, separate)
                )
                yield pack(its[:size], orders, examples, before, prompts.layout), tokenized
                its = its[size:]
