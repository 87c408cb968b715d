"""``kgprobe results``, ``show`` and ``delete``: the stored results of this machine."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import cloup

import kgprobe
from kgprobe.base.errors import KgprobeError, UnknownNameError
from kgprobe.base.progress import waiting
from kgprobe.base.sanitize import visible
from kgprobe.cli.commands import Choice, given_options
from kgprobe.cli.help import OneScreenCommand, RareOption
from kgprobe.cli.options import (
    OUTPUT_FILE,
    ask_password,
    count_option,
    debug_option,
    full_option,
    graph_of,
    graph_of_results,
    graph_option,
    graph_options,
    is_graph_given,
    open_graph,
    year_relation_option,
)
from kgprobe.cli.rendering import console, open_in_browser, render, render_rows, show_notes, show_tables
from kgprobe.judge import FigureOptions
from kgprobe.results.kind_names import JUDGED_GRAPH, KIND_NAMES, LABEL_TABLE, MEASUREMENT, RUN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgprobe.api.stored import Opened
    from kgprobe.graph.client import Graph
    from kgprobe.results.calibration import ConfidenceCalibration
    from kgprobe.results.kinds import Found
    from kgprobe.results.listing import ListedResult
    from kgprobe.results.rate_table import RateTable
    from kgprobe.results.refusals import RefusalDiagnosis

# Kinds of which the graph has a part.
_IN_GRAPH = (RUN, JUDGED_GRAPH)
# Facts in a list on the terminal.
_SHOWN_FACTS = 50
_open_option = cloup.option("--open", "in_browser", is_flag=True, help="Open the page in the web browser.")


class KindName(Choice):
    """The name of a kind of results, with hyphens for spaces."""

    def __init__(self) -> None:
        super().__init__([name.replace(" ", "-") for name in KIND_NAMES])

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the kind's name."""
        return str(super().convert(value, param, ctx)).replace("-", " ")


@cloup.command(cls=OneScreenCommand)
@cloup.option(
    "--kind",
    "kinds",
    type=KindName(),
    multiple=True,
    metavar="KIND",
    help=f"List this kind only; repeatable. One of {', '.join(name.replace(' ', '-') for name in KIND_NAMES)}.",
)
@_open_option
@graph_options
def results(kinds: tuple[str, ...], in_browser: bool, graph: str | None, as_json: bool) -> None:
    """List the stored results of this machine, the newest first: kinds, ages, sizes, models, graphs and headlines.

    `kgprobe show NAME` shows a result. The measurements of a label table or a study count for it; --kind measurement
    lists them, too. Runs have their finished rounds and asked questions. With --graph, runs of that
    graph are listed, too, if their files are on another machine; without it, those of the default graph if its server
    is running. --open writes a page with links to the pages of all results, and opens it.

    \b
    kgprobe results
    kgprobe results --kind run --kind measurement --json
    kgprobe results --open
    """  # noqa: D301
    with _running_graph(graph) as connection:
        listed = kgprobe.list_results(connection, kinds=kinds)
    if as_json:
        render_rows(listed, as_json)
    else:
        show_notes(listed.notes)
        for row in listed.results:
            _print_listed(row)
        click.echo(listed.summary())
    if in_browser:
        open_in_browser(listed.page())


def _print_listed(row: "ListedResult") -> None:
    """Print a result in two lines: its name and origin, and its headline."""
    from rich.padding import Padding
    from rich.text import Text

    *about, headline = row.cells().values()
    kind, name, *origin = map(visible, about)
    screen = console()
    screen.print(Text.assemble((name, "bold"), f"  {' · '.join(filter(None, [kind, *origin]))}"))
    if headline:
        screen.print(Padding(Text(visible(headline)), (0, 0, 0, 4), expand=False))


