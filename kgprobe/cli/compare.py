"""``kgprobe compare``, ``check`` and ``gap``: compare stored results of one kind, and logs of other tools."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import cloup

from kgprobe.api.comparable import ANSWERS, COMPARABLE, kind_of, open_alike, with_newest
from kgprobe.api.kind_names import JUDGE, RUN
from kgprobe.base.errors import KgprobeError
from kgprobe.base.progress import waiting
from kgprobe.base.sanitize import visible
from kgprobe.cli.commands import Choice, ShareType
from kgprobe.cli.help import OneScreenCommand
from kgprobe.cli.options import full_option, in_flags, loading_options, local_given, on_graph, open_graph, seed_option
from kgprobe.cli.rendering import render
from kgprobe.cli.running import open_asked, open_models
from kgprobe.cli.summary_files import check_summary_files, summary_files, write_summary_files
from kgprobe.models.spec_forms import LocalOptions

if TYPE_CHECKING:
    from kgprobe.graph.client import Graph
    from kgprobe.models.model import Models
    from kgprobe.results.result import StoredResult

# Exit codes by verdict.
_CODES = {"kept": 0, "lost": 1, "undecided": 3}

_metrics_option = cloup.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="Metric of logs, such as acc_norm; repeatable.  [default: all]",
)


_shared_option = cloup.option(
    "--shared",
    is_flag=True,
    help="Also compare results of different states of the graph, on the facts that all saw alike.",
)


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


@cloup.command(cls=OneScreenCommand)
@cloup.argument("results", nargs=-1, required=True, metavar="RESULT...")
@cloup.option(
    "--family",
    "families",
    type=_Family(),
    multiple=True,
    metavar="MODEL=NAME",
    help="Family of a model; repeatable.  [default: the part of its name before the size]",
)
@cloup.option(
    "--scheme",
    type=Choice(["profile", "slick", "belief"]),
    help="Classes of label tables.  [default: profile]",
)
@_metrics_option
@cloup.option("--kind", type=Choice(COMPARABLE), help="Kind of the results, if several have the same name.")
@_shared_option
@full_option
@seed_option
@loading_options
@on_graph
def compare(
    results: tuple[str, ...],
    families: tuple[tuple[str, str], ...],
    kind: str | None,
    full: bool,
    graph: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Compare stored results of one kind: models, label tables, judges, or logs of other tools.

    RESULT is the name or folder of a measurement or a label table, the name of a run or a judge, or a log of
    lm-evaluation-harness (samples_*.jsonl) or Inspect (.eval, .json), by file or folder. A model's spec, such as
    hf:./tuned, stands for its newest measurement that differs from the others in the model alone.

    Measurements and runs are compared on the facts that all have answered: accuracies, their correlation, shared
    knowledge, differences with tests and intervals. If one of two was asked with --inverse, their directions are
    compared. Label tables: the facts that moved from one class to another. Judges: precision, recall and F1 on the test
    facts of their own labels. Logs: each task and metric on the documents of both.

    Prints a summary; --full and the page have all tables.

    \b
    kgprobe compare gpt2-capitals llama-capitals
    kgprobe compare results/base results/tuned --metric acc_norm
    """  # noqa: D301
    from kgprobe.api import comparing

    kinds = COMPARABLE if kind is None else [kind]
    newest = _name_newest(results, with_newest(results, kinds))
    with _graph_of(newest, kinds, graph) as connection, _read_models(newest, kinds, connection) as (given, models):
        result = comparing.compare(
            given, graph=connection, families=dict(families), models=models, kind=kind, **options
        )
    _render(result, full=full, as_json=as_json)


