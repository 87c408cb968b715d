"""BERTScore: similarity in meaning between the model's continuation and a name of the object.

Zhang et al. 2020, Section 3; Table 2 of the distractor paper; docs/methods/baselines.md. Each token of one text is
matched with the nearest token of the other, by cosine similarity in an encoder. Recall is the mean over the name's
tokens, precision the mean over the continuation's tokens, and the score is their F1. Tokens are weighted equally,
without rescaling; special tokens are left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, starmap

import numpy as np

from kgprobe.models.encoder import Encoder, Vectors
from kgprobe.papers.baselines.items import NAMELESS, BaselineItem, Continued, Floats, Values, over_beams
from kgprobe.papers.baselines.register import BaselineKind, BySentence, Tools, lacking
from kgprobe.probes.clozes import ClozeItem

TOKENLESS = "the encoder has no token for any name of its object"

# Number of distinct texts whose vectors are held in memory together.
_TEXTS_AT_ONCE = 4096


def bert_score(encoder: Encoder, items: Sequence[BaselineItem], continued: Continued) -> Values:
    """Return the greatest F1 over the object's names, with and without article, and each sentence's continuations.

    Range: [0, 1], most of it unused: with RoBERTa, any two texts score near 0.8. Higher is more similar. An empty
    continuation scores 0.

    Cost: a forward pass of the encoder over each distinct text, and the cosines of their tokens.
    """
    results: dict[int, float | str] = dict(continued.reasons)
    texts: dict[int, tuple[list[str], Sequence[str]]] = {}
    for number, item in enumerate(items):
        if not item.continuations:
            results[number] = NAMELESS
        elif number not in results:
            texts[number] = (item.forms, continued.lines[number])
    for group in _groups(texts):
        results |= _score(encoder, {number: texts[number] for number in group})
    return Values.of(map(results.__getitem__, range(len(items))))


def _score(encoder: Encoder, texts: Mapping[int, tuple[Sequence[str], Sequence[str]]]) -> dict[int, float | str]:
    """Return the greatest F1 of names and continuations by their key, or the reason why there is none."""
    distinct = list(dict.fromkeys(chain.from_iterable(starmap(chain, texts.values()))))
    vectors = {text: tokens for text, tokens in zip(distinct, encoder.vectors(distinct), strict=True) if len(tokens)}
    results: dict[int, float | str] = {}
    for number, pair in texts.items():
        names, lines = ([vectors[text] for text in part if text in vectors] for part in pair)
        if not names:
            results[number] = TOKENLESS
        else:
            results[number] = float(_f1(names, lines).max()) if lines else 0.0
    return results


def _groups(texts: Mapping[int, tuple[Sequence[str], Sequence[str]]]) -> Iterator[list[int]]:
    """Yield the keys in groups of at most ``_TEXTS_AT_ONCE`` texts, or of a single key."""
    group: list[int] = []
    size = 0
    for number, (names, lines) in texts.items():
        size += len(names) + len(lines)
        if group and size > _TEXTS_AT_ONCE:
            yield group
            group, size = [], len(names) + len(lines)
        group.append(number)
    if group:
        yield group


def _f1(names: Sequence[Vectors], lines: Sequence[Vectors]) -> Floats:
    """Return the F1 of each name with each continuation, shape (names, continuations)."""
    cosines = (np.concatenate(names) @ np.concatenate(lines).T).astype(np.float64)
    name_sizes, line_sizes = np.array(list(map(len, names))), np.array(list(map(len, lines)))
    rows, columns = np.cumsum(name_sizes) - name_sizes, np.cumsum(line_sizes) - line_sizes
    recall = np.add.reduceat(np.maximum.reduceat(cosines, columns, axis=1), rows, axis=0) / name_sizes[:, None]
    precision = (np.add.reduceat(np.maximum.reduceat(cosines, rows, axis=0).T, columns, axis=0) / line_sizes[:, None]).T
    # F1 is undefined for negative means; such texts have nothing in common.
    positive = (recall > 0) & (precision > 0)
    f1: Floats = np.divide(2 * recall * precision, recall + precision, out=np.zeros(recall.shape), where=positive)
    return f1


def _measure(tools: Tools, facts: Sequence[ClozeItem]) -> BySentence:
    if tools.encoder is None:
        raise lacking("bertscore", "encoder")
    return over_beams(tools, facts, tools.beams, partial(bert_score, tools.encoder))


BASELINE = BaselineKind("bertscore", "similarity in meaning of the continuation and a name", _measure, needs="encoder")