@contextmanager
def _running_graph(graph: str | None) -> "Iterator[Graph | None]":
    """Open the graph of ``--graph``, or the default graph if that starts no server; else yield None."""
    from kgprobe.graph.servers.folder import is_running

    is_given = is_graph_given()
    if not is_given and not is_running(graph):
        yield None
        return
    try:
        connection = kgprobe.open_graph(graph, ask_password=ask_password)
    except KgprobeError as error:
        if is_given:
            raise
        click.echo(f"Runs of the graph are not listed: {error}", err=True)
        yield None
        return
    with connection:
        yield connection


_kind_option = cloup.option(
    "--kind", type=KindName(), metavar="KIND", help="Kind of the results, if several have the same name."
)


@cloup.command(cls=OneScreenCommand)
@cloup.argument("names", nargs=-1, metavar="[[GRAPH=]NAME...]")
@_kind_option
@full_option
@cloup.option(
    "--csv", type=OUTPUT_FILE, metavar="FILE", help="Write the rows as CSV, with one row for each fact if it has."
)
@_open_option
@cloup.option_group(
    "Facts",
    cloup.option("--unknown", is_flag=True, help="List the facts that the model does not know, the surest first."),
    cloup.option("--known", is_flag=True, help="List the facts that the model knows, the surest first."),
    cloup.option(
        "--about",
        multiple=True,
        metavar="ENTITY",
        help="List the facts about this entity only, given by id or name; repeatable.",
    ),
)
@cloup.option_group(
    "Confidence and refusals",
    cloup.option(
        "--by-confidence",
        "calibrated",
        is_flag=True,
        help="Print whether confidence says how often answers are right; with --by, also by group.",
    ),
    cloup.option(
        "--known-by",
        metavar="NAME",
        help="Print refusals of facts that this result of the model shows as known (needless), and as unknown.",
    ),
)
@cloup.option_group(
    "Rates by group",
    cloup.option(
        "--by",
        type=Choice(["relation", "type", "year", "popularity", "entity", "graph"]),
        help="Print win rates and zero-sense rates of all groups of this kind, with the results in columns; graph: a"
        " row for each model.",
    ),
    cloup.option(
        "--center",
        "centers",
        multiple=True,
        metavar="ENTITY",
        help="Group by this entity, given by id or name, in place of --by; repeatable. With --by relation: a column for"
        " each entity, and a dotted map.",
    ),
    cloup.option(
        "--object-of",
        cls=RareOption,
        metavar="NAME",
        help="Group by the objects of this relation, in place of --by: facts of a film by its country of origin.",
    ),
    year_relation_option,
    count_option("--limit", help="Maximum number of groups, the largest.  [default: all]"),
    cloup.option("--shared", is_flag=True, help="Compare the results on the facts that all of them have answered."),
)
@given_options(("Judged graphs", FigureOptions), argument="figures")
@graph_options
def show(
    names: tuple[str, ...],
    kind: str | None,
    full: bool,
    csv: Path | None,
    in_browser: bool,
    unknown: bool,
    known: bool,
    about: tuple[str, ...],
    calibrated: bool,
    known_by: str | None,
    graph: str | None,
    as_json: bool,
    figures: Mapping[str, Any],
    **grouping: Any,
) -> None:
    """Show stored results of any kind, by name or folder. Default: the newest result. No model is loaded.

    Runs and measurements print a summary, and write a page, results.json and facts.csv into their folder; the others
    print their tables. --full prints every table. A model's spec, such as hf:./tuned, stands for its newest
    measurement.

    --unknown, --known and --about list asked facts in place of the summary, a row for each: the probability that the
    model knows the fact with its 90% interval, and the right ones of its answers.

    --by prints rates of groups in place of the summary: all groups of a kind, for one or several runs and measurements.
    A model wins a fact with more right answers than wrong ones, and has zero sense of a fact that it never answered
    right. GRAPH=NAME names the graph of a result, for a table of models by graphs.

    \b
    kgprobe show my-run --open
    kgprobe show my-run --unknown
    kgprobe show my-run --known --about France --csv facts.csv
    kgprobe show my-labels --csv labels.csv
    kgprobe show gpt2-world --by relation --center Austria --center Canada
    kgprobe show films=gpt2-easy films=gpt2-hard nba=gpt2-nba
    kgprobe show my-choices --by-confidence --by relation
    kgprobe show my-questions --known-by my-choices
    """  # noqa: D301
    lists_facts = unknown or known or bool(about)
    if calibrated or known_by is not None or any(_graph_of(name)[0] for name in names) or _is_grouped(grouping):
        if lists_facts:
            what = "--by-confidence" if calibrated else "--known-by" if known_by else "groups or GRAPH=NAME"
            raise click.UsageError(f"--unknown, --known and --about list facts, without {what}.")
        if figures:
            raise click.UsageError("--types-of and --mean-over are for judged graphs, without groups or GRAPH=NAME.")
        table: ConfidenceCalibration | RefusalDiagnosis | RateTable
        if known_by is not None:
            table = _refusals(names, known_by, kind, graph, others=calibrated or any(grouping.values()))
        else:
            table = (_calibration if calibrated else _rates)(names, kind, graph, grouping)
        page = table.page()
        if csv is not None:
            table.write_csv(csv)
        files = [*sorted(table.folder.iterdir()), *([] if csv is None else [csv])]
        render(table, as_json, page, files=files)
        if in_browser:
            open_in_browser(page)
        return
    if csv is not None and len(names) > 1:
        raise click.UsageError("--csv writes the rows of one result; give one NAME.")
    if lists_facts and in_browser:
        raise click.UsageError("--open opens the page of a result; leave out --unknown, --known and --about.")
    with ExitStack() as stack:
        entries, connection = stack.enter_context(_found(names, kind, graph))
        for each in entries:
            of_result = stack.enter_context(graph_of(each, connection))
            with waiting("Reading results"):
                opened = _regrouped(each, each.open(of_result), figures)
            if lists_facts:
                is_known = None if unknown == known else known
                _list_facts(each, opened, is_known, about, as_json=as_json, csv=csv, full=full)
                continue
            _show_one(each, opened, as_json=as_json, full=full, graph=graph, csv=csv, in_browser=in_browser)


