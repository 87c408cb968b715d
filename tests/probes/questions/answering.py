"""A generator that answers by a rule: what is tested with it is what becomes of answers, not how models find them."""

from collections.abc import Callable, Sequence

from kgprobe.models.generating.generator import Answer, Request, Unanswered


class Answering:
    """Answers each question by a function of its text; remembers what it was asked."""

    def __init__(self, answer: Callable[[str], str | Answer | Unanswered], name: str = "answering") -> None:
        self.name = name
        self._answer = answer
        self.asked: list[str] = []
        self.calls: list[int] = []

    def describe(self) -> dict[str, object]:
        return {"model": self.name}

    def answer(
        self, requests: Sequence[Request], progress: Callable[[int], None] | None = None
    ) -> list[Answer | Unanswered]:
        if progress is not None:
            progress(len(requests))
        prompts = [request.prompt for request in requests]
        questions = [prompt.rsplit("Question: ", 1)[-1].removesuffix("\nAnswer:") for prompt in prompts]
        self.asked += questions
        self.calls.append(len(requests))
        said = [self._answer(question) for question in questions]
        return [Answer(one) if isinstance(one, str) else one for one in said]
