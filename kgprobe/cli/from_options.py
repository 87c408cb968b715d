"""Command-line options made of the fields of options (:mod:`kgprobe.options`): name, type, range, help, default.

A command gets what the user gave, by the fields' names; what was not given is left to the options' own defaults. Fields
of several kinds of options that share a name share an option.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, TypeAlias

import click
import cloup
from click.core import ParameterSource

from kgprobe.options import Option, options_of

Command: TypeAlias = Callable[..., Any]

# Longer lists of choices stand in the help of an option, not in place of its value.
_LISTED = 40
_METAVARS: Mapping[type, str] = {int: "N", float: "X"}


class OptionsFirst(cloup.Command):
    """A command whose help lists the options of no section first."""

    def format_params(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections; called by cloup."""
        groups = [self.get_default_option_group(ctx, is_the_only_visible_option_group=True), *self.option_groups]
        sections = [self.make_option_group_help_section(group, ctx) for group in groups if not group.hidden]
        cloup.formatting.ensure_is_cloup_formatter(formatter).write_many_sections(
            sections, aligned=self.must_align_option_groups(ctx)
        )


class _OrNone(click.ParamType[Any]):
    """A value of another type, or a word for None."""

    def __init__(self, inner: click.ParamType[Any], word: str) -> None:
        self.name = f"{inner.name}|{word}"
        self._inner = inner
        self._word = word

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value; None for the word."""
        return None if value in (None, self._word) else self._inner.convert(value, param, ctx)


def flag_of(option: Option) -> str:
    """What an option is called on the command line: ``--max-degree``."""
    return f"--{option.about.flag or option.name.replace('_', '-')}"


def given_options(
    *kinds: tuple[str | None, type],
    argument: str = "given",
    defaults: Mapping[str, Any] | None = None,
    left_out: Sequence[str] = (),
) -> Callable[[Command], Command]:
    """The options of these kinds; the command gets what was given of them as ``argument``, by name.

    Args:
        kinds: each with the title of its section in the help; None for the common one.
        defaults: what the help shows in place of the options' own defaults, by name.
        left_out: names of options that the command has otherwise.
    """
    shown: dict[str, Option] = {}
    sections: dict[str | None, list[Callable[[Command], Command]]] = {}
    for title, kind in kinds:
        for one in options_of(kind):
            if one.name not in shown and one.name not in left_out:
                shown[one.name] = one
                sections.setdefault(title, []).append(_decorator(one, defaults or {}))

    def decorate(command: Command) -> Command:
        @wraps(command)
        def gathered(**values: Any) -> Any:
            context = click.get_current_context()
            given = {}
            for name in shown:
                value = values.pop(name)
                if context.get_parameter_source(name) not in (ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP):
                    given[name] = value
            return command(**values, **{argument: given})

        decorated: Command = gathered
        for title, decorators in reversed(sections.items()):
            if title is None:
                for decorator in reversed(decorators):
                    decorated = decorator(decorated)
            else:
                decorated = cloup.option_group(title, *decorators)(decorated)
        return decorated

    return decorate


def _decorator(option: Option, defaults: Mapping[str, Any]) -> Callable[[Command], Command]:
    about = option.about
    if about.positional:
        return cloup.argument(
            option.name,
            type=_type_of(option),
            nargs=-1 if option.several else 1,
            required=option.required,
            metavar=about.metavar,
            help=about.help,
        )
    choices = option.choices()
    default = defaults.get(option.name, None if option.required else option.default)
    flag = flag_of(option)
    names = [flag, option.name]
    listed = ""
    if choices is not None and len("|".join(choices)) > _LISTED:
        listed = f" One of {', '.join(choices)}."
    told = about.help + listed + (f"  [default: {about.shown_default}]" if about.shown_default else "")
    if option.type is bool:
        if default is True:
            names[-2] = f"{flag}/--no-{flag[2:]}"
        return cloup.option(*names, is_flag=True, default=default, show_default=default is True, help=told)
    if default is None and about.none and not option.required:
        default = about.none
    return cloup.option(
        *names,
        type=_type_of(option),
        required=option.required,
        multiple=option.several,
        default=None if default == () else default,
        show_default=about.shown_default is None and default not in (None, (), ""),
        metavar=about.metavar or ("NAME" if listed else _METAVARS.get(option.type if choices is None else str)),
        envvar=about.variable,
        show_envvar=about.variable is not None,
        help=told,
    )


def _type_of(option: Option) -> click.ParamType[Any]:
    about = option.about
    choices = option.choices()
    inner: click.ParamType[Any]
    if choices is not None:
        inner = click.Choice(list(choices))
    elif option.type is Path:
        inner = click.Path(path_type=Path)
    elif option.type in (int, float):
        low, high = (
            (about.minimum if about.minimum is not None else about.above),
            (about.maximum if about.maximum is not None else about.below),
        )
        opened = {"min_open": about.above is not None, "max_open": about.below is not None}
        ranged: Any = click.IntRange if option.type is int else click.FloatRange
        if option.type is int:
            low, high = (None if bound is None else int(bound) for bound in (low, high))
        inner = ranged(low, high, **opened)
    else:
        inner = click.types.convert_type(option.type)
    return _OrNone(inner, about.none) if about.none else inner
