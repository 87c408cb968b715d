"""Continuations of texts: requests and answers of the completions API."""

from typing import Any

import msgspec

from kgprobe.models.api.address import Address
from kgprobe.models.api.chat import counted, counts_in
from kgprobe.models.api.faults import Fault
from kgprobe.models.api.parameters import Parameters
from kgprobe.models.generating.generator import Answer, Request


class _Choice(msgspec.Struct):
    text: str
    finish_reason: str | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    usage: msgspec.Raw = msgspec.Raw(b"{}")


class CompletionForm:
    """Form of completions, see :class:`.session.Form`; a continuation may be empty."""

    dispensable = False
    may_be_empty = True
    needs = (
        "Continuations use completions (/completions), which this server has to offer for the model; chat alone is not"
        " enough."
    )

    def __init__(self, address: Address, parameters: Parameters) -> None:
        self._address = address
        self._parameters = parameters

    def path(self) -> str:
        """Return the path of completions."""
        return "/completions"

    def body(self, request: Request) -> dict[str, Any]:
        """Return the text with the parameters that the model accepts."""
        return {"model": self._address.model, "prompt": request.prompt, **self._parameters.of(request)}

    def size(self, request: Request) -> tuple[int, int]:
        """Return the maximum tokens of text and continuation: a token per byte, one special token in front."""
        return len(request.prompt.encode()) + 1, request.max_tokens

    def adapt(self, parameter: str) -> bool:
        """See :meth:`.parameters.Parameters.adapt`."""
        return self._parameters.adapt(parameter)

    def read(self, content: bytes, request: Request) -> Answer | Fault:
        """Return the model's continuation without the key."""
        try:
            completion = msgspec.json.decode(content, type=_Completion)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return Fault(f"the server's answer is not a completion: {error}")
        if not completion.choices:
            return Fault("the server's answer has no choices")
        choice = completion.choices[0]
        counts = counts_in(completion.usage)
        return Answer(
            text=self._address.without_key(choice.text.strip()),
            refused=choice.finish_reason == "content_filter",
            ended=choice.finish_reason != "length",
            prompt_tokens=counted(counts.prompt_tokens, request.prompt),
            completion_tokens=counted(counts.completion_tokens, choice.text),
        )
