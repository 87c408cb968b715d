"""Edits of a model's knowledge: questions about each edit, and a model's answers to them.

docs/methods/edits.md. :mod:`.questions` is a question and the file of questions. They are made from a graph
(:mod:`.making`, for the edits that :mod:`.edit_lines` reads), or are those of a published file (:mod:`.published`).
:mod:`.asking` asks a model, by free generation and by scores.
"""

from dataclasses import dataclass

from kgprobe.options import option

# Groups of questions. A condition is what a base model must know for another question to count.
EFFICACY, GENERALITY, PORTABILITY, LOCALITY = "efficacy", "generality", "portability", "locality"
FORGETTING, CONDITION = "forgetting", "condition"
GROUPS = (EFFICACY, FORGETTING, GENERALITY, PORTABILITY, LOCALITY, CONDITION)

# Ways of reading a model's answer.
GENERATION, SCORES, BOTH = "generation", "scores", "both"


@dataclass(frozen=True, slots=True)
class EditOptions:
    """Options of the questions that are made from a graph."""

    unlearn: bool = option(False, "The list has facts to unlearn, without new objects.")
    paraphrases: int = option(4, "Maximum paraphrases per edit: other sentences and questions.", minimum=0)
    aliases: int = option(2, "Maximum aliases of the subject per edit.", minimum=0)
    hops: int = option(3, "Maximum two-hop questions per edit, about facts of the new object.", minimum=0)
    neighbours: int = option(3, "Maximum facts per edit and kind that must not change.", minimum=0)
    distractors: int = option(10, "Maximum distractors per question.", minimum=0)


@dataclass(frozen=True, slots=True)
class AskingOptions:
    """Options of asking."""

    way: str = option(
        BOTH,
        "Read the answers from generated text, from scores of names, or both.",
        choices=(BOTH, GENERATION, SCORES),
    )
    new_tokens: int = option(20, "Maximum new tokens of a generated answer.", minimum=1)
