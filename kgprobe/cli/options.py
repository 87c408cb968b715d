"""Shared command-line options, each defined once."""

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import cloup
from click.core import ParameterSource

from kgprobe.base.arguments import folder_name
from kgprobe.base.dates import as_of_day, today
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.cli.commands import Command, decorated_by, given_options
from kgprobe.cli.help import RareOption
from kgprobe.models.on_ray import RayOptions
from kgprobe.models.spec_forms import LocalOptions
from kgprobe.results.kind_names import RUN
from kgprobe.running.plan import Asking
from kgprobe.sampling.drawing import Draw, ReversingOptions

if TYPE_CHECKING:
    from kgprobe.graph.client import Graph
    from kgprobe.results.kinds import Found

F = TypeVar("F", bound=Callable[..., Any])

# Key of a click context: the current command.
_AT_WORK = "kgprobe.at_work"

_LOCAL_SPECS = (
    "demo, hf:NAME of the Hugging Face hub, hf:./folder, hf:./file.gguf, or hf:BASE+ADAPTER (demo+ADAPTER) with a name"
    " or folder each"
)
SCORES = f"{_LOCAL_SPECS}; or vllm:NAME, computed by vLLM."
BEHIND_API = f"{_LOCAL_SPECS}; vllm:NAME, computed by vLLM; also openai:NAME, or openai:NAME@URL of a server."


class _AsOf(click.ParamType[int]):
    name = "date"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return as_of_day(value)
        except ArgumentError as error:
            self.fail(str(error).removeprefix(f"`{error.argument}` "), param, ctx)


def count_option(
    *names: str,
    help: str,  # noqa: A002 (as click calls it)
    default: int | None = None,
    metavar: str | None = None,
    show_default: bool = True,
    is_rare: bool = False,
) -> Callable[[F], F]:
    """Return a decorator that adds an option with a whole number from 1 on."""
    number = click.IntRange(min=1)
    kind = RareOption if is_rare else cloup.Option
    return cloup.option(
        *names, cls=kind, type=number, default=default, metavar=metavar, show_default=show_default, help=help
    )


class _OutputFile(click.Path):
    """A file to write, in a folder that exists: a missing one is reported before a model or a graph is opened."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path: Any = super().convert(value, param, ctx)
        folder = Path(path).parent
        if not folder.is_dir():
            self.fail(f"the folder {folder} does not exist.", param, ctx)
        if not os.access(folder, os.W_OK):
            self.fail(f"the folder {folder} cannot be written.", param, ctx)
        return path


class _FolderName(click.ParamType[str]):
    name = "name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return folder_name("name", value)
        except ArgumentError as error:
            self.fail(str(error).removeprefix(f"`{error.argument}` "), param, ctx)


OUTPUT_FILE = _OutputFile(dir_okay=False, path_type=Path)


def name_option(help_: str) -> Callable[[F], F]:
    """Return a decorator that adds ``--name``, the name of a result and of its folder."""
    return cloup.option("--name", type=_FolderName(), metavar="NAME", help=help_)


def output_option(help_: str, *names: str, required: bool = False, metavar: str | None = None) -> Callable[[F], F]:
    """Return a decorator that adds ``--output``, the file that a command writes."""
    return cloup.option("--output", "-o", *names, type=OUTPUT_FILE, required=required, metavar=metavar, help=help_)


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
force_option = cloup.option("--force", is_flag=True, help="Overwrite an existing file.")
full_option = cloup.option("--full", cls=RareOption, is_flag=True, help="Print every table, not only the summary.")
# The relation that gives a fact's year in results.
year_relation_option = cloup.option(
    "--year-relation",
    cls=RareOption,
    metavar="NAME",
    help="Group results by the year of this relation at the subject, such as its inception; start: by the year in"
    " which the fact began.  [default: start if half of the facts have it, else a date that most subjects have]",
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


def graph_of_results(
    results: Sequence[str], graph: str | None, kinds: Sequence[str]
) -> "AbstractContextManager[Graph | None]":
    """Return the graph with ``--graph``, or if a result, which is of one of these kinds, is a run."""
    from kgprobe.api.comparing import kind_of

    needs_graph = graph is not None or any(kind_of(name, kinds) == RUN for name in results)
    return open_graph(graph) if needs_graph else nullcontext()


def is_graph_given() -> bool:
    """Return True if --graph is on the command line."""
    return click.get_current_context().get_parameter_source("graph") is ParameterSource.COMMANDLINE


def graph_of(entry: "Found", connection: "Graph | None") -> "AbstractContextManager[Graph | None]":
    """Open the graph of a result that has one of its own, the demo's or an inverse one, unless --graph is given."""
    from kgprobe.results.shelf import own_graph

    folder = None if is_graph_given() else own_graph(entry)
    return nullcontext(connection) if folder is None else open_graph(str(folder))


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
# The random seed and the date of current facts.
draw_options = decorated_by(seed_option, as_of_option)


def debug_option(command: F) -> F:
    """Add ``--debug``: show tracebacks. Every command has it; it stores the command in the context."""

    def remember(context: click.Context, _: click.Parameter, __: bool) -> None:
        context.meta[_AT_WORK] = context.command

    return cloup.option(
        "--debug",
        cls=RareOption,
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=remember,
        help="Show the traceback of an error.",
    )(command)


