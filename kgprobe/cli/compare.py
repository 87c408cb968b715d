"""``kgprobe compare``: models side by side, from answers that are kept."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

import click
import cloup
import msgspec

from kgprobe.api.measuring import find_measurement, is_path
from kgprobe.cli.looks import show_notes
from kgprobe.cli.main import until_nobody_reads
from kgprobe.cli.options import (
    ask_password,
    debug_option,
    full_option,
    graph_option,
    in_flags,
    json_option,
    seed_option,
)
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.progress import waiting

if TYPE_CHECKING:
    from pathlib import Path

    from kgprobe.api.comparing import Stored
    from kgprobe.results.comparison import Comparison
    from kgprobe.results.forgetting import Forgetting
    from kgprobe.results.knowledge_gap import KnowledgeGap

# By verdict.
_CODES = {"kept": 0, "lost": 1, "undecided": 3}
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")
# Of a comparison's tables, those that a summary is made of.
_SUMMARY = ("models", "pairs", "directions", "forwards_alone")


class _Points(click.ParamType[float]):
    name = "percent"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = _PERCENT.fullmatch(str(value).strip())
        if found is None or float(found[1]) >= 100:
            self.fail(f"{value!r} is no number of points below 100 with a percent sign, such as 2%.", param, ctx)
        return float(found[1]) / 100


class _CheckFailedError(click.ClickException):
    """A check without a verdict; exits with 2, since 1 means that accuracy is lost."""

    exit_code = 2


@contextmanager
def _failing_with_2() -> Iterator[None]:
    """Exit with 2 where something fails."""
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
    help="Has the second lost more accuracy on the first than so many points? Exits with 1 if so, with 0 if not, with 3"
    " if these facts cannot tell, with 2 if the check failed.",
)
@cloup.option(
    "--gap",
    is_flag=True,
    help="The two are one model, by two probes: which facts that it knows by the first does it miss by the second?",
)
@full_option
@seed_option
@graph_option
@json_option
@debug_option
def compare(
    results: tuple[str, ...],
    margin: float | None,
    gap: bool,
    full: bool,
    seed: int,
    graph: str | None,
    as_json: bool,
) -> None:
    """Set models side by side on the facts that all of them have answered.

    RESULT is a measurement, by its name or its folder, or a run by its name. No model is asked; the graph is opened
    for runs alone, or with --graph for the names of relations. Accuracies by relation, their correlation, who knows
    what others know, differences with tests and intervals: a summary here, all of it with --full and on a page.

    With --fail-if-lost the first is a model and the second what became of it: what was forgotten and gained, and
    whether accuracy is lost. Exit codes then: 0 kept, 1 lost, 2 failed or wrong usage, 3 undecided.

    Two results of which one was asked with --inverse are two directions: what is known forwards and not backwards, and
    the other way, by relation and fact by fact.

    \b
    kgprobe compare gpt2-capitals llama-capitals
    kgprobe compare base tuned --fail-if-lost 2%
    kgprobe compare --gap by-distractors by-questions
    """  # noqa: D301
    from kgprobe.api.comparing import check_forgetting, find_gap, open_result
    from kgprobe.api.comparing import compare as set_beside
    from kgprobe.results.forgetting import Forgetting
    from kgprobe.servers.opening import open_graph

    if gap and margin is not None:
        raise click.UsageError("--gap and --fail-if-lost ask different things; give one of them.")
    if (gap or margin is not None) and len(results) != 2:
        flag = "--gap" if gap else "--fail-if-lost"
        raise click.UsageError(f"{flag} is about two results; there are {len(results)}.")
    needed = graph is not None or any(find_measurement(name) is None and not is_path(name) for name in results)
    opening = open_graph(graph, ask_password=ask_password) if needed else nullcontext()
    with nullcontext() if margin is None else _failing_with_2(), opening as connection:
        with waiting("Reading the answers"):
            opened: list[Stored] = [open_result(name, connection) for name in results]
        with _second_named(results[-1]):
            if margin is not None:
                found: Comparison | Forgetting | KnowledgeGap = check_forgetting(*opened, margin=margin)
            else:
                found = find_gap(*opened) if gap else set_beside(opened, seed=seed)
        with suppress(click.exceptions.Exit), until_nobody_reads():
            _show(found, found.page(), as_json, full)
            sys.stdout.flush()
    if isinstance(found, Forgetting):
        click.get_current_context().exit(_CODES[found.verdict.value])


@contextmanager
def _second_named(second: str) -> Iterator[None]:
    """Errors name the second result as the user does, where the library names its argument."""
    try:
        yield
    except ArgumentError as error:
        if error.argument not in ("tuned", "said"):
            raise
        raise click.UsageError(f"{second} {str(error).removeprefix(f'`{error.argument}` ')}") from error


def _show(found: "Comparison | Forgetting | KnowledgeGap", page: "Path", as_json: bool, full: bool) -> None:
    """Print what was found: tables, a sentence, and where the rest is; or one JSON object."""
    show_notes(found)
    if as_json:
        files = sorted(str(path) for path in found.folder.iterdir())
        click.echo(msgspec.json.encode({**found.to_dict(), "page": str(page), "files": files}))
        return
    from rich.console import Console

    from kgprobe.report.tables import notes_of, rich_table

    tables = found.tables()
    for table in tables if full else [one for one in tables if one.key in _SUMMARY] or tables:
        Console().print(rich_table(table))
    (verdict,) = notes_of([found.summary()])
    verdict.stylize("bold")
    Console().print(verdict)
    for path in sorted(found.folder.glob("*.csv")):
        click.echo(f"Data: {path}")
    click.echo(f"Page: {page.as_uri()}")
