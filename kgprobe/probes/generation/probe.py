"""Facts read from what a model writes: it goes on greedily, and the object is named in it or not.

Appendix H.6 of the latent-knowledge paper; docs/methods/generation.md.
"""

from collections.abc import Sequence
from typing import Any

from kgprobe.graph.client import Graph
from kgprobe.models.generating.generator import Answer, Generator, Request, Unanswered
from kgprobe.probes.clozes import ClozeItem
from kgprobe.probes.distractors.evidence import Named
from kgprobe.probes.examples.prompt_writer import PromptWriter, of_sentence
from kgprobe.probes.examples.prompts import NO_EXAMPLE, Prompt
from kgprobe.probes.generation import GenerationOptions
from kgprobe.probes.generation.evidence import GenerationEvidence
from kgprobe.probes.generation.reading import TrueNames, counted_end, find_names, true_names
from kgprobe.probes.known_names import KnownNames
from kgprobe.probes.outcome import Outcome, Verdict, unaskable
from kgprobe.progress import share_counter
from kgprobe.sampling.facts import AskedFact, describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.verbalize.answers import normalized

# Of the time of a batch; the rest goes into reading what was written.
_WRITING = 0.95


class GenerationProbe:
    """Lets a model go on with a text about each fact; right when a name of the object stands in what it wrote."""

    def __init__(
        self,
        graph: Graph,
        prompts: PromptWriter,
        generator: Generator,
        options: GenerationOptions,
        *,
        as_of: int,
    ) -> None:
        """Make a probe.

        Args:
            prompts: writes what the model goes on with; leaves room for what it writes.
            generator: who goes on.
            as_of: what is right at this date (``yyyymmdd``) is no other object.
        """
        self.relations: Sequence[str] = prompts.relations
        self._graph = graph
        self._prompts = prompts
        self._generator = generator
        self._options = options
        self._as_of = as_of
        self._known = KnownNames(graph)

    def describe(self) -> dict[str, Any]:
        """The model, what it goes on with and how far; see :class:`~kgprobe.probes.outcome.Probe`."""
        generator = {name: value for name, value in self._generator.describe().items() if name != "prompt"}
        return {
            "model": self._generator.name,
            "generator": {**generator, "form": "text to go on with, over the ends of lines"},
            "new_tokens": self._options.new_tokens,
            "until": self._options.until,
            **self._prompts.describe(),
        }

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        """One outcome a fact; see :class:`~kgprobe.probes.outcome.Probe`.

        Cost: one scan of the graph's facts for a new seed where there are examples; then for each fact a pass over its
        whole prompt, examples among it, and one of a token for each token that is written. The names of a relation's
        objects are read once.

        Raises:
            KgprobeError: the model cannot be asked at all (its API offers no completions, say), or its budget is spent.
        """
        described = describe_facts(self._graph, facts)
        sentences = self._prompts.sentences(facts, seed)
        reasons = [self._why_not(fact, sentence) for fact, sentence in zip(described, sentences, strict=True)]
        prompts = self._written(described, sentences, reasons, seed)
        requests = {
            place: Request(self._led(prompt), self._options.new_tokens, continuation=True)
            for place, prompt in prompts.items()
        }
        answers = self._generator.answer(list(requests.values()), share_counter(len(requests), _WRITING))
        asked = [described[place] for place in prompts]
        true = true_names(self._graph, asked, self._as_of) if asked else []
        outcomes = {
            place: self._outcome(described[place], prompts[place], requests[place].prompt, answer, its)
            for place, answer, its in zip(prompts, answers, true, strict=True)
        }
        # The names that answers are searched for have been read by now.
        share_counter(len(outcomes))(len(outcomes))
        return [
            outcomes[place] if place in outcomes else unaskable(fact.key, fact.relation, reason or NO_EXAMPLE)
            for place, (fact, reason) in enumerate(zip(described, reasons, strict=True))
        ]

    def _why_not(self, fact: AskedFact, sentence: ClozeItem | None) -> str | None:
        reason = self._prompts.why_not(fact, sentence)
        if reason is None and not any(map(normalized, (fact.object_label, *fact.object_aliases))):
            return "no name of its object has a letter or a digit, by which it could be found in a text"
        return reason

    def _written(
        self,
        facts: Sequence[AskedFact],
        sentences: Sequence[ClozeItem | None],
        reasons: Sequence[str | None],
        seed: Sequence[int],
    ) -> dict[int, Prompt]:
        """The prompts of those facts that have one, by place."""
        possible = [place for place, reason in enumerate(reasons) if reason is None]
        if self._options.prompt == "sentences":
            alone = {place: sentences[place] for place in possible}
            return {place: of_sentence(sentence) for place, sentence in alone.items() if sentence is not None}
        demonstrations = self._prompts.demonstrations(seed) if possible else {}
        prompts = {
            place: self._prompts.examples.prompt(facts[place], demonstrations[facts[place].relation])
            for place in possible
        }
        return {place: prompt for place, prompt in prompts.items() if prompt.examples}

    def _led(self, prompt: Prompt) -> str:
        """The prompt with the separator that stands before an object behind examples."""
        return self._prompts.examples.layout.before_object(prompt.text) if prompt.examples else prompt.text

    def _outcome(
        self, fact: AskedFact, prompt: Prompt, text: str, answer: Answer | Unanswered, true: TrueNames
    ) -> Outcome:
        written = answer.text if isinstance(answer, Answer) else ""
        counted = counted_end(written, self._options.until)
        found = find_names(written[:counted], fact, true, self._known)
        evidence = GenerationEvidence(
            subject=fact.subject_label,
            object=Named(fact.object, fact.object_label),
            asked=prompt.asked,
            examples=prompt.examples,
            text=written,
            counted=counted,
            named=found.named,
            former=found.former,
            beside=found.beside,
            other=found.other,
        )
        if isinstance(answer, Unanswered):
            return Outcome(fact.key, Verdict.UNANSWERED, fact.relation, text, answer.reason, evidence)
        if found.named:
            verdict = Verdict.RIGHT
        elif answer.refused:
            verdict = Verdict.REFUSED
        else:
            verdict = Verdict.WRONG if normalized(written[:counted]) else Verdict.OFF_FORMAT
        return Outcome(fact.key, verdict, fact.relation, text, evidence=evidence)
