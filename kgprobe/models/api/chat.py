"""Questions to models that chat: how they are sent as chat completions, and how what comes back is read."""

from dataclasses import replace
from typing import Any

import msgspec

from kgprobe.models.api.address import Address
from kgprobe.models.api.faults import Fault
from kgprobe.models.api.parameters import Parameters
from kgprobe.models.generating.generator import Answer, Request

# No token is shorter than a byte; beside the prompt's there are those of the chat's form.
_FORM_TOKENS = 64
# No model reads or writes more for one question.
_MOST_TOKENS = 2_000_000


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class Counts(msgspec.Struct):
    """Tokens of a request and of its answer."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Completion(msgspec.Struct):
    """What is needed of a chat completion; the client itself would let anything pass for one."""

    choices: list[_Choice]
    # Read apart: an answer whose cost is said in a way that cannot be is an answer.
    usage: msgspec.Raw = msgspec.Raw(b"{}")


class ChatForm:
    """The form of chat completions, see :class:`.session.Form`.

    Attributes:
        parameters: what the model takes, learned from what it declines.
    """

    dispensable = False
    may_be_empty = False
    needs = ""

    def __init__(self, address: Address) -> None:
        """For a model behind this address."""
        self._address = address
        self.parameters = Parameters(address)

    def path(self) -> str:
        """The same for all requests."""
        return "/chat/completions"

    def body(self, request: Request) -> dict[str, Any]:
        """One message of a user, with the parameters that the model takes."""
        messages = [{"role": "user", "content": request.prompt}]
        return {"model": self._address.model, "messages": messages, **self.parameters.of(request)}

    def size(self, request: Request) -> tuple[int, int]:
        """The most tokens of prompt and answer."""
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
        return Fault(f"the server's answer is no chat completion: {error}")
    if not completion.choices:
        return Fault("the server's answer holds no choice")
    choice = completion.choices[0]
    said = choice.message.content or ""
    text = _without_thoughts(said)
    counts = counts_in(completion.usage)
    refused = bool(choice.message.refusal) or choice.finish_reason == "content_filter"
    return Answer(
        text=text or (choice.message.refusal or "").strip(),
        refused=refused,
        ended=choice.finish_reason != "length",
        prompt_tokens=counted(counts.prompt_tokens, prompt),
        completion_tokens=counted(counts.completion_tokens, said),
    )


def _without_thoughts(text: str) -> str:
    """What a model says after it has thought aloud; empty where its thoughts were cut off.

    Most servers keep thoughts apart; some hand them on in front of the answer.
    """
    thoughts, mark, answer = text.rpartition("</think>")
    if not mark and thoughts == "" and answer.lstrip().startswith("<think>"):
        return ""
    return answer.strip()


def counts_in(usage: msgspec.Raw) -> Counts:
    """What a server says of tokens, as far as it can be read."""
    try:
        return msgspec.json.decode(usage, type=Counts | None) or Counts()
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Counts()


def counted(counted: int | None, text: str) -> int:
    """A number of tokens; where the server does not count, or counts what cannot be, the most that a text can have."""
    if counted is None or not bool(text) <= counted <= _MOST_TOKENS:
        return len(text.encode())
    return counted
