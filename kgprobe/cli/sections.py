"""Help texts with many options, by what the options are about."""

from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import click
from click.core import ParameterSource

F = TypeVar("F", bound=Callable[..., Any])

_TITLES: "WeakKeyDictionary[click.Parameter, str]" = WeakKeyDictionary()


def section(title: str, decorator: Callable[[F], F]) -> Callable[[F], F]:
    """A decorator whose options stand under a title of their own in the help of a :class:`SectionedCommand`."""

    def decorate(command: F) -> F:
        before = set(getattr(command, "__click_params__", ()))
        decorated = decorator(command)
        for parameter in getattr(decorated, "__click_params__", ()):
            if parameter not in before:
                _TITLES.setdefault(parameter, title)
        return decorated

    return decorate


class SectionedCommand(click.Command):
    """A command whose help lists options in sections: those without a title first."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options; called by click."""
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                sections.setdefault(_TITLES.get(parameter, "Options"), []).append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def given_in(title: str) -> list[str]:
    """The options of a section that the user has given to the command at work, by name."""
    context = click.get_current_context()
    return [
        max(parameter.opts, key=len)
        for parameter in context.command.params
        if _TITLES.get(parameter) == title
        and parameter.name is not None
        and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
    ]
