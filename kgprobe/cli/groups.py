"""Groups of commands whose help says what each command does, in whole sentences."""

from typing import Any

import click

# More than any first sentence has; click would cut it at what fits into a line.
_WHOLE = 1_000


class Group(click.Group):
    """A group whose list of commands is wrapped, not cut."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the names, each with its command's first sentence."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(_WHOLE)) for name, one in commands if one is not None])


class DefaultGroup(Group):
    """A group of which one command is meant where none is named: ``kgprobe report demo`` is `report page demo`."""

    def __init__(self, *arguments: Any, default: str, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the default's name before arguments that name no command."""
        named = bool(args) and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if named else [self.default, *args])
