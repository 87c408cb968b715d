"""Groups, commands and their options, which are made from dataclasses of options (:mod:`kgprobe.base.options`).

A command gets the given values by field name; missing ones keep the dataclass defaults. Fields with the same name in
several dataclasses share one option.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, TypeAlias, cast

import click
import cloup
from click.core import ParameterSource

from kgprobe.base.arguments import share_of
from kgprobe.base.errors import expected_one_of
from kgprobe.base.options import Option, options_of
from kgprobe.cli.help import RareOption

Command: TypeAlias = Callable[..., Any]

# Changes the values of a command before it runs.
Step: TypeAlias = Callable[[dict[str, Any]], None]
# Attribute of a function with steps: itself, because decorators copy attributes, and its steps.
_STEPS = "kgprobe_steps"
# Characters; longer lists of choices are written in the help text instead of the metavar.
_LISTED = 40
_METAVARS: Mapping[type, str] = {int: "N", float: "X"}


class Choice(click.Choice[str]):
    """A click choice whose message is that of the library, with the nearest choice."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the value; raise UsageError if it is not among the choices."""
        if value not in self.choices and param is not None:
            flag = max(param.opts, key=len)
            raise click.UsageError(f"{flag} is {value!r}; {expected_one_of(value, self.choices)}.", ctx)
        return super().convert(value, param, ctx)


class _OrNone(click.ParamType[Any]):
    """A click type that accepts another type's values, or a word for None."""

    def __init__(self, inner: click.ParamType[Any], word: str) -> None:
        self.name = f"{inner.name}|{word}"
        self._inner = inner
        self._word = word

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value; None for the word."""
        return None if value in (None, self._word) else self._inner.convert(value, param, ctx)


class ShareType(click.FloatRange):
    """A click type of shares: ``2%`` or ``0.02``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the share as a number."""
        try:
            number: float = super().convert(share_of(value), param, ctx)
        except ValueError as error:
            flag = "" if param is None else max(param.opts, key=len)
            raise click.UsageError(f"{flag} {error}.", ctx) from None
        return number


def flag_of(option: Option) -> str:
    """Return the flag of an option, such as ``--max-degree``."""
    return f"--{option.about.flag or option.name.replace('_', '-')}"


def only_with(context: click.Context, flag: str, allowed: Sequence[str]) -> None:
    """Raise UsageError if an option is given that has no effect next to the flag: all but the ``allowed`` ones."""
    for parameter in context.command.params:
        name = parameter.name or ""
        if name not in allowed and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{max(parameter.opts, key=len)} has no effect with {flag}. Leave out one of them.")


def decorated_by(*decorators: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return several decorators as one, the first one outermost."""

    def decorate(command: Command) -> Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


def prepared_by(step: Step) -> Callable[[Command], Command]:
    """Return a decorator that changes the values of a command before it runs; the outermost one changes them first."""

    def decorate(command: Command) -> Command:
        function, steps = getattr(command, _STEPS, (None, list[Step]()))
        if function is not command:
            steps = []
            command = _prepared(command, steps)
            setattr(command, _STEPS, (command, steps))
        steps.insert(0, step)
        return command

    return decorate


def _prepared(command: Command, steps: Sequence[Step]) -> Command:
    """Return a command whose values some steps change before it runs."""

    @wraps(command)
    def prepared(**values: Any) -> Any:
        for step in steps:
            step(values)
        return command(**values)

    return prepared


