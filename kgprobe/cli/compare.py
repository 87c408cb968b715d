"""``kgprobe compare``: compare models on their stored answers."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import cloup

from kgprobe.cli.main import until_reader_leaves
from kgprobe.cli.options import full_option, graph_of_results, in_flags, on_graph, seed_option
from kgprobe.cli.rendering import render
from kgprobe.cli.summary_files import check_summary_files, summary_files, write_summary_files
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.models.spec_forms import is_spec
from kgprobe.progress import waiting

if TYPE_CHECKING:
    from kgprobe.graph.client import Graph
    from kgprobe.results.comparison import Comparison
    from kgprobe.results.forgetting import Forgetting
    from kgprobe.results.knowledge_gap import KnowledgeGap
    from kgprobe.results.task_comparison import TaskComparison
    from kgprobe.results.task_losses import TaskLosses

# Exit codes by verdict.
_CODES = {"kept": 0, "lost": 1, "undecided": 3}
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")
# Keys of the tables that a summary prints.
_SUMMARY = (
    *("models", "spread", "pairs", "directions", "forwards_alone"),
    *("loss", "worst_relations", "forgotten"),
    *("gap", "unsaid"),
    *("tasks", "losses", "lost_documents"),
)


class _Points(click.ParamType[float]):
    name = "percent"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        match = _PERCENT.fullmatch(str(value).strip())
        if match is None or float(match[1]) >= 100:
            self.fail(f"{value!r} is not a number below 100 with a percent sign, such as 2%.", param, ctx)
        return float(match[1]) / 100


class _Family(click.ParamType[tuple[str, str]]):
    name = "family"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        model, _, family = str(value).rpartition("=")
        if not model or not family.strip():
            self.fail(f"{value!r} is not a model and its family, such as hf:gpt2=GPT.", param, ctx)
        return model, family.strip()


class _CheckFailedError(click.ClickException):
    """Failure of a check without a verdict; exits with 2, because 1 means that accuracy is lost."""

    exit_code = 2


@contextmanager
def _failing_with_2() -> Iterator[None]:
    """Turn errors into exit code 2."""
    try:
        yield
    except (click.exceptions.Exit, click.UsageError):
        raise
    except KgprobeError as error:
        raise _CheckFailedError(in_flags(str(error))) from error
    except KeyboardInterrupt as error:
        raise _CheckFailedError("Stopped.") from error
    except Exception as error:
        raise _CheckFailedError(f"{type(error).__name__}: {error}. --debug shows where.") from error


@cloup.command()
@cloup.argument("results", nargs=-1, required=True, metavar="RESULT...")
@cloup.option(
    "--fail-if-lost",
    "margin",
    type=_Points(),
    metavar="POINTS%",
    help="Test if RESULT 2 lost more accuracy than this many points against RESULT 1. Exit code: 0 not lost, 1 lost, 2"
    " check failed, 3 undecided.",
)
@cloup.option(
    "--gap",
    is_flag=True,
    help="Compare two probes of one model: facts known by the first probe and missed by the second.",
)
@cloup.option(
    "--family",
    "families",
    type=_Family(),
    multiple=True,
    metavar="MODEL=NAME",
    help="Family of a model; repeatable.  [default: the part of its name before the size]",
)
@cloup.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="Metric of logs to compare, such as acc_norm; repeatable.  [default: all]",
)
@summary_files
@full_option
@seed_option
@on_graph
def compare(
    results: tuple[str, ...],
    margin: float | None,
    gap: bool,
    families: tuple[tuple[str, str], ...],
    metrics: tuple[str, ...],
    junit: Path | None,
    markdown: Path | None,
    full: bool,
    seed: int,
    graph: str | None,
    as_json: bool,
) -> None:
    """Compare models on the facts that all of them have answered.

    RESULT is a measurement, by name or folder, or a run by name; a model's spec, such as hf:./tuned, stands for its
    newest measurement. No model is asked; the graph is only opened for runs, or with --graph for the names of
    relations. Prints a summary: accuracies, their correlation, shared knowledge,
    differences with tests and intervals. --full and the page have all tables.

    With --fail-if-lost, the first is a model and the second its changed version: forgotten and gained facts, and a test
    for lost accuracy. Exit codes: 0 kept, 1 lost, 2 failed or wrong usage, 3 undecided.

    If one of two results was asked with --inverse, their directions are compared, by relation and by fact.

    Two results can also be logs of lm-evaluation-harness (samples_*.jsonl) or Inspect (.eval, .json), by file or
    folder: their documents are paired by hash, for each task and metric.

    \b
    kgprobe compare gpt2-capitals llama-capitals
    kgprobe compare base tuned --fail-if-lost 2%
    kgprobe compare hf:./base hf:./base+./adapter --fail-if-lost 2%
    kgprobe compare --gap by-distractors by-questions
    kgprobe compare results/base results/tuned --fail-if-lost 1%
    """  # noqa: D301
    from kgprobe.results.forgetting import Forgetting
    from kgprobe.results.task_losses import TaskLosses

    are_logs = _are_logs(results)
    _check_usage(results, margin, gap)
    check_summary_files(junit, markdown, as_json, has_verdict=margin is not None)
    _check_log_usage(are_logs, results, gap, families, metrics)
    failing = nullcontext() if margin is None else _failing_with_2()
    with failing, nullcontext() if are_logs else graph_of_results(results, graph) as connection:
        result: Comparison | Forgetting | KnowledgeGap | TaskComparison | TaskLosses
        if are_logs:
            result = _compare_logs(results, margin, metrics, seed)
        else:
            result = _compare_stored(results, connection, margin, gap, seed, dict(families))
        with suppress(click.exceptions.Exit), until_reader_leaves():
            page = result.page()
            keys = None if full else _SUMMARY
            if not write_summary_files(result, junit, markdown, _SUMMARY):
                render(result, as_json, page, keys=keys, files=sorted(result.folder.iterdir()), lined=False)
            sys.stdout.flush()
    if isinstance(result, (Forgetting, TaskLosses)):
        click.get_current_context().exit(_CODES[result.verdict.value])


def _check_usage(results: tuple[str, ...], margin: float | None, gap: bool) -> None:
    """Raise UsageError if options and results do not fit together."""
    if gap and margin is not None:
        raise click.UsageError("--gap and --fail-if-lost exclude each other; give one of them.")
    if (gap or margin is not None) and len(results) != 2:
        flag = "--gap" if gap else "--fail-if-lost"
        raise click.UsageError(f"{flag} needs two results, not {len(results)}.")


def _are_logs(results: tuple[str, ...]) -> bool:
    """Return True if any result is a log of another tool, and not a stored result of that name."""
    from kgprobe.api.measuring import find_measurement
    from kgprobe.task_logs.opening import is_task_log

    names = [name for name in results if not is_spec(name) and find_measurement(name) is None]
    return any(is_task_log(Path(name)) for name in names)


def _check_log_usage(
    are_logs: bool,
    results: tuple[str, ...],
    gap: bool,
    families: tuple[tuple[str, str], ...],
    metrics: tuple[str, ...],
) -> None:
    """Raise UsageError if options do not fit logs, or only logs."""
    if metrics and not are_logs:
        raise click.UsageError("--metric is for logs of lm-evaluation-harness or Inspect; these are other results.")
    if are_logs and (gap or families):
        raise click.UsageError(f"{'--gap' if gap else '--family'} is for kgprobe's own results, not for logs.")
    if are_logs and len(results) != 2:
        raise click.UsageError(f"Logs are compared in pairs; give two, not {len(results)}.")


def _compare_logs(
    results: tuple[str, ...], margin: float | None, metrics: tuple[str, ...], seed: int
) -> "TaskComparison | TaskLosses":
    from kgprobe.api.task_logs import check_logs, compare_logs

    first, second = results
    with waiting("Reading the logs"):
        if margin is not None:
            return check_logs(first, second, margin=margin, metrics=metrics)
        return compare_logs(first, second, metrics=metrics, seed=seed)


def _compare_stored(
    results: tuple[str, ...],
    connection: "Graph | None",
    margin: float | None,
    gap: bool,
    seed: int,
    families: dict[str, str],
) -> "Comparison | Forgetting | KnowledgeGap":
    from kgprobe.api.comparing import check_forgetting, compare, find_gap, open_result

    with waiting("Reading the answers"):
        stored = [open_result(name, connection) for name in results]
    for name, opened in zip(results, stored, strict=True):
        if is_spec(name):
            click.echo(f"{name}: its newest measurement, {opened.about.name}.", err=True)
    with _second_named(results[-1]):
        if margin is not None:
            return check_forgetting(*stored, margin=margin)
        return find_gap(*stored) if gap else compare(stored, seed=seed, families=families)


@contextmanager
def _second_named(second: str) -> Iterator[None]:
    """Name the second result in errors as the user does, not by the library's argument."""
    try:
        yield
    except ArgumentError as error:
        if error.argument not in ("tuned", "said"):
            raise
        raise click.UsageError(f"{second} {str(error).removeprefix(f'`{error.argument}` ')}") from error
