"""Training sets for supervised fine-tuning (SFT), from a label table.

docs/guides/teaching.md. :mod:`.groups` chooses the facts, :mod:`.wordings` words them, :mod:`.division` holds some out,
:mod:`.making` runs these steps, and adds known facts and weights; :mod:`.files` writes everything.
"""

from dataclasses import dataclass

from kgprobe.base.options import option

# Forms of the examples: wh-questions with their answers, or cloze sentences with their ends.
QUESTION, STATEMENT = "question", "statement"
FORMS = {"questions": (QUESTION,), "statements": (STATEMENT,), "both": (QUESTION, STATEMENT)}
# Formats of a line: chat messages, or a text with its continuation.
CHAT, COMPLETION = FORMATS = ("chat", "completion")
# Weights of examples: the probability that the model knows the fact, or that it does not.
WEIGHTS = ("known", "unknown")
# R-Tuning (Zhang et al. 2024, 2311.09677): replace the answer, or append the certainty to every answer.
REPLACE, PAD = REFUSALS = ("replace", "pad")
# Units of held-out facts.
BY_FACT, BY_ENTITY, BY_RELATION = HOLD_OUTS = ("fact", "entity", "relation")


@dataclass(frozen=True, slots=True)
class SftOptions:
    """Options of a training set; stored in its manifest."""

    teach: tuple[str, ...] = option(help="Teach the facts of this class; repeatable.", metavar="CLASS", common=True)
    limit: int | None = option(
        None,
        "Maximum number of facts to teach, with the held-out ones, drawn at random.",
        minimum=1,
        shown_default="all",
        common=True,
    )
    predicted: bool = option(
        False, "Also take facts that the model was not asked, by their predicted beliefs.", common=True
    )
    form: str = option("questions", "Form of the examples.", choices=tuple(FORMS), common=True)
    format: str | None = option(
        None,
        "Format of a line: chat messages, or prompt and completion.",
        choices=FORMATS,
        shown_default="chat if the labelled model has a chat template",
    )
    wordings: int = option(1, "Maximum number of wordings for each fact and form.", minimum=1)
    known_share: float = option(
        0.0,
        "Share of examples about known facts, to protect other knowledge.",
        minimum=0,
        below=1,
        is_share=True,
        common=True,
    )
    weights: str | None = option(
        None, "Add a weight: the probability that the model knows the fact, or does not.", choices=WEIGHTS
    )
    refuse: tuple[str, ...] = option(
        (), "Teach 'I don't know' for the facts of this class; repeatable.", metavar="CLASS", common=True
    )
    refusal: str = option(
        REPLACE,
        "With --refuse: replace the answer by 'I don't know', or add how sure it is.",
        choices=REFUSALS,
    )
    held_out: float = option(
        0.1,
        "Share of the facts to hold out as a test set, by each of --held-out-by.",
        minimum=0,
        below=1,
        is_share=True,
        common=True,
    )
    held_out_by: tuple[str, ...] = option(
        HOLD_OUTS, "Hold out single facts, whole entities, whole relations; repeatable.", choices=HOLD_OUTS
    )
