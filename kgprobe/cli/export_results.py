"""``kgprobe export eval-results`` and ``every-eval-ever``: measurements in formats for publication."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
import cloup

from kgprobe.cli.commands import Choice
from kgprobe.cli.help import OneScreenCommand
from kgprobe.cli.options import debug_option
from kgprobe.exports.every_eval_ever import RELATIONSHIPS, THIRD_PARTY
from kgprobe.sanitize import visible

F = TypeVar("F", bound=Callable[..., Any])

_result_argument = cloup.argument("result", help="A measurement, by name or folder.")
_model_id_option = cloup.option(
    "--model-id", metavar="OWNER/NAME", help="The model's id on the Hugging Face hub.  [default: its own name]"
)


def _output_option(help_: str) -> Callable[[F], F]:
    return cloup.option("--output", "-o", type=click.Path(file_okay=False, path_type=Path), required=True, help=help_)


@click.command("eval-results", cls=OneScreenCommand)
@_result_argument
@cloup.option("--dataset", required=True, metavar="OWNER/NAME", help="Benchmark data set on the Hugging Face hub.")
@cloup.option("--task", help="Task of the data set.  [default: the probe's name]")
@cloup.option("--source", metavar="URL", help="Address of the evaluation, such as of its page.")
@_model_id_option
@_output_option("Folder of the model's repository.")
@debug_option
def eval_results(result: str, output: Path, **options: Any) -> None:
    """Write a measurement for the model's page on the Hugging Face hub.

    Writes .eval_results/DATASET-TASK.yaml into a clone of the model's repository: the share of right answers in
    percent, with its interval, the chance level and the settings as a note. Nothing is uploaded.

    \b
    kgprobe export eval-results llama-capitals -o Llama-3.2-1B \\
        --dataset me/capitals --source https://example.org/page.html
    """  # noqa: D301
    from kgprobe.api.measuring import open_measurement
    from kgprobe.api.publishing import export_eval_results

    click.echo(f"Written: {visible(str(export_eval_results(open_measurement(result), output, **options)))}")


@click.command("every-eval-ever", cls=OneScreenCommand)
@_result_argument
@cloup.option("--organization", required=True, metavar="NAME", help="Organization that publishes the record.")
@cloup.option(
    "--relationship",
    type=Choice(RELATIONSHIPS),
    default=THIRD_PARTY,
    show_default=True,
    help="Its relation to the model's developer.",
)
@cloup.option("--benchmark", metavar="NAME", help="Name of the evaluation.  [default: kgprobe-PROBE]")
@cloup.option("--dataset", metavar="OWNER/NAME", help="Repository of the facts on the Hugging Face hub.")
@_model_id_option
@_output_option("Folder in which data/ lies.")
@debug_option
def every_eval_ever(result: str, output: Path, **options: Any) -> None:
    """Write a measurement in the schema of Every Eval Ever, version 0.3.0.

    Writes data/BENCHMARK/OWNER/MODEL/UUID.json with the share of right answers over all facts and by relation, with
    intervals, the model's revision and all versions; UUID_samples.jsonl has prompt, answer and verdict of each fact.

    \b
    kgprobe export every-eval-ever llama-capitals -o records \\
        --organization "My group"
    """  # noqa: D301
    from kgprobe.api.measuring import open_measurement
    from kgprobe.api.publishing import export_every_eval_ever

    record, answers = export_every_eval_ever(open_measurement(result), output, **options)
    click.echo(f"Written: {visible(str(record))}\nAnswers: {visible(str(answers))}")
