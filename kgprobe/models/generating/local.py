"""Answers of a causal language model on this machine.

With a chat template, the prompt is a user's message, and the answer ends with the model's turn. Without one, the prompt
is a text to continue, and the answer is the rest of its line. A request with ``continuation`` is always a text to
continue, over line breaks. Generation settings in a model's files are ignored.

A thought of a chat model (:mod:`.thinking`) is generated before the answer, with its own limit, and never read as one.

Apart from rounding, an answer does not depend on the other requests: every request has its own random numbers, from its
seed and its prompt. A token is drawn from the most probable ones that reach ``TOP_P`` together: the first whose
cumulative probability exceeds the number.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import groupby
from typing import Any

import numpy as np
import torch

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.models.computing import in_turn
from kgprobe.models.generating.decoding import (
    Ends,
    context_tokens,
    generate_tokens,
    no_room,
    own_settings,
    prompts_at_once,
)
from kgprobe.models.generating.generator import Answer, Request, Unanswered
from kgprobe.models.generating.rows import AnswerRow, Forced, Phase, Steps, replace_scores
from kgprobe.models.generating.switch import ThinkingTemplate, no_switch
from kgprobe.models.generating.thinking import STORED_CHARACTERS, Thinking, split_thought
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
# Most thoughts are this many times shorter than their limit; for the size of a batch.
_SHORTER = 4
# Rows of a batch that are not worth regrouping.
_FEW = 3
# Trial answer, to find what a chat template appends to it.
_TRIAL = "Yes, 7"


class TokenGenerator:
    """Base of generators of token ids with the tokenizer of a scorer; its name is that of the scorer.

    Attributes:
        chats: True if a prompt is a user's message, by the model's chat template; False if it is a text to continue.
    """

    def __init__(self, scorer: TextScorer, generation_config: Any) -> None:
        """Use a scorer; scoring and generating can alternate. Settings in the model's files name its end tokens."""
        self.name = scorer.name
        self.chats = bool(scorer.tokenizer.chat_template)
        self._scorer = scorer
        self._end_tokens = end_tokens(scorer, generation_config)
        self._line_ends = line_ends(scorer, self._end_tokens)
        self._template = ThinkingTemplate(scorer.tokenizer)

    def describe(self) -> dict[str, object]:
        """Return the scorer's description, and the form of prompts and answers."""
        kind = CHAT if self.chats else "text to go on with, to the end of its line"
        return self._scorer.describe() | {"prompt": kind, "top_p": TOP_P, "end_tokens": list(self._end_tokens)}

    def _by_line(self, request: Request) -> bool:
        return not self.chats and not request.continuation

    def _prompts(
        self, copies: Mapping[Request, int], progress: Callable[[int], None] | None
    ) -> tuple[dict[Request, "_Prompt"], dict[Request, Answer | Unanswered]]:
        """Return the prompts of requests, and the results of those that the model cannot take."""
        for request in copies:
            if request.max_tokens < 1:
                raise KgprobeError(f"`max_tokens` is {request.max_tokens}; it must be at least 1.")
        prompts: dict[Request, _Prompt] = {}
        results: dict[Request, Answer | Unanswered] = {}
        for request in copies:
            prompt = self._prompt(request)
            if isinstance(prompt, Unanswered):
                results[request] = prompt
                report(progress, copies[request])
            else:
                prompts[request] = prompt
        return prompts, results

    def _prompt(self, request: Request) -> "_Prompt | Unanswered":
        """Return the prompt's tokens, up to the beginning of the answer; or why the model cannot take it."""
        if not self.chats or request.continuation:
            (context,) = context_tokens(self._scorer, [request.prompt], request.max_tokens)
            return context if isinstance(context, Unanswered) else _Prompt(context)
        (prompt,) = self._scorer.tokenize([request.prompt], [[]])
        if prompt.reason is not None:
            return Unanswered(prompt.reason)
        tokenizer = self._scorer.tokenizer
        text = self._template.setting(request.thinking).text(tokenizer, request.prompt)
        (tokens,) = chat_tokens(tokenizer, [text])
        thinking, new_tokens, limit = request.thinking, request.max_tokens, None
        if thinking is not None and thinking.is_on:
            new_tokens += len(self._template.form(thinking).closing)
            room = thinking.limit
            if self._scorer.max_tokens is not None and thinking.budget is None:
                room = min(room, self._scorer.max_tokens - len(tokens) - new_tokens)
            limit = max(1, room)
        longest = new_tokens + (limit or 0)
        return no_room(self._scorer, request.prompt, len(tokens), longest) or _Prompt(tokens, limit)

    def _row(self, request: Request, prompt: "_Prompt") -> AnswerRow:
        """Return the row of a request, without tokens yet."""
        if self._by_line(request):
            return AnswerRow(prompt.tokens, request.max_tokens, self._line_ends.is_over)
        form = None if request.continuation else self._template.form(request.thinking)
        return AnswerRow(prompt.tokens, request.max_tokens, lambda new: new[-1] in self._end_tokens, form, prompt.limit)


