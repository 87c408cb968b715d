"""``kgprobe judge``: predict a model's answers to all statements of a graph from its hidden states."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import cloup

from kgprobe.cli.commands import given_options
from kgprobe.cli.groups import CommandGroup
from kgprobe.cli.help import OneScreenCommand
from kgprobe.cli.options import (
    as_of_or,
    debug_option,
    json_option,
    model_option,
    name_option,
    on_graph,
    open_graph,
    output_option,
    relations_option,
    seed_option,
)
from kgprobe.cli.presets import as_paper_option
from kgprobe.cli.rendering import render
from kgprobe.cli.running import judging, open_asked, open_models, progress_bars, report_end
from kgprobe.judge import JudgedGraphOptions, JudgeOptions
from kgprobe.models.spec_forms import is_api

if TYPE_CHECKING:
    from kgprobe.results.judge import JudgeQuality, TrainedJudge


@click.group(cls=CommandGroup)
def judge() -> None:
    """Judge a whole graph from a few thousand answers: train, evaluate, predict.

    A judge is a classifier on a model's hidden states. It predicts the model's answer to a statement: true, false or
    unknown.

    \b
    kgprobe probe true-false --model demo --relation capital --name capitals
    kgprobe judge train capitals
    """  # noqa: D301


_labels_argument = cloup.argument("labels", help="Result of `kgprobe probe true-false`: its folder or its name.")
_reader_option = model_option(
    "Model whose hidden states are read: demo, hf:NAME, or hf:./folder with a model in it; for example a smaller"
    " one of the same family.  [default: the labelled model]",
    required=False,
)
_judge_argument = cloup.argument(
    "judge_name", metavar="JUDGE", help="Result of `kgprobe judge train`: its folder or its name."
)
_page_option = output_option(
    "Write a page with plots and tables, and the plot library next to it.", "page", metavar="PAGE.html"
)


@judge.command(cls=OneScreenCommand)
@_labels_argument
@_reader_option
@as_paper_option("judge train")
@given_options((None, JudgeOptions))
@name_option("Folder name of the judge.  [default: made from the settings]")
@_page_option
@seed_option
@json_option
@debug_option
def train(labels: str, model: str | None, page: Path | None, as_json: bool, **options: Any) -> None:
    """Train a judge on labels: select the best layer and classifier by cross-validation.

    Compares linear probes of all layers, and at the best layer also the paper's network. Reports the quality on
    held-out entities, held-out relations and test facts, compared with the probabilities of the words True, False and
    Unknown.

    \b
    kgprobe judge train LABELS
    kgprobe judge train LABELS --layers 12 --layers 18 --name small
    kgprobe judge train LABELS --output judge.html
    """  # noqa: D301
    from kgprobe.api.judging import train_judge
    from kgprobe.api.stored import open as open_stored

    measured = open_stored(labels, kind="measurement")
    spec = measured.model if model is None else model
    with open_models() as models, progress_bars() as on_progress:
        if model is not None or not is_api(spec):
            # With --revision; the model is loaded after all arguments are validated.
            open_asked(models, spec)
        result = train_judge(
            measured,
            model=model,
            models=models,
            on_progress=on_progress,
            **options,
        )
    _show(result, page, as_json)


@judge.command(cls=OneScreenCommand)
@_judge_argument
@_labels_argument
@_reader_option
@cloup.option(
    "--words",
    default="True/False/Unknown",
    show_default=True,
    metavar="T/F/U",
    help="Words whose probabilities are the baseline.",
)
@cloup.option("--everything", is_flag=True, help="Use all facts: LABELS are not the judge's own.")
@_page_option
@json_option
@debug_option
def evaluate(judge_name: str, labels: str, model: str | None, page: Path | None, as_json: bool, **options: Any) -> None:
    """Evaluate a judge on labels: by answer, against the words' probabilities, and its calibration.

    For the labels that the judge was trained on, only the test facts are used.

    \b
    kgprobe judge evaluate JUDGE LABELS
    """  # noqa: D301
    from kgprobe.api.judging import evaluate_judge
    from kgprobe.api.stored import open as open_stored

    with open_models() as models:
        trained, measured = open_stored(judge_name, kind="judge"), open_stored(labels, kind="measurement")
        opened = open_asked(models, trained.reader["name"] if model is None else model)
        result = evaluate_judge(trained, measured, model=opened, **options)
    _show(result, page, as_json)


@judge.command(cls=OneScreenCommand)
@_judge_argument
@_reader_option
@as_paper_option("judge predict")
@given_options((None, JudgedGraphOptions))
@relations_option("Judge facts of this relation only, by its id or a name; repeatable.")
@name_option("Folder name of the judged graph.  [default: made from the settings]")
@seed_option
@as_of_or(None, "that of the labels")
@on_graph
def predict(judge_name: str, model: str | None, graph: str | None, as_json: bool, **options: Any) -> None:
    """Predict the model's answers to every fact of the graph, and to false statements made from it.

    Estimates how correct, truthful and informative the model is. Facts are judged in shards, one Parquet file each.
    Repeat the command to continue an interrupted one; several processes can each judge a share (--shard). Prints the
    figures of `kgprobe show`, and stores a summary for `kgprobe graph query explore/judged`.

    \b
    kgprobe judge predict JUDGE
    kgprobe judge predict JUDGE --shard 1/4 --name whole
    kgprobe judge predict JUDGE --ray 8
    """  # noqa: D301
    from kgprobe.api.judging import check_judging, judge_graph
    from kgprobe.api.stored import open as open_stored

    trained = open_stored(judge_name, kind="judge")
    check_judging(trained, **options)
    with open_models() as models:
        opened = open_asked(models, trained.reader["name"] if model is None else model)
        with open_graph(graph) as connection, judging(f"Judging with {judge_name}") as callbacks:
            progress = judge_graph(connection, trained, model=opened, models=models, callbacks=callbacks, **options)
    if progress.judged is None:
        report_end(progress.shards.stopped, None, progress.progress(), "Repeat the command to continue.")
    render(progress, as_json)


def _show(result: "JudgeQuality | TrainedJudge", path: Path | None, as_json: bool) -> None:
    page = None if path is None else result.page(path).resolve()
    for warning in result.warnings:
        click.echo(f"Warning: {warning}", err=True)
    render(result, as_json, page)
