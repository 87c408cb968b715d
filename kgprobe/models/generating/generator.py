"""Interface of models that answer prompts with text, on this machine or behind an API.

A request may fail without affecting others: each one is returned as an answer, or with the reason for having none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from kgprobe.models.generating.thinking import Thinking


@dataclass(frozen=True, slots=True)
class Request:
    """A prompt to answer; equal requests get equal answers, where the model is deterministic.

    Attributes:
        prompt: the user's message to a chat model, else a text to continue.
        max_tokens: maximum tokens of the answer, at least 1.
        temperature: sampling temperature; 0 is greedy.
        seed: seed of sampling; requests that differ in it alone are sampled independently.
        continuation: True to continue the prompt as a text, even with a chat model, and over line breaks, up to the end
            of the text or the last token.
        thinking: mode of a chat model, whose thought has its own limit; None for the default.
    """

    prompt: str
    max_tokens: int
    temperature: float = 0.0
    seed: int = 0
    continuation: bool = False
    thinking: Thinking | None = None

    def normalized(self) -> "Request":
        """Return an equal request for equal answers: at temperature 0, the seed is ignored."""
        return self if self.temperature > 0 else replace(self, temperature=0.0, seed=0)


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer.

    Attributes:
        text: without special tokens and thoughts, stripped; may be empty.
        refused: True if the API reports a refusal or a filter. A refusal in the model's own words is a text.
        ended: True if the model ended the answer by itself, not by its length.
        prompt_tokens: tokens of the request.
        completion_tokens: tokens of the answer, including hidden ones and the thought's.
        cached: True if the answer was cached, and cost nothing this time.
        thought: beginning of the thought, at most :data:`~.thinking.STORED_CHARACTERS`; empty if it is hidden.
        thought_tokens: tokens of the thought; 0 without one.
        thought_cut: True if the model did not end its thought by itself.
    """

    text: str
    refused: bool = False
    ended: bool = True
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached: bool = False
    thought: str = ""
    thought_tokens: int = 0
    thought_cut: bool = False


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A request without an answer.

    Attributes:
        reason: the reason, as a clause to append to a question.
    """

    reason: str


class Generator(Protocol):
    """A model that answers prompts."""

    @property
    def name(self) -> str:
        """Spec of the model, as given by the user."""

    def describe(self) -> dict[str, object]:
        """Return all that its answers depend on, as JSON values, without secrets."""

    def check_thinking(self, thinking: Thinking) -> dict[str, object]:
        """Return how the model is set to a mode of thinking, as JSON values.

        Raises:
            ArgumentError: the model cannot be set to it.
        """

    def answer(
        self, requests: Sequence[Request], progress: Callable[[int], None] | None = None
    ) -> list[Answer | Unanswered]:
        """Return an answer to each request, or the reason for having none, in their order.

        Args:
            requests: any number of them; equal ones may be answered once.
            progress: called now and then with the number of requests done since the last call.

        Raises:
            KgprobeError: no request can be answered, or the budget is spent; earlier answers stay in the cache, if any.
        """


def describe_thinking(generator: Generator, thinking: Thinking | None) -> dict[str, Any]:
    """Return a generator's description, with the way its thinking is set if a mode is requested."""
    described = dict(generator.describe())
    if thinking is not None:
        described["thinking"] = {"mode": str(thinking), **generator.check_thinking(thinking)}
    return described
