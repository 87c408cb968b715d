"""Questions to chat models: requests and answers of the chat completions API."""

from dataclasses import replace
from typing import Any

import msgspec

from kgprobe.models.api.address import Address
from kgprobe.models.api.faults import Fault
from kgprobe.models.api.parameters import Parameters
from kgprobe.models.generating.generator import Answer, Request

# Maximum tokens of the chat template, in addition to one per byte of the prompt.
_FORM_TOKENS = 64
# Larger counts are errors.
_MOST_TOKENS = 2_000_000


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class Counts(msgspec.Struct):
    """Token counts of a request and of its answer."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Completion(msgspec.Struct):
    """Required parts of a chat completion; the client itself does not validate answers."""

    choices: list[_Choice]
    # Decoded separately: an answer with invalid counts is still an answer.
    usage: msgspec.Raw = msgspec.Raw(b"{}")


class ChatForm:
    """Form of chat completions, see :class:`.session.Form`."""

    dispensable = False
    may_be_empty = False
    needs = ""

    def __init__(self, address: Address) -> None:
        self._address = address
        self.parameters = Parameters(address)

    def path(self) -> str:
        """Return the path of chat completions."""
        return "/chat/completions"

    def body(self, request: Request) -> dict[str, Any]:
        """Return one user message with the parameters that the model accepts."""
        messages = [{"role": "user", "content": request.prompt}]
        return {"model": self._address.model, "messages": messages, **self.parameters.of(request)}

    def size(self, request: Request) -> tuple[int, int]:
        """Return the maximum tokens of prompt and answer."""
        return len(request.prompt.encode()) + _FORM_TOKENS, request.max_tokens

    def adapt(self, parameter: str) -> bool:
        """See :meth:`.parameters.Parameters.adapt`."""
        return self.parameters.adapt(parameter)

    def read(self, content: bytes, request: Request) -> Answer | Fault:
        """Return the model's answer without its thoughts, and without the key."""
        result = _read(content, request.prompt)
        if isinstance(result, Answer):
            return replace(result, text=self._address.without_key(result.text))
        return result


def _read(content: bytes, prompt: str) -> Answer | Fault:
    try:
        completion = msgspec.json.decode(content, type=_Completion)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return Fault(f"the server's answer is not a chat completion: {error}")
    if not completion.choices:
        return Fault("the server's answer has no choices")
    choice = completion.choices[0]
    content_text = choice.message.content or ""
    text = _without_thoughts(content_text)
    counts = counts_in(completion.usage)
    refused = bool(choice.message.refusal) or choice.finish_reason == "content_filter"
    return Answer(
        text=text or (choice.message.refusal or "").strip(),
        refused=refused,
        ended=choice.finish_reason != "length",
        prompt_tokens=counted(counts.prompt_tokens, prompt),
        completion_tokens=counted(counts.completion_tokens, content_text),
    )


def _without_thoughts(text: str) -> str:
    """Return an answer without the reasoning that some servers put before it; empty if the reasoning was cut off."""
    thoughts, mark, answer = text.rpartition("</think>")
    if not mark and thoughts == "" and answer.lstrip().startswith("<think>"):
        return ""
    return answer.strip()


def counts_in(usage: msgspec.Raw) -> Counts:
    """Return the token counts of a server, empty if they cannot be decoded."""
    try:
        return msgspec.json.decode(usage, type=Counts | None) or Counts()
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Counts()


def counted(counted: int | None, text: str) -> int:
    """Return a token count; if it is missing or impossible, the maximum for the text, one token per byte."""
    if counted is None or not bool(text) <= counted <= _MOST_TOKENS:
        return len(text.encode())
    return counted
