"""Outcomes: the result of every probe, one for each asked fact, with the evidence behind the verdict.

Each probe has its own struct of evidence, which is also the stored format. Every struct has the same properties
(question, right answer, prediction, probability, chance), which findings, pages and reports read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from kgprobe.sampling.keys import FactKey
from kgprobe.stats.proportions import Share

if TYPE_CHECKING:
    from kgprobe.tables import Table


class Verdict(str, Enum):
    """Verdict on one question about one fact.

    ``REFUSED`` and ``OFF_FORMAT`` (an unreadable answer) count as wrong, but are counted apart so that they can be
    left out. ``UNANSWERED`` (the model gave no answer) and ``UNASKABLE`` (the fact cannot be asked) do not count;
    unanswered facts are asked again.
    """

    RIGHT = "right"
    WRONG = "wrong"
    REFUSED = "refused"
    OFF_FORMAT = "off-format"
    UNANSWERED = "unanswered"
    UNASKABLE = "unaskable"

    @property
    def is_failure(self) -> bool:
        """True if the model answered, but not right."""
        return self in (Verdict.WRONG, Verdict.REFUSED, Verdict.OFF_FORMAT)

    @property
    def counts(self) -> bool:
        """True if the model answered."""
        return self is Verdict.RIGHT or self.is_failure


class Evidence(Protocol):
    """Evidence of one question: a msgspec struct, tagged with the probe's name (``tag_field="probe"``)."""

    @property
    def question(self) -> str:
        """The question, in readable form."""
        ...

    @property
    def right_answer(self) -> str:
        """The right answer."""
        ...

    @property
    def prediction(self) -> str | None:
        """The answer that the model preferred or wrote instead of the right one; None if it was right."""
        ...

    @property
    def probability(self) -> float | None:
        """The model's probability of the right answer, in [0, 1]; None if the probe has none."""
        ...

    @property
    def chance(self) -> float | None:
        """The chance level: the probability that a random guess is right; None if unknown."""
        ...


class Alternatives(NamedTuple):
    """Other answers to one question.

    Attributes:
        names: the answers that the model could have preferred, each with its probability in [0, 1].
        text: the model's whole text; None if it chose among given answers.
        former: the prediction, if it was right before and no longer is.
    """

    names: Sequence[tuple[str, float]] = ()
    text: str | None = None
    former: str | None = None


@dataclass(frozen=True, slots=True)
class Headline:
    """The leading measure of a probe's results, in place of the win rate.

    Attributes:
        name: name of the measure, as in the probe's tables.
        rate: mean over facts, with Wilson's interval.
        facts: number of facts in the mean.
        of: the noun phrase for these facts.
        guessed: chance level of the mean; None if unknown.
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
        text = f"{self.name} on {self.rate} of the {self.of}"
        return text if self.guessed is None else f"{text}; a guesser, {self.guessed:.0%}"


class ProbeResults(NamedTuple):
    """A probe's own results over outcomes, from one pass.

    Attributes:
        tables: tables in addition to the tables of every probe.
        headline: the leading measure; None for the win rate.
    """

    tables: Sequence["Table"] = ()
    headline: Headline | None = None


class Outcome(msgspec.Struct, frozen=True, eq=False):
    """Result of asking one fact once, traceable to its prompt.

    Attributes:
        relation: id of the fact's relation.
        prompt: the text given to the model.
        reason: why the verdict does not count; None if it counts.
        evidence: None if the model was not asked.
    """

    fact: FactKey
    verdict: Verdict
    relation: str
    prompt: str = ""
    reason: str | None = None
    evidence: Evidence | None = None


def unaskable(fact: FactKey, relation: str, reason: str) -> Outcome:
    """Return the outcome of a fact that cannot be asked."""
    return Outcome(fact, Verdict.UNASKABLE, relation, reason=reason)


def guessing_chance(outcome: Outcome) -> float | None:
    """Return the chance level of a question whose verdict counts; None if it does not count or is unknown."""
    if outcome.evidence is None or not outcome.verdict.counts:
        return None
    return outcome.evidence.chance


class Probe(Protocol):
    """A method of asking a model about facts.

    Attributes:
        relations: ids of the relations whose facts can be asked.
    """

    relations: Sequence[str]

    def describe(self) -> dict[str, Any]:
        """Return all settings that the outcomes depend on, without facts and seed; JSON-compatible.

        Contains at least ``model``, the model's name as given by the user.
        """
        ...

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        """Ask each fact once and return its outcome, in order. The same facts and seed give the same outcomes."""
        ...
