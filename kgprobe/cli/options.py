"""Shared command-line options, each defined once; related options are passed as one value."""

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import cloup

from kgprobe.api.options import ReversingOptions
from kgprobe.cli.commands import given_options
from kgprobe.dates import as_of_day, today
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.models.spec_forms import LocalOptions
from kgprobe.options import make_options

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from kgprobe.graph.client import Graph
    from kgprobe.graph.loading import LoadProgress

Command = Callable[..., None]
F = TypeVar("F", bound=Callable[..., Any])

# Keys of a click context: the current command, --explain, and the options of local models.
_AT_WORK = "kgprobe.at_work"
_EXPLAINED = "kgprobe.explained"
_LOCAL = "kgprobe.local"

_SCORES = "demo, hf:NAME of the Hugging Face hub, or hf:./folder with a model in it"
_BEHIND_API = f"{_SCORES}; also openai:NAME, or openai:NAME@URL of a server"


def together(
    kind: "type[DataclassInstance]", argument: str, *options: Callable[[Command], Command]
) -> Callable[[Command], Command]:
    """Return a decorator that adds options and passes their values as one argument.

    Args:
        kind: dataclass of the values, one field per option; fields without an option keep their defaults.
        argument: name of the argument.
        options: in the order of the help.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def gathered(**values: Any) -> None:
            grouped = {field.name: values.pop(field.name) for field in fields(kind) if field.name in values}
            command(**values, **{argument: kind(**grouped)})

        decorated: Command = gathered
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


class _AsOf(click.ParamType[int]):
    name = "date"

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> int:
        try:
            return as_of_day(value)
        except ArgumentError as error:
            self.fail(str(error).removeprefix(f"`{error.argument}` "), param, ctx)


# The graph of a command.
graph_option = cloup.option(
    "--graph",
    envvar="KGPROBE_GRAPH",
    show_envvar=True,
    metavar="ADDRESS|FOLDER",
    help="Address of a server (bolt://…, neo4j://…), or folder of an embedded graph."
    "  [default: a folder in KGPROBE_HOME, started when needed]",
)
seed_option = cloup.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed.")
json_option = cloup.option("--json", "as_json", is_flag=True, help="Print JSON for programs instead of a table.")
full_option = cloup.option("--full", is_flag=True, help="Print every table, not only the summary.")
# The relation that gives a fact's year in results.
year_relation_option = cloup.option(
    "--year-relation",
    metavar="NAME",
    help="Group results by the year of this relation at the subject, such as its inception.  [default: the year in"
    " which the fact began]",
)
# Facts by ids or names, as ``facts``.
facts_named = cloup.option(
    "--fact",
    "facts",
    multiple=True,
    required=True,
    metavar="FACT",
    help="Fact by its id, or by subject, relation and object, each an id or a name, separated by spaces or |;"
    " repeatable.",
)


def as_of_or(default: Callable[[], int] | None, shown_default: str) -> Callable[[F], F]:
    """Return a decorator that adds ``--as-of``, the reference date as ``yyyymmdd``, with this default."""
    return cloup.option(
        "--as-of",
        type=_AsOf(),
        default=default,
        show_default=shown_default,
        help="Reference date for current facts: 2010-06-30 or 20100630; 2010-06 and 2010 mean their last day.",
    )


as_of_option = as_of_or(today, "today")


def debug_option(command: F) -> F:
    """Add ``--debug``: show tracebacks. Every command has it; it stores the command in the context."""

    def remember(context: click.Context, _: click.Parameter, __: bool) -> None:
        context.meta[_AT_WORK] = context.command

    return cloup.option(
        "--debug",
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=remember,
        help="Show the traceback of an error.",
    )(command)


def flags_at_work(context: click.Context) -> dict[str, str]:
    """Return the flag of each parameter of the current command: ``{"as_of": "--as-of"}``."""
    command = context.meta.get(_AT_WORK)
    flags = {}
    for parameter in command.params if isinstance(command, click.Command) else ():
        if parameter.name is not None:
            argument = isinstance(parameter, click.Argument)
            flags[parameter.name] = parameter.human_readable_name if argument else max(parameter.opts, key=len)
    return flags


def in_flags(message: str, context: click.Context | None = None) -> str:
    """Replace argument names in a message of the library by the flags of the command.

    Args:
        context: of the command; None for the current one.
    """
    flags = flags_at_work(context or click.get_current_context())
    return re.sub(r"`(\w+)`", lambda match: flags.get(match[1], match[0]), message)


def on_graph(command: F) -> F:
    """Add ``--graph``, ``--json`` and ``--debug``: the options of a command that reads a graph."""
    return graph_option(json_option(debug_option(command)))


@dataclass(frozen=True, slots=True)
class Common:
    """Values of the options that all commands on facts share.

    Attributes:
        seed: random seed.
        as_of: reference date for current facts, ``yyyymmdd``.
        graph: address of a server or folder of an embedded graph; None for the default graph.
        as_json: True for JSON output.
    """

    seed: int
    as_of: int
    graph: str | None
    as_json: bool


def common_options(command: Command) -> Command:
    """Add ``--seed``, ``--as-of``, ``--graph``, ``--json`` and ``--debug``, as ``common``."""
    options = (seed_option, as_of_option, graph_option, json_option, debug_option)
    return together(Common, "common", *options)(command)


def ask_password(prompt: str) -> str:
    """Ask the user for a password on the terminal, without echo.

    Raises:
        KgprobeError: stdin is not a terminal.
    """
    if not sys.stdin.isatty():
        raise KgprobeError(f"{prompt}: not on a terminal. Set KGPROBE_GRAPH_PASSWORD.")
    return str(click.prompt(prompt, hide_input=True, err=True))


def open_graph(graph: str | None) -> "Graph":
    """Open the graph of ``--graph``, which may ask for its password."""
    from kgprobe.servers import opening

    return opening.open_graph(graph, ask_password=ask_password)


def model_option(api: bool = False) -> Callable[[Command], Command]:
    """Return a decorator that adds ``--model``, ``--explain`` and :func:`local_options`.

    Args:
        api: True if the model may be behind an API.
    """
    help_ = f"{_BEHIND_API if api else _SCORES}."
    return _with_loading(cloup.option("--model", required=True, metavar="SPEC", help=help_))


def models_option(about: str, api: bool = False) -> Callable[[Command], Command]:
    """Return a decorator that adds a repeatable ``--model``, ``--explain`` and :func:`local_options`.

    Args:
        about: meaning of several models, for the help.
        api: True if models may be behind an API.
    """
    help_ = f"{_BEHIND_API if api else _SCORES}. {about}"
    return _with_loading(cloup.option("--model", "models", required=True, multiple=True, metavar="SPEC", help=help_))


def _with_loading(option: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return a decorator that adds an option for models, and those of loading them."""
    return lambda command: option(explain_option(local_options(command)))


