"""What a model goes on with after cloze sentences: B(c), which ROUGE-L, BERTScore and the judge look at.

docs/methods.md, 1. The continuations of a beam search, each up to the end of its first line or sentence: what comes
after that speaks of something else. A continuation is at most 16 tokens long unless said otherwise; most names are
shorter.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kgprobe.baselines.asked import Asked
from kgprobe.models.generating.decoding import beam_search, context_tokens
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.models.scoring.tokens import TextError


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
    width: int,
    *,
    new_tokens: int = 16,
    progress: Callable[[int], None] | None = None,
) -> Continued:
    """Go on with each sentence by beam search; sentences asked twice are searched once.

    Cost: see :func:`~kgprobe.models.generating.decoding.beam_search`. A search of one width holds nothing for another:
    its first continuations are not those of a narrower one.

    Args:
        width: how many beams are kept; 1 is greedy search.
        new_tokens: the most tokens of a continuation.
        progress: called now and then with the number of different sentences done since the last call.
    """
    prompts = list(dict.fromkeys(one.cloze.prompt for one in asked))
    untakable = {prompt: _reason(scorer, prompt, new_tokens) for prompt in prompts}
    takable = [prompt for prompt in prompts if untakable[prompt] is None]
    found = beam_search(scorer, takable, width, new_tokens=new_tokens, progress=progress)
    lines = {
        prompt: list(dict.fromkeys(continuation.answer for continuation in continuations))
        for prompt, continuations in zip(takable, found, strict=True)
    }
    reasons = {number: reason for number, one in enumerate(asked) if (reason := untakable[one.cloze.prompt])}
    return Continued([lines.get(one.cloze.prompt, []) for one in asked], reasons)


def _reason(scorer: Scorer, prompt: str, new_tokens: int) -> str | None:
    try:
        context_tokens(scorer, prompt, new_tokens)
    except TextError as error:
        return str(error)
    return None
