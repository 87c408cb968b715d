"""``kgprobe study``: the papers' analyses, each with a table, plots and their data."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import cloup
from click.core import ParameterSource

import kgprobe
from kgprobe.base.progress import waiting
from kgprobe.base.sanitize import visible
from kgprobe.cli.commands import given_options
from kgprobe.cli.groups import CommandGroup
from kgprobe.cli.options import (
    SCORES,
    debug_option,
    draw_options,
    facts_options,
    full_option,
    graph_options,
    json_option,
    model_option,
    open_graph,
    relations_option,
    seed_option,
)
from kgprobe.cli.presets import as_paper_option
from kgprobe.cli.rendering import render, show_notes
from kgprobe.cli.running import Given, measuring, open_models, watched, with_models
from kgprobe.papers.baselines.options import MeasuresOptions
from kgprobe.papers.studies.options import (
    CalibrationOptions,
    ExampleCountsOptions,
    NoisyExamplesOptions,
    PromptingOptions,
    ReplayOptions,
    RobustnessOptions,
    StrategiesOptions,
    TemplatesOptions,
    VerbalizationsOptions,
)
from kgprobe.probes.distractors import DistractorOptions
from kgprobe.verbalize.error_kinds import ERROR_KINDS

if TYPE_CHECKING:
    from kgprobe.models.model import Model, Models
    from kgprobe.papers.studies.study import Study

_ROBUSTNESS_HELP = """Measure the robustness of measures: τ between flawed and corrected sentences.

TABLE is a CSV file with one sentence per line and its correction, ids and labels of the triple, and its interval.
Both sentences end with the object; context is present or past, and errors are free text, - for none. For example:

\b
triples_raw,triples,context,verbalization,errors,correction
"('Q17', 'P36', 'Q1490')","(Japan, capital, Tokyo, start=None, end=None)",present,capital of Japan is Tokyo,article,The capital of Japan is Tokyo
"""  # noqa: E501

_CALIBRATION_HELP = """Measure the agreement of measures with people: cross-validated Kendall's τ with human scores.

SCORES is a CSV file with a header, or a JSON list of objects: subject, relation and object of a fact (ids), and the
share of people who judged that the model knows it, from 0 to 1. For example:

\b
subject,relation,object,human_score
Q17,P36,Q1490,0.9
Q142,P36,Q90,0.75
"""


@dataclass(frozen=True, slots=True)
class StudyCommand:
    """A study of one model on the command line.

    Attributes:
        name: name of the command; ``kgprobe.study_NAME`` is its function.
        left_out: options of the dataclasses that it has not.
        unit: unit of its progress bar; a study without one measures facts by a probe.
        file: name of its argument, a file.
    """

    name: str
    help: str
    options: Sequence[type]
    left_out: Sequence[str] = ()
    unit: str = ""
    file: str = ""


STUDIES = (
    StudyCommand(
        "strategies",
        "Compare strategies of distractors: mean Min@n for n up to --distractors.",
        [StrategiesOptions, DistractorOptions],
        left_out=["strategy"],
    ),
    StudyCommand(
        "distractor-count",
        """Find the number of distractors that is enough: means, and stability of the ranking of facts.

        Set --distractors to the largest number; the paper's is 200.
        """,
        [DistractorOptions],
    ),
    StudyCommand(
        "sentences",
        "Find the number of cloze sentences that is enough: the measure over subsets of sentences.",
        [DistractorOptions],
    ),
    StudyCommand(
        "examples",
        """Find the number of examples that is enough for `kgprobe probe examples`: accuracy by their number.

        Facts and choices stay the same; the examples are drawn several times. Reports the smallest number that reaches
        95% of the accuracy with the largest number.
        """,
        [ExampleCountsOptions],
    ),
    StudyCommand(
        "prompting",
        """Compare prompts: examples with other separators, packed, in sentences, or sentences alone.

        All prompts ask the same facts with the same choices; relations need a cloze sentence. Facts and choices are the
        graph's, or those of a data set: --dataset needs no graph.
        """,
        [PromptingOptions],
    ),
    StudyCommand(
        "templates",
        """Compare generic templates, made of labels, with hand-written ones on the same facts.

        Compares cloze sentences with the same distractors, and questions; only relations with hand-written templates.
        """,
        [TemplatesOptions],
    ),
    StudyCommand(
        "noisy-examples",
        """Measure the effect of unknown and incorrect examples on later ones: objects' probability by position.

        The model sees sequences of examples as they are, and with some replaced by facts of invented subjects or by
        wrong objects, spread or in one block.
        """,
        [NoisyExamplesOptions],
        unit="sequences",
    ),
    StudyCommand("robustness", _ROBUSTNESS_HELP, [RobustnessOptions, MeasuresOptions], unit="facts", file="table"),
    StudyCommand("calibration", _CALIBRATION_HELP, [CalibrationOptions, MeasuresOptions], unit="facts", file="scores"),
)


@click.group(cls=CommandGroup)
def study() -> None:
    """Analyse measures and sampling rules: each study is a table, plots and their data.

    Answers are stored: repeat a command to continue an interrupted study.
    """


def _add(kind: StudyCommand) -> None:
    """Add the command of a study."""

    def command(
        model: str,
        models: "Models",
        full: bool,
        graph: str | None,
        as_json: bool,
        **options: Any,
    ) -> None:
        call = getattr(kgprobe, f"study_{kind.name.replace('-', '_')}")
        title = f"Measuring {model}"
        watching = watched(title, kind.unit) if kind.unit else measuring(title, models)
        opened = open_graph(graph) if options.get("dataset") is None else nullcontext()
        if (
            options.get("dataset") is not None
            and click.get_current_context().get_parameter_source("as_of") is ParameterSource.DEFAULT
        ):
            # Only a given date has no effect with a data set.
            del options["as_of"]
        with opened as connection, watching as callbacks:
            result = call(connection, model, models=models, callbacks=callbacks, **options)
        show(result, as_json, full)

    own: Callable[..., Any] = facts_options
    if kind.file:
        file = cloup.argument(kind.file, type=click.Path(exists=True, dir_okay=False, path_type=Path))
        own = file
    elif kind.unit:
        own = relations_option("Make sequences of this relation only, by its id or a name; repeatable.")
    given = given_options(*((None, each) for each in kind.options), left_out=kind.left_out)
    decorated: Callable[..., Any] = command
    presets = as_paper_option(f"study {kind.name}")
    # A grader can be behind an API.
    models = with_models(api=("batch_api",) if kind.file else None)
    for decorator in (graph_options, draw_options, full_option, presets, given, models, own, model_option()):
        decorated = decorator(decorated)
    study.command(kind.name, help=f"{kind.help}\n\n\b\n{_examples(kind)}")(decorated)


def _examples(kind: StudyCommand) -> str:
    """Return two commands: few facts of the demo model, and another model."""
    if kind.file:
        file = f"{kind.file}.csv"
        return f"kgprobe study {kind.name} {file} --model demo\nkgprobe study {kind.name} {file} --model hf:gpt2 --full"
    few = "--relation capital" if kind.unit else "--limit 50"
    return f"kgprobe study {kind.name} --model demo {few}\nkgprobe study {kind.name} --model hf:gpt2 --seed 1 --full"


for _kind in STUDIES:
    _add(_kind)


@study.command()
@model_option(f"{SCORES} Repeat it for each model.", "models", multiple=True)
@facts_options
@as_paper_option("study scaling")
@given_options((None, DistractorOptions))
@full_option
@draw_options
@graph_options
def scaling(
    models: tuple[str, ...],
    local: Given,
    explain: bool,
    full: bool,
    graph: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Compare model sizes: Avg@n of several models against their numbers of parameters.

    \b
    kgprobe study scaling --model demo --model hf:gpt2 --limit 100
    kgprobe study scaling --model hf:gpt2 --model hf:gpt2-medium
    """  # noqa: D301
    if "revision" in local and len(models) > 1:
        raise click.UsageError("--revision applies to one model; --model is given several times.")

    def open_model(spec: str) -> "Model":
        # One at a time, so that only one model is in memory.
        with open_models(local, explain=explain) as models_of_one:
            return models_of_one.open_asked(spec)

    with open_graph(graph) as connection, open_models() as no_api, measuring("Measuring", no_api) as callbacks:
        result = kgprobe.study_scaling(connection, models, open_model=open_model, callbacks=callbacks, **options)
    show(result, as_json, full)