def in_flags(message: str, context: click.Context | None = None) -> str:
    """Replace argument names in a message of the library by the flags of the command."""
    command = (context or click.get_current_context()).meta.get(_AT_WORK)
    flags = {}
    for parameter in command.params if isinstance(command, click.Command) else ():
        argument = isinstance(parameter, click.Argument)
        flags[parameter.name] = parameter.human_readable_name if argument else max(parameter.opts, key=len)
    return re.sub(r"`(\w+)`", lambda match: flags.get(match[1], match[0]), message)


# The options of a command that reads a graph.
graph_options = decorated_by(graph_option, json_option, debug_option)


def ask_password(prompt: str) -> str:
    """Ask the user for a password on the terminal, without echo; raise KgprobeError if stdin is not a terminal."""
    if not sys.stdin.isatty():
        raise KgprobeError(f"{prompt}: not on a terminal. Set KGPROBE_GRAPH_PASSWORD.")
    return str(click.prompt(prompt, hide_input=True, err=True))


def open_graph(graph: str | None, *, new: bool = False, ask_in: str | None = None) -> "Graph":
    """Open the graph of ``--graph`` at first use, or create a ``new`` local one; it may ask for its password."""
    from kgprobe.graph.servers import opening

    if new:
        return opening.open_graph(graph, ask_password=ask_password)
    return opening.open_existing(graph, ask_password, ask_in)


def model_option(
    about: str = SCORES, *names: str, required: bool = True, multiple: bool = False
) -> Callable[[Command], Command]:
    """Return a decorator that adds ``--model`` and the options of loading it, see ``cli.running.with_models``.

    Args:
        names: name of the argument, if not ``model``.
    """
    option = cloup.option("--model", *names, required=required, multiple=multiple, metavar="SPEC", help=about)
    return decorated_by(option, loading_options)


explain_option = cloup.option(
    "--explain",
    cls=RareOption,
    is_flag=True,
    help="Print how the model is computed, why not in a faster way, and the share of time in which its device waits.",
)
loading_options = decorated_by(
    explain_option, given_options(("Models on this machine", LocalOptions), argument="local")
)
ray_option = given_options((None, RayOptions), argument="workers")


def relations_option(help_: str) -> Callable[[F], F]:
    """Return a decorator that adds a repeatable ``--relation``."""
    return cloup.option("--relation", "relations", multiple=True, metavar="NAME", help=help_)


# ``--facts``, ``--limit``, ``--relation`` and the other options of drawing facts.
facts_options = decorated_by(
    cloup.option_group(
        "Facts",
        cloup.option(
            "--facts",
            type=click.File("r", encoding="utf-8"),
            metavar="FILE",
            help="File of facts to ask; - reads standard input. A line is 'France | capital | Paris', these three"
            " separated by tabs, or JSON with subject, relation and object, each an id or a name; or JSON with subject"
            " and fact (ids).",
        ),
    ),
    given_options(("Facts", Draw), left_out=("facts", "seed", "as_of")),
)
batch_size_option = given_options((None, Asking), left_out=("name", "models", "callbacks"))


# The direction of questions, as ``inverse`` and ``reversing``.
direction_options = decorated_by(
    cloup.option(
        "--inverse",
        cls=RareOption,
        is_flag=True,
        help="Ask about inverse relations, from object to subject, if objects have few subjects. Makes the reversed"
        " graph at first use, and again when the graph has changed.",
    ),
    given_options((None, ReversingOptions), argument="reversing"),
)


# The language of questions.
ask_in_option = cloup.option(
    "--ask-in",
    cls=RareOption,
    metavar="CODE",
    help="Language of names, templates and answers, such as de: one in which the graph was loaded."
    "  [default: names as loaded, English questions]",
)


def open_directed(
    graph: str | None, inverse: bool, reversing: Mapping[str, Any], ask_in: str | None
) -> "AbstractContextManager[Graph]":
    """Open the graph of ``--graph``, or its inverse graph; raise UsageError for options of one without ``inverse``."""
    if inverse:
        return _reversed_graph(graph, reversing, ask_in)
    if reversing:
        raise click.UsageError("--max-subjects is for --inverse only; add --inverse.")
    return open_graph(graph, ask_in=ask_in)


@contextmanager
def _reversed_graph(graph: str | None, given: Mapping[str, Any], ask_in: str | None) -> Iterator["Graph"]:
    """Open the inverse graph of a graph; print progress and notes on stderr."""
    import kgprobe
    from kgprobe.base.progress import waiting
    from kgprobe.cli.running import progress_bars

    title = "Reversing the graph"
    with open_graph(graph) as connection, waiting(title), progress_bars(title) as on_progress:
        opened = kgprobe.reverse_graph(
            connection,
            on_note=lambda note: click.echo(in_flags(note), err=True),
            on_progress=on_progress,
            **given,
        )
    with opened:
        yield opened.in_language(ask_in)


def refuse_existing(path: Path, force: bool, flag: str) -> None:
    """Raise UsageError if a file exists and is not to be overwritten: people may have filled it in."""
    if path.exists() and not force:
        raise click.UsageError(f"{path} exists; --force overwrites it, {flag} names another file.")
