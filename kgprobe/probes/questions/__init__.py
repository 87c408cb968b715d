"""Questions as a probe: a model that generates text is asked about facts, and its answers are read.

Section 2 of the parameterized-graph paper; docs/methods/questions.md. :mod:`.items` puts facts into questions,
:mod:`.grading` reads the answers, :mod:`.error_classes` says what kind of mistake a wrong one is, :mod:`.counts`
tells of many answers; :mod:`kgprobe.probes.known_names` has what they need of the graph.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgprobe.options import option
from kgprobe.probes.register import ProbeContext, ProbeKind

if TYPE_CHECKING:
    import msgspec

    from kgprobe.probes.outcome import Outcome
    from kgprobe.probes.questions.probe import QuestionProbe
    from kgprobe.tables import Table

# Which kinds are asked: yes/no alone, or each in half of the questions.
DIFFICULTIES = ("easy", "hard")


@dataclass(frozen=True, slots=True)
class QuestionOptions:
    """What a user chooses of questions; kept with a run, so that it can go on with the same."""

    difficulty: str = option(
        "hard",
        "easy asks yes/no questions alone; hard also who, which and what, where fewer than ten answers are right.",
        choices=DIFFICULTIES,
    )
    grader: str | None = option(
        None,
        "The model that reads answers to who, which and what.",
        metavar="SPEC",
        shown_default="an answer is right if it has a right name in it",
    )
    follow_ups: int = option(2, "Questions after a mistake, at most, to see whether the model stands by it.", minimum=0)
    answer_tokens: int = option(
        64,
        "The most tokens of an answer, and 16 more for each further name asked for; models that think aloud need many.",
        minimum=1,
    )
    with_alias: bool = option(False, "Say after the subject what else it is called.")
    writer: str | None = option(
        None,
        "The model that words the questions; what does not pass the checks is asked in the words of a template.",
        metavar="SPEC",
        shown_default="all are",
    )


def _make(setting: ProbeContext, options: QuestionOptions) -> "QuestionProbe":
    from kgprobe.probes.questions.items import QuestionItems
    from kgprobe.probes.questions.probe import QuestionProbe

    items = QuestionItems(
        setting.graph,
        setting.as_of,
        difficulty=options.difficulty,
        with_alias=options.with_alias,
        relations=setting.relations,
        writer=setting.models.open(options.writer).generator() if options.writer else None,
    )
    return QuestionProbe(
        items,
        setting.model.generator(),
        setting.models.open(options.grader).generator() if options.grader else None,
        follow_ups=options.follow_ups,
        answer_tokens=options.answer_tokens,
    )


def _evidence() -> "type[msgspec.Struct]":
    from kgprobe.probes.questions.evidence import QuestionEvidence

    return QuestionEvidence


def _tables(outcomes: "Iterable[Outcome]", described: Mapping[str, Any]) -> "list[Table]":  # noqa: ARG001
    from kgprobe.probes.questions.counts import answer_tables

    return answer_tables(outcomes)


PROBE = ProbeKind(
    name="questions",
    summary="Does the model answer questions right: yes or no, and who, which or what?",
    details="One question a fact. Ends in what was right by kind of question, and in the mistakes, each with its kind."
    " Where a budget is spent or an API gave no answer, the same command goes on, and asks again what got none.\n\n\b\n"
    "kgprobe probe questions --model demo --limit 200\nkgprobe probe questions --model openai:NAME --limit 1000 \\\n   "
    " --max-cost 2 --input-price 0.15 --output-price 0.6",
    options=QuestionOptions,
    evidence=_evidence,
    make=_make,
    tables=_tables,
    alternatives=lambda evidence: evidence.alternatives,
    batch_size=64,
    asks="answers",
)
