"""Generator for models behind OpenAI-compatible APIs: chat completions for questions, completions for continuations.

Not every API offers completions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from kgprobe.models.api.address import OPENAI, Address
from kgprobe.models.api.requests import Asker, Fault, Form
from kgprobe.models.generating.generator import Answer, Request, Unanswered
from kgprobe.models.scoring.tokens import not_unicode

_LIMITS = ("max_tokens", "max_completion_tokens")
# Maximum tokens in addition to one per byte of the prompt: those of the chat template, or one special token in front.
_CHAT_TOKENS, _TEXT_TOKENS = 64, 1
# Larger counts are errors.
_MOST_TOKENS = 2_000_000


class ApiGenerator:
    """Generator for a model behind an API.

    Attributes:
        spending: usage and budget.
        parameters: parameters that the model accepts.
    """

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        self.spending = asker.spending
        self.parameters = Parameters(asker.address)

    @property
    def name(self) -> str:
        """Spec of the model."""
        return self._asker.address.name

    def describe(self) -> dict[str, object]:
        """Return model, address and form of the prompts."""
        return {
            "name": self.name,
            "model": self._asker.address.model,
            "url": self._asker.address.url,
            "prompt": "one message of a user",
        }

    def answer(
        self, requests: Sequence[Request], progress: Callable[[int], None] | None = None
    ) -> list[Answer | Unanswered]:
        """Return an answer or the reason for its lack for each request, in order; equal requests are sent once.

        Raises:
            BudgetSpentError: The budget does not cover the next request; pending requests have been completed.
            KgprobeError: The server declines all requests (key, name, address) or cannot be reached, or the cache
                cannot be used.
        """
        copies: dict[Request, int] = {}
        for request in requests:
            key = request.normalized()
            copies[key] = copies.get(key, 0) + 1

        def report(request: Request) -> None:
            if progress is not None:
                progress(copies[request])

        distinct = list(copies)
        answers: dict[Request, Answer | Unanswered] = {}
        odd = not_unicode([request.prompt for request in distinct])
        for place in odd:
            answers[distinct[place]] = Unanswered("its prompt is not Unicode: it contains half of a surrogate pair")
            report(distinct[place])
        for form in (_ChatForm(self._asker.address, self.parameters), _TextForm(self._asker.address, self.parameters)):
            of_form = [
                request for request in distinct if request not in answers and request.continuation == form.continuation
            ]
            answers |= self._asker.ask(form, of_form, _cache_key, report)
        return [answers[request.normalized()] for request in requests]


def _cache_key(request: Request) -> dict[str, object]:
    """Return everything that an answer depends on, except the model."""
    whole: dict[str, object] = {"prompt": request.prompt, "max_tokens": request.max_tokens}
    whole["temperature"] = request.temperature
    if request.continuation:
        whole["form"] = "continuation"
    if request.temperature > 0:
        whole["seed"] = request.seed
    return whole


class Parameters:
    """Request parameters that one model accepts, under the names that it knows; adapted when it declines one.

    Attributes:
        left_out: declined parameters.
    """

    def __init__(self, address: Address) -> None:
        self.left_out: frozenset[str] = frozenset()
        # OpenAI's newer models know only the second name, many other servers only the first.
        self._limit = _LIMITS[address.url == OPENAI]

    def of(self, request: Request) -> dict[str, Any]:
        """Return the parameters of a request."""
        # Completions use the first name everywhere.
        limit = _LIMITS[0] if request.continuation else self._limit
        parameters: dict[str, Any] = {"temperature": request.temperature, limit: request.max_tokens}
        if request.temperature > 0:
            parameters["seed"] = request.seed
        for name in self.left_out:
            parameters.pop(name, None)
        return parameters

    def adapt(self, parameter: str) -> bool:
        """Drop a declined parameter, or switch to its other name; return False if neither is possible."""
        if parameter in _LIMITS:
            other = _LIMITS[parameter == _LIMITS[0]]
            if other in self.left_out:
                return False
            self._limit = other
        self.left_out |= {parameter}
        return True


class _Counts(msgspec.Struct):
    """Token counts of a request and of its answer."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _ChatChoice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _TextChoice(msgspec.Struct):
    text: str
    finish_reason: str | None = None