def given_options(
    *kinds: tuple[str | None, type],
    argument: str | None = None,
    defaults: Mapping[str, Any] | None = None,
    left_out: Sequence[str] = (),
) -> Callable[[Command], Command]:
    """Return a decorator that adds the options of dataclasses; the command gets the given values only.

    Args:
        kinds: dataclasses, each with the title of its help section; None for the common section.
        argument: name of the argument with the values by name; None passes each value as an argument.
        defaults: defaults shown in the help instead of the dataclass defaults, by name.
    """
    options: dict[str, Option] = {}
    sections: dict[str | None, list[Callable[[Command], Command]]] = {}
    for title, kind in kinds:
        for option in options_of(kind):
            if option.name not in options and option.name not in left_out:
                options[option.name] = option
                sections.setdefault(title, []).append(_decorator(option, defaults or {}))

    def gather(values: dict[str, Any]) -> None:
        context, given = click.get_current_context(), {}
        for name in options:
            value = values.pop(name)
            # Values of --as-paper, in the default map, count as given.
            if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
                given[name] = value
        values |= given if argument is None else {argument: given}

    groups: list[Callable[[Command], Command]] = []
    for title, decorators in sections.items():
        groups.append(decorated_by(*decorators) if title is None else cloup.option_group(title, *decorators))
    return decorated_by(*groups, prepared_by(gather))


def _decorator(option: Option, defaults: Mapping[str, Any]) -> Callable[[Command], Command]:
    """Return the click decorator of an option."""
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
    default = defaults.get(option.name, None if option.required else option.default)
    if option.type is bool:
        return _bool_flag(option, default)
    if default is None and about.none and not option.required:
        default = about.none
    if default == ():
        default = None
    return cloup.option(
        flag_of(option),
        option.name,
        cls=_class_of(option),
        type=_type_of(option),
        required=option.required,
        multiple=option.several,
        default=default,
        show_default=about.shown_default is None and default not in (None, ""),
        metavar=_metavar(option),
        envvar=about.variable,
        show_envvar=about.variable is not None,
        help=_help(option),
    )


def _bool_flag(option: Option, default: bool) -> Callable[[Command], Command]:
    """Return the decorator of a flag without a value, ``--x/--no-x``."""
    flag = flag_of(option)
    return cloup.option(
        f"{flag}/--no-{flag[2:]}",
        option.name,
        cls=_class_of(option),
        is_flag=True,
        default=default,
        show_default=default is True,
        help=_help(option),
    )


def _class_of(option: Option) -> type[cloup.Option]:
    return cloup.Option if option.about.common or option.required else RareOption


def _long_choices(option: Option) -> str | None:
    """Return the choices of an option if they are too long for its metavar."""
    choices = option.choices()
    return ", ".join(choices) if choices is not None and len("|".join(choices)) > _LISTED else None


def _help(option: Option) -> str:
    about, choices = option.about, _long_choices(option)
    parts = [about.help]
    if choices is not None:
        parts.append(f" One of {choices}.")
    if about.shown_default:
        parts.append(f"  [default: {about.shown_default}]")
    return "".join(parts)


def _metavar(option: Option) -> str | None:
    if option.about.metavar or _long_choices(option):
        return option.about.metavar or "NAME"
    if option.about.is_share:
        return "SHARE"
    return None if option.choices() is not None else _METAVARS.get(option.type)


def _type_of(option: Option) -> click.ParamType[Any]:
    about, choices = option.about, option.choices()
    inner: click.ParamType[Any]
    if choices is not None:
        inner = Choice(list(choices))
    elif option.type is Path:
        inner = click.Path(path_type=Path)
    elif option.type in (int, float):
        inner = _range_of(option)
    else:
        inner = click.types.convert_type(option.type)
    return _OrNone(inner, about.none) if about.none else inner


def _range_of(option: Option) -> click.ParamType[Any]:
    """Return the range of a number; open at a bound that the option excludes."""
    about = option.about
    low = about.above if about.minimum is None else about.minimum
    high = about.below if about.maximum is None else about.maximum
    kind: Any = ShareType if about.is_share else click.FloatRange
    if option.type is int:
        kind = click.IntRange
        low, high = (None if bound is None else int(bound) for bound in (low, high))
    return cast(
        "click.ParamType[Any]", kind(low, high, min_open=about.above is not None, max_open=about.below is not None)
    )
