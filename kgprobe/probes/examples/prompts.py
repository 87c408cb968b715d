"""Few-shot prompts: ``x1 y1 x2 y2 … xn yn x``, followed by a choice; and prompts about a graph's facts.

Section 2 of the latent-knowledge paper; docs/methods/examples.md. If the context is too short for all examples,
the first ones are used, so that the prompts of a relation keep a common prefix. The examples are demonstrations
(:mod:`kgprobe.sampling.demonstrations`), drawn by the seed. A relation has the same examples throughout a measurement
or a run, so that the model computes them once. The prompts serve comparisons of choices and generation alike.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import attrgetter
from typing import Any

from kgprobe.graph.client import Graph
from kgprobe.models.scoring.contract import TextScorer
from kgprobe.models.scoring.tokens import encode, join
from kgprobe.probes.asking import nameless, not_begun
from kgprobe.probes.clozes import ClozeItem, ClozeItems, lacking_sentence
from kgprobe.probes.examples import PromptOptions
from kgprobe.sampling.demonstrations import Demonstration, demonstrations_for, draw_demonstrations
from kgprobe.sampling.facts import AskedFact
from kgprobe.sampling.keys import FactKey
from kgprobe.verbalize.askable_relations import askable_relations
from kgprobe.verbalize.language import ENGLISH, Language, language_of
from kgprobe.verbalize.sentences import Cloze, object_continuations
from kgprobe.verbalize.templates.kinds import CLOZES, GENERIC
from kgprobe.verbalize.tense import has_ended

# Reason of a fact that is not asked because its prompt has no example.
NO_EXAMPLE = "no example of its relation is left for it, or fits into the model's context"
# Number of examples before the subject in the readable end of a prompt.
_SHOWN_EXAMPLES = 2
# Tokens reserved for seams: joined texts may have more tokens than the texts alone.
_SEAM = 4


@dataclass(frozen=True, slots=True)
class Prompt:
    """Text before the choices.

    Attributes:
        beginning: prefix that is shared with other prompts; may be empty.
        ending: end of the prompt, in readable form.
    """

    text: str
    beginning: str
    ending: str
    examples: int


def pairs_of(demonstrations: Sequence[Demonstration]) -> list[tuple[str, str]]:
    """Return the labels of subject and object of each demonstration."""
    return list(map(attrgetter("subject_label", "object_label"), demonstrations))


@dataclass(frozen=True, slots=True)
class Layout:
    """Separators between a subject and its object, and between two examples."""

    separator: str
    between: str

    def example(self, subject: str, object_: str) -> str:
        """Return a subject followed by an object."""
        return join(subject, self.separator, object_)

    def after(self, before: str, text: str) -> str:
        """Return examples followed by a text; either may be empty."""
        return before if not text else join(before, self.between, text)

    def examples(self, demonstrations: Sequence[Demonstration]) -> str:
        """Return the text of successive examples; empty without examples."""
        return self.pairs(pairs_of(demonstrations))

    def pairs(self, pairs: Sequence[tuple[str, str]]) -> str:
        """Return the text of successive subjects with their objects; empty without pairs."""
        text = ""
        for subject, object_ in pairs:
            text = self.after(text, self.example(subject, object_))
        return text

    def prompt(self, demonstrations: Sequence[Demonstration], subject: str) -> Prompt:
        """Return the prompt of examples followed by the asked subject."""
        beginning = self.examples(demonstrations)
        ending = self.after(self.examples(demonstrations[-_SHOWN_EXAMPLES:]), subject)
        return Prompt(self.after(beginning, subject), beginning, ending, len(demonstrations))


def unescaped(text: str) -> str:
    r"""Return a separator with ``\n`` as a new line and ``\t`` as a tab.

    >>> unescaped(r":\n")
    ':\n'
    """
    return text.replace("\\n", "\n").replace("\\t", "\t")


class Room:
    """Room for texts in a model's context."""

    def __init__(self, scorer: TextScorer | None, reserved: int = 0, before: str = "") -> None:
        """Measure texts by a model's tokenizer.

        Without a scorer the tokenizer is unknown, and everything fits. ``reserved`` tokens of the context stay free,
        and those of a text before each prompt.
        """
        self._scorer = scorer
        self._reserved = reserved
        if before and scorer is not None:
            self._reserved += len(encode(scorer.tokenizer, [before])[0])
        self._tokens: dict[str, int] = {}

    def has_for(self, text: str, tail: str) -> bool:
        """Return True if a text followed by a tail fits into the context.

        Cost: the text is tokenized once; the tail only if its length in bytes does not already fit.
        """
        if self._scorer is None or self._scorer.max_tokens is None:
            return True
        if text not in self._tokens:
            self._tokens[text] = len(encode(self._scorer.tokenizer, [text])[0])
        left = self._scorer.max_tokens - self._reserved - self._tokens[text] - _SEAM
        # Every token has at least one byte, except at seams.
        return len(tail.encode("utf-8", "replace")) <= left or len(encode(self._scorer.tokenizer, [tail])[0]) <= left


