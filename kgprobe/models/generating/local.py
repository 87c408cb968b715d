"""Answers of a causal language model on this machine.

With a chat template, the prompt is a user's message, and the answer ends with the model's turn. Without one, the prompt
is a text to continue, and the answer is the rest of its line. A request with ``continuation`` is always a text to
continue, over line breaks. Generation settings in a model's files are ignored.

Apart from rounding, an answer does not depend on the other requests: every request has its own random numbers, from its
seed and its prompt. A token is drawn from the most probable ones that reach ``TOP_P`` together: the first whose
cumulative probability exceeds the number.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import blake2b
from itertools import groupby
from typing import Any

import numpy as np
import torch

from kgprobe.errors import KgprobeError
from kgprobe.models.generating.decoding import (
    Ends,
    context_tokens,
    generate_tokens,
    no_room,
    own_settings,
    prompts_at_once,
)
from kgprobe.models.generating.generator import Answer, Request, Unanswered
from kgprobe.models.scoring.batching import compute_in_batches
from kgprobe.models.scoring.contract import TextScorer, report
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.models.scoring.tokens import CHAT, chat_text, chat_tokens

# Probability mass of sampled tokens above temperature 0.
TOP_P = 0.95

# Numbers of top tokens to try in turn; finding them is faster than sorting all.
_LIKELY = (1024, 16_384)
# Line breaks of str.splitlines; an incomplete character may become one.
LINE_BREAKS = frozenset("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029\ufffd")
# Trial answer, to find what a chat template appends to it.
_TRIAL = "Yes, 7"


class LocalGenerator:
    """A causal language model that answers; its name is that of its scorer.

    Attributes:
        chats: True if a prompt is a user's message, by the model's chat template; False if it is a text to continue.
    """

    def __init__(self, scorer: Scorer) -> None:
        """Use a loaded scoring model; scoring and generating can alternate."""
        self.name = scorer.name
        self._scorer = scorer
        self.chats = bool(scorer.tokenizer.chat_template)
        self._end_tokens = end_tokens(scorer, scorer.model.generation_config)
        self._line_ends = line_ends(scorer, self._end_tokens)

    def describe(self) -> dict[str, object]:
        """Return the scorer's description, and the form of prompts and answers."""
        kind = CHAT if self.chats else "text to go on with, to the end of its line"
        return self._scorer.describe() | {"prompt": kind, "top_p": TOP_P, "end_tokens": self._end_tokens}

    @torch.inference_mode()
    def answer(
        self, requests: Sequence[Request], progress: Callable[[int], None] | None = None
    ) -> list[Answer | Unanswered]:
        """Return an answer to each request, or the reason for having none, see :meth:`.Generator.answer`.

        A prompt that the model cannot take, or that does not fit into memory alone, is unanswered. Equal requests are
        answered once.

        Cost: a forward pass of each prompt, and one of a token for each token of the answers. Prompts of similar length
        are batched, in smaller batches where memory is short.

        Raises:
            KgprobeError: ``max_tokens`` of a request is not positive.
        """
        results: dict[Request, Answer | Unanswered] = {}
        contexts: dict[Request, Sequence[int]] = {}
        copies = Counter(map(Request.normalized, requests))
        for request in copies:
            if request.max_tokens < 1:
                raise KgprobeError(f"`max_tokens` is {request.max_tokens}; it must be at least 1.")
        for request in copies:
            context = request_tokens(self._scorer, request)
            if isinstance(context, Unanswered):
                results[request] = context
                report(progress, copies[request])
            else:
                contexts[request] = context

        def at_once(rest: Sequence[Request]) -> int:
            return prompts_at_once(self._scorer, 1, len(contexts[rest[0]]) + rest[0].max_tokens)

        def kind(request: Request) -> tuple[int, bool]:
            return request.max_tokens, request.continuation

        order = sorted(contexts, key=lambda request: (*kind(request), -len(contexts[request])))
        device = self._scorer.model.device
        with own_settings(self._scorer):
            for (max_tokens, _), alike in groupby(order, key=kind):
                for batch, given in compute_in_batches(list(alike), at_once, partial(self._generate, contexts), device):
                    if given is None:
                        length = len(contexts[batch[0]]) + max_tokens
                        results[batch[0]] = Unanswered(f"its {length:,} tokens do not fit into the memory of {device}")
                    else:
                        results.update(zip(batch, given, strict=True))
                    report(progress, sum(map(copies.__getitem__, batch)))
        return [results[request.normalized()] for request in requests]

    def _generate(self, context_of: dict[Request, Sequence[int]], batch: Sequence[Request]) -> list[Answer]:
        contexts = [context_of[request] for request in batch]
        by_line = not self.chats and not batch[0].continuation
        is_over = self._line_ends.is_over if by_line else lambda new: new[-1] in self._end_tokens
        over = _Over(is_over, max(map(len, contexts)))
        rows = generate_tokens(
            self._scorer,
            contexts,
            self._end_tokens,
            stopping_criteria=[over],
            logits_processor=[_Draws(batch, over)],
            max_new_tokens=batch[0].max_tokens,
        )
        answers = []
        for row, (request, context, new) in enumerate(zip(batch, contexts, rows.tolist(), strict=True)):
            length = over.lengths.get(row, request.max_tokens)
            text = self._line_ends.text(new[:length])
            answers.append(
                Answer(
                    text=first_line(text) if by_line else text.strip(),
                    ended=row in over.lengths,
                    prompt_tokens=len(context),
                    completion_tokens=length,
                )
            )
        return answers


