"""Options that mean the same everywhere, each defined once; those that go together come as one value."""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click
import cloup

from kgprobe.cli.from_options import given_options
from kgprobe.dates import as_of_day, today
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.models.local_options import LocalOptions
from kgprobe.options import make_options

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Command = Callable[..., None]
F = TypeVar("F", bound=Callable[..., Any])

# Where a context remembers which command is at work, and whether it explains models.
_AT_WORK = "kgprobe.at_work"
_EXPLAINED = "kgprobe.explained"
_LOCAL = "kgprobe.local"

_SCORES = "demo, hf:NAME of the Hugging Face hub, or hf:./folder with a model in it"
_BEHIND_API = f"{_SCORES}; also openai:NAME, or openai:NAME@URL of a server"


def together(
    kind: "type[DataclassInstance]", argument: str, *options: Callable[[Command], Command]
) -> Callable[[Command], Command]:
    """Options that a command gets as one argument.

    Args:
        kind: what their values are put into; a field is named like its option's parameter, and one without an option
            keeps its default.
        argument: its name.
        options: as the help lists them.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def gathered(**values: Any) -> None:
            its = {field.name: values.pop(field.name) for field in fields(kind) if field.name in values}
            command(**values, **{argument: kind(**its)})

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


def graph_option(command: F) -> F:
    """``--graph``: which graph a command works on."""
    return cloup.option(
        "--graph",
        envvar="KGPROBE_GRAPH",
        show_envvar=True,
        metavar="ADDRESS|FOLDER",
        help="A server's address (bolt://…, neo4j://…), or the folder of an embedded graph."
        "  [default: a folder of your own, started when needed]",
    )(command)


def seed_option(command: F) -> F:
    """``--seed``: what all random choices follow from."""
    return cloup.option(
        "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="What all random choices follow from."
    )(command)


def as_of_option(command: F) -> F:
    """``--as-of``: the reference date, as ``yyyymmdd``."""
    return as_of_or(today, "today")(command)


def as_of_or(default: Callable[[], int] | None, shown_default: str) -> Callable[[F], F]:
    """``--as-of`` with another default; None is left to whoever is called."""
    return cloup.option(
        "--as-of",
        type=_AsOf(),
        default=default,
        show_default=shown_default,
        help="Facts count as current at this date: 2010-06-30 or 20100630; 2010-06 and 2010 stand for their last days.",
    )


def json_option(command: F) -> F:
    """``--json``: machine-readable output on stdout."""
    return cloup.option("--json", "as_json", is_flag=True, help="Print JSON for programs instead of a table.")(command)


def full_option(command: F) -> F:
    """``--full``: every table, not the summary alone."""
    return cloup.option("--full", is_flag=True, help="Print every table, not only the summary.")(command)


def year_relation_option(command: F) -> F:
    """``--year-relation``: what gives a fact's year in findings."""
    return cloup.option(
        "--year-relation",
        metavar="NAME",
        help="Show results by the year that this relation gives the subject, such as its inception.  [default: the"
        " year in which the fact began]",
    )(command)


def debug_option(command: F) -> F:
    """``--debug``: show the traceback of an error. Every command has it, and is remembered by it."""

    def remember(context: click.Context, _: click.Parameter, __: bool) -> None:
        context.meta[_AT_WORK] = context.command

    return cloup.option(
        "--debug",
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=remember,
        help="Show where an error came from.",
    )(command)


def flags_at_work(context: click.Context) -> dict[str, str]:
    """What the command at work calls each of its parameters: ``{"as_of": "--as-of"}``."""
    command = context.meta.get(_AT_WORK)
    named = {}
    for parameter in command.params if isinstance(command, click.Command) else ():
        if parameter.name is not None:
            argument = isinstance(parameter, click.Argument)
            named[parameter.name] = parameter.human_readable_name if argument else max(parameter.opts, key=len)
    return named


def in_flags(message: str, context: click.Context | None = None) -> str:
    """A message of the library with the command's own options in place of the arguments that it names.

    Args:
        context: of the command; None for that of the command at work.
    """
    flags = flags_at_work(context or click.get_current_context())
    return re.sub(r"`(\w+)`", lambda found: flags.get(found[1], found[0]), message)


@dataclass(frozen=True, slots=True)
class Common:
    """What means the same in every command that looks at facts.

    Attributes:
        seed: what all random choices follow from.
        as_of: facts count as current at this date, ``yyyymmdd``.
        graph: a server's address or an embedded graph's folder; None for the user's own.
        as_json: whether the output is for programs.
    """

    seed: int
    as_of: int
    graph: str | None
    as_json: bool


def common_options(command: Command) -> Command:
    """``--seed``, ``--as-of``, ``--graph``, ``--json`` and ``--debug``, as ``common``."""
    options = (seed_option, as_of_option, graph_option, json_option, debug_option)
    return together(Common, "common", *options)(command)


