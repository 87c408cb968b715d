"""``kgprobe judge``: predict a model's answers to all statements of a graph from its hidden states."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import cloup

import kgprobe
from kgprobe.cli.commands import given_options
from kgprobe.cli.groups import CommandGroup
from kgprobe.cli.options import (
    as_of_or,
    debug_option,
    json_option,
    model_option,
    name_option,
    output_option,
    relations_option,
    seed_option,
)
from kgprobe.cli.presets import as_paper_option
from kgprobe.cli.rendering import render, with_graph
from kgprobe.cli.running import judging, progress_bars, report_end, with_models
from kgprobe.judge import JudgedGraphOptions, JudgeOptions

if TYPE_CHECKING:
    from kgprobe.graph.client import Graph
    from kgprobe.models.model import Models
    from kgprobe.results.judge import JudgeQuality, TrainedJudge
    from kgprobe.results.judged_graph import JudgingProgress


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


def _show(page: Path | None, result: "JudgeQuality | TrainedJudge", as_json: bool) -> None:
    written = None if page is None else result.page(page).resolve()
    for warning in result.warnings:
        click.echo(f"Warning: {warning}", err=True)
    render(result, as_json, written)


@judge.command()
@_labels_argument
@_reader_option
@as_paper_option("judge train")
@given_options((None, JudgeOptions))
@name_option("Folder name of the judge.  [default: made from the settings]")
@_page_option
@seed_option
@json_option
@debug_option
@with_models()
def train(labels: str, models: "Models", page: Path | None, as_json: bool, **options: Any) -> None:
    """Train a judge on labels: select the best layer and classifier by cross-validation.

    Compares linear probes of all layers, and at the best layer also the paper's network. Reports the quality on
    held-out entities, held-out relations and test facts, compared with the probabilities of the words True, False and
    Unknown.

    \b
    kgprobe judge train LABELS
    kgprobe judge train LABELS --layers 12 --layers 18 --name small
    kgprobe judge train LABELS --output judge.html
    """  # noqa: D301
    with progress_bars() as on_progress:
        result = kgprobe.train_judge(labels, models=models, on_progress=on_progress, **options)
    _show(page, result, as_json)


@judge.command()
@_judge_argument
@_labels_argument
@_reader_option
@cloup.option(
    "--words",
    metavar="T/F/U",
    help="Words whose probabilities are the baseline.  [default: those of the training]",
)
@cloup.option("--everything", is_flag=True, help="Use all facts: LABELS are not the judge's own.")
@_page_option
@json_option
@debug_option
@with_models()
def evaluate(judge_name: str, labels: str, models: "Models", page: Path | None, as_json: bool, **options: Any) -> None:
    """Evaluate a judge on labels: by answer, against the words' probabilities, and its calibration.

    For the labels that the judge was trained on, only the test facts are used.

    \b
    kgprobe judge evaluate JUDGE LABELS
    """  # noqa: D301
    _show(page, kgprobe.evaluate_judge(judge_name, labels, models=models, **options), as_json)


@judge.command()
@_judge_argument
@_reader_option
@as_paper_option("judge predict")
@given_options((None, JudgedGraphOptions))
@relations_option("Judge facts of this relation only, by its id or a name; repeatable.")
@name_option("Folder name of the judged graph.  [default: made from the settings]")
@seed_option
@as_of_or(None, "that of the labels")
@with_models()
@with_graph()
def predict(graph: "Graph", judge_name: str, models: "Models", **options: Any) -> "JudgingProgress":
    """Predict the model's answers to every fact of the graph, and to false statements made from it.

    Estimates how correct, truthful and informative the model is. Facts are judged in shards, one Parquet file each.
    Repeat the command to continue an interrupted one; several processes can each judge a share (--shard). Prints the
    figures of `kgprobe show`, and stores a summary for `kgprobe graph query explore/judged`.

    \b
    kgprobe judge predict JUDGE
    kgprobe judge predict JUDGE --shard 1/4 --name whole
    kgprobe judge predict JUDGE --ray 8
    """  # noqa: D301
    with judging(f"Judging with {judge_name}") as callbacks:
        progress = kgprobe.judge_graph(graph, judge_name, models=models, callbacks=callbacks, **options)
    if progress.judged is None:
        report_end(progress.shards.stopped, None, progress.progress(), "Repeat the command to continue.")
    return progress