def request_tokens(scorer: TextScorer, request: Request) -> Sequence[int] | Unanswered:
    """Return a prompt's tokens, up to the beginning of the answer; or why the model cannot take it."""
    tokenizer = scorer.tokenizer
    if not tokenizer.chat_template or request.continuation:
        return context_tokens(scorer, [request.prompt], request.max_tokens)[0]
    (prompt,) = scorer.tokenize([request.prompt], [[]])
    if prompt.reason is not None:
        return Unanswered(prompt.reason)
    (tokens,) = chat_tokens(tokenizer, [chat_text(tokenizer, [("user", request.prompt)])])
    return no_room(scorer, request.prompt, len(tokens), request.max_tokens) or tokens


def line_ends(scorer: TextScorer, end_tokens: Sequence[int]) -> Ends:
    """Return the test for the end of an answer's first line, or for an end token."""
    # Any text after a final line break begins a line.
    return Ends(
        scorer,
        end_tokens,
        may_end=lambda text: not LINE_BREAKS.isdisjoint(text),
        has_end=lambda text: len(f"{text}.".lstrip().splitlines()) > 1,
    )


def first_line(text: str) -> str:
    """Return the first line of an answer that is not empty, stripped."""
    return (text.lstrip().splitlines() or [""])[0].strip()


class _Over:
    """Stopping criterion that records the lengths of finished rows."""

    def __init__(self, is_over: Callable[[list[int]], bool], before: int) -> None:
        self._is_over = is_over
        self.before = before
        # Length of each finished row, with the token that ended it.
        self.lengths: dict[int, int] = {}

    def __call__(self, tokens: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
        for row, new in enumerate(tokens[:, self.before :].tolist()):
            if row not in self.lengths and self._is_over(new):
                self.lengths[row] = len(new)
        return torch.tensor([row in self.lengths for row in range(len(tokens))], device=tokens.device)


class _Draws:
    """Logits processor that leaves each sampled row only the drawn token."""

    def __init__(self, batch: Sequence[Request], over: _Over) -> None:
        self._batch = batch
        self._over = over
        self._numbers = {row: _numbers(request) for row, request in enumerate(batch) if request.temperature > 0}

    def __call__(self, tokens: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        drawn = [row for row in self._numbers if row not in self._over.lengths]
        if not drawn:
            return scores
        step, device = tokens.shape[1] - self._over.before, scores.device
        rows = torch.tensor(drawn, device=device)
        temperatures = torch.tensor([self._batch[row].temperature for row in drawn], device=device)[:, None]
        numbers = torch.tensor([self._numbers[row][step] for row in drawn], dtype=torch.float64, device=device)
        chosen = _choose_tokens((scores[rows].float() / temperatures).softmax(-1), numbers)
        scores = scores.clone()
        scores[rows] = -torch.inf
        scores[rows, chosen] = 0.0
        return scores


def _choose_tokens(probabilities: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
    """Return the token ids that numbers in [0, 1), shape (rows,), select by probabilities (rows, vocabulary)."""
    size = probabilities.shape[1]
    chosen = torch.empty(len(probabilities), dtype=torch.int64, device=probabilities.device)
    rest = torch.arange(len(probabilities), device=probabilities.device)
    for likely in (*(likely for likely in _LIKELY if likely < size), size):
        values, order = probabilities[rest].topk(likely)
        values = values.double()
        before = values.cumsum(-1) - values
        suffices = (before[:, -1] + values[:, -1] >= TOP_P) | (likely == size)
        values = values * (before < TOP_P)
        until = values.cumsum(-1)
        # Rounding must not select a token beyond the last that counts.
        places = torch.minimum((until <= numbers[rest, None] * until[:, -1:]).sum(-1), (values > 0).sum(-1) - 1)
        chosen[rest[suffices]] = order.gather(-1, places[:, None])[suffices, 0]
        rest = rest[~suffices]
        if not len(rest):
            break
    return chosen


def _numbers(request: Request) -> list[float]:
    """Return a request's random numbers in [0, 1), one per token."""
    prompt = np.frombuffer(blake2b(request.prompt.encode(), digest_size=16).digest(), dtype=np.uint32)
    numbers: list[float] = np.random.default_rng([request.seed, *prompt.tolist()]).random(request.max_tokens).tolist()
    return numbers


def end_tokens(scorer: TextScorer, generation_config: Any) -> list[int]:
    """Return the tokens that end an answer: EOS, others in the model's files, the end of a turn in its template.

    Args:
        scorer: the model.
        generation_config: settings in the model's files, of transformers' class; None for none.
    """
    tokenizer = scorer.tokenizer
    theirs: Any = getattr(generation_config, "eos_token_id", None)
    ends = [tokenizer.eos_token_id, *(theirs if isinstance(theirs, list) else [theirs]), _turn_end(scorer)]
    return list(dict.fromkeys(end for end in ends if end is not None))


def _turn_end(scorer: TextScorer) -> int | None:
    """Return the special token that a chat template appends to an answer."""
    if not scorer.tokenizer.chat_template:
        return None
    try:
        text = chat_text(scorer.tokenizer, [("user", "How?"), ("assistant", _TRIAL)], answering=False)
        (tokens,) = chat_tokens(scorer.tokenizer, [text])
    # A template may refuse a turn of the model.
    except KgprobeError:
        return None
    special = set(scorer.tokenizer.all_special_ids) | {
        number for number, token in scorer.tokenizer.added_tokens_decoder.items() if token.special
    }
    for place in range(len(tokens) - 1, -1, -1):
        text = str(scorer.tokenizer.decode(tokens[place:], skip_special_tokens=False))
        if _TRIAL in text:
            break
    else:
        return None
    return next((token for token in tokens[place:] if token in special), None)