def _regrouped(entry: "Found", opened: "Opened", figures: Mapping[str, Any]) -> "Opened":
    """Return a judged graph with other types or means, if these are given; else the result."""
    from kgprobe.results.judged_graph import JudgedGraph

    if not figures:
        return opened
    if not isinstance(opened, JudgedGraph):
        raise click.UsageError(
            f"--types-of and --mean-over are for judged graphs; {entry.name} is a {entry.kind.name}."
        )
    return opened.regrouped(**figures)


def _is_grouped(grouping: Mapping[str, Any]) -> bool:
    """Return True if rates by group are printed; raise UsageError for options of them without the groups."""
    if any(grouping[name] for name in ("by", "centers", "object_of")):
        return True
    for name in ("year_relation", "limit", "shared"):
        if grouping[name]:
            raise click.UsageError(f"--{name.replace('_', '-')} is for rates by group; give --by, too.")
    return False


def _graph_of(text: str) -> tuple[str | None, str]:
    """Return the name of the graph, if there is one, and the result of an argument; a path may contain ``=``."""
    graph, separator, result = text.partition("=")
    return (graph, result) if separator and graph and not Path(text).exists() else (None, text)


def _rates(names: Sequence[str], kind: str | None, graph: str | None, grouping: Mapping[str, Any]) -> "RateTable":
    """Return rates by group, or by model and graph."""
    from kgprobe.results.shelf import find, newest

    kinds = [MEASUREMENT, RUN] if kind is None else [kind]
    pairs = list(map(_graph_of, names)) or [(None, newest(kinds).name)]
    if grouping["by"] == "graph" or any(name for name, _ in pairs):
        given = [name for name in ("centers", "object_of", "year_relation", "limit") if grouping[name]]
        if given or grouping["by"] not in (None, "graph"):
            raise click.UsageError("GRAPH=NAME is for rates by graph; leave out other groups and --limit.")
        with waiting("Reading the answers"):
            folders = [find(result, kinds).folder for _, result in pairs]
            return kgprobe.rate_table(folders, graphs=[name for name, _ in pairs], shared=grouping["shared"])
    with open_graph(graph) as connection, waiting("Reading the answers"):
        opened = [find(result, [MEASUREMENT, RUN], connection).open(connection) for _, result in pairs]
        return kgprobe.group_table(connection, opened, **grouping)