class LocalGenerator(TokenGenerator):
    """A causal language model on this machine that answers."""

    _scorer: Scorer

    def __init__(self, scorer: Scorer) -> None:
        """Use a loaded scoring model; scoring and generating can alternate."""
        super().__init__(scorer, scorer.model.generation_config)

    def check_thinking(self, thinking: Thinking) -> dict[str, object]:
        """Return how the chat template is set to a mode of thinking, see :meth:`.Generator.check_thinking`."""
        if self.chats:
            return self._template.check(thinking, self.name)
        if thinking.is_on:
            raise ArgumentError("thinking", no_switch(self.name, thinking))
        return {"switch": None}

    def answer(
        self, requests: Sequence[Request], progress: Callable[[int], None] | None = None
    ) -> list[Answer | Unanswered]:
        """Return an answer to each request, or the reason for having none, see :meth:`.Generator.answer`.

        A prompt that the model cannot take, or that does not fit into memory alone, is unanswered. Equal requests are
        answered once.

        Cost: a forward pass of each prompt, and one of a token for each token of thoughts and answers. Prompts of
        similar length are batched, in smaller batches where memory is short. When half of a batch has its answers, the
        rest goes on without them, after a forward pass of its tokens so far.
        """
        copies = Counter(map(Request.normalized, requests))
        prompts, results = self._prompts(copies, progress)
        results.update(self._answers(prompts, copies, progress))
        return [results[request.normalized()] for request in requests]

    @in_turn
    @torch.inference_mode()
    def _answers(
        self, prompts: "dict[Request, _Prompt]", copies: Counter[Request], progress: Callable[[int], None] | None
    ) -> dict[Request, Answer | Unanswered]:
        results: dict[Request, Answer | Unanswered] = {}

        def at_once(rest: Sequence[Request]) -> int:
            prompt = prompts[rest[0]]
            expected = len(prompt.tokens) + rest[0].max_tokens + (prompt.limit or 0) // _SHORTER
            return prompts_at_once(self._scorer, 1, expected)

        def kind(request: Request) -> tuple[int, bool, str]:
            return request.max_tokens, request.continuation, str(request.thinking)

        order = sorted(prompts, key=lambda request: (*kind(request), -len(prompts[request].tokens)))
        device = self._scorer.model.device
        with own_settings(self._scorer):
            for _, alike in groupby(order, key=kind):
                for batch, given in compute_in_batches(list(alike), at_once, partial(self._generate, prompts), device):
                    if given is None:
                        length = len(prompts[batch[0]].tokens) + batch[0].max_tokens
                        results[batch[0]] = Unanswered(f"its {length:,} tokens do not fit into the memory of {device}")
                    else:
                        results.update(zip(batch, given, strict=True))
                    report(progress, sum(map(copies.__getitem__, batch)))
        return results

    def _generate(self, prompts: "dict[Request, _Prompt]", batch: Sequence[Request]) -> list[Answer]:
        rows = [self._row(request, prompts[request]) for request in batch]
        form = rows[0].form
        self._fill(rows, batch, () if form is None else form.closing)
        return [read_answer(row, self._line_ends, by_line=self._by_line(batch[0])) for row in rows]

    def _fill(self, rows: Sequence[AnswerRow], batch: Sequence[Request], closing: Sequence[int]) -> None:
        """Generate the rows of requests until all are over; the closing tokens end a thought at its limit."""
        numbers = {id(row): _numbers(request, row.left) for row, request in zip(rows, batch, strict=True)}
        # A closing text may contain a token that ends an answer.
        ends = [token for token in self._end_tokens if token not in closing]
        left = list(zip(rows, batch, strict=True))
        while left:
            some = [row for row, _ in left]
            before = _count_new(some)
            generate_tokens(
                self._scorer,
                [[*row.context, *row.new] for row in some],
                ends,
                stopping_criteria=[Steps(some, _enough(some))],
                logits_processor=[_Draws(left, numbers), Forced(some)],
                max_new_tokens=max(row.left for row in some),
            )
            if _count_new(some) == before:
                raise RuntimeError("transformers generated no token.")
            left = [(row, request) for row, request in left if not row.over]


