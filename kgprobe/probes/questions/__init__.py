"""The probe `questions`: ask a generative model about facts and read its answers.

Section 2 of the parameterized-graph paper; docs/methods/questions.md. :mod:`.items` words questions, :mod:`.grading`
reads the answers and classifies mistakes, :mod:`.evidence` stores them and makes the tables;
:mod:`kgprobe.probes.known_names` looks up names of the graph.
"""

from typing import TYPE_CHECKING

from kgprobe.models.generating.thinking import Thinking
from kgprobe.probes.questions.options import QuestionOptions
from kgprobe.probes.register import ProbeContext, ProbeKind, imported

if TYPE_CHECKING:
    from kgprobe.probes.questions.probe import QuestionProbe


def _make(setting: ProbeContext, options: QuestionOptions) -> "QuestionProbe":
    from kgprobe.probes.questions.items import QuestionItems
    from kgprobe.probes.questions.probe import QuestionProbe

    thinking = Thinking.parse(options.thinking)
    items = QuestionItems(
        setting.graph,
        setting.as_of,
        difficulty=options.difficulty,
        with_alias=options.with_alias,
        relations=setting.relations,
        writer=setting.models.open(options.writer).generator() if options.writer else None,
        only_generic=options.wording == "generic",
    )
    return QuestionProbe(
        items,
        setting.model.generator(),
        setting.models.open(options.grader).generator() if options.grader else None,
        credit=options.credit,
        follow_ups=options.follow_ups,
        answer_tokens=options.answer_tokens,
        thinking=thinking,
        tolerance=options.tolerance,
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
    make=_make,
    batch_size=64,
    asks="answers",
)
