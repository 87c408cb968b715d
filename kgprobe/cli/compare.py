"""``kgprobe compare``: compare models on their stored answers."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click
import cloup

from kgprobe.cli.help import OneScreenCommand
from kgprobe.cli.main import until_reader_leaves
from kgprobe.cli.options import full_option, graph_of_results, in_flags, on_graph, seed_option
from kgprobe.cli.rendering import render
from kgprobe.cli.summary_files import check_summary_files, summary_files, write_summary_files
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.models.spec_forms import is_spec
from kgprobe.progress import waiting

if TYPE_CHECKING:
    from kgprobe.graph.client import Graph
    from kgprobe.results.answers import Stored
    from kgprobe.results.comparison import Comparison
    from kgprobe.results.forgetting import Forgetting
    from kgprobe.results.knowledge_gap import KnowledgeGap
    from kgprobe.results.roles import RoleComparison
    from kgprobe.results.task_comparison import TaskComparison
    from kgprobe.results.task_losses import TaskLosses

    Compared: TypeAlias = Comparison | Forgetting | KnowledgeGap | RoleComparison | TaskComparison | TaskLosses

# Allowed loss of rings of controls without --fail-if-lost.
_MARGIN = 0.02
# Exit codes by verdict.
_CODES = {"kept": 0, "lost": 1, "undecided": 3}
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")
# Keys of the tables that a summary prints.
_SUMMARY = (
    *("models", "spread", "pairs", "directions", "forwards_alone"),
    *("loss", "worst_relations", "forgotten"),
    *("gap", "unsaid"),
    *("gains", "rings", "forgotten_controls"),
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


@dataclass(frozen=True, slots=True)
class _Request:
    """The compared results and the options of the command."""

    results: tuple[str, ...]
    margin: float | None
    gap: bool
    roles: Path | None
    families: tuple[tuple[str, str], ...]
    metrics: tuple[str, ...]
    seed: int

    @property
    def is_check(self) -> bool:
        """True if the exit code depends on a verdict."""
        return self.margin is not None


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


@cloup.command(cls=OneScreenCommand)
@cloup.argument("results", nargs=-1, required=True, metavar="RESULT...")
@cloup.option(
    "--fail-if-lost",
    "margin",
    type=_Points(),
    metavar="POINTS%",
    help="Test if RESULT 2 lost more accuracy than this many points against RESULT 1. Exit code: 0 not lost, 1 lost, 2"
    " could not run, 3 undecided.",
)
@cloup.option(
    "--gap",
    is_flag=True,
    help="Compare two probes of one model: facts known by the first probe and missed by the second.",
)
@cloup.option(
    "--roles",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Report taught facts, and a verdict for each ring of controls; FILE from `kgprobe sample controls`. The exit"
    " code of --fail-if-lost is then that of the worst ring.",
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
    junit: Path | None, markdown: Path | None, full: bool, graph: str | None, as_json: bool, **options: Any
) -> None:
    """Compare models on the facts that all of them have answered.

    RESULT is a measurement, by name or folder, or a run by name; a model's spec, such as hf:./tuned, stands for its
    newest measurement. No model is asked; the graph is only opened for runs, or with --graph for the names of
    relations. Prints a summary: accuracies, their correlation, shared knowledge,
    differences with tests and intervals. --full and the page have all tables.

    With --fail-if-lost, the first is a model and the second its changed version: forgotten and gained facts, and a test
    for lost accuracy. Exit codes: 0 kept, 1 lost, 2 failed or wrong usage, 3 undecided. With --roles as well, each ring
    of control facts has a verdict, corrected for the number of rings.

    If one of two results was asked with --inverse, their directions are compared, by relation and by fact.

    Two results can also be logs of lm-evaluation-harness (samples_*.jsonl) or Inspect (.eval, .json), by file or
    folder: their documents are paired by hash, for each task and metric.

    \b
    kgprobe compare gpt2-capitals llama-capitals
    kgprobe compare base tuned --fail-if-lost 2% --markdown summary.md
    kgprobe compare hf:./base hf:./base+./adapter --fail-if-lost 2%
    kgprobe compare base tuned --roles roles.jsonl --fail-if-lost 2%
    kgprobe compare --gap by-distractors by-questions
    kgprobe compare results/base results/tuned --fail-if-lost 1%
    """  # noqa: D301
    request = _Request(**options)
    are_logs = _are_logs(request.results)
    _check_usage(request)
    _check_log_usage(request, are_logs)
    check_summary_files(junit, markdown, as_json, has_verdict=request.is_check)
    result: Compared
    with _failing_with_2() if request.is_check else nullcontext():
        if are_logs:
            result = _compare_logs(request)
        else:
            with graph_of_results(request.results, graph) as connection:
                result = _compare_stored(request, connection)
        with suppress(click.exceptions.Exit), until_reader_leaves():
            page = result.page()
            keys = None if full else _SUMMARY
            if not write_summary_files(result, junit, markdown, _SUMMARY):
                render(result, as_json, page, keys=keys, files=sorted(result.folder.iterdir()), lined=False)
            sys.stdout.flush()
    if request.is_check:
        click.get_current_context().exit(_exit_code(result))


def _exit_code(result: "Compared") -> int:
    """Return the exit code of a check's verdict."""
    from kgprobe.results.forgetting import Forgetting
    from kgprobe.results.roles import RoleComparison
    from kgprobe.results.task_losses import TaskLosses

    if isinstance(result, (Forgetting, RoleComparison, TaskLosses)) and result.verdict is not None:
        return _CODES[result.verdict.value]
    return 0


