"""Prompts about a graph's facts: examples of the relation, a cloze sentence, or examples in cloze sentences.

Section 2 of the latent-knowledge paper; docs/methods/examples.md. The examples are demonstrations
(:mod:`kgprobe.sampling.demonstrations`), drawn by the seed. A relation has the same examples throughout a measurement
or a run, so that the model computes them once. The prompts serve comparisons of choices and generation alike.
"""

from collections.abc import Sequence
from typing import Any

from kgprobe.dates import first_day
from kgprobe.graph.client import Graph
from kgprobe.probes.clozes import ClozeItem, ClozeItems
from kgprobe.probes.examples import PromptOptions
from kgprobe.probes.examples.prompts import ExamplePrompts, Layout, Prompt, Room, unescaped
from kgprobe.sampling.demonstrations import Demonstration, draw_demonstrations
from kgprobe.sampling.facts import AskedFact, askable_relations
from kgprobe.sampling.keys import FactKey
from kgprobe.verbalize.templates.kinds import CLOZES
from kgprobe.verbalize.tense import has_ended

# Number of further demonstrations to draw, since demonstrations that reveal the answer are left out.
_SPARE = 16


class PromptWriter:
    """Writer of prompts.

    Attributes:
        relations: ids of the relations whose facts can be asked, sorted.
        examples: format of the examples.
    """

    def __init__(
        self,
        graph: Graph,
        options: PromptOptions,
        room: Room,
        *,
        as_of: int,
        relations: Sequence[str] = (),
        further: int = 0,
    ) -> None:
        """Read the relations.

        Args:
            as_of: reference date (``yyyymmdd``) at which examples and facts are true.
            relations: ids; by default every active relation.
            further: number of examples in addition to those before a fact.

        Raises:
            UnknownNameError: a listed relation is not active, or lacks a required cloze sentence.
            KgprobeError: the graph has no relation.
        """
        kind = CLOZES[options.templates]
        self._clozes = (
            ClozeItems(graph, as_of, sentences=1, relations=relations, templates=options.templates)
            if options.prompt == "sentences"
            else None
        )
        rows = askable_relations(graph, [] if options.prompt == "examples" else [kind], relations)
        self.relations: Sequence[str] = list(rows)
        templates = {relation: row[kind][0] for relation, row in rows.items()} if options.prompt == "both" else {}
        layout = Layout(unescaped(options.separator), unescaped(options.between))
        self.examples = ExamplePrompts(layout, options.examples, room, templates)
        self._graph = graph
        self._options = options
        self._as_of = as_of
        self._further = further
        self._demonstrations: dict[int, dict[str, list[Demonstration]]] = {}

    def describe(self) -> dict[str, Any]:
        """Return the settings that the prompts depend on, without graph, facts and seed; JSON-compatible."""
        options = self._options
        described = {"as_of": self._as_of, "relations": list(self.relations), "prompt": options.prompt}
        if self._clozes is not None:
            # A cloze sentence has no examples.
            return {**described, **self._clozes.describe()}
        return {
            **described,
            "examples": options.examples,
            "separator": options.separator,
            "between": options.between,
            "examples_seed": options.examples_seed,
            **({"clozes": self.examples.templates} if self.examples.templates else {}),
        }

    def sentences(self, facts: Sequence[FactKey], seed: Sequence[int]) -> Sequence[ClozeItem | None]:
        """Return the cloze sentence of each fact; None for all if the prompts are examples."""
        return [None] * len(facts) if self._clozes is None else self._clozes.of(facts, seed)

    def reason_unaskable(self, fact: AskedFact, sentence: ClozeItem | None) -> str | None:
        """Return why a fact cannot be asked of any model; None if it can."""
        if fact.relation not in self.relations:
            return "its relation is not asked: it is inactive or not selected"
        if sentence is not None and not sentence.clozes:
            return sentence.reason or "its relation has no sentence for it"
        if sentence is None and has_ended(fact.end, self._as_of):
            return "it has ended, and examples have no tense"
        if fact.start is not None and first_day(fact.start) > self._as_of:
            return f"it begins in {fact.start}, after {self._as_of}"
        if not fact.subject_label.strip():
            return "its subject's label is white space"
        return None if fact.object_label.strip() else "its object's label is white space"

    def demonstrations(self, seed: Sequence[int]) -> dict[str, list[Demonstration]]:
        """Return the formatted examples of each relation, in the order of use.

        They depend on the seed's first number, or on ``examples_seed``.

        Cost: one scan of the graph's facts for a new seed.
        """
        first = seed[0] if self._options.examples_seed is None else self._options.examples_seed
        if first not in self._demonstrations:
            count = self._options.examples + self._further + _SPARE
            # Only the latest seed is kept: rounds and measurements use a single one.
            drawn = draw_demonstrations(self._graph, self.relations, count, first, self._as_of)
            self._demonstrations = {
                first: {relation: self.examples.worded(relation, examples) for relation, examples in drawn.items()}
            }
        return self._demonstrations[first]


def sentence_prompt(sentence: ClozeItem) -> Prompt:
    """Return the prompt of an item's first cloze sentence, up to its blank, without examples."""
    text = sentence.clozes[0].prompt
    return Prompt(text, "", text, 0)
