"""Generator for models behind OpenAI-compatible APIs, based on the official client.

Answers to questions are chat completions; continuations of texts are completions, which not every API offers.
"""

from collections.abc import Callable, Sequence

from kgprobe.models.api.asking import Asker
from kgprobe.models.api.chat import ChatForm
from kgprobe.models.api.completions import CompletionForm
from kgprobe.models.generating.generator import Answer, Request, Unanswered
from kgprobe.models.scoring.tokens import not_unicode


class ApiGenerator:
    """Generator for a model behind an API.

    Attributes:
        spending: usage and budget.
        parameters: parameters that the model accepts.
    """

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        self._chat = ChatForm(asker.address)
        self._completions = CompletionForm(asker.address, self._chat.parameters)
        self.spending = asker.spending
        self.parameters = self._chat.parameters

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

        odd = not_unicode([request.prompt for request in copies])
        valid = [request for place, request in enumerate(copies) if place not in odd]
        questions = [request for request in valid if not request.continuation]
        texts = [request for request in valid if request.continuation]
        answers = self._asker.ask(self._chat, questions, _cache_key, report)
        answers |= self._asker.ask(self._completions, texts, _cache_key, report)
        for place, request in enumerate(copies):
            if place in odd:
                answers[request] = Unanswered("its prompt is not Unicode: it contains half of a surrogate pair")
                report(request)
        return [answers[request.normalized()] for request in requests]


def _cache_key(request: Request) -> dict[str, object]:
    """Return everything that an answer depends on, except the model."""
    whole: dict[str, object] = {"prompt": request.prompt, "max_tokens": request.max_tokens}
    whole["temperature"] = request.temperature
    whole |= {"form": "continuation"} if request.continuation else {}
    return whole | ({"seed": request.seed} if request.temperature > 0 else {})
