"""Format of few-shot prompts: ``x1 y1 x2 y2 … xn yn x``, followed by a choice.

Section 2 of the latent-knowledge paper; docs/methods/examples.md. If the context is too short for all examples,
the first ones are used, so that the prompts of a relation keep a common prefix.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from kgprobe.models.scoring.contract import TextScorer
from kgprobe.models.scoring.tokens import encode, join
from kgprobe.sampling.demonstrations import Demonstration, demonstrations_for
from kgprobe.sampling.facts import AskedFact
from kgprobe.verbalize.sentences import Cloze, object_continuations

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
        text: the whole prompt.
        beginning: prefix that is shared with other prompts; may be empty.
        ending: end of the prompt, in readable form.
        examples: number of examples.
    """

    text: str
    beginning: str
    ending: str
    examples: int


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
        return self.pairs([(example.subject_label, example.object_label) for example in demonstrations])

    def pairs(self, pairs: Sequence[tuple[str, str]]) -> str:
        """Return the text of successive subjects with their objects; empty without pairs."""
        text = ""
        for subject, object_ in pairs:
            text = self.after(text, self.example(subject, object_))
        return text

    def before_object(self, text: str) -> str:
        """Return a prompt for generation: with the separator, but without white space at the end."""
        return join(text, self.separator, "").rstrip()

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

    def __init__(self, scorer: TextScorer | None, reserved: int = 0) -> None:
        """Measure texts by a model's tokenizer.

        Args:
            scorer: None if the tokenizer is unknown: then everything fits.
            reserved: number of tokens of the context to leave free.
        """
        self._scorer = scorer
        self._reserved = reserved
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
        layout: the separators.
        count: maximum number of examples.
        room: room in the model's context.
        templates: cloze sentence of examples and fact, by relation; empty for plain names.
    """

    layout: Layout
    count: int
    room: Room
    templates: Mapping[str, str] = field(default_factory=dict)

    def subject(self, relation: str, label: str) -> str:
        """Return the text of a subject: its label, or a cloze sentence up to its blank."""
        template = self.templates.get(relation)
        return label if template is None else Cloze(template, label).prompt

    def objects(self, relation: str, labels: Sequence[str]) -> list[str]:
        """Return the texts of objects."""
        template = self.templates.get(relation)
        if template is None:
            return list(labels)
        return list(chain.from_iterable(object_continuations(template, [label]) for label in labels))

    def worded(self, relation: str, demonstrations: Sequence[Demonstration]) -> list[Demonstration]:
        """Return demonstrations with their names in the texts of subjects and objects."""
        return [
            replace(
                example,
                subject_label=self.subject(relation, example.subject_label),
                object_label=self.objects(relation, [example.object_label])[0],
            )
            for example in demonstrations
        ]

    def prompt(self, fact: AskedFact, demonstrations: Sequence[Demonstration], behind: Sequence[str] = ()) -> Prompt:
        """Return the prompt of a fact, with as many of the first examples as fit and do not reveal the answer.

        Args:
            demonstrations: formatted examples of the fact's relation.
            behind: the possible continuations; each must fit into the context.
        """
        subject = self.subject(fact.relation, fact.subject_label)
        usable = demonstrations_for([fact], demonstrations, self.count)
        tail = self.layout.example(subject, max(behind, key=len, default=""))
        most = fitting(len(usable), lambda count: self.room.has_for(self.layout.examples(usable[:count]), tail))
        return self.layout.prompt(usable[:most], subject)
