"""Input and output of a baseline: cloze sentences with their continuations, and one value (or a reason) for each.

The caller takes the mean over a fact's sentences. Continuations B(c) are the input of ROUGE-L, BERTScore and the
grader; docs/methods/baselines.md. They come from beam search and are cut at the end of their first line or sentence,
since later text is about something else. They have at most 16 tokens by default; most names are shorter. Uncut ones, as
in the code of the distractor paper, have their own length.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kgprobe.models.generating.decoding import Continuation, beam_search
from kgprobe.models.generating.generator import Unanswered
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.papers.baselines.register import BySentence, Tools
from kgprobe.probes.clozes import ClozeItem
from kgprobe.verbalize.sentences import Cloze

Floats = NDArray[np.float64]

# Tokens of an uncut continuation beyond those of the longest name.
MORE_TOKENS = 5
NAMELESS = "all names of its object are white space"


@dataclass(frozen=True, slots=True)
class BaselineItem:
    """A cloze sentence about a fact.

    Attributes:
        names: label and aliases of the fact's object; names of white space alone are ignored.
    """

    cloze: Cloze
    names: tuple[str, ...]

    @property
    def continuations(self) -> list[str]:
        """The distinct names as they fill the sentence's blank."""
        return self.cloze.continuations(self.names)

    @property
    def stripped(self) -> list[str]:
        """The names without surrounding white space."""
        return list(filter(None, map(str.strip, self.names)))

    @property
    def forms(self) -> list[str]:
        """The distinct names, with and without the article that they take in the blank."""
        return list(dict.fromkeys([*self.stripped, *self.continuations]))


@dataclass(frozen=True, slots=True)
class Values:
    """A baseline's values.

    Attributes:
        values: shape (sentences,); NaN where a sentence has none.
        reasons: why a sentence has no value, by its position. Such a sentence does not count as wrong.
    """

    values: Floats
    reasons: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, results: Iterable[float | str]) -> "Values":
        """Return values from a value, or the reason why there is none, for each sentence."""
        values: list[float] = []
        reasons = {}
        for number, result in enumerate(results):
            if isinstance(result, str):
                reasons[number] = result
                result = np.nan
            values.append(result)
        return cls(np.array(values, dtype=np.float64), reasons)

    def by_sentence(self) -> BySentence:
        """Return the values as those of a baseline without options."""
        return BySentence([{}], self.values[:, None], self.reasons)


@dataclass(frozen=True, slots=True)
class Continued:
    """Continuations of sentences.

    Attributes:
        lines: the distinct continuations of each sentence, the most probable first; one may be empty. A sentence with
            a reason has none.
        reasons: why a sentence has no continuation, by its position.
        uncut: True for whole continuations, with their white space.
    """

    lines: Sequence[Sequence[str]]
    reasons: Mapping[int, str] = field(default_factory=dict)
    uncut: bool = False


def baseline_items(facts: Sequence[ClozeItem]) -> list[BaselineItem]:
    """Return the sentences of the facts, in the order of the facts."""
    items: list[BaselineItem] = []
    for fact in facts:
        names = (fact.fact.object_label, *fact.fact.object_aliases)
        items.extend(BaselineItem(cloze, names) for cloze in fact.clozes)
    return items


def reason_for_none(continuations: Sequence[str], reasons: Mapping[int, str]) -> str | None:
    """Return why a sentence has no value over all of its names; None if it has one.

    Args:
        continuations: the names as they fill the blank.
        reasons: why the model cannot score a name, by its position.
    """
    return next(iter(reasons.values()), None) if continuations else NAMELESS


def continue_sentences(
    scorer: Scorer, items: Sequence[BaselineItem], beams: int, *, new_tokens: int = 16, uncut: bool = False
) -> Continued:
    """Continue each sentence by beam search; repeated sentences are searched once.

    Cost: see :func:`~kgprobe.models.generating.decoding.beam_search`. Searches with different numbers of beams share
    nothing: the first continuations of a wide search are not those of a narrow one.

    Args:
        new_tokens: most tokens of a continuation.
        uncut: True for continuations to the end token, ``MORE_TOKENS`` longer than the longest name of the object.
    """
    sizes = [_longest(scorer, item.stripped) + MORE_TOKENS if uncut else new_tokens for item in items]
    prompts: dict[int, dict[str, None]] = {}
    for item, size in zip(items, sizes, strict=True):
        prompts.setdefault(size, {})[item.cloze.prompt] = None
    by_prompt: dict[tuple[int, str], list[Continuation] | Unanswered] = {}
    for size, texts in prompts.items():
        searches = beam_search(scorer, list(texts), beams, new_tokens=size, uncut=uncut)
        by_prompt |= {(size, text): search for text, search in zip(texts, searches, strict=True)}
    lines: list[list[str]] = []
    reasons: dict[int, str] = {}
    for number, (item, size) in enumerate(zip(items, sizes, strict=True)):
        continuations = by_prompt[size, item.cloze.prompt]
        if isinstance(continuations, Unanswered):
            reasons[number] = continuations.reason
            lines.append([])
        else:
            texts_of = [each.text if uncut else each.answer for each in continuations]
            lines.append(list(dict.fromkeys(texts_of)))
    return Continued(lines, reasons, uncut)


def _longest(scorer: Scorer, names: Sequence[str]) -> int:
    """Return the number of tokens of the longest name."""
    ids = scorer.tokenizer(list(names), add_special_tokens=False).input_ids if names else []
    return max(map(len, ids), default=0)


def over_beams(
    tools: Tools,
    facts: Sequence[ClozeItem],
    widths: Sequence[int],
    measure: Callable[[Sequence[BaselineItem], Continued], Values],
) -> BySentence:
    """Return a baseline's values for the facts' sentences, for each number of beams.

    Cost: a beam search over the sentences for each number of beams, plus the baseline's own cost.
    """
    items = baseline_items(facts)
    columns = []
    reasons: dict[int, str] = {}
    for beams in widths:
        continued = continue_sentences(tools.scorer, items, beams, uncut=tools.continuation == "as-published")
        values = measure(items, continued)
        columns.append(values.values)
        reasons |= values.reasons
    return BySentence([{"beams": beams} for beams in widths], np.stack(columns, axis=1), reasons)
