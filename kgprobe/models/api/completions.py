"""Texts to be gone on with: how they are sent as completions, and how what comes back is read."""

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
    """The form of completions, see :class:`.session.Form`. A text may be over with its prompt."""

    dispensable = False
    may_be_empty = True
    needs = (
        "Texts are gone on with by completions (/completions), which this server has to offer for the model; chat alone"
        " does not do."
    )

    def __init__(self, address: Address, parameters: Parameters) -> None:
        """For a model behind this address.

        Args:
            parameters: what the model takes, learned from what it declines.
        """
        self._address = address
        self._parameters = parameters

    def path(self) -> str:
        """The same for all requests."""
        return "/completions"

    def body(self, request: Request) -> dict[str, Any]:
        """The text alone, with the parameters that the model takes."""
        return {"model": self._address.model, "prompt": request.prompt, **self._parameters.of(request)}

    def size(self, request: Request) -> tuple[int, int]:
        """The most tokens of text and continuation: no token is shorter than a byte, and one may stand in front."""
        return len(request.prompt.encode()) + 1, request.max_tokens

    def adapt(self, parameter: str) -> bool:
        """See :meth:`.parameters.Parameters.adapt`."""
        return self._parameters.adapt(parameter)

    def read(self, content: bytes, request: Request) -> Answer | Fault:
        """Return the model's continuation without the key."""
        try:
            completion = msgspec.json.decode(content, type=_Completion)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return Fault(f"the server's answer is no completion: {error}")
        if not completion.choices:
            return Fault("the server's answer holds no choice")
        choice = completion.choices[0]
        counts = counts_in(completion.usage)
        return Answer(
            text=self._address.without_key(choice.text.strip()),
            refused=choice.finish_reason == "content_filter",
            ended=choice.finish_reason != "length",
            prompt_tokens=counted(counts.prompt_tokens, request.prompt),
            completion_tokens=counted(counts.completion_tokens, choice.text),
        )
