"""Facts answered after examples: is the object more probable than other objects of the relation?

Section 2 of the latent-knowledge paper; docs/methods.md, 3. The choices are hard negatives
(:mod:`kgprobe.sampling.negatives`), the examples demonstrations (:mod:`kgprobe.sampling.demonstrations`); both follow
from the seed. One relation has the same examples throughout a measurement or a run, so that the model computes them
once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from kgprobe.errors import ArgumentError
from kgprobe.graph.client import Graph
from kgprobe.intervals import first_day
from kgprobe.models.scoring.contract import TextScorer
from kgprobe.probes.clozes import ClozeItem, ClozeItems
from kgprobe.probes.examples import ExampleOptions
from kgprobe.probes.examples.after import ExamplePrompts, ask_after_examples, outcome_of
from kgprobe.probes.examples.items import ChoiceItem, draw_choices
from kgprobe.probes.examples.packing import EVERY, FACTS, Sequences, pack, packed_size
from kgprobe.probes.examples.prompts import Layout, Prompt, Room, unescaped
from kgprobe.probes.outcome import Outcome, unaskable
from kgprobe.progress import share_counter
from kgprobe.sampling.demonstrations import Demonstration, draw_demonstrations
from kgprobe.sampling.facts import askable_relations, describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.negatives import Negatives
from kgprobe.verbalize.tense import has_ended

# Of demonstrations, so many more, since those that give a fact away are left out.
_SPARE = 16


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
            ArgumentError: facts are to be packed, and not behind examples alone.
            KgprobeError: there is none.
        """
        if options.packed and options.prompt != "examples":
            raise ArgumentError("packed", f"goes with the prompt examples, not with {options.prompt}.")
        self._clozes = (
            ClozeItems(graph, as_of, sentences=1, relations=relations) if options.prompt == "sentences" else None
        )
        rows = askable_relations(graph, [] if options.prompt == "examples" else ["clozes"], relations)
        self.relations: Sequence[str] = list(rows)
        templates = {relation: row["clozes"][0] for relation, row in rows.items()} if options.prompt == "both" else {}
        self._graph = graph
        self._scorer = scorer
        self._options = options
        self._as_of = as_of
        self._layout = Layout(unescaped(options.separator), unescaped(options.between))
        self._room = Room(scorer)
        self._prompts = ExamplePrompts(self._layout, options.examples, self._room, templates)
        self._negatives = Negatives(graph, as_of)
        self._demonstrations: dict[int, dict[str, list[Demonstration]]] = {}

    def describe(self) -> dict[str, Any]:
        """The model, the choices and what stands before them; see :class:`~kgprobe.probes.outcome.Probe`."""
        asked = asdict(self._options)
        if self._clozes is not None:
            # Of examples nothing is left then.
            asked = {"choices": self._options.choices, "prompt": self._options.prompt, **self._clozes.describe()}
        if self._prompts.templates:
            asked["templates"] = self._prompts.templates
        return {
            "model": self._scorer.name,
            "scorer": self._scorer.describe(),
            "as_of": self._as_of,
            "relations": list(self.relations),
            **asked,
        }

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        """One outcome a fact; see :class:`~kgprobe.probes.outcome.Probe`.

        Examples follow from the seed's first number, or from a seed of their own, choices from all of it. Where facts
        are packed, those of a relation that are asked together share sequences.

        Cost: one scan of the graph's facts for a new seed; then the drawing of the choices and one scoring of them.
        """
        described = describe_facts(self._graph, facts)
        clozes: Sequence[ClozeItem | None] = (
            self._clozes.of(facts, seed) if self._clozes is not None else [None] * len(facts)
        )
        items = draw_choices(self._negatives, described, self._options.choices - 1, seed)
        reasons = [self._why_not(item, cloze) for item, cloze in zip(items, clozes, strict=True)]
        possible = [place for place, reason in enumerate(reasons) if reason is None]
        chosen = [items[place] for place in possible]
        if self._clozes is not None:
            found = self._after_sentences(chosen, [cloze for cloze in (clozes[place] for place in possible) if cloze])
        elif self._options.packed:
            found = self._in_sequences(chosen, seed)
        else:
            demonstrations = self._demonstrations_of(seed) if chosen else {}
            found = ask_after_examples(self._scorer, self._prompts, chosen, demonstrations)
        outcomes = dict(zip(possible, found, strict=True))
        return [
            outcomes[place] if reason is None else unaskable(fact.key, fact.relation, reason)
            for place, (fact, reason) in enumerate(zip(described, reasons, strict=True))
        ]

    def _why_not(self, item: ChoiceItem, cloze: ClozeItem | None) -> str | None:
        """Why a fact cannot be asked of any model; None if it can."""
        fact = item.fact
        if fact.relation not in self.relations:
            return "its relation is not among those asked: inactive, or not named"
        if cloze is not None and not cloze.clozes:
            return cloze.reason or "there is no sentence to ask it in"
        if cloze is None and has_ended(fact.end, self._as_of):
            return "it has ended, and examples have no tense"
        if fact.start is not None and first_day(fact.start) > self._as_of:
            return f"it begins in {fact.start}, after {self._as_of}"
        if not fact.subject_label.strip():
            return "its subject's label is white space"
        if not fact.object_label.strip():
            return "its object's label is white space"
        return None if item.others else "its relation has no other object to choose from"

    def _demonstrations_of(self, seed: Sequence[int]) -> dict[str, list[Demonstration]]:
        first = seed[0] if self._options.examples_seed is None else self._options.examples_seed
        if first not in self._demonstrations:
            count = self._options.examples + (EVERY * (FACTS - 1) if self._options.packed else 0) + _SPARE
            # Rounds and measurements stay with one.
            drawn = draw_demonstrations(self._graph, self.relations, count, first, self._as_of)
            self._demonstrations = {
                first: {relation: self._prompts.worded(relation, its) for relation, its in drawn.items()}
            }
        return self._demonstrations[first]

    def _after_sentences(self, items: Sequence[ChoiceItem], clozes: Sequence[ClozeItem]) -> Iterator[Outcome]:
        sentences = [cloze.clozes[0] for cloze in clozes]
        prompts = [Prompt(sentence.prompt, "", sentence.prompt, 0) for sentence in sentences]
        continuations = [
            [text for label in item.labels for text in sentence.continuations([label])]
            for item, sentence in zip(items, sentences, strict=True)
        ]
        counter = share_counter(sum(map(len, continuations)))
        scored = self._scorer.score([prompt.text for prompt in prompts], continuations, progress=counter)
        return map(outcome_of, items, prompts, scored)

    def _in_sequences(self, items: Sequence[ChoiceItem], seed: Sequence[int]) -> Iterator[Outcome]:
        demonstrations = self._demonstrations_of(seed) if items else {}
        packs = list(self._packs(items, demonstrations, seed))
        counter = share_counter(sum(len(one.prompts) for one in packs))
        found: dict[str, Outcome] = {}
        for one in packs:
            scored = self._scorer.score(
                one.prompts,
                [[text] for text in one.continuations],
                separator=self._layout.separator,
                beginnings=[one.beginning] * len(one.prompts),
                progress=counter,
            )
            for item, prompt, its in zip(one.items, one.asked, one.gathered(scored), strict=True):
                found[item.fact.key.fact] = outcome_of(item, prompt, its)
        return (found[item.fact.key.fact] for item in items)

    def _packs(
        self, items: Sequence[ChoiceItem], demonstrations: dict[str, list[Demonstration]], seed: Sequence[int]
    ) -> Iterator[Sequences]:
        for relation in dict.fromkeys(item.fact.relation for item in items):
            its = [item for item in items if item.fact.relation == relation]
            while its:
                size, examples = packed_size(
                    its, demonstrations[relation], self._options.examples, self._layout, self._room
                )
                orders = [item.order(seed) for item in its[:size]]
                yield pack(its[:size], orders, examples, len(examples) - EVERY * (size - 1), self._layout)
                its = its[size:]
