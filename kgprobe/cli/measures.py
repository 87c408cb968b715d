"""What commands share that compare measures of knowledge: which measures, and the models that they are made with."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from kgprobe.cli.options import STRATEGIES, Command, Common, together
from kgprobe.cli.running import load_model

if TYPE_CHECKING:
    from kgprobe.graph.client import Graph
    from kgprobe.probes.clozes import ClozeQuestion
    from kgprobe.studies.measures import Scores, Tools


@dataclass(frozen=True, slots=True)
class MeasuresChoice:
    """Which measures are compared, and what they are made with.

    Attributes:
        strategies: of the distractor measures.
        names: only these measures; empty means all that can be had.
        widths: of beams.
        encoder: the spec of BERTScore's; None does without it.
        judge: a model's spec; None does without one.
        distractors: the greatest n of Min@n, Avg@n and precision@n.
    """

    strategies: tuple[str, ...]
    names: tuple[str, ...]
    widths: tuple[int, ...]
    encoder: str | None
    judge: str | None
    distractors: int


def measures_options(command: Command) -> Command:
    """``--strategy``, ``--measure`` and what measures are made with, as ``choice``."""
    options = (
        click.option(
            "--strategy",
            "strategies",
            type=click.Choice(STRATEGIES),
            multiple=True,
            default=("random", "temporal-semantic", "approximate-optimal"),
            show_default=True,
            help="The distractor measure with these distractors; repeatable.",
        ),
        click.option(
            "--measure",
            "names",
            multiple=True,
            metavar="NAME",
            help="Only this measure; repeatable.  [default: the distractor measures and all baselines that can be had]",
        ),
        click.option(
            "--width",
            "widths",
            type=click.IntRange(min=1),
            multiple=True,
            default=(1, 2, 5),
            show_default=True,
            help="Beams of ROUGE-L, BERTScore and the judge; repeatable.",
        ),
        click.option(
            "--encoder", metavar="SPEC", help="BERTScore's encoder, such as hf:roberta-large.  [default: no BERTScore]"
        ),
        click.option("--judge", metavar="SPEC", help="A model that judges continuations.  [default: no judge]"),
        click.option(
            "--distractors",
            "-n",
            type=click.IntRange(min=1),
            default=200,
            show_default=True,
            help="The greatest n of Min@n, Avg@n and precision@n.",
        ),
    )
    return together(MeasuresChoice, "choice", *options)(command)


def tools_for(graph: "Graph", model: str, choice: MeasuresChoice, common: Common) -> "Tools":
    """The models that the measures need, loaded."""
    from kgprobe.analysis.calibration import COUNTS
    from kgprobe.baselines.grader import local_judge
    from kgprobe.models.encoder import load_encoder
    from kgprobe.studies.measures import Tools

    scorer = load_model(model)
    n, encoder, judge = choice.distractors, choice.encoder, choice.judge
    return Tools(
        graph,
        scorer,
        common.as_of,
        common.seed,
        tuple(sorted(set(choice.widths))),
        (*(count for count in COUNTS if count < n), n),
        load_encoder(encoder) if encoder else None,
        local_judge(scorer if judge == model else load_model(judge)) if judge else None,
    )


def chosen_measures(choice: MeasuresChoice, tools: "Tools") -> list[str]:
    """The measures that were asked for; without any, all that can be had.

    Raises:
        UsageError: one of them is not known, or lacks a model.
    """
    from kgprobe.studies.measures import measure_names

    known = measure_names(choice.strategies, tools)
    for name in choice.names:
        if name not in known:
            raise click.UsageError(
                f"There is no measure {name!r} with these options; there are: {', '.join(known)}. --encoder brings "
                "bertscore, --judge brings judge, --strategy brings others of distractors:…."
            )
    return list(dict.fromkeys(choice.names)) or known


def described(choice: MeasuresChoice, tools: "Tools", names: Sequence[str]) -> dict[str, Any]:
    """What the measures depend on, for the study's record."""
    return {
        "scorer": tools.scorer.describe(),
        "as_of": tools.as_of,
        "seed": tools.seed,
        "widths": tools.widths,
        "counts": tools.counts,
        "encoder": choice.encoder,
        "judge": choice.judge,
        "measures": list(names),
    }


@contextmanager
def measuring(tools: "Tools", total: int) -> Iterator["Callable[[str, Sequence[ClozeQuestion]], Scores]"]:
    """A measure of questions by its name, with a bar over so many facts and measures."""
    from kgprobe.progress import progress_bar
    from kgprobe.studies.measures import measure_facts

    done = 0
    with progress_bar("Measuring", total, "facts") as bar:

        def measured(name: str, questions: "Sequence[ClozeQuestion]") -> "Scores":
            def watch(facts: int) -> None:
                nonlocal done
                done += facts
                bar.advance_to(done, facts, name)

            return measure_facts(name, tools, questions, watch)

        yield measured
