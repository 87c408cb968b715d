"""Answers of a model that vLLM computes in this process.

Prompts and ends of answers are those of :mod:`kgprobe.models.generating.local`: a chat template makes the prompt a
user's message; without one, the answer is the rest of the prompt's line. Thoughts are read as there. Sampling above
temperature 0 uses vLLM's own random numbers, with a seed for each request.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.models.generating.generator import Answer, Request, Unanswered
from kgprobe.models.generating.local import LINE_BREAKS, TOP_P, TokenGenerator, read_answer
from kgprobe.models.generating.rows import AnswerRow
from kgprobe.models.generating.thinking import Thinking
from kgprobe.models.scoring.contract import report
from kgprobe.models.vllm_engine.engine import VllmRequest
from kgprobe.models.vllm_engine.scorer import VllmScorer, chunks_of

# Tokens with a line break that stop the engine; tokenizers give the most frequent tokens the lowest ids. An answer that
# passes another one is cut there, too, after some superfluous tokens.
_MAX_STOPS = 256
_INCOMPLETE = "\ufffd"


class VllmGenerator(TokenGenerator):
    """A model of vLLM that answers."""

    _scorer: VllmScorer

    def __init__(self, scorer: VllmScorer) -> None:
        """Use the engine of a scorer; scoring and generating can alternate."""
        super().__init__(scorer, _generation_config(scorer))
        self._breaks: list[int] | None = None

    def check_thinking(self, thinking: Thinking) -> dict[str, object]:
        """Return how the chat template is set to ``off``; raise ArgumentError for other modes, or if it cannot be."""
        if thinking.is_on:
            raise ArgumentError(
                "thinking",
                f"is {thinking}; kgprobe does not limit thoughts in vLLM. Use hf:{self._scorer.name.partition(':')[2]},"
                " or serve the model with vLLM and ask openai:NAME@URL.",
            )
        return self._template.check(thinking, self.name) if self.chats else {"switch": None}

    def answer(
        self, requests: Sequence[Request], progress: Callable[[int], None] | None = None
    ) -> list[Answer | Unanswered]:
        """Return an answer to each request, or the reason for having none, see :meth:`.Generator.answer`.

        Equal requests are answered once.
        """
        copies = Counter(map(Request.normalized, requests))
        prompts, results = self._prompts(copies, progress)
        rows = {request: self._row(request, prompt) for request, prompt in prompts.items()}
        pending = sorted(rows, key=lambda request: tuple(rows[request].context))
        while pending:
            self._continue([(request, rows[request]) for request in pending])
            for request in pending:
                if rows[request].over:
                    by_line = self._by_line(request)
                    results[request] = read_answer(rows[request], self._line_ends, by_line=by_line)
                    report(progress, copies[request])
            pending = [request for request in pending if not rows[request].over]
        return [results[request.normalized()] for request in requests]

    def _continue(self, pending: Sequence[tuple[Request, AnswerRow]]) -> None:
        """Extend some rows, up to their ends or to a line break."""
        prompts = [self._engine_request(request, row) for request, row in pending]
        first = 0
        for part in chunks_of(prompts):
            outputs = self._scorer.engine.run(part)
            for (_, row), output in zip(pending[first : first + len(part)], outputs, strict=True):
                if not output.tokens:
                    raise KgprobeError(f"{self.name}: vLLM returned no token.")
                for token in output.tokens:
                    if not row.over:
                        row.add(token)
            first += len(part)

    def _engine_request(self, request: Request, row: AnswerRow) -> VllmRequest:
        stops = self._end_tokens
        if self._by_line(request):
            stops = [*stops, *self._line_breaks()]
        return VllmRequest(
            (*row.context, *row.new),
            max_tokens=row.left,
            temperature=request.temperature,
            top_p=TOP_P if request.temperature > 0 else 1.0,
            seed=_seed(request, len(row.new)) if request.temperature > 0 else None,
            stop_tokens=tuple(stops),
        )

    def _line_breaks(self) -> list[int]:
        """Return the most frequent tokens with a line break."""
        if self._breaks is None:
            self._breaks = []
            breaks = LINE_BREAKS - {_INCOMPLETE}
            for token in range(min(self._scorer.engine.facts.vocabulary, len(self._scorer.tokenizer))):
                if len(self._breaks) < _MAX_STOPS and not breaks.isdisjoint(self._line_ends.text([token])):
                    self._breaks.append(token)
        return self._breaks


def _seed(request: Request, step: int) -> int:
    """Return the seed of a request from this token on, from its seed and its prompt."""
    digest = blake2b(f"{request.seed} {step} {request.prompt}".encode(), digest_size=7)
    return int.from_bytes(digest.digest(), "big")


def _generation_config(scorer: VllmScorer) -> Any:
    """Return the generation settings in the model's files; None for none."""
    from transformers import GenerationConfig

    try:
        return GenerationConfig.from_pretrained(scorer.source.place, revision=scorer.source.revision or "main")
    # A model without the file.
    except OSError:
        return None
