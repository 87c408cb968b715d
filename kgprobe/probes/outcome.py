"""What every probe gives back: one outcome an asked fact."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

import msgspec

from kgprobe.errors import KgprobeError
from kgprobe.sampling.facts import FactKey


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


@dataclass(frozen=True, slots=True)
class Outcome:
    """One ask of one fact, traceable to its prompt.

    Attributes:
        verdict: ``reason`` says why where it does not count.
        prompt: the text that the model was given.
        evidence: the numbers behind the verdict, and what they belong to; JSON-compatible.
    """

    fact: FactKey
    verdict: Verdict
    prompt: str = ""
    reason: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)

    def as_row(self) -> dict[str, Any]:
        """The outcome as a line of a file holds it."""
        return {
            "subject": self.fact.subject,
            "fact": self.fact.fact,
            "verdict": self.verdict.value,
            "reason": self.reason,
            "prompt": self.prompt,
            "evidence": self.evidence,
        }


def read_outcomes(path: Path) -> Iterator[dict[str, Any]]:
    """The outcomes of a file, one dictionary a line, in their order.

    Raises:
        KgprobeError: a line is damaged.
    """
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            yield decode_outcome(line, path, number)


def decode_outcome(line: bytes, path: Path, number: int) -> dict[str, Any]:
    """One line of a file of outcomes.

    Raises:
        KgprobeError: it is damaged; the message names file and line.
    """
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise KgprobeError(f"{path}, line {number}: damaged ({error}).") from error


class Probe(Protocol):
    """A method that asks a model about facts.

    Attributes:
        name: as on the command line.
        relations: ids of the relations whose facts it can ask.
    """

    name: str
    relations: Sequence[str]

    def describe(self) -> dict[str, Any]:
        """Everything that its outcomes depend on besides the facts and the seed; JSON-compatible.

        Has at least ``model`` and ``chance``, the probability that guessing at random is right (None: not known).
        """
        ...

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        """Ask each fact once: one outcome a fact, in order. The same facts and seed give the same outcomes."""
        ...