def _calibration(
    names: Sequence[str], kind: str | None, graph: str | None, grouping: Mapping[str, Any]
) -> "ConfidenceCalibration":
    """Return the calibration of results, also by group."""
    from kgprobe.results.shelf import find, needs_graph, newest

    by = grouping["by"]
    if by == "graph" or any(value for name, value in grouping.items() if name != "by"):
        raise click.UsageError("--by-confidence has groups by --by relation, type, year, popularity or entity only.")
    kinds = [MEASUREMENT, RUN] if kind is None else [kind]
    chosen = [find(name, kinds) for name in names] or [newest(kinds)]
    is_needed = by is not None or any(map(needs_graph, chosen))
    with open_graph(graph) if is_needed else nullcontext() as connection, waiting("Reading the answers"):
        opened = [each.open(connection) for each in chosen]
        return kgprobe.calibration(opened, by=by, graph=connection)


def _refusals(
    names: Sequence[str], known_by: str, kind: str | None, graph: str | None, *, others: bool
) -> "RefusalDiagnosis":
    """Return the refusals of a result among the facts that another one shows as known, and as unknown.

    ``others`` is True if options of other tables are given, too.
    """
    from kgprobe.results.shelf import find, newest

    if others or len(names) > 1:
        raise click.UsageError("--known-by is for the refusals of one NAME, without groups or --by-confidence.")
    kinds = [MEASUREMENT, RUN] if kind is None else [kind]
    chosen = [find(name, kinds) for name in names] or [newest(kinds)]
    given = (str(chosen[0].folder), known_by)
    with graph_of_results(given, graph, [*kinds, LABEL_TABLE]) as connection, waiting("Reading the answers"):
        return kgprobe.refusals(*given, graph=connection)


@contextmanager
def _found(
    names: Sequence[str], kind: str | None, graph: str | None, *, deleted: bool = False
) -> "Iterator[tuple[list[Found], Graph | None]]":
    """Find results, and open their graph if they need it.

    Args:
        deleted: True to open the graph if it exists and has a part of a result, False if results are shown with it.
    """
    from kgprobe.graph.servers.opening import check_exists
    from kgprobe.results.shelf import find, needs_graph, newest, own_graph

    kinds = [] if kind is None else [kind]
    entries: list[Found] = []
    missing: UnknownNameError | None = None
    try:
        entries = [find(name, kinds) for name in dict.fromkeys(names)] or [newest(kinds)]
    except UnknownNameError as error:
        missing = error
    folders = set() if is_graph_given() else set(map(own_graph, entries))
    if len(folders) == 1 and (folder := folders.pop()) is not None:
        graph = str(folder)
    needed = any(each.kind.name in _IN_GRAPH for each in entries) if deleted else any(map(needs_graph, entries))
    if missing is not None or needed:
        try:
            check_exists(graph)
        except UnknownNameError:
            if missing is not None:
                raise missing from None
            if not deleted:
                raise
            needed = False
    with open_graph(graph) if missing is not None or needed else nullcontext() as connection:
        if connection is not None and names:
            entries = [find(name, kinds, connection) for name in dict.fromkeys(names)]
        yield entries, connection


