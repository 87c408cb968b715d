"""LLM grader: does a language model that is told the right names take a continuation for correct?

Table 2 of the distractor paper ("LLM judge"), after Sun et al. 2024; docs/methods/baselines.md. The grader sees the
sentence, all names of the object and one continuation, behind a few examples.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from kgprobe.baselines.asked import NAMELESS, Asked, Values
from kgprobe.baselines.continued import Continued, over_beams
from kgprobe.baselines.register import BaselineKind, BySentence, Grader, Tools, lacking
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.probes.clozes import ClozeItem

UNGRADED = "the grader could not be asked about any of its continuations"

_VERDICTS = ("correct", "incorrect")
_INSTRUCTION = (
    "You grade how a student completed a sentence. The accepted answers are names of one and the same thing. A "
    "completion is correct if it says that thing, by any name or in other words, whatever else it adds that is true. "
    "It is incorrect if it names something else, or does not answer."
)
_EXAMPLES = (
    ("The longest river of Poland is", ("Vistula", "Wisła"), "the Wisła, which flows into the Baltic Sea", True),
    ("The longest river of Poland is", ("Vistula", "Wisła"), "the Oder", False),
    ("Marie Curie was born in", ("Warsaw", "Warszawa"), "a family of teachers", False),
    ("The currency of Japan is", ("yen", "JPY", "Japanese yen"), "the Japanese Yen.", True),
    ("Frankenstein was written by", ("Mary Shelley", "Mary Wollstonecraft Shelley"), "Percy Bysshe Shelley", False),
    ("The headquarters of Nokia are in", ("Espoo",), "Espoo, a city near Helsinki", True),
    ("The capital of Australia is", ("Canberra",), "Sydney or Canberra", False),
    ("Water consists of oxygen and", ("hydrogen", "H"), "hydrogen", True),
)


def grading_prompt(sentence: str, names: Sequence[str], line: str) -> str:
    """What a grader is asked of one continuation; the verdict comes next."""
    examples = [
        f"{_question(example, accepted, completion)} {_VERDICTS[0 if right else 1]}"
        for example, accepted, completion, right in _EXAMPLES
    ]
    return "\n\n".join([_INSTRUCTION, *examples, _question(sentence, names, line)])


def llm_grader(grader: Grader, asked: Sequence[Asked], continued: Continued) -> Values:
    """Whether the grader takes any continuation of each sentence for correct.

    Range: 1 if it does, else 0. An empty continuation is incorrect, and nobody is asked.

    Cost: each different question is put to the grader once.
    """
    reasons = dict(continued.reasons)
    prompts: dict[int, list[str]] = {}
    for number, (one, lines) in enumerate(zip(asked, continued.lines, strict=True)):
        names = [name.strip() for name in one.names if name.strip()]
        if not names:
            reasons[number] = NAMELESS
        elif number not in reasons:
            prompts[number] = [grading_prompt(one.cloze.prompt, names, line) for line in lines if line]
    different = list(dict.fromkeys(prompt for its in prompts.values() for prompt in its))
    verdicts = dict(zip(different, grader(different) if different else [], strict=True))
    values = np.full(len(asked), np.nan)
    for number, its in prompts.items():
        heard = [verdicts[prompt] for prompt in its if verdicts[prompt] is not None]
        if its and not heard:
            reasons[number] = UNGRADED
        else:
            values[number] = any(heard)
    return Values(values, reasons)


def local_grader(scorer: Scorer) -> Grader:
    """A grader that takes the more probable of the two words ``correct`` and ``incorrect``; a tie is incorrect.

    Cost: one scoring of the prompts, their common beginning computed once.
    """

    def grade(prompts: Sequence[str]) -> list[bool | None]:
        scores = scorer.score(prompts, [_VERDICTS] * len(prompts))
        return [None if scored.reasons else bool(scored.values[0] > scored.values[1]) for scored in scores]

    return grade


def _question(sentence: str, names: Sequence[str], line: str) -> str:
    return f"Sentence: {sentence} ____\nAccepted answers: {'; '.join(names)}\nCompletion: {line}\nVerdict:"


def _measure(tools: Tools, items: Sequence[ClozeItem]) -> BySentence:
    if tools.grader is None:
        raise lacking("grader", "grader")
    return over_beams(tools, items, partial(llm_grader, tools.grader))


BASELINE = BaselineKind("grader", "does a model that is told the names take the continuation", _measure, needs="grader")