def explain_option(command: F) -> F:
    """Add ``--explain``: print how a model is computed when it is loaded; see :func:`is_explained`."""

    def remember(context: click.Context, _: click.Parameter, explained: bool) -> None:
        context.meta[_EXPLAINED] = explained

    return cloup.option(
        "--explain",
        is_flag=True,
        expose_value=False,
        callback=remember,
        help="Print how the model is computed, and why not in a faster way.",
    )(command)


def local_options(command: Command) -> Command:
    """Add ``--device``, ``--dtype``, ``--batch-tokens`` and ``--revision``; see :func:`local_given`."""

    @wraps(command)
    def remembering(**values: Any) -> None:
        local = make_options(LocalOptions, values.pop(_LOCAL), "models")
        if local.revision is not None and len(values.get("models", ())) > 1:
            raise click.UsageError("--revision applies to one model; --model is given several times.")
        click.get_current_context().meta[_LOCAL] = local
        command(**values)

    return given_options(("Models on this machine", LocalOptions), argument=_LOCAL)(remembering)


def local_given() -> LocalOptions:
    """Return the options of the current command for models on this machine."""
    context = click.get_current_context(silent=True)
    given = None if context is None else context.meta.get(_LOCAL)
    return given if isinstance(given, LocalOptions) else LocalOptions()


