"""``--as-paper``: sets a command's options as in a paper; an option on the command line wins."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import click
import cloup

from kgprobe.cli.commands import Choice, Command, decorated_by, prepared_by
from kgprobe.papers.presets import Preset, papers_with, preset_of

# Key of a click context: the preset of the command.
_PRESET = "kgprobe.preset"


def as_paper_option(command: str) -> Callable[[Command], Command]:
    """Return a decorator that adds ``--as-paper`` to a command, with the papers that have options for it.

    The values become defaults; those in effect are printed on stderr when the command begins. They are passed to the
    library as given options, so results store them.

    Args:
        command: name of the command, such as ``probe distractors``; one without options of any paper gets no option.
    """
    papers = papers_with(command)
    if not papers:
        return decorated_by()
    option = cloup.option(
        "--as-paper",
        type=Choice(papers),
        is_eager=True,
        expose_value=False,
        callback=partial(_set_defaults, command),
        help="Set the options as in this paper; options that you give win. `kgprobe paper` lists the papers.",
    )

    def print_preset(_: dict[str, Any]) -> None:
        context = click.get_current_context()
        if _PRESET in context.meta:
            paper, preset = context.meta[_PRESET]
            need = preset.need
            if need and not context.params[need.option] and context.params[need.unless[0]] != need.unless[1]:
                raise click.UsageError(need.message)
            click.echo(_described(context, paper, preset), err=True)

    return decorated_by(option, prepared_by(print_preset))


def _set_defaults(command: str, context: click.Context, _: click.Parameter, paper: str | None) -> None:
    """Store the preset's values as defaults of the other options, which are parsed later."""
    if paper is not None:
        preset = preset_of(paper, command)
        values = {name: option.value for name, option in preset.options.items()}
        context.default_map = {**(context.default_map or {}), **values}
        context.meta[_PRESET] = (paper, preset)


def _described(context: click.Context, paper: str, preset: Preset) -> str:
    """Return the preset's options in effect, those that the command line replaces, and the remark."""
    flags: Mapping[str | None, str] = MappingProxyType(
        {parameter.name: max(parameter.opts, key=len) for parameter in context.command.params}
    )
    own = [name for name, option in preset.options.items() if not option.has(context.params[name])]
    parts = [_as_typed(flags[name], context.params[name]) for name in preset.options if name not in own]
    lines = [f"As in the paper {paper}: {' '.join(parts)}"] if parts else []
    if own:
        lines.append(f"As given, not as in the paper: {', '.join(flags[name] for name in own)}")
    return "\n".join([*lines, *filter(None, [preset.remark])])


def _as_typed(flag: str, value: Any) -> str:
    """Return an option as on the command line.

    >>> _as_typed("--beams", (1, 2)), _as_typed("--articles", False), _as_typed("--separator", " ")
    ('--beams 1 --beams 2', '--no-articles', "--separator ' '")
    """
    import shlex

    if isinstance(value, bool):
        return flag if value else f"--no-{flag[2:]}"
    values = value if isinstance(value, tuple) else (value,)
    return " ".join(f"{flag} {shlex.quote(str(each))}" for each in values) or f"no {flag}"
