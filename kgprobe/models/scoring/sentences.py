"""Whole sentences under a causal language model, scored as a whole or from one of their characters on.

As lm-pub-quiz does it (0.3.3; Wiland et al., 2024): a sentence is tokenized as one text, BOS in front. Scored is every
token behind BOS; or, from a span on, the token that holds the span's first character and all behind it, to the end of
the sentence. Where no BOS stands in front, the first token has no probability and does not count. No EOS is scored.

In one thing it differs: what looks like a special token (``</s>`` in a label) is tokenized as the text it is.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kgprobe.models.scoring.contract import TextScorer
from kgprobe.models.scoring.tokens import TokenizedPrompt, encode, encode_from, encode_spans, no_unicode, not_unicode

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence, and a span in it: its first character, and the one after its last."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ScoredPassages:
    """What a model makes of the sentences of one question.

    Attributes:
        values: sums over the tokens that are scored of their log-probabilities, natural logarithm; NaN exactly where
            there is a reason. Shape (sentences,).
        tokens: how many tokens these are, shape (sentences,).
        reasons: why the model cannot take a sentence, as a clause, by the sentence's position.
    """

    values: Floats
    tokens: Integers
    reasons: Mapping[int, str] = field(default_factory=dict)


def leading_with_bos(scorer: TextScorer) -> tuple[int, ...]:
    """The ids in front of a sentence: BOS, also where the tokenizer puts none by itself; none where there is no BOS."""
    bos = scorer.tokenizer.bos_token_id
    return scorer.leading if bos is None or scorer.leading[:1] == (bos,) else (int(bos), *scorer.leading)


def score_passages(
    scorer: TextScorer,
    questions: Sequence[Sequence[Passage]],
    *,
    leading: tuple[int, ...],
    from_span: bool,
    progress: Callable[[int], None] | None = None,
) -> list[ScoredPassages]:
    """Score the sentences of questions; those of one question share what they begin with.

    Args:
        leading: ids of the special tokens in front of each sentence.
        from_span: whether to score from the span's first token on; else the whole sentence.
        progress: called now and then with the number of sentences done since the last call.

    Raises:
        KgprobeError: the model's probabilities are no numbers, one sentence does not fit in memory, or the tokenizer
            does not tell where a span begins.
    """
    placed = _placed(scorer, [passage for passages in questions for passage in passages], leading, from_span)
    prompts: list[TokenizedPrompt] = []
    owners: list[tuple[int, list[int]]] = []
    first = 0
    for number, passages in enumerate(questions):
        own = placed[first : first + len(passages)]
        first += len(passages)
        for context, members in _by_context(own).items():
            tails = tuple(own[member].ids[len(context) :] for member in members)
            prompts.append(TokenizedPrompt(context, (len(context),) * len(members), tails))
            owners.append((number, members))
        if progress is not None:
            progress(sum(one.reason is not None for one in own))
    found = [
        ScoredPassages(np.full(len(passages), np.nan), np.zeros(len(passages), dtype=np.int64), {})
        for passages in questions
    ]
    for (number, members), prompt, scored in zip(
        owners, prompts, scorer.score_tokenized(prompts, progress), strict=True
    ):
        found[number].values[members] = scored.values
        found[number].tokens[members] = [len(tail) for tail in prompt.tails]
    reasons = iter(placed)
    return [
        ScoredPassages(
            one.values, one.tokens, {place: its for place in range(len(one.values)) if (its := next(reasons).reason)}
        )
        for one in found
    ]


def score_spans(scorer: TextScorer, text: str, spans: Sequence[tuple[int, int]]) -> ScoredPassages:
    """The log-probability of each of some spans of one text, given all that stands before it, in one pass.

    Args:
        text: Unicode.
        spans: ranges of its characters, the first and the one after the last. What is scored of each are the tokens
            that hold its characters.

    Returns:
        one value a span; a reason for one that no token holds, before which nothing stands, or that stands where the
        model takes nothing in any more.

    Raises:
        KgprobeError: the model's probabilities are no numbers, the text does not fit in memory, or the tokenizer does
            not tell which characters a token holds.
    """
    ids, ranges = encode_spans(scorer.tokenizer, text, spans)
    context = (*scorer.leading, *ids)
    places = [(len(scorer.leading) + first, len(scorer.leading) + after) for first, after in ranges]
    reasons = {}
    for number, (first, after) in enumerate(places):
        if first == after:
            reasons[number] = "it tokenizes to nothing"
        elif not first:
            reasons[number] = "nothing stands before it"
        elif scorer.max_tokens is not None and after - 1 > scorer.max_tokens:
            reasons[number] = f"it ends behind the {scorer.max_tokens} tokens that the model takes in"
    taken = [place for number, place in enumerate(places) if number not in reasons]
    last = max((after for _, after in taken), default=0)
    prompt = TokenizedPrompt(
        context[:last], tuple(first for first, _ in taken), tuple(context[first:after] for first, after in taken)
    )
    values = np.full(len(spans), np.nan)
    tokens = np.zeros(len(spans), dtype=np.int64)
    kept = [number for number in range(len(spans)) if number not in reasons]
    (scored,) = scorer.score_tokenized([prompt])
    values[kept] = scored.values
    tokens[kept] = [after - first for first, after in taken]
    return ScoredPassages(values, tokens, reasons)


@dataclass(frozen=True, slots=True)
class _Placed:
    """A sentence's ids with those in front, and how many of them stand before the first that is scored."""

    ids: tuple[int, ...]
    unscored: int
    reason: str | None = None


def _placed(
    scorer: TextScorer, passages: Sequence[Passage], leading: tuple[int, ...], from_span: bool
) -> list[_Placed]:
    texts = [passage.text for passage in passages]
    odd = not_unicode(texts)
    whole = ["" if number in odd else text for number, text in enumerate(texts)]
    if from_span:
        spans = [(0, 0) if n in odd else (one.start, one.end) for n, one in enumerate(passages)]
        encoded = encode_from(scorer.tokenizer, whole, spans)
    else:
        encoded = [(ids, 0) for ids in encode(scorer.tokenizer, whole)]
    placed = []
    for number, (ids, token) in enumerate(encoded):
        # Nothing predicts the first token of all.
        unscored = 0 if token is None else max(len(leading) + token, 1)
        reason = None
        if number in odd:
            reason = no_unicode(texts[number])
        elif token is None:
            reason = f"the answer in the sentence {texts[number]!r} tokenizes to nothing"
        elif len(leading) + len(ids) <= unscored:
            reason = f"the sentence {texts[number]!r} has no token that another stands before"
        elif scorer.max_tokens is not None and len(leading) + len(ids) - 1 > scorer.max_tokens:
            reason = (
                f"a sentence has {len(leading) + len(ids)} tokens, more than the {scorer.max_tokens} that the model"
                " takes in (and one predicted)"
            )
        placed.append(_Placed((*leading, *ids), unscored, reason))
    return placed


def _by_context(placed: Sequence[_Placed]) -> dict[tuple[int, ...], list[int]]:
    """The places of the sentences that can be taken, by what stands before the first token that is scored."""
    members: dict[tuple[int, ...], list[int]] = {}
    for place, one in enumerate(placed):
        if one.reason is None:
            members.setdefault(one.ids[: one.unscored], []).append(place)
    return members
