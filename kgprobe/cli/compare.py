"""``kgprobe compare``, ``check`` and ``gap``: compare stored results of one kind, and logs of other tools."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import cloup

import kgprobe
from kgprobe.api.comparing import ANSWERS, COMPARABLE
from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import make_folder, replacing
from kgprobe.base.progress import waiting
from kgprobe.base.sanitize import visible
from kgprobe.cli.commands import Choice, ShareType, decorated_by
from kgprobe.cli.help import OneScreenCommand
from kgprobe.cli.options import (
    full_option,
    graph_of_results,
    graph_options,
    in_flags,
    loading_options,
    seed_option,
)
from kgprobe.cli.rendering import render
from kgprobe.cli.running import with_models

if TYPE_CHECKING:
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
_STDOUT = Path("-")
_TARGET = click.Path(dir_okay=False, allow_dash=True, path_type=Path)

_summary_files = decorated_by(
    cloup.option(
        "--junit",
        type=_TARGET,
        metavar="FILE",
        help="Write verdicts as JUnit XML; - for standard output.",
    ),
    cloup.option("--markdown", type=_TARGET, metavar="FILE", help="Write a Markdown summary; - for standard output."),
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
@with_models()
@graph_options
def compare(
    results: tuple[str, ...],
    families: tuple[tuple[str, str], ...],
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
    knowledge, differences with tests and intervals. If two differ in --inverse or --ask-in, their directions or
    languages are; of one model and probe, with and without --allow-unknown, the refusals. Label tables: the facts that
    moved from one class to another. Judges: precision, recall and F1 on the test facts of their own labels. Logs: each
    task and metric on the documents of both.

    Prints a summary; --full and the page have all tables.

    \b
    kgprobe compare gpt2-capitals llama-capitals
    kgprobe compare without with-allow-unknown
    kgprobe compare results/base results/tuned --metric acc_norm
    """  # noqa: D301
    kinds = COMPARABLE if options["kind"] is None else [options["kind"]]
    with graph_of_results(results, graph, kinds) as connection, waiting("Reading the results"):
        result = kgprobe.compare(results, graph=connection, families=dict(families), **options)
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
@_summary_files
@full_option
@graph_options
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
    _check_summary_files(junit, markdown, as_json)
    with _failing_with_2():
        with graph_of_results((base, tuned), graph, ANSWERS) as connection, waiting("Reading the results"):
            result = kgprobe.check(base, tuned, graph=connection, **options)
        if result.verdict is None:
            raise KgprobeError(
                f"No control fact of {options['roles']} was answered by both, so that no ring has a verdict."
            )
        page = result.page()
        if not _write_summary_files(result, junit, markdown):
            _render(result, full=full, as_json=as_json, page=page)
        sys.stdout.flush()
    click.get_current_context().exit(_CODES[result.verdict.value])


@cloup.command(cls=OneScreenCommand)
@cloup.argument("stored", help="Result of a probe that scores, such as distractors.")
@cloup.argument("said", help="Result of the same model by a probe that generates, such as questions.")
@full_option
@graph_options
def gap(stored: str, said: str, full: bool, graph: str | None, as_json: bool) -> None:
    """Find the facts that a model knows by one probe and misses by another.

    \b
    kgprobe gap by-distractors by-questions
    """  # noqa: D301
    with graph_of_results((stored, said), graph, ANSWERS) as connection, waiting("Reading the results"):
        result = kgprobe.gap(stored, said, graph=connection)
    _render(result, full=full, as_json=as_json)


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


def _check_summary_files(junit: Path | None, markdown: Path | None, as_json: bool) -> None:
    """Raise UsageError if several outputs go to stdout."""
    outputs = [junit == _STDOUT, markdown == _STDOUT, as_json]
    if sum(outputs) > 1:
        raise click.UsageError("Only one of --junit -, --markdown - and --json can write to standard output.")


def _write_summary_files(result: "StoredResult", junit: Path | None, markdown: Path | None) -> bool:
    """Write the files; return True if one of them is stdout, where nothing else is printed then."""
    from kgprobe.results.rendering.junit import junit_xml
    from kgprobe.results.rendering.markdown import markdown_summary

    texts: dict[Path, str] = {}
    if junit is not None:
        texts[junit] = junit_xml(result.title, result.checks())
    if markdown is not None:
        tables = [table for table in result.tables() if not table.detail]
        texts[markdown] = markdown_summary(result.title, result.summary(), result.checks(), tables)
    for path, text in texts.items():
        if path == _STDOUT:
            click.echo(text, nl=False)
            continue
        make_folder(path.absolute().parent)
        with replacing(path.absolute()) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
        click.echo(f"Written: {path}", err=True)
    return _STDOUT in texts
