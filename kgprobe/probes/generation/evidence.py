"""Evidence of the probe `generation`: the generated text, and the names in it."""

import msgspec

from kgprobe.probes.distractors.evidence import NamedEntity
from kgprobe.probes.outcome import Alternatives

# Maximum characters of a text that is shown as an answer in a table.
_SHOWN = 80


class NameInText(msgspec.Struct, frozen=True):
    """Occurrence of a name in a text.

    Attributes:
        start, end: position in characters of the text.
        words: number of words before the name, without an article at the start of the text.
    """

    name: str
    start: int
    end: int
    words: int


class GenerationEvidence(msgspec.Struct, frozen=True, tag="generation", tag_field="probe"):
    """A model's continuation, and the names in it.

    Attributes:
        subject: label of the subject.
        asked: end of the prompt, in readable form.
        examples: number of examples in the prompt.
        text: the whole generated text, stripped.
        counted: number of characters of the text that count.
        named: first occurrences of the object's names in the counted part, in the order of the text.
        former: the same for objects that were right before and no longer are.
        beside: the same for further right objects.
        other: first name of a wrong object of the relation, if any.
    """

    subject: str
    object: NamedEntity
    asked: str
    examples: int
    text: str
    counted: int
    named: tuple[NameInText, ...] = ()
    former: tuple[NameInText, ...] = ()
    beside: tuple[NameInText, ...] = ()
    other: NameInText | None = None

    @property
    def alternatives(self) -> Alternatives:
        """The text, and a former object if the text names that instead of the object."""
        former = self.former[0].name if self.former and not self.named else None
        return Alternatives(text=self.text, former=former)

    @property
    def question(self) -> str:
        """The end of the prompt, with an ellipsis."""
        return f"{self.asked} …"

    @property
    def right_answer(self) -> str:
        """The object's label."""
        return self.object.label

    @property
    def is_first(self) -> bool:
        """True if the object is named before any wrong object of the relation."""
        return bool(self.named) and (self.other is None or self.named[0].start < self.other.start)

    @property
    def is_behind(self) -> bool:
        """True if the object is named after a wrong object of the relation."""
        return bool(self.named) and not self.is_first

    @property
    def prediction(self) -> str | None:
        """The wrong object that the text names, or else the start of the text; None if it names the right object."""
        if self.named:
            return None
        if self.other is not None:
            return self.other.name
        text = " ".join(self.text[: self.counted].split())
        return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"

    @property
    def probability(self) -> None:
        """None: generated text has no probability of the right answer."""
        return

    @property
    def chance(self) -> None:
        """None: the chance level of naming an object is unknown."""
        return
