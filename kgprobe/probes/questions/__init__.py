"""The probe `questions`: ask a generative model about facts and read its answers.

Section 2 of the parameterized-graph paper; docs/methods/questions.md. :mod:`.items` words questions, :mod:`.grading`
reads the answers and classifies mistakes, :mod:`.evidence` stores them and makes the tables;
:mod:`kgprobe.probes.known_names` looks up names of the graph.
"""

from dataclasses import dataclass
from typing import Any

from kgprobe.base.options import option
from kgprobe.models.generating.thinking import thinking_option
from kgprobe.probes.permission import allow_unknown_option
from kgprobe.probes.register import ProbeKind, imported, made_by
from kgprobe.probes.tolerance import tolerance_option

# Kinds of questions: only yes/no, half yes/no and half wh-questions, or only wh-questions.
EASY, HARD, OPEN = DIFFICULTIES = ("easy", "hard", "open")
# Origins of their templates.
WORDINGS = ("hand", "generic")
# Right answers to a wh-question: the fact's own object, or any right object of the subject and relation.
OWN, ANY = CREDITS = ("own", "any")


def ask_confidence_option() -> Any:
    """Return the field ``ask_confidence`` of a probe's options."""
    return option(
        False, "Ask for a confidence in percent with each answer; `kgprobe show --by-confidence` evaluates it."
    )


@dataclass(frozen=True, slots=True)
class QuestionOptions:
    """Options of the probe, stored with a run."""

    difficulty: str = option(
        HARD,
        "easy: yes/no questions only. hard: also who, which and what, where fewer than ten answers are right."
        " open: only these.",
        choices=DIFFICULTIES,
    )
    allow_unknown: bool = allow_unknown_option()
    grader: str | None = option(
        None,
        "Grader: the model that reads answers to who, which and what, and refusals in unusual words.",
        metavar="SPEC",
        shown_default="an answer is right if it contains a right name",
    )
    credit: str = option(
        OWN,
        "Right answers to who, which and what: the fact's own object, or any right object, as in the paper. Results"
        " report both; this one decides the verdict.",
        choices=CREDITS,
    )
    follow_ups: int = option(2, "Maximum follow-up questions after a mistake, to see if it is consistent.", minimum=0)
    answer_tokens: int = option(
        64,
        "Maximum tokens of an answer, plus 16 for each further right name; without --thinking, reasoning models need"
        " many.",
        minimum=1,
    )
    ask_confidence: bool = ask_confidence_option()
    tolerance: float | None = tolerance_option()
    thinking: str | None = thinking_option()
    with_alias: bool = option(False, "Add the subject's first alias to the question.")
    writer: str | None = option(
        None,
        "Writer: the model that words the questions. A question that fails the checks is replaced by a template.",
        metavar="SPEC",
        shown_default="templates",
    )
    wording: str = option(
        "hand",
        "Templates of the questions: written by hand, or made of the relation's label.",
        choices=WORDINGS,
    )


PROBE = ProbeKind(
    name="questions",
    summary="Does the model answer questions right: yes or no, and who, which or what?",
    details="Asks one question per fact. Prints the accuracy by kind of question, and the mistakes by error class."
    " After a spent budget or missing API answers, repeat the command to ask the unanswered facts again.\n\n\b\nkgprobe"
    " probe questions --model demo --limit 200\nkgprobe probe questions --model openai:NAME --limit 1000 \\\n   "
    " --max-cost 2 --input-price 0.15 --output-price 0.6",
    options=QuestionOptions,
    evidence=imported("kgprobe.probes.questions.evidence:QuestionEvidence"),
    make=made_by("kgprobe.probes.questions.probe:make_probe"),
    batch_size=64,
    asks="answers",
)
