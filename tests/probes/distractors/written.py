"""Evidence of comparisons that a test writes down."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kgprobe.probes.distractors.evidence import DistractorEvidence, NamedEntity, Rival, Sentence
from kgprobe.stats.proportions import more_than_half


def distractor_evidence(sentences: Sequence[Sequence[float]], shown: int = 0, **more: Any) -> DistractorEvidence:
    """Evidence from plausibilities: of each sentence the object's, then those of the rivals ``r0``, ``r1``, …"""
    longest = max(map(len, sentences)) - 1
    return DistractorEvidence(
        subject="Japan",
        object=NamedEntity("o", "Tokyo"),
        rivals=tuple(Rival(f"r{place}", f"rival {place}", "a city, like Tokyo") for place in range(longest)),
        sentences=tuple(
            Sentence(f"prompt {number}", tuple(range(len(values) - 1)), np.array(values, dtype=np.float64))
            for number, values in enumerate(sentences)
        ),
        shown=shown,
        chance=more_than_half([1 / len(values) for values in sentences]),
        **more,
    )


def named_evidence(right: str, rivals: Mapping[str, float], plausibility: float) -> DistractorEvidence:
    """Evidence of one sentence, whose right answer and rivals have names and log-plausibilities."""
    return DistractorEvidence(
        subject="subject",
        object=NamedEntity(right, right),
        rivals=tuple(Rival(name, name, "a name") for name in rivals),
        sentences=(Sentence("prompt", tuple(range(len(rivals))), np.array([plausibility, *rivals.values()])),),
        shown=0,
        chance=1 / (1 + len(rivals)),
    )
