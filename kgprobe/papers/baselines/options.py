"""Options of the measures of knowledge, from which the command line makes its flags; imports nothing heavy."""

from dataclasses import dataclass

from kgprobe.base.options import option
from kgprobe.papers.baselines.register import CONTINUATIONS, KARR_FORMS, SEVERAL_TOKENS, measure_names
from kgprobe.probes.distractors import DistractorOptions, articles_option
from kgprobe.probes.search.strategies import STRATEGIES, former_order_option

# Options that define a measure, besides its numbers of beams and distractors.
MEANINGS = ("continuation", "several_tokens", "articles", "former_order", "karr")


@dataclass(frozen=True, slots=True)
class MeasuresOptions:
    """Measures of knowledge that a study compares, and their settings."""

    strategies: tuple[str, ...] = option(
        ("random", "temporal-semantic", "approximate-optimal"),
        "Distractor measure with this strategy; repeatable.",
        choices=STRATEGIES.names,
        flag="strategy",
        common=True,
    )
    measures: tuple[str, ...] = option(
        (),
        "Only this measure; repeatable.",
        choices=measure_names,
        flag="measure",
        metavar="NAME",
        shown_default="the distractor measures, and all available baselines",
        common=True,
    )
    beams: tuple[int, ...] = option(
        (1, 2, 5),
        "Beam width, for ROUGE-L, BERTScore and the grader; repeatable.",
        minimum=1,
        flag="beams",
    )
    grader_beams: tuple[int, ...] = option(
        (), "Beam width, for the grader; repeatable.", minimum=1, shown_default="those of --beams"
    )
    encoder: str | None = option(
        None, "Encoder of BERTScore, such as hf:roberta-large.", metavar="SPEC", shown_default="no BERTScore"
    )
    grader: str | None = option(
        None,
        "Model that grades continuations, on this machine or behind an API.",
        metavar="SPEC",
        shown_default="no grader",
        common=True,
    )
    continuation: str = option(
        CONTINUATIONS[0],
        "Continuations for ROUGE-L, BERTScore and the grader: to the end of their line or sentence, at most 16 tokens;"
        " or as in the distractor paper's code: uncut, 5 tokens longer than the longest name; ROUGE-L of characters.",
        choices=CONTINUATIONS,
    )
    several_tokens: str = option(
        SEVERAL_TOKENS[0],
        "Precision@n of an object without a name of one token: no value, or 0.",
        choices=SEVERAL_TOKENS,
    )
    articles: bool = articles_option()
    former_order: str = former_order_option()
    karr: str = option(
        KARR_FORMS[0],
        "Form of KaRR: of each sentence alone, or as in its authors' code, over the sentences and aliases of a fact.",
        choices=KARR_FORMS,
    )
    distractors: int = option(
        DistractorOptions().distractors, "Largest n of Min@n, Avg@n and precision@n.", minimum=1, common=True
    )
