"""Ways of asking a fact for its labels: probes with fixed options, each asked several times.

docs/methods/labels.md. Options that a way does not fix have the probe's defaults. A repetition has a seed of its own:
other distractors, few-shot examples or negatives. Questions depend little on a seed, so that their repetitions are
worded differently.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kgprobe.base.errors import ArgumentError
from kgprobe.base.options import option
from kgprobe.probes.register import PROBES, ProbeKind

DISTRACTORS, EXAMPLES, GENERATION, QUESTIONS = "distractors", "examples", "generation", "questions"
STATEMENTS, INVERSE, RECALL, THINKING = "statements", "inverse", "recall", "thinking"
# Column of the sampled answers of recall; its own column has the greedy ones.
SAMPLED = "recall_sampled"

# Ways by preference, of answers that choose between the object and others, and of answers to direct questions.
RECOGNITION = (DISTRACTORS, EXAMPLES, STATEMENTS)
DIRECT = (QUESTIONS, RECALL, GENERATION)
# Ways that decide a profile: by recognition, by direct questions, by thinking.
PROFILED = (RECOGNITION, DIRECT, (THINKING,))


@dataclass(frozen=True, slots=True)
class LabelOptions:
    """Options of knowledge labels."""

    ways: str | None = option(
        None,
        "Ways of asking, separated by commas: distractors, examples, generation, questions, statements, inverse,"
        " recall, thinking.",
        metavar="WAY,…",
        shown_default="distractors,questions, or the one that the model can be asked by",
        common=True,
    )
    by: str | None = option(
        None,
        "Way of asking that the probability is of.",
        metavar="WAY",
        shown_default="the first of --ways",
        common=True,
    )
    repeats: int = option(
        3, "Number of times to ask each fact in each way; profiles need 3.", minimum=1, maximum=1_000, common=True
    )
    fill: bool = option(False, "Add all other facts of the graph, with predictions.", common=True)
    judge: str | None = option(
        None, "Judged graph whose predictions help to fill the table; implies --fill.", metavar="FOLDER", common=True
    )


@dataclass(frozen=True, slots=True)
class Way:
    """A way of asking.

    Attributes:
        variants: further options, one for each repetition, from the first again after the last.
        repeats: False for a probe that asks a fact several times by itself.
        inverse: True to ask from object to subject.
    """

    name: str
    probe: str
    options: Mapping[str, Any] = field(default_factory=dict)
    variants: Sequence[Mapping[str, Any]] = ({},)
    repeats: bool = True
    inverse: bool = False

    @property
    def kind(self) -> ProbeKind:
        """The probe."""
        return PROBES.get(self.probe)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of its columns of answers."""
        return (self.name, SAMPLED) if self.name == RECALL else (self.name,)

    def rounds(self, repeats: int) -> int:
        """Return the number of its measurements."""
        return repeats if self.repeats else 1

    def options_of(self, number: int) -> dict[str, Any]:
        """Return the probe's options in a repetition, from 0."""
        return {**self.options, **self.variants[number % len(self.variants)]}


_OPEN: Mapping[str, Any] = {"difficulty": "open", "follow_ups": 0}
_WORDINGS: Sequence[Mapping[str, Any]] = ({}, {"wording": "generic"}, {"with_alias": True})

WAYS: Mapping[str, Way] = {
    way.name: way
    for way in (
        Way(DISTRACTORS, "distractors"),
        Way(EXAMPLES, "examples"),
        Way(GENERATION, "generation"),
        Way(QUESTIONS, "questions", _OPEN, _WORDINGS),
        Way(STATEMENTS, "statements"),
        Way(INVERSE, "distractors", inverse=True),
        Way(RECALL, "recall", repeats=False),
        Way(THINKING, "questions", {**_OPEN, "thinking": "on"}, _WORDINGS),
    )
}


def parse_ways(text: str) -> tuple[Way, ...]:
    """Return ways from their names, separated by commas, without repetition.

    >>> [way.probe for way in parse_ways("distractors, inverse")]
    ['distractors', 'distractors']
    """
    names = list(dict.fromkeys(filter(None, map(str.strip, text.split(",")))))
    if not names:
        raise ArgumentError("ways", f"names no way of asking; one or more of {', '.join(WAYS)} are expected.")
    for name in names:
        if name not in WAYS:
            raise ArgumentError("ways", f"has {name!r}; one or more of {', '.join(WAYS)} are expected.")
    return tuple(WAYS[name] for name in names)
