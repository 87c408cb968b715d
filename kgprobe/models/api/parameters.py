"""Request parameters that a model accepts, under the names that it knows."""

from typing import Any

from kgprobe.models.api.address import OPENAI, Address
from kgprobe.models.generating.generator import Request

_LIMITS = ("max_tokens", "max_completion_tokens")


class Parameters:
    """Parameters of one model, adapted when it declines one.

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
        return {name: value for name, value in parameters.items() if name not in self.left_out}

    def adapt(self, parameter: str) -> bool:
        """Drop a declined parameter, or switch to its other name; return False if neither is possible."""
        if parameter in _LIMITS:
            other = _LIMITS[parameter == _LIMITS[0]]
            if other in self.left_out:
                return False
            self._limit = other
        self.left_out |= {parameter}
        return True