def ask_password(prompt: str) -> str:
    """Ask the user for a password, on the terminal and unseen.

    Raises:
        KgprobeError: there is no terminal to ask on.
    """
    if not sys.stdin.isatty():
        raise KgprobeError(f"{prompt}: there is no terminal to ask on. Set KGPROBE_GRAPH_PASSWORD.")
    return str(click.prompt(prompt, hide_input=True, err=True))


def model_option(api: bool = False) -> Callable[[Command], Command]:
    """``--model`` with ``--explain`` and :func:`local_options`: which model is asked.

    Args:
        api: whether it may be behind an API.
    """

    def decorate(command: Command) -> Command:
        help_ = f"{_BEHIND_API if api else _SCORES}."
        return cloup.option("--model", required=True, metavar="SPEC", help=help_)(
            explain_option(local_options(command))
        )

    return decorate


def models_option(about: str, api: bool = False) -> Callable[[Command], Command]:
    """``--model``, once for each model, with ``--explain`` and :func:`local_options`.

    Args:
        about: what several are for.
        api: whether they may be behind an API.
    """

    def decorate(command: Command) -> Command:
        return cloup.option(
            "--model",
            "models",
            required=True,
            multiple=True,
            metavar="SPEC",
            help=f"{_BEHIND_API if api else _SCORES}. {about}",
        )(explain_option(local_options(command)))

    return decorate


def explain_option(command: F) -> F:
    """``--explain``: how a model is computed, told when it is loaded; see :func:`is_explained`."""

    def remember(context: click.Context, _: click.Parameter, asked: bool) -> None:
        context.meta[_EXPLAINED] = asked

    return cloup.option(
        "--explain",
        is_flag=True,
        expose_value=False,
        callback=remember,
        help="Say how the model is computed, and why not in a faster way.",
    )(command)


def local_options(command: Command) -> Command:
    """``--device``, ``--dtype``, ``--batch-tokens`` and ``--revision``; see :func:`local_given`."""

    @wraps(command)
    def remembering(**values: Any) -> None:
        local = make_options(LocalOptions, values.pop(_LOCAL), "models")
        if local.revision is not None and len(values.get("models", ())) > 1:
            raise click.UsageError("--revision is one model's, and --model names several.")
        click.get_current_context().meta[_LOCAL] = local
        command(**values)

    return given_options(("Models on this machine", LocalOptions), argument=_LOCAL)(remembering)


def local_given() -> LocalOptions:
    """How the command at work was told to load models on this machine."""
    context = click.get_current_context(silent=True)
    given = None if context is None else context.meta.get(_LOCAL)
    return given if isinstance(given, LocalOptions) else LocalOptions()


def is_explained() -> bool:
    """Whether the command at work was given ``--explain``."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_EXPLAINED))


def relations_option(help_: str) -> Callable[[F], F]:
    """``--relation``: only these, repeatable."""
    return cloup.option("--relation", "relations", multiple=True, metavar="NAME", help=help_)


@dataclass(frozen=True, slots=True)
class FactsAsked:
    """Which facts a command is about; the arguments of :func:`kgprobe.measure` that say so.

    Attributes:
        facts: a list of them; None for all that can be asked.
        limit: the most of them, drawn at random; None for all.
        relations: ids; empty means all that can be asked.
    """

    facts: Any
    limit: int | None
    relations: tuple[str, ...]


def facts_options(limit: int | None = None) -> Callable[[Command], Command]:
    """``--facts``, ``--limit`` and ``--relation``, as ``asked``.

    Args:
        limit: the default of ``--limit``; None for all facts.
    """
    options = (
        cloup.option(
            "--facts",
            type=click.File("r", encoding="utf-8"),
            metavar="FILE",
            help="Ask the facts of this list; - reads standard input. A line is 'France | capital | Paris', these three"
            " separated by tabs, or JSON with subject, relation and object, each by its id or a name; or JSON with"
            " subject and fact (ids).",
        ),
        cloup.option(
            "--limit",
            type=click.IntRange(min=1),
            metavar="N",
            default=limit,
            help="Ask at most N facts, drawn at random; the same --seed draws the same facts for every probe."
            f"  [default: {'all' if limit is None else f'{limit:,}'}]",
        ),
        relations_option("Ask this relation only, by its id or a name; repeatable."),
    )
    return together(FactsAsked, "asked", *options)


def facts_named(command: F) -> F:
    """``--fact``: facts by their ids or names, as ``facts``."""
    return cloup.option(
        "--fact",
        "facts",
        multiple=True,
        required=True,
        metavar="FACT",
        help="The fact: its id, or its subject, relation and object, each by its id or a name, with spaces or | between"
        " them; repeatable.",
    )(command)
