"""Outcomes: the result of every probe, one for each asked fact, with the evidence behind the verdict."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, TypeVar

import msgspec

from kgprobe.base.intervals import Share
from kgprobe.sampling.keys import FactKey
from kgprobe.stats.proportions import against_guessing

if TYPE_CHECKING:
    from kgprobe.base.tables import Table


# Maximum characters of a text in a table.
_SHOWN = 80


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


# Sources of a confidence: the probability among compared answers, the share of repeated answers, a number in words.
PROBABILITY, AGREEMENT, STATED = "probability", "agreement", "stated"


class RatedAnswer(NamedTuple):
    """An answer with the confidence that it is right.

    Attributes:
        source: ``PROBABILITY``, ``AGREEMENT`` or ``STATED``.
        confidence: in [0, 1]; None without one, for ``reason``, a clause such as *it abstains*.
        right: None if the verdict says it.
    """

    source: str
    confidence: float | None
    right: bool | None = None
    reason: str | None = None


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
        return f"{self.name} on {self.rate} of the {self.of}{against_guessing(self.rate, self.guessed)}"


class ProbeResults(NamedTuple):
    """A probe's own results over outcomes, from one pass.

    Attributes:
        tables: tables in addition to the tables of every probe.
        headline: the leading measure; None for the win rate.
    """

    tables: Sequence["Table"] = ()
    headline: Headline | None = None


class Evidence(msgspec.Struct, frozen=True, tag_field="probe"):
    """Base of the evidence of one question: a struct, tagged with the probe's name, which is also the stored format.

    Findings, pages and reports read its properties. A probe overrides them by fields or by properties.
    """

    @property
    def question(self) -> str:
        """The question, in readable form."""
        raise NotImplementedError

    @property
    def right_answer(self) -> str:
        """The right answer."""
        raise NotImplementedError

    @property
    def prediction(self) -> str | None:
        """The answer that the model preferred or wrote instead of the right one; None if it was right."""
        raise NotImplementedError

    @property
    def probability(self) -> float | None:
        """The model's probability of the right answer, in [0, 1]; None if the probe has none."""
        return None

    @property
    def chance(self) -> float | None:
        """The chance level: the probability that a random guess is right; None if unknown."""
        return None

    @property
    def alternatives(self) -> Alternatives:
        """The other answers, to show a single fact."""
        return Alternatives()

    @property
    def rated(self) -> Sequence[RatedAnswer]:
        """Answers with a confidence to compare with their accuracy: one from each source, or for each statement."""
        return ()

    @property
    def values(self) -> Mapping[str, float]:
        """Further measures, by name in snake_case, the same for each answer. Models are compared by their means too."""
        return {}

    @property
    def counts(self) -> Mapping[str, int]:
        """Numbers of repeated answers, by name in snake_case.

        Probes that read answers in words have ``texts``, the number of these, and ``unplaced``, that of the texts that
        neither name anything nor are read as refusals.
        """
        return {}

    @classmethod
    def results(cls, outcomes: "Iterable[Outcome]", described: Mapping[str, Any]) -> ProbeResults:  # noqa: ARG003
        """Return the probe's own tables and headline over outcomes, which are read once.

        Args:
            described: the probe's description.
        """
        return ProbeResults()

    @classmethod
    def exports(cls) -> "Mapping[str, Export]":
        """Return the writers of further files, by file name."""
        return {}


E = TypeVar("E", bound=Evidence)

# Opens a file for writing; yields a function that adds an outcome.
Export: TypeAlias = Callable[[Path], AbstractContextManager[Callable[["Outcome"], None]]]


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


def shortened(text: str) -> str:
    """Return a text of at most 80 characters, to show it as an answer in a table."""
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def answered(outcomes: Iterable[Outcome], evidence: type[E]) -> Iterator[tuple[Outcome, E]]:
    """Yield the outcomes that count, each with its evidence; outcomes of other probes are left out."""
    for outcome in outcomes:
        if isinstance(outcome.evidence, evidence) and outcome.verdict.counts:
            yield outcome, outcome.evidence


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
        """Ask each fact once and return its outcome, in order. The same facts and seed give the same outcomes.

        Raises:
            KgprobeError: the model cannot be asked at all, or its budget is spent. Answers received before are in the
                cache of answers, if there is one.
        """
        ...
