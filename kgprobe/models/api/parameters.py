"""What requests are sent with beside their prompt: the parameters that a model takes, under the names it knows."""

from typing import Any

from kgprobe.models.api.address import OPENAI, Address
from kgprobe.models.generating.generator import Request

_LIMITS = ("max_tokens", "max_completion_tokens")


class Parameters:
    """The parameters of one model, learned from what it declines.

    Attributes:
        left_out: those that it does not take.
    """

    def __init__(self, address: Address) -> None:
        """Nothing was declined yet."""
        self.left_out: frozenset[str] = frozenset()
        # Of the two names of one thing, OpenAI's newer models know only the second, many other servers only the first.
        self._limit = _LIMITS[address.url == OPENAI]

    def of(self, request: Request) -> dict[str, Any]:
        """What a request is sent with."""
        # Completions have kept the first name of the limit everywhere.
        limit = _LIMITS[0] if request.continuation else self._limit
        wanted: dict[str, Any] = {"temperature": request.temperature, limit: request.max_tokens}
        if request.temperature > 0:
            wanted["seed"] = request.seed
        return {name: value for name, value in wanted.items() if name not in self.left_out}

    def adapt(self, parameter: str) -> bool:
        """Do without a parameter from now on, or call it by its other name; False where there is no way to."""
        if parameter in _LIMITS:
            other = _LIMITS[parameter == _LIMITS[0]]
            if other in self.left_out:
                return False
            self._limit = other
        self.left_out |= {parameter}
        return True