def fitting(count: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number of examples up to ``count`` that fits, by binary search; 0 if none fits."""
    if fits(count):
        return count
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


@dataclass(frozen=True, slots=True)
class ExamplePrompts:
    """Few-shot prompts.

    Attributes:
        count: maximum number of examples.
        templates: cloze sentence of examples and fact, by relation; empty for plain names.
    """

    layout: Layout
    count: int
    room: Room
    templates: Mapping[str, str] = field(default_factory=dict)
    language: Language = ENGLISH

    def subject(self, relation: str, label: str) -> str:
        """Return the text of a subject: its label, or a cloze sentence up to its blank."""
        template = self.templates.get(relation)
        return label if template is None else Cloze(template, label, language=self.language).prompt

    def objects(self, relation: str, labels: Sequence[str]) -> list[str]:
        """Return the texts of objects."""
        template = self.templates.get(relation)
        if template is None:
            return list(labels)
        texts = (object_continuations(template, [label], self.language) for label in labels)
        return list(chain.from_iterable(texts))

    def worded(self, relation: str, demonstrations: Sequence[Demonstration]) -> list[Demonstration]:
        """Return demonstrations with their names in the texts of subjects and objects."""
        worded = []
        for example in demonstrations:
            (object_,) = self.objects(relation, [example.object_label])
            subject = self.subject(relation, example.subject_label)
            worded.append(replace(example, subject_label=subject, object_label=object_))
        return worded

    def prompt(self, fact: AskedFact, demonstrations: Sequence[Demonstration], behind: Sequence[str] = ()) -> Prompt:
        """Return the prompt of a fact, with as many of the first examples as fit and do not reveal the answer.

        Each of the possible continuations ``behind`` it must fit into the context.
        """
        subject = self.subject(fact.relation, fact.subject_label)
        usable = demonstrations_for([fact], demonstrations, self.count)
        tail = self.layout.example(subject, max(behind, key=len, default=""))
        most = fitting(len(usable), lambda count: self.room.has_for(self.layout.examples(usable[:count]), tail))
        return self.layout.prompt(usable[:most], subject)


def numbered_templates(templates: Mapping[str, Sequence[str]], number: int | None) -> dict[str, str]:
    """Return the cloze sentence with a number (from 1; None is the first) of each relation that has it."""
    place = (number or 1) - 1
    return {relation: sentences[place] for relation, sentences in templates.items() if place < len(sentences)}


# Number of further demonstrations to draw, since demonstrations that reveal the answer are left out.
_SPARE = 16


class PromptWriter:
    """Writer of prompts; ``relations`` are the sorted ids of those whose facts can be asked."""

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

        Examples and facts are true at ``as_of`` (``yyyymmdd``); by default, all active relations. There are ``further``
        examples in addition to those before a fact.
        """
        kind = CLOZES[options.templates]
        self._clozes = (
            ClozeItems(
                graph,
                as_of,
                sentences=1,
                relations=relations,
                templates=options.templates,
                template=options.template,
            )
            if options.prompt == "sentences"
            else None
        )
        needed = [] if options.prompt == "examples" else [kind]
        rows = askable_relations(graph, needed, relations, only_generic=bool(needed) and options.templates == GENERIC)
        self.relations: Sequence[str] = list(rows)
        templates = {}
        if options.prompt == "both":
            templates = numbered_templates({relation: row[kind] for relation, row in rows.items()}, options.template)
        language = language_of(graph.language)
        separator = options.separator
        if templates and separator == PromptOptions().separator:
            # In a sentence, names are joined as the language does.
            separator = language.joiner
        layout = Layout(unescaped(separator), unescaped(options.between))
        self.examples = ExamplePrompts(layout, options.examples, room, templates, language)
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
            **({"clozes": self.examples.templates} if options.prompt == "both" else {}),
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
        if self._options.prompt == "both" and fact.relation not in self.examples.templates:
            return lacking_sentence(self._options.template)
        if sentence is None and has_ended(fact.end, self._as_of):
            return "it has ended, and examples have no tense"
        return not_begun(fact, self._as_of) or nameless(fact)

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


def sentence_prompt(cloze: Cloze) -> Prompt:
    """Return the prompt of a cloze sentence, up to its blank, without examples."""
    text = cloze.prompt
    return Prompt(text, "", text, 0)