def _show_one(
    entry: "Found",
    opened: "Opened",
    *,
    as_json: bool,
    full: bool,
    graph: str | None,
    csv: Path | None,
    in_browser: bool,
) -> None:
    """Print a result, write its rows as CSV, and open its page in the browser."""
    from kgprobe.cli.probe import show as show_answers
    from kgprobe.judge.files import Judge
    from kgprobe.labelling.labels import Labels
    from kgprobe.papers.studies.study import Study
    from kgprobe.results.judge import JudgeSettings
    from kgprobe.results.measurement import Measurement, Run
    from kgprobe.results.result import StoredResult

    result: Any = JudgeSettings(judge=opened, folder=entry.folder) if isinstance(opened, Judge) else opened
    if csv is not None:
        with waiting("Writing CSV"):
            result.write_csv(csv)
    page: Path | None = None
    if isinstance(result, (Measurement, Run)):
        page = show_answers(result, as_json, full, graph)
    else:
        files = [] if csv is None else [csv]
        is_stored = isinstance(result, StoredResult)
        page = result.page() if is_stored or isinstance(result, Labels) else None
        if isinstance(result, Study) and not as_json:
            click.echo(visible(result.title))
        render(result, as_json, page, full=full or not is_stored, files=files)
    if in_browser:
        if page is None:
            raise click.UsageError(f"{entry} has no page to open.")
        open_in_browser(page)


def _list_facts(
    entry: "Found",
    opened: "Opened",
    is_known: bool | None,
    about: Sequence[str],
    *,
    as_json: bool,
    csv: Path | None,
    full: bool,
) -> None:
    """Print facts of a run or measurement, and write them as CSV."""
    from kgprobe.base.tables import more_note
    from kgprobe.results.measurement import Measurement, Run

    if not isinstance(opened, (Measurement, Run)):
        raise click.UsageError(
            "--unknown, --known and --about list the facts of runs and measurements;"
            f" {entry.name} is a {entry.kind.name}."
        )
    with waiting("Reading the answers"):
        listed = opened.facts(known=is_known, about=about)
        if csv is not None:
            listed.write_csv(csv)
    if as_json:
        render_rows(listed, as_json)
        return
    for table in listed.tables():
        rows = table.rows if full else table.rows[:_SHOWN_FACTS]
        show_tables([replace(table, rows=rows, notes=[*table.notes, *more_note(len(table.rows), rows)])])
    click.echo(visible(listed.summary()))
    if len(listed.facts) > _SHOWN_FACTS and not full:
        click.echo(f"The first {_SHOWN_FACTS} are shown: --full shows all, --csv FILE writes all.")
    if csv is not None:
        click.echo(f"Data: {csv}")


@cloup.command(cls=OneScreenCommand)
@cloup.argument("names", nargs=-1, required=True, metavar="NAME...")
@_kind_option
@cloup.option("--yes", is_flag=True, help="Delete without asking.")
@graph_option
@debug_option
def delete(names: tuple[str, ...], kind: str | None, yes: bool, graph: str | None) -> None:
    """Delete stored results of any kind: their folders, and what the graph has of a run or judged graph.

    Of a run, the graph has the beliefs; of a judged graph, the figures. A label table or a study is deleted with its
    measurements, except those that other results use. Results that were made from a deleted one stay; they are listed.

    \b
    kgprobe delete my-run
    kgprobe delete old-labels old-run --yes
    """  # noqa: D301
    from kgprobe.results.shelf import delete_found, plan_deletions

    with _found(names, kind, graph, deleted=True) as (entries, connection):
        deletions = plan_deletions(list({each.folder: each for each in entries}.values()))
        for deletion in deletions:
            for line in deletion.lines():
                click.echo(visible(line), err=True)
        if not yes:
            click.confirm("Delete?", abort=True, err=True)
        for deletion in deletions:
            with waiting(f"Deleting the {deletion.entry}"):
                for each in (deletion.entry, *deletion.parts):
                    delete_found(each, connection)
            click.echo(f"Deleted the {deletion.entry}{deletion.with_parts}.")
