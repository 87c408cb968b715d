"""What answers prompts with text: a model on this machine, or one behind an API.

Everything that asks for text does it through :class:`Generator`: a request may fail without costing the others their
answers, and each request comes back as an answer or with the reason why there is none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Request:
    """A prompt to be answered; equal requests get equal answers, as far as the model allows that.

    Attributes:
        prompt: what a user says to a model that chats, else a text to go on with.
        max_tokens: the most tokens of an answer, at least 1.
        temperature: 0 takes the most probable token each time; above it, tokens are drawn.
        seed: what the draws follow from; requests that differ in it alone are drawn independently of each other.
        continuation: whether the prompt is a text to go on with also for a model that chats, and what is wanted goes on
            over the ends of lines, to the end of the text or the last of the tokens.
    """

    prompt: str
    max_tokens: int
    temperature: float = 0.0
    seed: int = 0
    continuation: bool = False

    def normalized(self) -> "Request":
        """Equal for requests with equal answers: nothing is drawn at temperature 0."""
        return self if self.temperature > 0 else replace(self, temperature=0.0, seed=0)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said.

    Attributes:
        text: without special tokens and without white space at the ends; may be empty.
        refused: the API says that the model refused, or that a filter held the answer back. What a model refuses in
            words of its own is a text.
        ended: whether the model ended it by itself, not for its length.
        prompt_tokens: of the request.
        completion_tokens: of the answer, also those that are not shown.
        cached: whether it came before, and cost nothing this time.
    """

    text: str
    refused: bool = False
    ended: bool = True
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A request that got no answer.

    Attributes:
        reason: why, as a clause to be shown behind what was asked.
    """

    reason: str


class Generator(Protocol):
    """A model that answers prompts."""

    @property
    def name(self) -> str:
        """What the user calls it: its spec."""

    def describe(self) -> dict[str, object]:
        """What its answers depend on, as JSON has it; no secret."""

    def answer(
        self, requests: Sequence[Request], progress: Callable[[int], None] | None = None
    ) -> list[Answer | Unanswered]:
        """An answer to each request, or why there is none, in their order.

        Args:
            requests: any number of them; equal ones may be answered once.
            progress: called now and then with the number of requests done since the last call.

        Raises:
            KgprobeError: no request can be answered, or no more is to be spent; what was answered before is kept
                where answers are kept at all.
        """
