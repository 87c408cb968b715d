"""Examples as running text: ``x1 y1 x2 y2 … xn yn x``, after which a choice is to follow.

Section 2 of the latent-knowledge paper; docs/methods/examples.md. A context that is too short for all examples gets
the first ones, so that what prompts of a relation begin with stays the same.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kgprobe.models.scoring.contract import TextScorer
from kgprobe.models.scoring.tokens import encode, join
from kgprobe.sampling.demonstrations import Demonstration, demonstrations_for
from kgprobe.sampling.facts import AskedFact
from kgprobe.verbalize.sentences import Cloze, object_continuations

# Why a fact whose prompt would have no example is not asked.
NO_EXAMPLE = "no example of its relation is left for it, or fits into the model's context"
# How much of a prompt's end a person is shown: the subject, and so many examples before it.
_SHOWN_EXAMPLES = 2
# Tokens at seams, where joining texts may take more of them than each has alone.
_SEAM = 4


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is given before the choices.

    Attributes:
        text: all of it.
        beginning: of the text, what other prompts begin with as well; may be empty.
        asked: its end, as a person reads it.
        examples: how many it has.
    """

    text: str
    beginning: str
    asked: str
    examples: int


@dataclass(frozen=True, slots=True)
class Layout:
    """What stands between a subject and its object, and between two examples."""

    separator: str
    between: str

    def example(self, subject: str, object_: str) -> str:
        """A subject with an object behind it."""
        return join(subject, self.separator, object_)

    def after(self, before: str, text: str) -> str:
        """A text behind examples; either may be empty."""
        return before if not text else join(before, self.between, text)

    def examples(self, demonstrations: Sequence[Demonstration]) -> str:
        """Examples one after the other; none is an empty text."""
        return self.pairs([(one.subject_label, one.object_label) for one in demonstrations])

    def pairs(self, pairs: Sequence[tuple[str, str]]) -> str:
        """Return subjects with their objects one after the other; none is an empty text."""
        text = ""
        for subject, object_ in pairs:
            text = self.after(text, self.example(subject, object_))
        return text

    def before_object(self, text: str) -> str:
        """A prompt as far as a model that writes has to be led: white space at its end is for the model to write."""
        return join(text, self.separator, "").rstrip()

    def prompt(self, demonstrations: Sequence[Demonstration], subject: str) -> Prompt:
        """Examples with the subject that is asked behind them."""
        beginning = self.examples(demonstrations)
        asked = self.after(self.examples(demonstrations[-_SHOWN_EXAMPLES:]), subject)
        return Prompt(self.after(beginning, subject), beginning, asked, len(demonstrations))


def unescaped(text: str) -> str:
    r"""A separator as it is meant: ``\n`` is a new line, ``\t`` a tab.

    >>> unescaped(r":\n")
    ':\n'
    """
    return text.replace("\\n", "\n").replace("\\t", "\t")


class Room:
    """How much of a model's context texts take."""

    def __init__(self, scorer: TextScorer | None, reserved: int = 0) -> None:
        """Of this model.

        Args:
            scorer: None where nobody knows how the model counts: then everything fits.
            reserved: tokens of the context that texts must leave free.
        """
        self._scorer = scorer
        self._reserved = reserved
        self._tokens: dict[str, int] = {}

    def has_for(self, text: str, tail: str) -> bool:
        """Whether a text, which others will be measured with too, fits in with a tail behind it.

        Cost: the text is tokenized once, the tail where it is not obvious that it fits.
        """
        if self._scorer is None or self._scorer.max_tokens is None:
            return True
        if text not in self._tokens:
            self._tokens[text] = len(encode(self._scorer.tokenizer, [text])[0])
        left = self._scorer.max_tokens - self._reserved - self._tokens[text] - _SEAM
        # No token is less than a byte, but for those at seams.
        return len(tail.encode("utf-8", "replace")) <= left or len(encode(self._scorer.tokenizer, [tail])[0]) <= left


def fitting(count: int, fits: Callable[[int], bool]) -> int:
    """The most examples, at most ``count``, with which something fits; 0 where nothing does with any."""
    if fits(count):
        return count
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


@dataclass(frozen=True, slots=True)
class ExamplePrompts:
    """Writes what stands before the objects of facts.

    Attributes:
        layout: what stands between.
        count: how many examples are wanted.
        room: of the model's context.
        templates: by relation, the cloze sentence that examples and fact are put in; empty where names stand alone.
    """

    layout: Layout
    count: int
    room: Room
    templates: Mapping[str, str] = field(default_factory=dict)

    def subject(self, relation: str, label: str) -> str:
        """A subject as it is written: its label, or a cloze sentence as far as its blank."""
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

    def prompt(self, fact: AskedFact, demonstrations: Sequence[Demonstration], behind: Sequence[str] = ()) -> Prompt:
        """As many of the first examples that do not give the fact away as there are and the context takes.

        Args:
            demonstrations: of its relation, worded.
            behind: the texts that may follow, for each of which there has to be room.
        """
        subject = self.subject(fact.relation, fact.subject_label)
        fitting_ones = demonstrations_for([fact], demonstrations, self.count)
        tail = self.layout.example(subject, max(behind, key=len, default=""))
        most = fitting(
            len(fitting_ones), lambda count: self.room.has_for(self.layout.examples(fitting_ones[:count]), tail)
        )
        return self.layout.prompt(fitting_ones[:most], subject)
