"""How a causal language model would go on after a prompt by itself: its best continuations by beam search.

Nothing holds it to names of a graph. The search is transformers' own (``generate`` with ``num_beams``), prompts padded
on the left. It maximizes the sum of log-probabilities, without a reward for length. A continuation ends at the EOS
token, at a line break, at the end of its first sentence, or after a number of tokens: beams that agree in what they
answer and differ in what they say next would be beams wasted. What a model's files say about generation (sampling,
penalties, other end tokens) is left aside, so the same model and prompt give the same continuations.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from kgprobe.errors import KgprobeError
from kgprobe.models.eval_mode import in_eval_mode
from kgprobe.models.generating.generator import Unanswered
from kgprobe.models.scoring.batching import compute_in_batches
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.models.scoring.tokens import TokenizedPrompt
from kgprobe.models.scoring.trie import build_trees

if TYPE_CHECKING:
    from transformers import GenerationConfig

# What one search may hold: logits (beams x vocabulary), and tokens (beams x their longest text).
_LOGITS_AT_ONCE = {"cpu": 1 << 26, "cuda": 1 << 29}
_TOKENS_AT_ONCE = {"cpu": 8192, "cuda": 1 << 18}
_MAX_BRANCH_NODES = 384

_END = re.compile(r"[\n\r\v\f\x85\u2028\u2029。！？]|(?<=\w\w\w)[.!?](?=\s|$)")
# What can be a part of an end; a token that holds none ends nothing. Bytes that are no character yet may become one.
_SUSPICIOUS = re.compile(r"[\n\r\v\f\x85\u2028\u2029。！？.!?\ufffd]")


@dataclass(frozen=True, slots=True)
class Continuation:
    """A text that a model goes on with.

    Attributes:
        text: as it was generated, without special tokens.
        log_probability: of its tokens, that of EOS included where it ended there; natural logarithm.
        ended: whether it ended by itself, not for its length.
    """

    text: str
    log_probability: float
    ended: bool

    @property
    def answer(self) -> str:
        """The text up to where it ends, see :func:`end_of_answer`; without white space at the ends, maybe empty."""
        end = end_of_answer(self.text)
        return (self.text if end is None else self.text[:end]).strip()


def end_of_answer(text: str) -> int | None:
    """Where a text's first line or sentence is over, line breaks at its beginning set aside; None if it goes on.

    A full stop, question or exclamation mark ends a sentence behind a word of three letters or digits and more, before
    white space or at the end: the stops of D.C., St. Louis and J. R. R. Tolkien do not.
    """
    begin = len(text) - len(text.lstrip())
    found = _END.search(text, begin)
    return found.start() if found else None


def context_tokens(scorer: Scorer, prompts: Sequence[str], new_tokens: int) -> list[tuple[int, ...] | Unanswered]:
    """Each prompt's token ids, with the special tokens that stand in front; or why the model cannot go on from it.

    It cannot where a prompt is no Unicode, has no token, or leaves no room for ``new_tokens``.
    """
    return [
        _context(scorer, prompt, tokenized, new_tokens)
        for prompt, tokenized in zip(prompts, scorer.tokenize(prompts, [[]] * len(prompts)), strict=True)
    ]


def _context(scorer: Scorer, prompt: str, tokenized: TokenizedPrompt, new_tokens: int) -> tuple[int, ...] | Unanswered:
    if tokenized.reason is not None:
        return Unanswered(tokenized.reason)
    if not tokenized.context:
        return Unanswered(f"the prompt {prompt!r} has no token to go on from; an empty one needs a BOS token (`bos`)")
    return no_room(scorer, prompt, len(tokenized.context), new_tokens) or tokenized.context


def no_room(scorer: Scorer, prompt: str, tokens: int, new_tokens: int) -> Unanswered | None:
    """Why a prompt of so many tokens leaves no room for new ones; None if it does."""
    if scorer.max_tokens is None or tokens + new_tokens <= scorer.max_tokens:
        return None
    return Unanswered(
        f"the prompt {prompt[:40]!r}… has {tokens} tokens; with {new_tokens} more it is longer than the"
        f" {scorer.max_tokens} that the model takes in"
    )


@torch.inference_mode()
def beam_search(
    scorer: Scorer,
    prompts: Sequence[str],
    beams: int,
    *,
    new_tokens: int = 16,
    progress: Callable[[int], None] | None = None,
) -> list[list[Continuation] | Unanswered]:
    """The continuations of each prompt that a beam search with so many beams ends with, the most probable first.

    The search begins right after the prompt's own tokens; white space at its end is dropped. The
    log-probabilities are the scorer's, of the tokens that were found.

    Cost: a forward pass of ``beams`` tokens a prompt and new token, and one scoring of what was found. Prompts of
    similar length go together, in smaller batches where memory is short.

    Args:
        scorer: the model.
        prompts: any texts.
        beams: how many beams are kept, and how many continuations come back; 1 is greedy search.
        new_tokens: the most tokens of a continuation, EOS included.
        progress: called now and then with the number of prompts done since the last call.

    Returns:
        for each prompt ``beams`` continuations, of different tokens, but maybe of equal text; or why the model cannot
        go on from it, see :func:`context_tokens`.

    Raises:
        KgprobeError: the number of beams or of tokens is not positive, or one prompt does not fit into memory.
    """
    if beams < 1 or new_tokens < 1:
        raise KgprobeError(
            f"A beam search with {beams} beams over {new_tokens} tokens finds nothing; both are at least 1."
        )
    found: list[list[Continuation] | Unanswered] = []
    contexts: dict[int, tuple[int, ...]] = {}
    for number, context in enumerate(context_tokens(scorer, prompts, new_tokens)):
        found.append(context if isinstance(context, Unanswered) else [])
        if not isinstance(context, Unanswered):
            contexts[number] = context
    if progress is not None and len(contexts) < len(prompts):
        progress(len(prompts) - len(contexts))
    ends = _Ends(scorer)

    def search(batch: Sequence[int]) -> list[list[tuple[int, ...]]]:
        return _search(scorer, ends, [contexts[number] for number in batch], beams, new_tokens)

    def at_once(rest: Sequence[int]) -> int:
        return prompts_at_once(scorer, beams, len(contexts[rest[0]]) + new_tokens)

    order = sorted(contexts, key=lambda number: -len(contexts[number]))
    with own_settings(scorer):
        for batch, tails in compute_in_batches(order, at_once, search, scorer.model.device):
            if tails is None:
                raise KgprobeError(
                    f"A beam search with {beams} beams over {len(contexts[batch[0]]) + new_tokens} tokens does not fit"
                    f" into the memory of {scorer.model.device}; a narrower one would."
                )
            searched = _continuations(scorer, ends, [contexts[number] for number in batch], tails)
            for number, continuations in zip(batch, searched, strict=True):
                found[number] = continuations
            if progress is not None:
                progress(len(batch))
    return found


class _Ends:
    """Where sequences of a tokenizer's tokens end."""

    def __init__(self, scorer: Scorer) -> None:
        self._tokenizer = scorer.tokenizer
        self._eos = scorer.tokenizer.eos_token_id
        self._suspicious: dict[int, bool] = {}

    def is_over(self, tokens: list[int]) -> bool:
        """Whether a sequence is over with its last token, if it was not before."""
        last = tokens[-1]
        if last == self._eos:
            return True
        if last not in self._suspicious:
            self._suspicious[last] = bool(_SUSPICIOUS.search(self.text([last])))
        return self._suspicious[last] and end_of_answer(self.text(tokens)) is not None

    def cut(self, tokens: list[int]) -> list[int]:
        """The tokens up to the one that ends them, which is kept."""
        return next((tokens[:size] for size in range(1, len(tokens) + 1) if self.is_over(tokens[:size])), tokens)

    def text(self, tokens: list[int]) -> str:
        return str(self._tokenizer.decode(tokens, skip_special_tokens=True))

    def criterion(self, before: int) -> "Callable[..., torch.Tensor]":
        """What transformers asks after each step; ``before`` tokens are the prompt's."""

        def are_over(tokens: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
            over = [self.is_over(row) for row in tokens[:, before:].tolist()]
            return torch.tensor(over, dtype=torch.bool, device=tokens.device)

        return are_over


def _search(
    scorer: Scorer, ends: _Ends, contexts: Sequence[tuple[int, ...]], beams: int, new_tokens: int
) -> list[list[tuple[int, ...]]]:
    """For each context the token ids of the best continuations, with the one that ends them."""
    from transformers import StoppingCriteriaList

    model: Any = scorer.model
    end = scorer.tokenizer.eos_token_id
    # Only ever behind a mask, or behind what ends a continuation.
    padding = 0 if end is None else end
    tokens, mask = left_padded(scorer, contexts, padding)
    longest = tokens.shape[1]
    generated = model.generate(
        input_ids=tokens,
        attention_mask=mask,
        generation_config=_settings(beams, new_tokens, end, padding),
        stopping_criteria=StoppingCriteriaList([ends.criterion(longest)]),
    )
    tails = [tuple(ends.cut(row)) for row in generated[:, longest:].tolist()]
    return [tails[first : first + beams] for first in range(0, len(tails), beams)]


def _continuations(
    scorer: Scorer, ends: _Ends, contexts: Sequence[tuple[int, ...]], tails: Sequence[Sequence[tuple[int, ...]]]
) -> list[list[Continuation]]:
    prompts = [
        TokenizedPrompt(context, (len(context),) * len(its), tuple(its))
        for context, its in zip(contexts, tails, strict=True)
    ]
    # The search's own sums would have to be kept with every step's probabilities of the whole vocabulary.
    scores = [np.full(len(prompt.tails), np.nan) for prompt in prompts]
    trees = [tree for number, prompt in enumerate(prompts) for tree in build_trees(number, prompt, _MAX_BRANCH_NODES)]
    for tree, values in scorer.edge_log_probabilities(trees):
        scores[tree.prompt][tree.members] = np.add.reduceat(values[tree.steps], tree.offsets)
    if any(np.isnan(values).any() for values in scores):
        raise KgprobeError("The model's probabilities are not numbers; its weights are broken.")
    return [
        sorted(
            (
                Continuation(ends.text(list(tail)), float(score), ends.is_over(list(tail)))
                for tail, score in zip(its, values, strict=True)
            ),
            key=lambda continuation: -continuation.log_probability,
        )
        for its, values in zip(tails, scores, strict=True)
    ]


def _settings(beams: int, new_tokens: int, end: int | None, padding: int) -> "GenerationConfig":
    from transformers import GenerationConfig

    return GenerationConfig(  # type: ignore[no-untyped-call]
        num_beams=beams,
        num_return_sequences=beams,
        do_sample=False,
        max_new_tokens=new_tokens,
        # For one beam there is no such choice, and transformers says so.
        length_penalty=0.0 if beams > 1 else None,
        early_stopping=False,
        eos_token_id=end,
        pad_token_id=padding,
        use_cache=True,
    )


@contextmanager
def own_settings(scorer: Scorer) -> Iterator[None]:
    """In eval mode, and without what the model's files say about generation.

    That would fill in whatever is not set here.
    """
    from transformers import GenerationConfig

    model: Any = scorer.model
    theirs = model.generation_config
    model.generation_config = GenerationConfig()  # type: ignore[no-untyped-call]
    try:
        with in_eval_mode(model):
            yield
    finally:
        model.generation_config = theirs


def left_padded(scorer: Scorer, contexts: Sequence[Sequence[int]], padding: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids in rows that end together, and which of them count, both of shape (contexts, longest)."""
    longest = max(map(len, contexts))
    tokens = torch.full((len(contexts), longest), padding)
    mask = torch.zeros((len(contexts), longest), dtype=torch.int64)
    for row, context in enumerate(contexts):
        tokens[row, longest - len(context) :] = torch.tensor(context)
        mask[row, longest - len(context) :] = 1
    return tokens.to(scorer.model.device), mask.to(scorer.model.device)


def prompts_at_once(scorer: Scorer, beams: int, longest: int) -> int:
    """How many prompts to go on from together, at least 1: each with ``beams`` rows of up to ``longest`` tokens."""
    vocabulary = int(scorer.model.config.get_text_config().vocab_size)
    tokens = scorer.batch_tokens or _of(_TOKENS_AT_ONCE, scorer)
    rows = min(_of(_LOGITS_AT_ONCE, scorer) // vocabulary, tokens // longest)
    return max(1, rows // beams)


def _of(limits: dict[str, int], scorer: Scorer) -> int:
    return limits.get(scorer.model.device.type, limits["cpu"])
