"""BERTScore: how near in meaning what the model goes on with is to a name of the object.

Zhang et al. 2020, Section 3; Table 2 of the distractor paper; docs/methods/baselines.md. Every token of one text is
matched with the nearest one of the other, by the cosine of their vectors in an encoder: recall is the mean over the
name's tokens, precision that over the continuation's, and the score is their F1. Tokens weigh the same, nothing is
rescaled, and special tokens take no part.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from kgprobe.baselines.asked import NAMELESS, Asked, Floats, Values
from kgprobe.baselines.continued import Continued, over_beams
from kgprobe.baselines.register import BaselineKind, BySentence, Tools, lacking
from kgprobe.models.encoder import Encoder, Vectors
from kgprobe.probes.clozes import ClozeItem

# The encoder that the method's authors advise for English.
DEFAULT_ENCODER = "hf:FacebookAI/roberta-large"

TOKENLESS = "the encoder has no token for any name of its object"

# Different texts whose vectors are held in memory together.
_TEXTS_AT_ONCE = 4096


def bert_score(encoder: Encoder, asked: Sequence[Asked], continued: Continued) -> Values:
    """The greatest F1 over the object's names, with and without article, and the continuations of each sentence.

    Range: [0, 1], most of it unused: with RoBERTa, any two texts are near 0.8. Higher means nearer. An empty
    continuation gets 0.

    Cost: a forward pass of the encoder over each different text, and the cosines of their tokens.
    """
    reasons = dict(continued.reasons)
    for number, one in enumerate(asked):
        if not one.continuations:
            reasons[number] = NAMELESS
    values = np.full(len(asked), np.nan)
    rest = [number for number in range(len(asked)) if number not in reasons]
    for group in _groups(asked, continued, rest):
        texts = list(
            dict.fromkeys(text for number in group for text in (*asked[number].forms, *continued.lines[number]))
        )
        vectors = dict(zip(texts, encoder.vectors(texts), strict=True))
        for number in group:
            names = [vectors[name] for name in asked[number].forms if len(vectors[name])]
            if not names:
                reasons[number] = TOKENLESS
                continue
            lines = [vectors[line] for line in continued.lines[number] if len(vectors[line])]
            values[number] = _f1(names, lines).max() if lines else 0.0
    return Values(values, reasons)


def _groups(asked: Sequence[Asked], continued: Continued, rest: Sequence[int]) -> Iterator[list[int]]:
    group: list[int] = []
    size = 0
    for number in rest:
        its = len(asked[number].forms) + len(continued.lines[number])
        if group and size + its > _TEXTS_AT_ONCE:
            yield group
            group, size = [], 0
        group.append(number)
        size += its
    if group:
        yield group


def _f1(names: Sequence[Vectors], lines: Sequence[Vectors]) -> Floats:
    """The F1 of each name with each continuation, shape (names, continuations)."""
    cosines = (np.concatenate(names) @ np.concatenate(lines).T).astype(np.float64)
    rows, columns = (_offsets(names), _offsets(lines))
    recall = _means(np.maximum.reduceat(cosines, columns, axis=1), rows, names)
    precision = _means(np.maximum.reduceat(cosines, rows, axis=0).T, columns, lines).T
    # A mean of opposite directions has no F1; such texts have nothing in common.
    positive = (recall > 0) & (precision > 0)
    f1: Floats = np.divide(2 * recall * precision, recall + precision, out=np.zeros(recall.shape), where=positive)
    return f1


def _offsets(texts: Sequence[Vectors]) -> list[int]:
    return [0, *np.cumsum([len(text) for text in texts])[:-1].tolist()]


def _means(values: Floats, offsets: Sequence[int], texts: Sequence[Vectors]) -> Floats:
    """Means over the tokens of each text, which are rows of ``values``."""
    means: Floats = np.add.reduceat(values, offsets, axis=0) / np.array([[len(text)] for text in texts])
    return means


def _measure(tools: Tools, items: Sequence[ClozeItem]) -> BySentence:
    if tools.encoder is None:
        raise lacking("bertscore", "encoder")
    return over_beams(tools, items, partial(bert_score, tools.encoder))


BASELINE = BaselineKind("bertscore", "how near in meaning the continuation is to a name", _measure, needs="encoder")
