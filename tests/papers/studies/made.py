"""Measurements made of random numbers, for tests of what is computed from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from kgprobe.base.tables import INTERNAL
from kgprobe.papers.studies.study import Study
from kgprobe.probes.distractors.evidence import DistractorEvidence, Measured, NamedEntity, Rival, Sentence, measured
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.results.rendering.plots import CategoryPlot, Plot
from kgprobe.results.result import Listing
from kgprobe.sampling.keys import FactKey


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class MadeStudy(Study):
    """A study of given rows and plots."""

    data: Annotated[Sequence[Mapping[str, Any]], Listing("", detail=True)]
    plots: Annotated[Sequence[Plot | CategoryPlot], INTERNAL] = ()

    name: ClassVar[str] = "made"


def outcomes(facts: int, sentences: int, count: int, seed: int, shift: float = 0.0) -> list[Outcome]:
    """Outcomes of facts that differ in how well they are known; ``shift`` makes distractors harder.

    Facts have from 1 to so many sentences, and every second one a distractor that was right before.
    """
    generator = np.random.default_rng(seed)
    known = generator.normal(size=facts)
    made = []
    for fact in range(facts):
        rivals = tuple(Rival(f"r{place}", f"R{place}", "city", place < fact % 2) for place in range(count))
        asked = tuple(
            Sentence(
                f"sentence {number}",
                tuple(range(count)),
                np.array([known[fact], *(generator.normal(size=count) + shift)]),
                certified=count - 1,
            )
            for number in range(1 + fact % sentences)
        )
        evidence = DistractorEvidence("S", NamedEntity("o", "O"), rivals, asked, shown=0, chance=1 / (count + 1))
        made.append(Outcome(FactKey(f"s{fact}", f"f{fact}"), Verdict.RIGHT, "P1", evidence=evidence))
    return made


def measure(facts: int = 60, sentences: int = 3, count: int = 8, seed: int = 0, shift: float = 0.0) -> Measured:
    return measured(outcomes(facts, sentences, count, seed, shift), {"distractors": count})
