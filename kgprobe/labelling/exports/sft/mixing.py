"""The mix of a training set: the share of examples about known facts, and weights.

Gekhman et al. 2024 (2405.05904): models learn unknown facts late in fine-tuning, and forget as they do; examples of
known facts protect the other knowledge. Weights follow the idea of knowledge-weighted fine-tuning (Lee et al. 2026,
2604.05779): the loss of an example is scaled by how well the model knows its fact.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kgprobe.base.errors import ArgumentError
from kgprobe.labelling.exports.sft.groups import REFUSED
from kgprobe.labelling.exports.sft.wordings import WordedExample, WordedGroup

# Digits of a weight.
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class TrainingExample:
    """An example with its purpose: ``taught``, ``refused`` or ``known``."""

    purpose: str
    group: WordedGroup
    example: WordedExample


def examples_of(groups: Iterable[WordedGroup]) -> list[TrainingExample]:
    """Return all examples of some groups, in order."""
    examples = []
    for group in groups:
        examples += [TrainingExample(group.group.purpose, group, example) for example in group.examples]
    return examples


def take_known(groups: Iterable[WordedGroup], others: int, share: float) -> list[TrainingExample]:
    """Return examples of known facts that make up a share, to half an example; the last group may lack some wordings.

    Args:
        groups: of known facts; no more are read than needed.
        share: share of known examples among all, in [0, 1).

    Raises:
        ArgumentError: there are fewer.
    """
    needed = round(others * share / (1 - share))
    examples: list[TrainingExample] = []
    if not needed:
        return examples
    for group in groups:
        examples += examples_of([group])
        if len(examples) >= needed:
            return examples[:needed]
    possible = math.floor(100 * len(examples) / (len(examples) + others)) / 100
    raise ArgumentError(
        "known_share",
        f"is {share:g}, for which {needed:,} examples of known facts are needed next to {others:,} others; the label"
        f" table has {len(examples):,} that may be used, enough for {possible:g}. Lower `known_share` or `limit`, or"
        " label more facts.",
    )


def weights_of(examples: Sequence[TrainingExample], rule: str) -> list[float]:
    """Return a weight for each example, with mean 1, so that the learning rate keeps its meaning.

    An answer's weight is proportional to the probability p that the model knows the facts (``known``), or to 1 - p
    (``unknown``). It is the other way round for *I don't know*.

    Raises:
        ArgumentError: all weights would be 0.
    """
    raw = []
    for example in examples:
        known = example.example.known
        raw.append(known if (rule == "known") != (example.purpose == REFUSED) else 1 - known)
    total = sum(raw)
    if not total:
        raise ArgumentError(
            "weights",
            f"is {rule!r}, and every probability is 0 by this rule. Choose the other rule, or add known facts.",
        )
    return [round(weight * len(raw) / total, _DIGITS) for weight in raw]
