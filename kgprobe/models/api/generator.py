"""Answers of a model behind an OpenAI-compatible API, by the official client.

An answer is a chat completion; the continuation of a text is a completion, which not every API offers.
"""

from collections.abc import Callable, Sequence

from kgprobe.models.api.asking import Asker
from kgprobe.models.api.chat import ChatForm
from kgprobe.models.api.completions import CompletionForm
from kgprobe.models.generating.generator import Answer, Request, Unanswered
from kgprobe.models.scoring.tokens import not_unicode


class ApiGenerator:
    """A model behind an API that answers.

    Attributes:
        spending: what it used, and may use.
        parameters: what this model takes, found out while it was asked.
    """

    def __init__(self, asker: Asker) -> None:
        """Sends nothing yet."""
        self._asker = asker
        self._chat = ChatForm(asker.address)
        self._completions = CompletionForm(asker.address, self._chat.parameters)
        self.spending = asker.spending
        self.parameters = self._chat.parameters

    @property
    def name(self) -> str:
        """The model's spec."""
        return self._asker.address.name

    def describe(self) -> dict[str, object]:
        """Model, address, and in which form it is asked."""
        return {
            "name": self.name,
            "model": self._asker.address.model,
            "url": self._asker.address.url,
            "prompt": "one message of a user",
        }

    def answer(
        self, requests: Sequence[Request], progress: Callable[[int], None] | None = None
    ) -> list[Answer | Unanswered]:
        """An answer to each request, or why there is none, in their order; equal requests are sent once.

        Raises:
            BudgetSpentError: the budget does not hold the next request. What was under way has been waited for.
            KgprobeError: the server takes no request at all (key, name, address), cannot be reached, or the file of
                answers cannot be used.
        """
        copies: dict[Request, int] = {}
        for request in requests:
            key = request.normalized()
            copies[key] = copies.get(key, 0) + 1

        def tell(request: Request) -> None:
            if progress is not None:
                progress(copies[request])

        odd = not_unicode([request.prompt for request in copies])
        taken = [request for place, request in enumerate(copies) if place not in odd]
        questions = [request for request in taken if not request.continuation]
        texts = [request for request in taken if request.continuation]
        found = self._asker.ask(self._chat, questions, _kept_as, tell)
        found |= self._asker.ask(self._completions, texts, _kept_as, tell)
        for place, request in enumerate(copies):
            if place in odd:
                found[request] = Unanswered("its prompt is no Unicode: it holds half of a surrogate pair")
                tell(request)
        return [found[request.normalized()] for request in requests]


def _kept_as(request: Request) -> dict[str, object]:
    """Everything that an answer depends on beside the model, as far as one can say."""
    whole: dict[str, object] = {"prompt": request.prompt, "max_tokens": request.max_tokens}
    whole["temperature"] = request.temperature
    whole |= {"form": "continuation"} if request.continuation else {}
    return whole | ({"seed": request.seed} if request.temperature > 0 else {})
