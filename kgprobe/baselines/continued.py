"""What a model goes on with after cloze sentences: B(c), which ROUGE-L, BERTScore and the grader look at.

docs/methods/baselines.md. The continuations of a beam search, each up to the end of its first line or sentence: what
comes after that speaks of something else. A continuation is at most 16 tokens long unless said otherwise; most names
are shorter.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kgprobe.baselines.asked import Asked, Values, asked_of
from kgprobe.baselines.register import BySentence, Tools
from kgprobe.models.generating.decoding import beam_search
from kgprobe.models.generating.generator import Unanswered
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.probes.clozes import ClozeItem


@dataclass(frozen=True, slots=True)
class Continued:
    """Sentences gone on with.

    Attributes:
        lines: for each sentence its different continuations, the most probable first; one may be empty. There is
            none where there is a reason.
        reasons: why a sentence has none, by its position.
    """

    lines: Sequence[Sequence[str]]
    reasons: Mapping[int, str] = field(default_factory=dict)


def continue_sentences(
    scorer: Scorer,
    asked: Sequence[Asked],
    beams: int,
    *,
    new_tokens: int = 16,
    progress: Callable[[int], None] | None = None,
) -> Continued:
    """Go on with each sentence by beam search; sentences asked twice are searched once.

    Cost: see :func:`~kgprobe.models.generating.decoding.beam_search`. A search with one number of beams
    holds nothing for another: its first continuations are not those of a narrower one.

    Args:
        beams: how many beams are kept; 1 is greedy search.
        new_tokens: the most tokens of a continuation.
        progress: called now and then with the number of different sentences done since the last call.
    """
    prompts = list(dict.fromkeys(one.cloze.prompt for one in asked))
    found = dict(
        zip(prompts, beam_search(scorer, prompts, beams, new_tokens=new_tokens, progress=progress), strict=True)
    )
    lines: list[list[str]] = []
    reasons: dict[int, str] = {}
    for number, one in enumerate(asked):
        continuations = found[one.cloze.prompt]
        if isinstance(continuations, Unanswered):
            reasons[number] = continuations.reason
            lines.append([])
        else:
            lines.append(list(dict.fromkeys(continuation.answer for continuation in continuations)))
    return Continued(lines, reasons)


def over_beams(
    tools: Tools, items: Sequence[ClozeItem], measure: Callable[[Sequence[Asked], Continued], Values]
) -> BySentence:
    """What a baseline makes of the continuations of facts' sentences, for each number of beams.

    Cost: a beam search over the sentences for each number of beams, and what the baseline costs.
    """
    asked = asked_of(items)
    by_beams = [measure(asked, continue_sentences(tools.scorer, asked, beams)) for beams in tools.beams]
    reasons = {number: reason for values in by_beams for number, reason in values.reasons.items()}
    columns = np.stack([values.values for values in by_beams], axis=1)
    return BySentence([{"beams": beams} for beams in tools.beams], columns, reasons)
