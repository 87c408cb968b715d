"""The distractors of a sentence, as every strategy returns them (:mod:`.strategies`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from kgprobe.sampling.distractors import Distractor
    from kgprobe.sampling.facts import AskedFact
    from kgprobe.verbalize.sentences import Cloze

# A fact with its cloze sentences.
Sentences: TypeAlias = "tuple[AskedFact, Sequence[Cloze]]"


@dataclass(frozen=True, slots=True)
class Rivals:
    """The distractors of one sentence, best first.

    Attributes:
        certified: number of the first optimal distractors that are proved to be the most plausible; None without proof.
        log_plausibilities: log Pl of each after the sentence, if the strategy computed it; else None.
        reason: reason why there are no distractors, or a note on them (excluded candidates, missing proof); else None.
        pool: number of entities among which optimal distractors are the most plausible, the right object included; an
            object that beats them beats the whole pool. None for strategies without model.
    """

    distractors: "Sequence[Distractor]"
    certified: int | None = None
    log_plausibilities: Sequence[float] | None = None
    reason: str | None = None
    pool: int | None = None
