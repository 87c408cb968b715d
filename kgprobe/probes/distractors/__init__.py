"""The probe `distractors`: compare the plausibility of the right object with that of distractors in a cloze sentence.

Section 3 of the distractor paper; docs/methods/distractors.md. :mod:`kgprobe.probes.clozes` makes the sentences,
:mod:`.comparison` decides, :mod:`.evidence` stores the plausibilities and defines Min@n and Avg@n, :mod:`.curves`
computes their means over many facts.
"""

from dataclasses import dataclass
from typing import Any

from kgprobe.base.options import option
from kgprobe.probes.register import ProbeKind, imported, with_scorer
from kgprobe.probes.search.strategies import STRATEGIES, with_strategy_options
from kgprobe.verbalize.templates.kinds import CLOZES


def _former_option() -> Any:
    help_ = "Former objects: wrong in present-tense sentences, never distractors, or right, as the object itself."
    return option("wrong", help_, choices=("wrong", "never", "right"))


def articles_option() -> Any:
    """Return the option of articles in blanks, which studies of measures have, too."""
    return option(True, "Add the article that a name takes in the blank.")


def sentences_option() -> Any:
    """Return the option of the number of sentences, which the study of calibration has, too."""
    help_ = "Number of the relation's cloze sentences per fact, drawn at random, or all."
    return option(None, help_, minimum=1, none="all", metavar="N|all", common=True)


@dataclass(frozen=True, slots=True)
class FormerOption:
    """Option for objects that were right before the reference date."""

    former: str = _former_option()


@with_strategy_options
@dataclass(frozen=True, slots=True)
class DistractorOptions:
    """Options of the probe and of the strategies, stored with a run."""

    distractors: int = option(10, "Number of distractors (wrong objects) per sentence.", minimum=1, common=True)
    sentences: int | None = sentences_option()
    strategy: str = option(
        "random",
        "Retrieval of distractors: random objects of the same type; most similar objects; former objects, then similar"
        " ones; or the most plausible ones for the model, by beam search or exact search.",
        choices=STRATEGIES.names,
        common=True,
    )
    templates: str = option(
        "hand",
        "Source of the cloze sentences: written by hand, mined from a corpus, or made of the relation's label.",
        choices=tuple(CLOZES),
        flag="clozes",
    )
    former: str = _former_option()
    articles: bool = articles_option()


PROBE = ProbeKind(
    name="distractors",
    summary="Does the model prefer the right object to wrong ones?",
    details="Prints Min@n and Avg@n for every n up to --distractors.\n\n\b\nkgprobe probe distractors --model demo"
    " --limit 200\nkgprobe probe distractors --model hf:gpt2 --facts facts.jsonl \\\n    --strategy"
    " temporal-semantic",
    options=DistractorOptions,
    evidence=imported("kgprobe.probes.distractors.evidence:DistractorEvidence"),
    make=with_scorer("kgprobe.probes.distractors.comparison:DistractorProbe"),
    in_rounds={"sentences": 1},
    rounds_note="Rounds ask in one cloze sentence at a time, drawn for each question; measurements ask in all.",
    batch_size=16,
)