def is_explained() -> bool:
    """Return True if the current command has ``--explain``."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_EXPLAINED))


def relations_option(help_: str) -> Callable[[F], F]:
    """Return a decorator that adds a repeatable ``--relation``."""
    return cloup.option("--relation", "relations", multiple=True, metavar="NAME", help=help_)


@dataclass(frozen=True, slots=True)
class FactsAsked:
    """Selection of facts, as arguments of :func:`kgprobe.measure`.

    Attributes:
        facts: list of facts; None for all askable ones.
        limit: maximum number, drawn at random; None for all.
        relations: ids; empty for all.
    """

    facts: Any
    limit: int | None
    relations: tuple[str, ...]


def facts_options(limit: int | None = None) -> Callable[[Command], Command]:
    """Return a decorator that adds ``--facts``, ``--limit`` and ``--relation``, as ``asked``.

    Args:
        limit: default of ``--limit``; None for all facts.
    """
    options = (
        cloup.option(
            "--facts",
            type=click.File("r", encoding="utf-8"),
            metavar="FILE",
            help="File of facts to ask; - reads standard input. A line is 'France | capital | Paris', these three"
            " separated by tabs, or JSON with subject, relation and object, each an id or a name; or JSON with subject"
            " and fact (ids).",
        ),
        cloup.option(
            "--limit",
            type=click.IntRange(min=1),
            metavar="N",
            default=limit,
            help="Maximum number of facts, drawn at random; the same --seed draws the same facts for every probe."
            f"  [default: {'all' if limit is None else f'{limit:,}'}]",
        ),
        relations_option("Ask this relation only, by its id or a name; repeatable."),
    )
    return together(FactsAsked, "asked", *options)


@dataclass(frozen=True, slots=True)
class Direction:
    """Direction of the questions.

    Attributes:
        inverse: True if from object to subject.
        given: options of :class:`~kgprobe.api.options.ReversingOptions`, by name.
    """

    inverse: bool
    given: Mapping[str, Any]


def direction_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add ``--inverse`` and ``--max-subjects``, as ``direction``."""

    @wraps(command)
    def gathered(*, inverse: bool, _reversing: Mapping[str, Any], **values: Any) -> None:
        if _reversing and not inverse:
            raise click.UsageError("--max-subjects is for --inverse only; add --inverse.")
        command(**values, direction=Direction(inverse, _reversing))

    decorated: Callable[..., None] = given_options((None, ReversingOptions), argument="_reversing")(gathered)
    return cloup.option(
        "--inverse",
        is_flag=True,
        help="Ask about inverse relations, from object to subject, if objects have few subjects. Makes the reversed"
        " graph at first use, and again when the graph has changed.",
    )(decorated)


@contextmanager
def open_directed(graph: str | None, direction: Direction) -> Iterator["Graph"]:
    """Open the graph of ``--graph``, or its inverse graph.

    Args:
        graph: address or folder; None is the user's default graph.
    """
    if not direction.inverse:
        with open_graph(graph) as connection:
            yield connection
        return
    with reversed_graph(graph, None, direction.given) as connection:
        yield connection


@contextmanager
def reversed_graph(graph: str | None, folder: Path | None, given: Mapping[str, Any]) -> Iterator["Graph"]:
    """Open the inverse graph of a graph; print progress and notes on stderr.

    Args:
        graph, folder, given: see :func:`kgprobe.reverse_graph`.
    """
    from kgprobe.api.graphs import reverse_graph
    from kgprobe.progress import waiting

    with open_graph(graph) as connection, waiting("Reversing the graph") as wait:

        def on_progress(now: "LoadProgress") -> None:
            wait.note = f"{now.stage}, {now.done / max(now.total, 1):.0%}"

        opened = reverse_graph(
            connection,
            folder=folder,
            on_note=lambda note: click.echo(in_flags(note), err=True),
            on_progress=on_progress,
            **given,
        )
    with opened:
        yield opened
