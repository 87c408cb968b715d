"""Generator for models behind OpenAI-compatible APIs: chat completions for questions, completions for continuations.

Not every API offers completions.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from kgprobe.models.api.address import OPENAI, Address
from kgprobe.models.api.connection import Fault
from kgprobe.models.api.form import Form
from kgprobe.models.api.requests import Asker
from kgprobe.models.generating.generator import Answer, Request, Unanswered
from kgprobe.models.scoring.tokens import not_unicode

_LIMITS = ("max_tokens", "max_completion_tokens")
ChoiceT = TypeVar("ChoiceT")

# Maximum tokens in addition to one per byte of the prompt: those of the chat template, or one special token in front.
_CHAT_TOKENS, _TEXT_TOKENS = 64, 1
_NEEDS = (
    "Continuations use completions (/completions), which this server has to offer for the model; chat alone is not"
    " enough."
)
# Larger counts are errors.
_MOST_TOKENS = 2_000_000


class ApiGenerator:
    """Generator for a model behind an API.

    Attributes:
        name: spec of the model.
        spending: usage and budget.
        parameters: parameters that the model accepts.
    """

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        self.name = asker.address.name
        self.spending = asker.spending
        self.parameters = Parameters(asker.address)

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
                cannot be used; or a batch has failed or was cancelled.
        """
        copies = Counter(map(Request.normalized, requests))

        def report(request: Request) -> None:
            if progress is not None:
                progress(copies[request])

        distinct = list(copies)
        answers: dict[Request, Answer | Unanswered] = {}
        odd = not_unicode([request.prompt for request in distinct])
        for place in odd:
            answers[distinct[place]] = Unanswered("its prompt is not Unicode: it contains half of a surrogate pair")
            report(distinct[place])
        for continuation in (False, True):
            form = _CompletionForm(self._asker.address, self.parameters, continuation=continuation)
            of_form = [request for request in distinct if request.continuation == continuation]
            valid = [request for request in of_form if request not in answers]
            answers |= self._asker.ask(form, valid, _cache_key, report)
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


class _Completion(msgspec.Struct, Generic[ChoiceT]):
    """Required parts of a completion; the client itself does not validate answers."""

    choices: list[ChoiceT]
    # Decoded separately: an answer with invalid counts is still an answer.
    usage: msgspec.Raw = msgspec.Raw(b"{}")


class _CompletionForm(Form[Request]):
    """Chat completions of one user message; with ``continuation``, completions of a text, which may be empty."""

    in_batches = True

    def __init__(self, address: Address, parameters: Parameters, *, continuation: bool) -> None:
        self._address = address
        self._parameters = parameters
        self.continuation = self.may_be_empty = continuation
        self.path = "/completions" if continuation else "/chat/completions"
        self.needs = _NEEDS if continuation else ""

    def body(self, request: Request) -> dict[str, Any]:
        prompt: dict[str, Any] = {"messages": [{"role": "user", "content": request.prompt}]}
        if self.continuation:
            prompt = {"prompt": request.prompt}
        return {"model": self._address.model, **prompt, **self._parameters.of(request)}

    def size(self, request: Request) -> tuple[int, int]:
        return len(request.prompt.encode()) + (_TEXT_TOKENS if self.continuation else _CHAT_TOKENS), request.max_tokens

    def adapt(self, parameter: str) -> bool:
        return self._parameters.adapt(parameter)

    def read(self, content: bytes, request: Request) -> Answer | Fault:
        """Return the model's answer without its thoughts, and without the key."""
        kind: Any = _Completion[_TextChoice] if self.continuation else _Completion[_ChatChoice]
        try:
            completion = msgspec.json.decode(content, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            name = "completion" if self.continuation else "chat completion"
            return Fault(f"the server's answer is not a {name}: {error}")
        if not completion.choices:
            return Fault("the server's answer has no choices")
        choice = completion.choices[0]
        if self.continuation:
            whole, refusal = choice.text, ""
            text = whole.strip()
        else:
            whole, refusal = choice.message.content or "", choice.message.refusal or ""
            text = _without_thoughts(whole) or refusal.strip()
        try:
            counts = msgspec.json.decode(completion.usage, type=_Counts | None) or _Counts()
        except (msgspec.DecodeError, UnicodeDecodeError):
            counts = _Counts()
        return Answer(
            text=self._address.without_key(text),
            refused=bool(refusal) or choice.finish_reason == "content_filter",
            ended=choice.finish_reason != "length",
            prompt_tokens=_checked(counts.prompt_tokens, request.prompt),
            completion_tokens=_checked(counts.completion_tokens, whole),
        )


def _without_thoughts(text: str) -> str:
    """Return an answer without the reasoning that some servers put before it; empty if the reasoning was cut off."""
    _, mark, answer = text.rpartition("</think>")
    if not mark and answer.lstrip().startswith("<think>"):
        return ""
    return answer.strip()


def _checked(counted: int | None, text: str) -> int:
    """Return a token count; if it is missing or impossible, the maximum for the text, one token per byte."""
    if counted is None or not bool(text) <= counted <= _MOST_TOKENS:
        return len(text.encode())
    return counted
