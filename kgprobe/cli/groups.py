"""Groups of commands: lists of commands that are not cut, unknown commands with the nearest name, a default command."""

from collections.abc import Callable
from typing import Any

import click

from kgprobe.base.errors import expected_one_of

# Characters; longer than any first sentence, which click would otherwise cut at the end of a line.
_WHOLE = 1_000


class NearestNameGroup(click.Group):
    """A group that answers an unknown command with the nearest one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of the first argument, its name and the other arguments."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            raise click.UsageError(f"No such command {name!r}; {expected_one_of(name, self.list_commands(ctx))}.", ctx)
        return super().resolve_command(ctx, args)


class CommandGroup(NearestNameGroup):
    """A group whose list of commands is wrapped, not cut, and whose commands have help on one screen."""

    def command(self, *arguments: Any, **options: Any) -> Callable[[Callable[..., Any]], click.Command]:  # type: ignore[override]
        """Return a decorator that adds a command."""
        from kgprobe.cli.help import OneScreenCommand

        return super().command(*arguments, cls=OneScreenCommand, **options)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names, each with its command's first sentence."""
        rows = []
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None:
                rows.append((name, command.get_short_help_str(_WHOLE)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class DefaultGroup(CommandGroup):
    """A group with a default command: ``kgprobe report demo`` is `report page demo`."""

    def __init__(self, *arguments: Any, default: str, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the default's name before arguments that do not start with a command."""
        has_command = bool(args) and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if has_command else [self.default, *args])
