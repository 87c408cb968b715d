"""Sentences under a causal language model, scored as a whole or from one of their characters on.

As in lm-pub-quiz (0.3.3; Wiland et al., 2024): a sentence is tokenized as one text, after BOS. Every token after BOS is
scored; or, from a span on, the token that contains the span's first character and all later ones, to the end of the
sentence. Without BOS, the first token has no probability and does not count. EOS is not scored.

One difference: an apparent special token (``</s>`` in a label) is tokenized as plain text.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

import numpy as np

from kgprobe.models.scoring.contract import Floats, TextScorer, report
from kgprobe.models.scoring.tokens import TokenizedPrompt, encode, encode_spans, no_unicode, not_unicode
from kgprobe.models.scoring.trie import Integers


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence, and a half-open range of its characters."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ScoredPassages:
    """Log-probabilities of the sentences of one question.

    Attributes:
        values: sums of the scored tokens' log-probabilities, natural logarithm; NaN exactly where there is a reason.
            Shape (sentences,).
        tokens: number of scored tokens, shape (sentences,).
        reasons: why the model cannot take a sentence, as a clause, by the sentence's position.
    """

    values: Floats
    tokens: Integers
    reasons: Mapping[int, str] = field(default_factory=dict)


def leading_with_bos(scorer: TextScorer) -> tuple[int, ...]:
    """Return the ids before a sentence: BOS, even where the tokenizer does not prepend it; none without BOS."""
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
    """Score the sentences of questions; those of one question share their prefixes.

    Args:
        from_span: True to score from the span's first token on; False for the whole sentence.

    Raises:
        KgprobeError: the model's probabilities are not numbers, one sentence does not fit in memory, or the tokenizer
            has no character offsets.
    """
    placed = iter(_place(scorer, list(chain.from_iterable(questions)), leading, from_span))
    results: list[ScoredPassages] = []
    prompts: list[TokenizedPrompt] = []
    owners: list[tuple[ScoredPassages, list[int]]] = []
    for passages in questions:
        own = list(islice(placed, len(passages)))
        reasons = {number: sentence.reason for number, sentence in enumerate(own) if sentence.reason}
        result = ScoredPassages(np.full(len(own), np.nan), np.zeros(len(own), dtype=np.int64), reasons)
        results.append(result)
        by_context: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
        for place, sentence in enumerate(own):
            if sentence.reason is None:
                by_context[sentence.ids[: sentence.unscored]].append(place)
        for context, members in by_context.items():
            tails = tuple(own[member].ids[len(context) :] for member in members)
            prompts.append(TokenizedPrompt(context, (len(context),) * len(members), tails))
            owners.append((result, members))
        report(progress, len(reasons))
    scores = scorer.score_tokenized(prompts, progress)
    for (result, members), prompt, scored in zip(owners, prompts, scores, strict=True):
        result.values[members] = scored.values
        result.tokens[members] = list(map(len, prompt.tails))
    return results


def score_spans(scorer: TextScorer, text: str, spans: Sequence[tuple[int, int]]) -> ScoredPassages:
    """Return the log-probability of some spans of one text, each given all text before it, in one pass.

    Args:
        text: valid Unicode text.
        spans: half-open ranges of its characters; all tokens with any of these characters are scored.

    Returns:
        one value per span; a reason for a span without tokens, at the very beginning, or beyond the model's maximum
        length.

    Raises:
        KgprobeError: the model's probabilities are not numbers, the text does not fit in memory, or the tokenizer has
            no character offsets.
    """
    ((ids, ranges),) = encode_spans(scorer.tokenizer, [text], [spans])
    context = (*scorer.leading, *ids)
    places = [(len(scorer.leading) + first, len(scorer.leading) + end) for first, end in ranges]
    reasons: dict[int, str] = {}
    for number, (first, end) in enumerate(places):
        if problem := _span_problem(first, end, scorer.max_tokens):
            reasons[number] = problem
    valid = [number for number in range(len(spans)) if number not in reasons]
    starts = tuple(places[number][0] for number in valid)
    tails = tuple(context[slice(*places[number])] for number in valid)
    last = max((places[number][1] for number in valid), default=0)
    (scored,) = scorer.score_tokenized([TokenizedPrompt(context[:last], starts, tails)])
    values = np.full(len(spans), np.nan)
    values[valid] = scored.values
    tokens = np.zeros(len(spans), dtype=np.int64)
    tokens[valid] = list(map(len, tails))
    return ScoredPassages(values, tokens, reasons)


def _span_problem(first: int, end: int, limit: int | None) -> str | None:
    if first == end:
        return "it tokenizes to nothing"
    if not first:
        return "no token precedes it"
    if limit is not None and end - 1 > limit:
        return f"it ends after the {limit} tokens that the model accepts"
    return None


@dataclass(frozen=True, slots=True)
class _Placed:
    """A sentence's ids, and how many of them precede the first scored one."""

    ids: tuple[int, ...]
    unscored: int
    reason: str | None = None


def _place(scorer: TextScorer, passages: Sequence[Passage], leading: tuple[int, ...], from_span: bool) -> list[_Placed]:
    odd = not_unicode([passage.text for passage in passages])
    sound = [Passage("", 0, 0) if number in odd else passage for number, passage in enumerate(passages)]
    texts = [passage.text for passage in sound]
    encoded: Sequence[tuple[Sequence[int], list[tuple[int, int]]]]
    if from_span:
        encoded = encode_spans(scorer.tokenizer, texts, [[(passage.start, passage.end)] for passage in sound])
    else:
        encoded = [(ids, [(0, len(ids) + 1)]) for ids in encode(scorer.tokenizer, texts)]
    placed = []
    for passage, (ids, ((first, end),)) in zip(passages, encoded, strict=True):
        # Nothing predicts the very first token.
        unscored = max(len(leading) + first, 1)
        reason = _problem(passage.text, first < end, unscored, len(leading) + len(ids), scorer.max_tokens)
        placed.append(_Placed((*leading, *ids), unscored, reason))
    for number in odd:
        placed[number] = _Placed((), 0, no_unicode(passages[number].text))
    return placed


def _problem(text: str, has_tokens: bool, unscored: int, length: int, limit: int | None) -> str | None:
    if not has_tokens:
        return f"the answer in the sentence {text!r} tokenizes to nothing"
    if length <= unscored:
        return f"the sentence {text!r} has no token with another before it"
    if limit is not None and length - 1 > limit:
        return f"a sentence has {length} tokens, more than the {limit} that the model accepts (and one predicted)"
    return None
