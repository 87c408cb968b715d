"""What every probe gives back: one outcome an asked fact, with the evidence behind its verdict.

Evidence is a struct of the probe's own, written to files and read from them as such. Whatever the probe, it can say
what was asked, what is right, what won, and how probable the right answer was, so that one finding, one page and one
report read them all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, Protocol

import msgspec

from kgprobe.sampling.keys import FactKey
from kgprobe.stats.proportions import Share


class Verdict(str, Enum):
    """How a model did on one ask of one fact.

    A refusal, and an answer from which nothing can be read, count as wrong, and are told apart so that they can be
    left out. ``UNANSWERED`` is a question that was put and to which no answer came, and ``UNASKABLE`` a fact that
    cannot be put at all: neither counts, and only the first is asked again.
    """

    RIGHT = "right"
    WRONG = "wrong"
    REFUSED = "refused"
    OFF_FORMAT = "off-format"
    UNANSWERED = "unanswered"
    UNASKABLE = "unaskable"

    @property
    def is_failure(self) -> bool:
        """Whether the model was heard and did not give the right answer."""
        return self in (Verdict.WRONG, Verdict.REFUSED, Verdict.OFF_FORMAT)

    @property
    def counts(self) -> bool:
        """Whether the model was heard at all."""
        return self is Verdict.RIGHT or self.is_failure


class Evidence(Protocol):
    """What an ask showed: a msgspec struct, tagged with its probe's name (``tag_field="probe"``)."""

    @property
    def question(self) -> str:
        """What was asked, as a person reads it."""
        ...

    @property
    def right_answer(self) -> str:
        """What is right to it."""
        ...

    @property
    def prediction(self) -> str | None:
        """What the model preferred or said in place of what is right; None where it was right."""
        ...

    @property
    def probability(self) -> float | None:
        """How probable the right answer was to the model, in [0, 1]; None where the probe knows none."""
        ...

    @property
    def chance(self) -> float | None:
        """How often guessing at random is right; None where nothing says so."""
        ...


class Alternatives(NamedTuple):
    """What stood beside the right answer in one ask.

    Attributes:
        names: what the model could have preferred, as people read it, each with how probable it was, in [0, 1].
        text: what it wrote, whole; None where it chose, and wrote nothing.
        former: what it preferred or said that was right before and is no more; None where it did not.
    """

    names: Sequence[tuple[str, float]] = ()
    text: str | None = None
    former: str | None = None


@dataclass(frozen=True, slots=True)
class Headline:
    """The measure that a probe's results open with in place of the win rate.

    Attributes:
        name: of the measure, as in the probe's tables.
        rate: its mean over facts, with Wilson's interval.
        facts: number of facts in the mean.
        of: the noun phrase for these facts.
        guessed: the mean of a guesser; None where nothing says how a guesser would do.
        means: definition of the measure, for a page.
        details: further measures, for the line below.
    """

    name: str
    rate: Share
    facts: int
    of: str
    guessed: float | None
    means: str
    details: str

    def __str__(self) -> str:
        told = f"{self.name} on {self.rate} of the {self.of}"
        return told if self.guessed is None else f"{told}; a guesser, {self.guessed:.0%}"


class Outcome(msgspec.Struct, frozen=True, eq=False):
    """One ask of one fact, traceable to its prompt.

    Attributes:
        relation: the fact's.
        prompt: the text that the model was given.
        reason: why the verdict does not count, where it does not.
        evidence: None where nothing was put to the model.
    """

    fact: FactKey
    verdict: Verdict
    relation: str
    prompt: str = ""
    reason: str | None = None
    evidence: Evidence | None = None


def unaskable(fact: FactKey, relation: str, reason: str) -> Outcome:
    """The outcome of a fact that cannot be put to the model."""
    return Outcome(fact, Verdict.UNASKABLE, relation, reason=reason)


def guessing_chance(outcome: Outcome) -> float | None:
    """Return the probability of guessing the answer that counts; None where there is none, or its chance is unknown."""
    if outcome.evidence is None or not outcome.verdict.counts:
        return None
    return outcome.evidence.chance


class Probe(Protocol):
    """A method that asks a model about facts.

    Attributes:
        relations: ids of the relations whose facts it can ask.
    """

    relations: Sequence[str]

    def describe(self) -> dict[str, Any]:
        """Everything that its outcomes depend on besides the facts and the seed; JSON-compatible.

        Has at least ``model``, as the user calls it.
        """
        ...

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        """Ask each fact once: one outcome a fact, in order. The same facts and seed give the same outcomes."""
        ...
