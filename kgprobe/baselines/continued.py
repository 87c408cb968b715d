"""Continuations of cloze sentences, B(c), the input of ROUGE-L, BERTScore and the grader.

docs/methods/baselines.md. The continuations come from beam search and are cut at the end of their first line or
sentence, since later text is about something else. They have at most 16 tokens by default; most names are shorter.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kgprobe.baselines.items import BaselineItem, Values, baseline_items
from kgprobe.baselines.register import BySentence, Tools
from kgprobe.models.generating.decoding import beam_search
from kgprobe.models.generating.generator import Unanswered
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.probes.clozes import ClozeItem


@dataclass(frozen=True, slots=True)
class Continued:
    """Continuations of sentences.

    Attributes:
        lines: the distinct continuations of each sentence, the most probable first; one may be empty. A sentence with
            a reason has none.
        reasons: why a sentence has no continuation, by its position.
    """

    lines: Sequence[Sequence[str]]
    reasons: Mapping[int, str] = field(default_factory=dict)


def continue_sentences(
    scorer: Scorer,
    items: Sequence[BaselineItem],
    beams: int,
    *,
    new_tokens: int = 16,
    progress: Callable[[int], None] | None = None,
) -> Continued:
    """Continue each sentence by beam search; repeated sentences are searched once.

    Cost: see :func:`~kgprobe.models.generating.decoding.beam_search`. Searches with different numbers of beams share
    nothing: the first continuations of a wide search are not those of a narrow one.

    Args:
        beams: number of beams; 1 is greedy search.
        new_tokens: maximum number of tokens of a continuation.
        progress: called repeatedly with the number of distinct sentences done since the last call.
    """
    prompts = list(dict.fromkeys(item.cloze.prompt for item in items))
    searches = beam_search(scorer, prompts, beams, new_tokens=new_tokens, progress=progress)
    by_prompt = dict(zip(prompts, searches, strict=True))
    lines: list[list[str]] = []
    reasons: dict[int, str] = {}
    for number, item in enumerate(items):
        continuations = by_prompt[item.cloze.prompt]
        if isinstance(continuations, Unanswered):
            reasons[number] = continuations.reason
            lines.append([])
        else:
            lines.append(list(dict.fromkeys(continuation.answer for continuation in continuations)))
    return Continued(lines, reasons)


def over_beams(
    tools: Tools, facts: Sequence[ClozeItem], measure: Callable[[Sequence[BaselineItem], Continued], Values]
) -> BySentence:
    """Return a baseline's values for the facts' sentences, for each number of beams.

    Cost: a beam search over the sentences for each number of beams, plus the baseline's own cost.
    """
    items = baseline_items(facts)
    columns = []
    reasons: dict[int, str] = {}
    for beams in tools.beams:
        values = measure(items, continue_sentences(tools.scorer, items, beams))
        columns.append(values.values)
        reasons |= values.reasons
    return BySentence([{"beams": beams} for beams in tools.beams], np.stack(columns, axis=1), reasons)
