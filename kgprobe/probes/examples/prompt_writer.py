"""What a model is given about a fact: examples of its relation, a cloze sentence, or examples in cloze sentences.

Section 2 of the latent-knowledge paper; docs/methods/examples.md. The examples are demonstrations
(:mod:`kgprobe.sampling.demonstrations`), which follow from the seed. One relation has the same throughout a measurement
or a run, so that the model computes them once. Whether the model then compares choices or writes by itself is for the
probe to say.
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

# Of demonstrations, so many more are drawn, since those that give a fact away are left out.
_SPARE = 16


class PromptWriter:
    """Writes prompts of facts.

    Attributes:
        relations: ids of those whose facts can be asked, sorted.
        examples: what examples look like, and how many there is room for.
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
            as_of: examples and facts are those that hold at this date (``yyyymmdd``).
            relations: ids; none means every active relation.
            further: examples that are needed beside those before a fact.

        Raises:
            UnknownNameError: a relation that was named is not active, or has no cloze sentence where one is needed.
            KgprobeError: there is none.
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
        """What prompts depend on besides graph, facts and seed; JSON-compatible."""
        options = self._options
        described = {"as_of": self._as_of, "relations": list(self.relations), "prompt": options.prompt}
        if self._clozes is not None:
            # Of examples nothing is left then.
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
        """For each fact the sentence it is asked in; None for all where prompts are examples."""
        return [None] * len(facts) if self._clozes is None else self._clozes.of(facts, seed)

    def why_not(self, fact: AskedFact, sentence: ClozeItem | None) -> str | None:
        """Why a fact cannot be asked of any model; None if it can."""
        if fact.relation not in self.relations:
            return "its relation is not among those asked: inactive, or not named"
        if sentence is not None and not sentence.clozes:
            return sentence.reason or "there is no sentence to ask it in"
        if sentence is None and has_ended(fact.end, self._as_of):
            return "it has ended, and examples have no tense"
        if fact.start is not None and first_day(fact.start) > self._as_of:
            return f"it begins in {fact.start}, after {self._as_of}"
        if not fact.subject_label.strip():
            return "its subject's label is white space"
        return None if fact.object_label.strip() else "its object's label is white space"

    def demonstrations(self, seed: Sequence[int]) -> dict[str, list[Demonstration]]:
        """Examples of each relation as they are written, in the order in which they are taken.

        They follow from the seed's first number, or from a seed of their own.

        Cost: one scan of the graph's facts for a new seed.
        """
        first = seed[0] if self._options.examples_seed is None else self._options.examples_seed
        if first not in self._demonstrations:
            count = self._options.examples + self._further + _SPARE
            # Rounds and measurements stay with one.
            drawn = draw_demonstrations(self._graph, self.relations, count, first, self._as_of)
            self._demonstrations = {
                first: {relation: self.examples.worded(relation, its) for relation, its in drawn.items()}
            }
        return self._demonstrations[first]


def of_sentence(sentence: ClozeItem) -> Prompt:
    """A cloze sentence alone, the first that the fact is asked in, as far as its blank."""
    text = sentence.clozes[0].prompt
    return Prompt(text, "", text, 0)