@dataclass(frozen=True, slots=True)
class _Prompt:
    """A prompt's tokens, and the maximum tokens of a thought; None for none of its own."""

    tokens: Sequence[int]
    limit: int | None = None


class _Draws:
    """Logits processor that leaves each sampled row only the drawn token."""

    def __init__(self, rows: Sequence[tuple[AnswerRow, Request]], numbers: dict[int, list[float]]) -> None:
        """Use the random numbers of each row, by its identity."""
        self._numbers = numbers
        self._sampled = [
            (place, row, request.temperature) for place, (row, request) in enumerate(rows) if request.temperature > 0
        ]

    def __call__(self, _: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        drawn = [(place, row, temperature) for place, row, temperature in self._sampled if not row.over]
        if not drawn:
            return scores
        device = scores.device
        rows = torch.tensor([place for place, _, _ in drawn], device=device)
        temperatures = torch.tensor([temperature for _, _, temperature in drawn], device=device)[:, None]
        next_numbers = [self._numbers[id(row)][len(row.new)] for _, row, _ in drawn]
        numbers = torch.tensor(next_numbers, dtype=torch.float64, device=device)
        return replace_scores(scores, rows, _choose_tokens((scores[rows].float() / temperatures).softmax(-1), numbers))


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
        if (places < 0).any():
            raise KgprobeError(
                "The model's probabilities are not numbers: its weights are broken, or too large for their precision."
                " Use another `dtype`: float32, or bfloat16."
            )
        chosen[rest[suffices]] = order.gather(-1, places[:, None])[suffices, 0]
        rest = rest[~suffices]
        if not len(rest):
            break
    return chosen


def _numbers(request: Request, count: int) -> list[float]:
    """Return a request's random numbers in [0, 1), one per token; none for a greedy one."""
    if request.temperature <= 0:
        return []
    prompt = np.frombuffer(blake2b(request.prompt.encode(), digest_size=16).digest(), dtype=np.uint32)
    numbers: list[float] = np.random.default_rng([request.seed, *prompt.tolist()]).random(count).tolist()
    return numbers


def read_answer(row: AnswerRow, ends: Ends, *, by_line: bool) -> Answer:
    """Return the answer of a row that is over, without its thought; its first line alone with ``by_line``."""
    text = ends.text(row.new)
    if by_line:
        text = first_line(text)
    thought, thought_tokens, unended = "", 0, row.phase is Phase.THOUGHT
    if row.form is not None and (row.start or unended):
        before = row.new[: row.start] if row.start else row.new
        # The token that completes the end marker may contain the answer's beginning.
        begun = row.form.decode(before).rpartition(row.form.markers.end)[2]
        text = "" if unended else begun.lstrip() + ends.text(row.new[row.start :])
        if row.cut:
            before = before[: -len(row.form.closing)]
        thought = row.form.thought(before)
        thought_tokens = len(before) if thought else 0
    if row.form is not None:
        text = split_thought(text).answer
    return Answer(
        text=text.strip(),
        ended=row.ended,
        prompt_tokens=len(row.context),
        completion_tokens=len(row.new),
        thought=thought[:STORED_CHARACTERS],
        thought_tokens=thought_tokens,
        thought_cut=row.cut or unended,
    )


def _enough(rows: Sequence[AnswerRow]) -> int:
    """Return how many rows end before the others go on in a batch of their own: half of them if they think."""
    return len(rows) // 2 if len(rows) > _FEW and rows[0].limit is not None else len(rows)


def _count_new(rows: Sequence[AnswerRow]) -> int:
    return sum(len(row.new) for row in rows)


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


def end_tokens(scorer: TextScorer, generation_config: Any) -> list[int]:
    """Return the tokens that end an answer: EOS, others in the model's files, the end of a turn in its template.

    Args:
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
