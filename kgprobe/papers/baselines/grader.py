"""LLM grader: a language model that sees the right names judges a continuation correct or incorrect.

Table 2 of the distractor paper ("LLM judge"), after Sun et al. 2024; docs/methods/baselines.md. The grader's prompt
has a few examples, the sentence, all names of the object, and one continuation.
"""

import re
from collections.abc import Sequence
from functools import partial
from itertools import chain

from kgprobe.models.generating.generator import Answer, Generator, Request, Unanswered
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.papers.baselines.items import NAMELESS, BaselineItem, Continued, Values, over_beams
from kgprobe.papers.baselines.register import BaselineKind, BySentence, Grader, Tools, lacking
from kgprobe.probes.clozes import ClozeItem

UNGRADED = "the grader could judge none of its continuations"

_VERDICTS = ("correct", "incorrect")
_VERDICT = re.compile(r"\b(?:in)?correct\b", re.IGNORECASE)
# Maximum tokens of an API's reply: the verdict, with some words around it.
_VERDICT_TOKENS = 64
_INSTRUCTION = (
    "You grade how a student completed a sentence. The accepted answers are names of one and the same thing. A "
    "completion is correct if it says that thing, by any name or in other words, whatever else it adds that is true. "
    "It is incorrect if it names something else, or does not answer."
)
_EXAMPLES = (
    ("The longest river of Poland is", ("Vistula", "Wisła"), "the Wisła, which flows into the Baltic Sea", "correct"),
    ("The longest river of Poland is", ("Vistula", "Wisła"), "the Oder", "incorrect"),
    ("Marie Curie was born in", ("Warsaw", "Warszawa"), "a family of teachers", "incorrect"),
    ("The currency of Japan is", ("yen", "JPY", "Japanese yen"), "the Japanese Yen.", "correct"),
    (
        "Frankenstein was written by",
        ("Mary Shelley", "Mary Wollstonecraft Shelley"),
        "Percy Bysshe Shelley",
        "incorrect",
    ),
    ("The headquarters of Nokia are in", ("Espoo",), "Espoo, a city near Helsinki", "correct"),
    ("The capital of Australia is", ("Canberra",), "Sydney or Canberra", "incorrect"),
    ("Water consists of oxygen and", ("hydrogen", "H"), "hydrogen", "correct"),
)


def grading_prompt(sentence: str, names: Sequence[str], line: str) -> str:
    """Return the grader's prompt for one continuation; it ends where the verdict follows."""
    parts = [_INSTRUCTION]
    for example, accepted, completion, verdict in _EXAMPLES:
        parts.append(f"{_question(example, accepted, completion)} {verdict}")
    return "\n\n".join([*parts, _question(sentence, names, line)])


def llm_grader(grader: Grader, items: Sequence[BaselineItem], continued: Continued) -> Values:
    """Return 1 for each sentence with a continuation that the grader judges correct, else 0.

    An empty continuation is incorrect, without asking the grader.

    Cost: one request to the grader for each distinct prompt.
    """
    results: dict[int, float | str] = dict(continued.reasons)
    prompts: dict[int, list[str]] = {}
    for number, (item, lines) in enumerate(zip(items, continued.lines, strict=True)):
        if not item.stripped:
            results[number] = NAMELESS
        elif number not in results:
            prompts[number] = [
                grading_prompt(item.cloze.prompt, item.stripped, line) for line in filter(None, map(str.strip, lines))
            ]
    distinct = list(dict.fromkeys(chain.from_iterable(prompts.values())))
    verdicts = dict(zip(distinct, grader(distinct) if distinct else [], strict=True))
    for number, item_prompts in prompts.items():
        judged = {verdicts[prompt] for prompt in item_prompts}
        results[number] = UNGRADED if judged == {None} else float(True in judged)
    return Values.of(map(results.__getitem__, range(len(items))))


def local_grader(scorer: Scorer) -> Grader:
    """Return a grader that compares the probabilities of the words ``correct`` and ``incorrect``; a tie is incorrect.

    Cost: one scoring of the prompts, with their common prefix computed once.
    """

    def grade(prompts: Sequence[str]) -> list[bool | None]:
        scores = scorer.score(prompts, [_VERDICTS] * len(prompts))
        return [None if scored.reasons else bool(scored.values[0] > scored.values[1]) for scored in scores]

    return grade


def api_grader(generator: Generator) -> Grader:
    """Return a grader that reads the verdict in the text of a model behind an API.

    The first of the words ``correct`` and ``incorrect`` in the reply is the verdict. Without one, and without a reply,
    there is none.

    Cost: one request for each prompt that is not cached.
    """

    def grade(prompts: Sequence[str]) -> list[bool | None]:
        replies = generator.answer([Request(prompt, _VERDICT_TOKENS) for prompt in prompts])
        return [_verdict(reply) for reply in replies]

    return grade


def _verdict(reply: Answer | Unanswered) -> bool | None:
    """Return True for ``correct``, False for ``incorrect``, None if the reply has neither."""
    if isinstance(reply, Unanswered) or reply.refused:
        return None
    first = _VERDICT.search(reply.text)
    return None if first is None else first.group().lower() == _VERDICTS[0]


def _question(sentence: str, names: Sequence[str], line: str) -> str:
    return f"Sentence: {sentence} ____\nAccepted answers: {'; '.join(names)}\nCompletion: {line}\nVerdict:"


def _measure(tools: Tools, facts: Sequence[ClozeItem]) -> BySentence:
    if tools.grader is None:
        raise lacking("grader", "grader")
    return over_beams(tools, facts, tools.grader_beams, partial(llm_grader, tools.grader))


BASELINE = BaselineKind(
    "grader", "verdict on the continuation of a model that sees the right names", _measure, needs="grader"
)