def _check_usage(request: _Request) -> None:
    """Raise UsageError if options and results do not fit together."""
    given = {
        "--gap": request.gap,
        "--roles": request.roles is not None,
        "--fail-if-lost": request.margin is not None,
    }
    flags = [flag for flag, is_given in given.items() if is_given]
    exclusive = [flag for flag in flags if flag != "--fail-if-lost"]
    if len(exclusive) > 1 or (request.gap and len(flags) > 1):
        raise click.UsageError(f"{flags[0]} and {flags[1]} exclude each other; give one of them.")
    if flags and len(request.results) != 2:
        raise click.UsageError(f"{flags[0]} needs two results, not {len(request.results)}.")


def _are_logs(results: tuple[str, ...]) -> bool:
    """Return True if any result is a log of another tool, and not a stored result of that name."""
    from kgprobe.api.measuring import find_measurement
    from kgprobe.task_logs.opening import is_task_log

    names = [name for name in results if not is_spec(name) and find_measurement(name) is None]
    return any(is_task_log(Path(name)) for name in names)


def _check_log_usage(request: _Request, are_logs: bool) -> None:
    """Raise UsageError if options do not fit logs, or only logs."""
    if request.metrics and not are_logs:
        raise click.UsageError("--metric is for logs of lm-evaluation-harness or Inspect; these are other results.")
    given = {"--gap": request.gap, "--roles": request.roles is not None, "--family": bool(request.families)}
    flags = [flag for flag, is_given in given.items() if is_given]
    if are_logs and flags:
        raise click.UsageError(f"{flags[0]} is for kgprobe's own results, not for logs.")
    if are_logs and len(request.results) != 2:
        raise click.UsageError(f"Logs are compared in pairs; give two, not {len(request.results)}.")


def _compare_logs(request: _Request) -> "TaskComparison | TaskLosses":
    from kgprobe.api.task_logs import check_logs, compare_logs

    first, second = request.results
    with waiting("Reading the logs"):
        if request.margin is not None:
            return check_logs(first, second, margin=request.margin, metrics=request.metrics)
        return compare_logs(first, second, metrics=request.metrics, seed=request.seed)


def _compare_stored(
    request: _Request, connection: "Graph | None"
) -> "Comparison | Forgetting | KnowledgeGap | RoleComparison":
    from kgprobe.api.comparing import check_forgetting, compare, find_gap, open_result

    with waiting("Reading the answers"):
        stored = [open_result(name, connection) for name in request.results]
    for name, opened in zip(request.results, stored, strict=True):
        if is_spec(name):
            click.echo(f"{name}: its newest measurement, {opened.about.name}.", err=True)
    with _second_named(request.results[-1]):
        if request.roles is not None:
            return _compare_roles(stored, request.roles, request.margin)
        if request.margin is not None:
            return check_forgetting(*stored, margin=request.margin)
        if request.gap:
            return find_gap(*stored)
        return compare(stored, seed=request.seed, families=dict(request.families))


def _compare_roles(stored: "list[Stored]", roles: Path, margin: float | None) -> "RoleComparison":
    from kgprobe.api.controls import check_roles

    base, tuned = stored
    result = check_roles(base, tuned, roles, margin=_MARGIN if margin is None else margin)
    if margin is not None and result.verdict is None:
        raise KgprobeError(f"No control fact of {roles} was answered by both, so that no ring has a verdict.")
    return result


@contextmanager
def _second_named(second: str) -> Iterator[None]:
    """Name the second result in errors as the user does, not by the library's argument."""
    try:
        yield
    except ArgumentError as error:
        if error.argument not in ("tuned", "said"):
            raise
        raise click.UsageError(f"{second} {str(error).removeprefix(f'`{error.argument}` ')}") from error
