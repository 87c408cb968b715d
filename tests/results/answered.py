"""What models did on facts, made up as outcomes."""

from collections.abc import Iterable, Mapping
from itertools import starmap
from types import MappingProxyType
from typing import Any

from kgprobe.answers.store import TrailLine
from kgprobe.answers.table import Answers, collect_answers
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.probes.register import PROBES
from kgprobe.results.about import About
from kgprobe.sampling.keys import FactKey
from tests.stored import compared

# Description of the probe in :func:`answered`.
ASKED: Mapping[str, Any] = MappingProxyType({"distractors": 2})


def answered(
    model: str,
    answers: Mapping[str, bool],
    *,
    sampling: str | None = None,
    relations: Mapping[str, str] | None = None,
    name: str | None = None,
    probe: str = "distractors",
) -> tuple[About, Answers]:
    """Return a model's answers to facts, right or wrong, once each."""
    outcomes = [
        Outcome(
            FactKey(f"s-{fact}", fact),
            Verdict.RIGHT if right else Verdict.WRONG,
            (relations or {}).get(fact, "r0"),
            evidence=compared(fact, right),
        )
        for fact, right in answers.items()
    ]
    name = name or f"{model}-{probe}-0123456789"
    about = About(name, model, probe, 20240101, 0, ASKED, {}, sampling=sampling)
    return about, answers_of_outcomes("distractors", outcomes)


def answers_of_outcomes(probe: str, outcomes: Iterable[Outcome], described: Mapping[str, Any] = ASKED) -> Answers:
    """Return the table of outcomes."""
    return collect_answers(PROBES.get(probe), starmap(TrailLine.of, enumerate(outcomes)), described)
