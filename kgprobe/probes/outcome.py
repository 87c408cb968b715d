"""What every probe gives back: one outcome an asked fact."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from kgprobe.sampling.facts import FactKey


class Verdict(str, Enum):
    """How a model did on one ask of one fact."""

    RIGHT = "right"
    WRONG = "wrong"
    UNASKABLE = "unaskable"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One ask of one fact, traceable to its prompt.

    Attributes:
        verdict: ``UNASKABLE`` counts neither as right nor as wrong; ``reason`` says why.
        prompt: the text that the model was given.
        evidence: the numbers behind the verdict, and what they belong to; JSON-compatible.
    """

    fact: FactKey
    verdict: Verdict
    prompt: str = ""
    reason: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)


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
