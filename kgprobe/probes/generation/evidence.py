"""What a model wrote about a fact, and which names stand in it."""

import msgspec

from kgprobe.probes.distractors.evidence import Named
from kgprobe.probes.outcome import Alternatives

# Characters of a text where it stands for an answer in a table.
_SHOWN = 80


class NameInText(msgspec.Struct, frozen=True):
    """A name where it stands in a text.

    Attributes:
        start, end: in characters of the text.
        words: how many words stand before it, an article in front of the text not counted.
    """

    name: str
    start: int
    end: int
    words: int


class GenerationEvidence(msgspec.Struct, frozen=True, tag="generation", tag_field="probe"):
    """What a model went on with.

    Attributes:
        subject: its label.
        asked: the end of the prompt, as a person reads it.
        examples: how many stood before it.
        text: all that it wrote, without white space at the ends.
        counted: how many characters of the text count.
        named: the object's names that stand in what counts, each where it stands first; the first one in the text
            first.
        former: the same of what was right before, and is no more.
        beside: the same of what is right beside the object.
        other: the first name of another object of the relation that is not right; None where there is none.
    """

    subject: str
    object: Named
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
        """The text, and what was right before if that is named in place of the object."""
        former = self.former[0].name if self.former and not self.named else None
        return Alternatives(text=self.text, former=former)

    @property
    def question(self) -> str:
        """The end of the prompt, and that something is to follow."""
        return f"{self.asked} …"

    @property
    def right_answer(self) -> str:
        """The object's label."""
        return self.object.label

    @property
    def is_first(self) -> bool:
        """Whether the object is named, and no other object of the relation before it that is not right."""
        return bool(self.named) and (self.other is None or self.named[0].start < self.other.start)

    @property
    def is_behind(self) -> bool:
        """Whether the object is named, but another object of the relation that is not right before it."""
        return bool(self.named) and not self.is_first

    @property
    def prediction(self) -> str | None:
        """What was named in place of the object, or else how the text begins; None where the object is named."""
        if self.named:
            return None
        if self.other is not None:
            return self.other.name
        said = " ".join(self.text[: self.counted].split())
        return said if len(said) <= _SHOWN else f"{said[: _SHOWN - 1]}…"

    @property
    def probability(self) -> None:
        """Nothing is known of it: what is read is text."""
        return

    @property
    def chance(self) -> None:
        """Nothing says how often a text names an object by chance."""
        return
