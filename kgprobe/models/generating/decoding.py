"""Free continuations of prompts by beam search, not restricted to names of a graph.

The search is that of transformers (``generate`` with ``num_beams``), with prompts padded on the left. It maximizes the
sum of log-probabilities, without a length penalty. A continuation ends at the EOS token, at a line break, at the end of
its first sentence, or after a number of tokens: otherwise beams would differ only after the answer. Generation settings
in a model's files (sampling, penalties, other end tokens) are ignored, so the same model and prompt give the same
continuations.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from kgprobe.base.errors import KgprobeError
from kgprobe.models.generating.generator import Unanswered
from kgprobe.models.scoring.all_trees import build_all_trees
from kgprobe.models.scoring.batching import amount_for, compute_in_batches
from kgprobe.models.scoring.contract import TextScorer, report
from kgprobe.models.scoring.forward import in_eval_mode
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.models.scoring.tokens import TokenizedPrompt

# Maximum size of one search: logits (beams x vocabulary), and tokens (beams x their longest text).
_LOGITS_AT_ONCE = {"cpu": 1 << 26, "cuda": 1 << 29}
_TOKENS_AT_ONCE = {"cpu": 8192, "cuda": 1 << 18}
_MAX_BRANCH_NODES = 384

_END = re.compile(r"[\n\r\v\f\x85\u2028\u2029。！？]|(?<=\w\w\w)[.!?](?=\s|$)")
# Possible parts of an end; a token without any ends nothing. Incomplete characters may become one.
_SUSPICIOUS = re.compile(r"[\n\r\v\f\x85\u2028\u2029。！？.!?\ufffd]")


@dataclass(frozen=True, slots=True)
class Continuation:
    """A generated continuation.

    Attributes:
        text: the generated text, without special tokens.
        log_probability: sum over its tokens, including EOS if it ended there; natural logarithm.
        ended: True if it ended by itself, not by its length.
    """

    text: str
    log_probability: float
    ended: bool

    @property
    def answer(self) -> str:
        """Text up to its end, see :func:`end_of_answer`; stripped, may be empty."""
        end = end_of_answer(self.text)
        return (self.text if end is None else self.text[:end]).strip()


def end_of_answer(text: str) -> int | None:
    """Return the end of a text's first line or sentence, after leading line breaks; None if it has no end.

    A full stop, question or exclamation mark ends a sentence after a word of at least three letters or digits, before
    white space or at the end: the stops of D.C., St. Louis and J. R. R. Tolkien do not.
    """
    begin = len(text) - len(text.lstrip())
    end = _END.search(text, begin)
    return end.start() if end else None


def context_tokens(scorer: TextScorer, prompts: Sequence[str], new_tokens: int) -> list[tuple[int, ...] | Unanswered]:
    """Return each prompt's token ids with the leading special tokens; or why the model cannot continue it.

    A prompt is invalid if it is not Unicode, has no token, or leaves no room for ``new_tokens``.
    """
    contexts: list[tuple[int, ...] | Unanswered] = []
    for prompt, tokenized in zip(prompts, scorer.tokenize(prompts, [[]] * len(prompts)), strict=True):
        if tokenized.reason is not None:
            contexts.append(Unanswered(tokenized.reason))
        elif tokenized.context:
            contexts.append(no_room(scorer, prompt, len(tokenized.context), new_tokens) or tokenized.context)
        else:
            problem = f"the prompt {prompt!r} has no token to continue from; an empty one needs a BOS token (`bos`)"
            contexts.append(Unanswered(problem))
    return contexts


def no_room(scorer: TextScorer, prompt: str, tokens: int, new_tokens: int) -> Unanswered | None:
    """Return why a prompt of so many tokens leaves no room for new ones; None if it does."""
    if scorer.max_tokens is None or tokens + new_tokens <= scorer.max_tokens:
        return None
    return Unanswered(
        f"the prompt {prompt[:40]!r}… has {tokens} tokens; with {new_tokens} more it is longer than the"
        f" {scorer.max_tokens} that the model accepts"
    )


@torch.inference_mode()
def beam_search(
    scorer: Scorer,
    prompts: Sequence[str],
    beams: int,
    *,
    new_tokens: int = 16,
    uncut: bool = False,
    progress: Callable[[int], None] | None = None,
) -> list[list[Continuation] | Unanswered]:
    """Return the continuations of each prompt that a beam search ends with, the most probable first.

    The search begins right after the prompt's own tokens; white space at its end is dropped. The log-probabilities are
    the scorer's.

    Cost: a forward pass of ``beams`` tokens per prompt and new token, and one scoring of the results. Prompts of
    similar length are batched, in smaller batches where memory is short.

    Args:
        beams: number of beams, and of returned continuations; 1 is greedy search.
        new_tokens: maximum tokens of a continuation, EOS included.
        uncut: True if line breaks and sentences do not end a continuation.

    Returns:
        for each prompt ``beams`` continuations, of different tokens, but possibly of equal text; or why the model
        cannot continue it, see :func:`context_tokens`.
    """
    if beams < 1 or new_tokens < 1:
        raise KgprobeError(f"A beam search needs at least 1 beam and 1 token; got {beams} and {new_tokens}.")
    results: list[list[Continuation] | Unanswered] = []
    contexts: dict[int, tuple[int, ...]] = {}
    for number, context in enumerate(context_tokens(scorer, prompts, new_tokens)):
        if isinstance(context, Unanswered):
            results.append(context)
            report(progress, 1)
        else:
            results.append([])
            contexts[number] = context
    end = scorer.tokenizer.eos_token_id
    may_end: Callable[[str], object] = (lambda _: False) if uncut else _SUSPICIOUS.search
    ends = Ends(scorer, [] if end is None else [end], may_end, lambda text: end_of_answer(text) is not None)

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
                    f" into the memory of {scorer.model.device}; use fewer beams."
                )
            searched = _continuations(scorer, ends, [contexts[number] for number in batch], tails)
            for number, continuations in zip(batch, searched, strict=True):
                results[number] = continuations
            report(progress, len(batch))
    return results


class Ends:
    """Test for the end of generated tokens: an end token, or an end in their text."""

    def __init__(
        self,
        scorer: TextScorer,
        end_tokens: Sequence[int],
        may_end: Callable[[str], object],
        has_end: Callable[[str], bool],
    ) -> None:
        """Use two tests of texts: whether a token's own may be part of an end, and whether a whole text has an end."""
        self._tokenizer = scorer.tokenizer
        self.end_tokens = end_tokens
        self._may_end, self._has_end = may_end, has_end
        self._suspicious: dict[int, bool] = {}

    def is_over(self, tokens: Sequence[int]) -> bool:
        """Return True if the last token ends the sequence, provided that no earlier one did."""
        last = tokens[-1]
        if last in self.end_tokens:
            return True
        if last not in self._suspicious:
            self._suspicious[last] = bool(self._may_end(self.text([last])))
        return self._suspicious[last] and self._has_end(self.text(tokens))

    def text(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens, without special ones."""
        return str(self._tokenizer.decode(list(tokens), skip_special_tokens=True))


def _search(
    scorer: Scorer, ends: Ends, contexts: Sequence[tuple[int, ...]], beams: int, new_tokens: int
) -> list[list[tuple[int, ...]]]:
    """Return the token ids of the best continuations of each context, with the one that ends them."""
    longest = max(map(len, contexts))

    def are_over(tokens: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
        over = list(map(ends.is_over, tokens[:, longest:].tolist()))
        return torch.tensor(over, dtype=torch.bool, device=tokens.device)

    rows = generate_tokens(
        scorer,
        contexts,
        ends.end_tokens,
        stopping_criteria=[are_over],
        max_new_tokens=new_tokens,
        num_beams=beams,
        num_return_sequences=beams,
        # transformers warns about a length penalty for one beam.
        length_penalty=0.0 if beams > 1 else None,
        early_stopping=False,
    )
    tails = []
    for row in rows.tolist():
        size = next((size for size in range(1, len(row)) if ends.is_over(row[:size])), len(row))
        tails.append(tuple(row[:size]))
    return [tails[first : first + beams] for first in range(0, len(tails), beams)]


def generate_tokens(
    scorer: Scorer,
    contexts: Sequence[Sequence[int]],
    end_tokens: Sequence[int],
    *,
    stopping_criteria: Sequence[Callable[..., torch.Tensor]],
    logits_processor: Sequence[Callable[..., torch.Tensor]] = (),
    **settings: Any,
) -> torch.Tensor:
    """Return the tokens that transformers generates after contexts, which are padded on the left; shape (rows, new).

    Cost: if at most half of the contexts are distinct, each distinct one is computed once.

    Args:
        end_tokens: ids of the tokens that end a row; the first one pads.
    """
    from transformers import GenerationConfig, LogitsProcessorList, StoppingCriteriaList

    model: Any = scorer.model
    longest = max(map(len, contexts))
    # Padding is always masked, or after the end of a row.
    padding = end_tokens[0] if end_tokens else 0
    tokens = torch.full((len(contexts), longest), padding)
    mask = torch.zeros((len(contexts), longest), dtype=torch.int64)
    for row, context in enumerate(contexts):
        tokens[row, longest - len(context) :] = torch.tensor(context)
        mask[row, longest - len(context) :] = 1
    tokens, mask = tokens.to(model.device), mask.to(model.device)
    config: Any = GenerationConfig
    rows: torch.Tensor = model.generate(
        input_ids=tokens,
        attention_mask=mask,
        **({} if settings.get("num_beams", 1) > 1 else _shared_cache(model, contexts, tokens, mask)),
        generation_config=config(
            do_sample=False, eos_token_id=list(end_tokens) or None, pad_token_id=padding, use_cache=True, **settings
        ),
        logits_processor=LogitsProcessorList(logits_processor),
        stopping_criteria=StoppingCriteriaList(stopping_criteria),
    )
    return rows[:, longest:]


def _shared_cache(
    model: Any, contexts: Sequence[Sequence[int]], tokens: torch.Tensor, mask: torch.Tensor
) -> dict[str, Any]:
    """Return a cache of all tokens but the last, computed once for equal contexts, as an argument of ``generate``.

    Empty if most contexts are distinct, or if the model's cache is not a list of keys and values.

    Args:
        tokens, mask: the contexts padded on the left; shape (rows, longest).
    """
    from transformers import DynamicCache, GenerationConfig
    from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

    numbers: dict[tuple[int, ...], int] = {}
    numbered = [numbers.setdefault(tuple(context), len(numbers)) for context in contexts]
    # A row of padding alone has no probabilities.
    if 2 * len(numbers) > len(contexts) or min(map(len, contexts)) < 2:
        return {}
    first = [numbered.index(number) for number in range(len(numbers))]
    config: Any = GenerationConfig
    computed = model.generate(
        input_ids=tokens[first, :-1],
        attention_mask=mask[first, :-1],
        generation_config=config(
            do_sample=False, pad_token_id=0, use_cache=True, max_new_tokens=1, return_dict_in_generate=True
        ),
    )
    # The name before transformers 5.24 is that of the argument, too.
    name = "cache" if "cache" in computed else "past_key_values"
    cache = computed.get(name)
    if type(cache) is not DynamicCache:
        return {}
    # Layers of a subclass have states besides keys and values.
    if any(type(layer) not in (DynamicLayer, DynamicSlidingWindowLayer) for layer in cache.layers):
        return {}
    cache.batch_select_indices(torch.tensor(numbered, device=tokens.device))
    return {name: cache}


def _continuations(
    scorer: Scorer, ends: Ends, contexts: Sequence[tuple[int, ...]], tails: Sequence[Sequence[tuple[int, ...]]]
) -> list[list[Continuation]]:
    prompts = []
    for context, own in zip(contexts, tails, strict=True):
        starts = (len(context),) * len(own)
        prompts.append(TokenizedPrompt(context, starts, tuple(own)))
    # The search would only return its own sums with every step's probabilities of the whole vocabulary.
    scores = [np.full(len(prompt.tails), np.nan) for prompt in prompts]
    for tree, values in scorer.edge_log_probabilities(build_all_trees(prompts, _MAX_BRANCH_NODES)):
        scores[tree.prompt][tree.members] = np.add.reduceat(values[tree.steps], tree.offsets)
    if any(np.isnan(values).any() for values in scores):
        raise KgprobeError("The model's probabilities are not numbers; its weights are broken.")
    results = []
    for own, values in zip(tails, scores, strict=True):
        continuations: list[Continuation] = []
        for place in np.argsort(-values, kind="stable").tolist():
            text = ends.text(own[place])
            continuations.append(Continuation(text, float(values[place]), ends.is_over(own[place])))
        results.append(continuations)
    return results


@contextmanager
def own_settings(scorer: Scorer) -> Iterator[None]:
    """Switch the model to eval mode, and ignore the generation settings in its files."""
    from transformers import GenerationConfig

    model: Any = scorer.model
    theirs = model.generation_config
    model.generation_config = GenerationConfig()  # type: ignore[no-untyped-call]
    try:
        with in_eval_mode(model):
            yield
    finally:
        model.generation_config = theirs


def prompts_at_once(scorer: Scorer, beams: int, longest: int) -> int:
    """Return the batch size, at least 1: each prompt has ``beams`` rows of up to ``longest`` tokens."""
    vocabulary = int(scorer.model.config.get_text_config().vocab_size)
    tokens = scorer.batch_tokens or amount_for(_TOKENS_AT_ONCE, scorer.model.device)
    rows = min(amount_for(_LOGITS_AT_ONCE, scorer.model.device) // vocabulary, tokens // longest)
    return max(1, rows // beams)