@study.command()
@cloup.option(
    "--run",
    metavar="NAME",
    help="Run as ground truth: θ of a fact is the share of its wrong answers. Best made by `kgprobe rounds run PROBE"
    " --sampling sequential`, with 20 answers per fact.  [default: the demo model's answers about 2,554 facts of the"
    " example graph, 8 each]",
)
@as_paper_option("study sampling")
@given_options((None, ReplayOptions))
@seed_option
@full_option
@graph_options
def sampling(run: str | None, full: bool, graph: str | None, as_json: bool, **options: Any) -> None:
    """Compare sampling rules on the same number of requests, by replays without a model.

    Replays Thompson and uniform sampling, each with and without propagation, sequential sampling, and the rules of the
    hierarchical learner. The difficulty of each fact is known: from a run, or from the demo model on the example graph.

    \b
    kgprobe study sampling --requests 2000 --repeats 2
    kgprobe study sampling --run truth --full
    """  # noqa: D301
    opened = open_graph(graph) if run is not None else nullcontext()
    with opened as connection, watched("Replaying", "replays") as callbacks:
        result = kgprobe.study_sampling(connection, run, callbacks=callbacks, **options)
    show(result, as_json, full)


_VERBALIZATIONS_HELP = """Count errors of sentences, from annotations by people.

A FILE is a CSV table as `kgprobe sample facts --sentences 1 -o FILE` writes it, annotated by one person, whose name is
that of the file. Its column errors has kinds separated by commas, or - for none. Reports rates by kind and category
with 95% Wilson intervals; with several files, the agreement of the annotators (Cohen's or Fleiss' κ).

\b
{}

\b
kgprobe study verbalizations ann.csv ben.csv
kgprobe study verbalizations ann.csv --full
""".format("\n".join(f"{kind.name:15}  {kind.meaning} ({kind.category})" for kind in ERROR_KINDS))


@study.command(help=_VERBALIZATIONS_HELP)
@given_options((None, VerbalizationsOptions))
@full_option
@json_option
@debug_option
def verbalizations(full: bool, as_json: bool, **options: Any) -> None:
    """Count errors of sentences; the help is ``_VERBALIZATIONS_HELP``."""
    show(kgprobe.study_verbalizations(**options), as_json, full)


def show(result: "Study", as_json: bool, full: bool = False) -> None:
    """Print a study, its verdict and its page; or one JSON object."""
    show_notes(result.missing)
    with waiting("Writing the study's page"):
        page = result.page()
    if not as_json:
        rows, notes = len(result.tables()[0].rows), len(result.notes)
        more = "" if full else f": {rows:,} rows and {notes:,} notes, with --full."
        click.echo(f"{visible(result.title)}{more}")
    render(result if full or as_json else replace(result, notes=()), as_json, page, full=full, files=[result.data_file])