class _ChatCompletion(msgspec.Struct):
    """Required parts of a chat completion; the client itself does not validate answers."""

    choices: list[_ChatChoice]
    # Decoded separately: an answer with invalid counts is still an answer.
    usage: msgspec.Raw = msgspec.Raw(b"{}")


class _TextCompletion(msgspec.Struct):
    choices: list[_TextChoice]
    usage: msgspec.Raw = msgspec.Raw(b"{}")


@dataclass(frozen=True, slots=True)
class _ChatForm(Form[Request]):
    """Form of chat completions, see :class:`.requests.Form`: one user message, answered by one of the model."""

    address: Address
    parameters: Parameters
    continuation: bool = False

    def path(self) -> str:
        """Return the path of the endpoint."""
        return "/chat/completions"

    def body(self, request: Request) -> dict[str, Any]:
        messages = [{"role": "user", "content": request.prompt}]
        return {"model": self.address.model, "messages": messages, **self.parameters.of(request)}

    def size(self, request: Request) -> tuple[int, int]:
        return len(request.prompt.encode()) + _CHAT_TOKENS, request.max_tokens

    def adapt(self, parameter: str) -> bool:
        return self.parameters.adapt(parameter)

    def read(self, content: bytes, request: Request) -> Answer | Fault:
        """Return the model's answer without its thoughts, and without the key."""
        completion = _decode(content, _ChatCompletion, "chat completion")
        if isinstance(completion, Fault):
            return completion
        choice = completion.choices[0]
        whole, refusal = choice.message.content or "", choice.message.refusal or ""
        counts = _counts(completion.usage)
        return Answer(
            text=self.address.without_key(_without_thoughts(whole) or refusal.strip()),
            refused=bool(refusal) or choice.finish_reason == "content_filter",
            ended=choice.finish_reason != "length",
            prompt_tokens=_checked(counts.prompt_tokens, request.prompt),
            completion_tokens=_checked(counts.completion_tokens, whole),
        )


@dataclass(frozen=True, slots=True)
class _TextForm(Form[Request]):
    """Form of completions, see :class:`.requests.Form`; a continuation may be empty."""

    address: Address
    parameters: Parameters
    continuation: bool = True
    may_be_empty = True
    needs = (
        "Continuations use completions (/completions), which this server has to offer for the model; chat alone is not"
        " enough."
    )

    def path(self) -> str:
        """Return the path of the endpoint."""
        return "/completions"

    def body(self, request: Request) -> dict[str, Any]:
        return {"model": self.address.model, "prompt": request.prompt, **self.parameters.of(request)}

    def size(self, request: Request) -> tuple[int, int]:
        return len(request.prompt.encode()) + _TEXT_TOKENS, request.max_tokens

    def adapt(self, parameter: str) -> bool:
        return self.parameters.adapt(parameter)

    def read(self, content: bytes, request: Request) -> Answer | Fault:
        """Return the model's continuation without the key."""
        completion = _decode(content, _TextCompletion, "completion")
        if isinstance(completion, Fault):
            return completion
        choice = completion.choices[0]
        counts = _counts(completion.usage)
        return Answer(
            text=self.address.without_key(choice.text.strip()),
            refused=choice.finish_reason == "content_filter",
            ended=choice.finish_reason != "length",
            prompt_tokens=_checked(counts.prompt_tokens, request.prompt),
            completion_tokens=_checked(counts.completion_tokens, choice.text),
        )


def _decode(content: bytes, kind: Any, name: str) -> Any:
    """Return a server's answer as a struct with at least one choice, or a fault."""
    try:
        completion = msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return Fault(f"the server's answer is not a {name}: {error}")
    return completion if completion.choices else Fault("the server's answer has no choices")


def _without_thoughts(text: str) -> str:
    """Return an answer without the reasoning that some servers put before it; empty if the reasoning was cut off."""
    _, mark, answer = text.rpartition("</think>")
    if not mark and answer.lstrip().startswith("<think>"):
        return ""
    return answer.strip()


def _counts(usage: msgspec.Raw) -> _Counts:
    """Return the token counts of a server, empty if they cannot be decoded."""
    try:
        return msgspec.json.decode(usage, type=_Counts | None) or _Counts()
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _Counts()


def _checked(counted: int | None, text: str) -> int:
    """Return a token count; if it is missing or impossible, the maximum for the text, one token per byte."""
    if counted is None or not bool(text) <= counted <= _MOST_TOKENS:
        return len(text.encode())
    return counted
