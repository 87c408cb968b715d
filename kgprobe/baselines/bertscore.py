"""BERTScore: similarity in meaning between the model's continuation and a name of the object.

Zhang et al. 2020, Section 3; Table 2 of the distractor paper; docs/methods/baselines.md. Each token of one text is
matched with the nearest token of the other, by cosine similarity in an encoder. Recall is the mean over the name's
tokens, precision the mean over the continuation's tokens, and the score is their F1. Tokens are weighted equally,
without rescaling; special tokens are left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from kgprobe.baselines.continued import Continued, over_beams
from kgprobe.baselines.items import NAMELESS, BaselineItem, Floats, Values
from kgprobe.baselines.register import BaselineKind, BySentence, Tools, lacking
from kgprobe.models.encoder import Encoder, Vectors
from kgprobe.probes.clozes import ClozeItem

# The encoder that the method's authors recommend for English.
DEFAULT_ENCODER = "hf:FacebookAI/roberta-large"

TOKENLESS = "the encoder has no token for any name of its object"

# Number of distinct texts whose vectors are held in memory together.
_TEXTS_AT_ONCE = 4096


def bert_score(encoder: Encoder, items: Sequence[BaselineItem], continued: Continued) -> Values:
    """Return the greatest F1 over the object's names, with and without article, and each sentence's continuations.

    Range: [0, 1], most of it unused: with RoBERTa, any two texts score near 0.8. Higher is more similar. An empty
    continuation scores 0.

    Cost: a forward pass of the encoder over each distinct text, and the cosines of their tokens.
    """
    reasons = dict(continued.reasons)
    reasons |= {number: NAMELESS for number, item in enumerate(items) if not item.continuations}
    values = np.full(len(items), np.nan)
    rest = [number for number in range(len(items)) if number not in reasons]
    for group in _groups(items, continued, rest):
        vectors = _vectors(encoder, items, continued, group)
        for number in group:
            names = _present(vectors, items[number].forms)
            lines = _present(vectors, continued.lines[number])
            if not names:
                reasons[number] = TOKENLESS
            else:
                values[number] = _f1(names, lines).max() if lines else 0.0
    return Values(values, reasons)


def _vectors(
    encoder: Encoder, items: Sequence[BaselineItem], continued: Continued, group: Sequence[int]
) -> dict[str, Vectors]:
    """Return the token vectors of every name and continuation of some sentences, by text."""
    texts: dict[str, None] = {}
    for number in group:
        texts |= dict.fromkeys((*items[number].forms, *continued.lines[number]))
    return dict(zip(texts, encoder.vectors(list(texts)), strict=True))


def _present(vectors: Mapping[str, Vectors], texts: Sequence[str]) -> list[Vectors]:
    """Return the vectors of the texts that have tokens."""
    return [vectors[text] for text in texts if len(vectors[text])]


def _groups(items: Sequence[BaselineItem], continued: Continued, rest: Sequence[int]) -> Iterator[list[int]]:
    """Yield the sentences in groups of at most ``_TEXTS_AT_ONCE`` texts."""
    group: list[int] = []
    size = 0
    for number in rest:
        texts = len(items[number].forms) + len(continued.lines[number])
        if group and size + texts > _TEXTS_AT_ONCE:
            yield group
            group, size = [], 0
        group.append(number)
        size += texts
    if group:
        yield group


def _f1(names: Sequence[Vectors], lines: Sequence[Vectors]) -> Floats:
    """Return the F1 of each name with each continuation, shape (names, continuations)."""
    cosines = (np.concatenate(names) @ np.concatenate(lines).T).astype(np.float64)
    rows, columns = (_offsets(names), _offsets(lines))
    recall = _means(np.maximum.reduceat(cosines, columns, axis=1), rows, names)
    precision = _means(np.maximum.reduceat(cosines, rows, axis=0).T, columns, lines).T
    # F1 is undefined for negative means; such texts have nothing in common.
    positive = (recall > 0) & (precision > 0)
    f1: Floats = np.divide(2 * recall * precision, recall + precision, out=np.zeros(recall.shape), where=positive)
    return f1


def _offsets(texts: Sequence[Vectors]) -> list[int]:
    return [0, *np.cumsum([len(text) for text in texts])[:-1].tolist()]


def _means(values: Floats, offsets: Sequence[int], texts: Sequence[Vectors]) -> Floats:
    """Return the means over the tokens of each text; tokens are the rows of ``values``."""
    means: Floats = np.add.reduceat(values, offsets, axis=0) / np.array([[len(text)] for text in texts])
    return means


def _measure(tools: Tools, facts: Sequence[ClozeItem]) -> BySentence:
    if tools.encoder is None:
        raise lacking("bertscore", "encoder")
    return over_beams(tools, facts, partial(bert_score, tools.encoder))


BASELINE = BaselineKind("bertscore", "similarity in meaning of the continuation and a name", _measure, needs="encoder")