@cloup.command(cls=OneScreenCommand)
@cloup.argument("base", help="Measurement, run or log of the model before the change; a model's spec for its newest.")
@cloup.argument("tuned", help="The same of the changed model.")
@cloup.option(
    "--margin",
    type=ShareType(min=0, max=1, max_open=True),
    default="2%",
    show_default=True,
    metavar="SHARE",
    help="Allowed loss of accuracy: 2% or 0.02 for two percentage points.",
)
@cloup.option(
    "--roles",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Test each ring of control facts, and report taught facts; FILE from `kgprobe sample controls`.",
)
@_metrics_option
@_shared_option
@summary_files
@full_option
@on_graph
def check(
    base: str,
    tuned: str,
    junit: Path | None,
    markdown: Path | None,
    full: bool,
    graph: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Test if a changed model lost more accuracy than a margin: the gate of a CI job.

    The loss is measured on the facts, or documents of logs, that both have answered. With --roles, each ring of control
    facts has a verdict, corrected for the number of rings, and the worst one counts. In logs, each task and metric has
    one.

    Exit codes: 0 kept, 1 lost, 2 failed or wrong usage, 3 undecided.

    \b
    kgprobe check base tuned
    kgprobe check hf:./base hf:./base+./adapter --margin 1% --junit checks.xml
    kgprobe check base tuned --roles roles.jsonl
    kgprobe check logs/base.eval logs/tuned.eval --markdown summary.md
    """  # noqa: D301
    from kgprobe.api import comparing

    check_summary_files(junit, markdown, as_json)
    with _failing_with_2():
        base, tuned = _name_newest((base, tuned), with_newest((base, tuned), ANSWERS))
        with _graph_of((base, tuned), ANSWERS, graph) as connection:
            result = comparing.check(base, tuned, graph=connection, **options)
        if result.verdict is None:
            raise KgprobeError(
                f"No control fact of {options['roles']} was answered by both, so that no ring has a verdict."
            )
        page = result.page()
        if not write_summary_files(result, junit, markdown):
            _render(result, full=full, as_json=as_json, page=page)
        sys.stdout.flush()
    click.get_current_context().exit(_CODES[result.verdict.value])


@cloup.command(cls=OneScreenCommand)
@cloup.argument("stored", help="Result of a probe that scores, such as distractors.")
@cloup.argument("said", help="Result of the same model by a probe that generates, such as questions.")
@full_option
@on_graph
def gap(stored: str, said: str, full: bool, graph: str | None, as_json: bool) -> None:
    """Find the facts that a model knows by one probe and misses by another.

    \b
    kgprobe gap by-distractors by-questions
    """  # noqa: D301
    from kgprobe.api import comparing

    results = [_name_newest([name], with_newest([name], ANSWERS))[0] for name in (stored, said)]
    with _graph_of(results, ANSWERS, graph) as connection:
        result = comparing.gap(*results, graph=connection)
    _render(result, full=full, as_json=as_json)


@contextmanager
def _graph_of(results: Sequence[str], kinds: Sequence[str], graph: str | None) -> Iterator["Graph | None"]:
    """Open the graph if a result is a run, or with ``--graph``."""
    needs_graph = graph is not None or any(kind_of(name, kinds) == RUN for name in results)
    opening: AbstractContextManager[Graph | None] = open_graph(graph) if needs_graph else nullcontext()
    with opening as connection, waiting("Reading the results"):
        yield connection


def _name_newest(results: Sequence[str], folders: Sequence[str | Path]) -> list[str]:
    """Print the name of the measurement that each model's spec stands for; return the results with their folders."""
    from kgprobe.api.stored import measurements_of

    for spec, folder in zip(results, folders, strict=True):
        if isinstance(folder, Path):
            which = "newest" if measurements_of(spec)[0].folder == folder else "newest comparable"
            click.echo(f"{spec}: its {which} measurement, {folder.name}.", err=True)
    return list(map(str, folders))


@contextmanager
def _read_models(
    results: Sequence[str], kinds: Sequence[str], graph: "Graph | None"
) -> Iterator[tuple[Sequence[Any], "Models | None"]]:
    """Open judges, with the models that they read; yield other results as they are, with None for the models."""
    if kind_of(results[0], kinds, graph) != JUDGE:
        if local_given() != LocalOptions():
            raise click.UsageError("--device and other options of models are for judges; other results read no model.")
        yield results, None
        return
    _, judges = open_alike("results", results, kinds, graph)
    with open_models() as models:
        for judge in judges:
            open_asked(models, judge.reader["name"])
        yield judges, models


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


def _render(result: "StoredResult", *, full: bool, as_json: bool, page: Path | None = None) -> None:
    """Print a comparison; write its page if it is not given."""
    if not as_json:
        click.echo(visible(result.title))
    page = page or result.page()
    files = sorted(result.folder.iterdir())
    render(result, as_json, page, full=full, files=files)
