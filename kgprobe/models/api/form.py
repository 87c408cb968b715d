"""Form of requests of one kind: their bodies, and how answers are read."""

from typing import Any, Generic, TypeVar

from kgprobe.models.api.connection import Fault
from kgprobe.models.generating.generator import Answer

FormRequestT = TypeVar("FormRequestT", contravariant=True)


class Form(Generic[FormRequestT]):
    """Encoder of requests of one kind, and decoder of their answers.

    Attributes:
        path: path relative to the server's address, or a URL on the same server.
        dispensable: True if servers can lack the path; then the requests stay unanswered, without an error.
        may_be_empty: True if an answer without text is valid.
        needs: a sentence on the requirements for the server, or empty.
        in_batches: True if batch APIs take such requests.
    """

    path: str
    dispensable = False
    may_be_empty = False
    needs = ""
    in_batches = False

    def body(self, request: FormRequestT) -> dict[str, Any] | None:
        """Return the JSON body of a POST request; None for GET."""
        raise NotImplementedError

    def size(self, request: FormRequestT) -> tuple[int, int]:  # noqa: ARG002
        """Return the maximum tokens of a request and of its answer; by default, it is free."""
        return 0, 0

    def adapt(self, parameter: str, reason: str) -> bool:  # noqa: ARG002
        """Drop or replace a parameter that the server declines for a reason; return False if that is not possible."""
        return False

    def read(self, content: bytes, request: FormRequestT) -> Answer | Fault:
        """Return the answer, or a fault that may vanish in the next attempt.

        Raises:
            KgprobeError: The server's answers are unusable.
        """
        raise NotImplementedError

    def is_complete(self, answer: Answer) -> bool:
        """Return False if an answer without text may become one with text in another attempt.

        An answer that was cut, or whose thought was, is paid for, and would be cut again.
        """
        is_cut = answer.thought_cut or not answer.ended
        return bool(answer.text) or answer.refused or is_cut or self.may_be_empty
