"""What commands share that compare measures of knowledge: which measures, and the models that they are made with."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kgprobe.cli.options import STRATEGIES
from kgprobe.cli.running import load_model

if TYPE_CHECKING:
    from kgprobe.graph.client import Graph
    from kgprobe.probes.questions import Question
    from kgprobe.studies.measures import Scores, Tools

F = TypeVar("F", bound=Callable[..., Any])


def measures_options(command: F) -> F:
    """Which measures are compared, and what they are made with."""
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
    for option in reversed(options):
        command = option(command)
    return command


def tools_for(
    connection: "Graph",
    model: str,
    as_of: int,
    seed: int,
    widths: tuple[int, ...],
    count: int,
    encoder: str | None,
    judge: str | None,
) -> "Tools":
    """The models that the measures need, loaded."""
    from kgprobe.analysis.calibration import COUNTS
    from kgprobe.baselines.judge import local_judge
    from kgprobe.models.encoder import load_encoder
    from kgprobe.studies.measures import Tools

    scorer = load_model(model)
    return Tools(
        connection,
        scorer,
        as_of,
        seed,
        tuple(sorted(set(widths))),
        (*(n for n in COUNTS if n < count), count),
        load_encoder(encoder) if encoder else None,
        local_judge(scorer if judge == model else load_model(judge)) if judge else None,
    )


def chosen_measures(names: Sequence[str], strategies: Sequence[str], tools: "Tools") -> list[str]:
    """The measures that were asked for; without any, all that can be had.

    Raises:
        UsageError: one of them is not known, or lacks a model.
    """
    from kgprobe.studies.measures import measure_names

    known = measure_names(strategies, tools)
    for name in names:
        if name not in known:
            raise click.UsageError(
                f"There is no measure {name!r} with these options; there are: {', '.join(known)}. --encoder brings "
                "bertscore, --judge brings judge, --strategy brings others of distractors:…."
            )
    return list(dict.fromkeys(names)) or known


def described(tools: "Tools", encoder: str | None, judge: str | None) -> dict[str, Any]:
    """What the measures depend on, for the study's record."""
    return {
        "scorer": tools.scorer.describe(),
        "as_of": tools.as_of,
        "seed": tools.seed,
        "widths": tools.widths,
        "counts": tools.counts,
        "encoder": encoder,
        "judge": judge,
    }


def measure_facts_of(
    name: str, tools: "Tools", questions: "Sequence[Question]", watch: Callable[[str, int], None]
) -> "Scores":
    """One measure, with its name on the progress bar."""
    from kgprobe.studies.measures import measure_facts

    return measure_facts(name, tools, questions, lambda facts: watch(name, facts))


@contextmanager
def measuring(total: int) -> Iterator[Callable[[str, int], None]]:
    """A bar over facts and measures."""
    from kgprobe.report.progress import progress_bar

    done = 0
    with progress_bar("Measuring", total, "facts") as bar:

        def watch(name: str, facts: int) -> None:
            nonlocal done
            done += facts
            bar.advance_to(done, facts, name)

        yield watch
