"""Groups of commands, listed in the help with whole sentences."""

from typing import Any

import click

# Characters; longer than any first sentence, which click would otherwise cut at the end of a line.
_WHOLE = 1_000


class CommandGroup(click.Group):
    """A group whose list of commands is wrapped, not cut."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names, each with its command's first sentence."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, command.get_short_help_str(_WHOLE)) for name, command in commands if command is not None]
            )


class DefaultGroup(CommandGroup):
    """A group with a default command: ``kgprobe report demo`` is `report page demo`."""

    def __init__(self, *arguments: Any, default: str, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the default's name before arguments that do not start with a command."""
        has_command = bool(args) and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if has_command else [self.default, *args])
