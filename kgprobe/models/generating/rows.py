"""Answers that are generated together, token by token: each ends by itself, and so does each thought before it.

A row of a batch is a thought, then an answer, or an answer alone. Its limits are its own, so rows do not wait for
each other: while one still thinks, another answers. A thought at its limit gets its end marker token by token.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

import torch

from kgprobe.models.generating.switch import ThoughtForm


class Phase(Enum):
    """Phase of a row: before its first word, in the thought, or behind it."""

    BEGINNING = auto()
    THOUGHT = auto()
    ANSWER = auto()


@dataclass(slots=True)
class AnswerRow:
    """A row of a batch.

    Attributes:
        max_tokens: maximum tokens of the answer; with ``limit`` None, of thought and answer together.
        is_over: returns True if the last of the new tokens ends the answer.
        form: the form of the model's thoughts; None for a row without thoughts.
        limit: maximum tokens of the thought; None for none of its own.
        start: number of tokens before the answer.
        ended: True if it is over by itself, not by its length.
        cut: True if the thought was ended at its limit.
    """

    context: Sequence[int]
    max_tokens: int
    is_over: Callable[[list[int]], bool]
    form: ThoughtForm | None = None
    limit: int | None = None
    new: list[int] = field(default_factory=list)
    start: int = 0
    phase: Phase = Phase.ANSWER
    over: bool = False
    ended: bool = False
    cut: bool = False
    _forced: deque[int] = field(default_factory=deque)

    def __post_init__(self) -> None:
        """Begin in the phase of the form."""
        if self.form is not None:
            self.phase = Phase.THOUGHT if self.form.begins else Phase.BEGINNING

    @property
    def forced(self) -> int | None:
        """The token that must come next; None for any."""
        return self._forced[0] if self._forced else None

    @property
    def left(self) -> int:
        """Maximum number of further tokens."""
        if self.limit is None or self.form is None or self.phase is Phase.ANSWER:
            return self.max_tokens - (len(self.new) - (self.start if self.limit is not None else 0))
        # Without tokens of the end marker, the limit is still ahead.
        closing = len(self._forced) or self.limit - len(self.new) + len(self.form.closing)
        return closing + self.max_tokens

    def add(self, token: int) -> None:
        """Add the next token."""
        self.new.append(token)
        if self._forced:
            self._forced.popleft()
            if not self._forced:
                self._answer()
            return
        if self.is_over(self.new):
            self.over = self.ended = True
        elif self.form is not None and self.phase is not Phase.ANSWER:
            self._think(self.form)
        if not self._forced and self.left <= 0:
            self.over = True

    def _think(self, form: ThoughtForm) -> None:
        if self.phase is Phase.BEGINNING:
            text, begin = form.decode(self.new).lstrip(), form.markers.begin
            if text.startswith(begin):
                self.phase = Phase.THOUGHT
            elif not begin.startswith(text):
                self.phase = Phase.ANSWER
                return
        if form.is_end(self.new):
            self._answer()
        elif self.limit is not None and len(self.new) >= self.limit:
            self.cut = True
            self._forced.extend(form.closing)

    def _answer(self) -> None:
        self.phase, self.start = Phase.ANSWER, len(self.new)


class Steps:
    """Stopping criterion of transformers that adds the tokens of each step to the rows."""

    def __init__(self, rows: Sequence[AnswerRow], enough: int) -> None:
        """Stop when so many rows are over."""
        self._rows = rows
        self._enough = enough

    def __call__(self, tokens: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
        """Return which rows are over, shape (rows,); all when enough are."""
        for row, token in zip(self._rows, tokens[:, -1].tolist(), strict=True):
            if not row.over:
                row.add(token)
        over = [row.over for row in self._rows]
        if sum(over) >= self._enough:
            over = [True] * len(over)
        return torch.tensor(over, device=tokens.device)


class Forced:
    """Logits processor of transformers that leaves a row only its forced token."""

    def __init__(self, rows: Sequence[AnswerRow]) -> None:
        self._rows = rows

    def __call__(self, _: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return the scores of the next tokens, shape (rows, vocabulary)."""
        forced = [
            (place, row.forced) for place, row in enumerate(self._rows) if row.forced is not None and not row.over
        ]
        if not forced:
            return scores
        places, tokens = (torch.tensor(column, device=scores.device) for column in zip(*forced, strict=True))
        return replace_scores(scores, places, tokens)


def replace_scores(scores: torch.Tensor, rows: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """Return scores that leave each of some rows only one token."""
    scores = scores.clone()
    scores[rows] = -torch.inf
    scores[rows, tokens] = 0.0
    return scores
