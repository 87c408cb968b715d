"""Groups of commands whose help says what each command does, in whole sentences."""

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
