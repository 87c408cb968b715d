"""Help on one screen: ``--help`` has the options that most people set, ``--help-all`` has all of them."""

import inspect
import re
from pathlib import Path

import click
import cloup

from kgprobe.base.files import CONFIG_FILE
from kgprobe.base.sanitize import counted
from kgprobe.cli.config_file import ARGUMENTS, section_of, set_defaults_of_file

# Lines of a screen, at this width.
LINES = 45
WIDTH = 100

_RECORD = re.compile(r"(.*?)(\s\s\[.*\])?", re.DOTALL)
_DEFAULT = re.compile(r"default: [^];]*|required")


class RareOption(cloup.Option):
    """An option that few people set: ``--help`` leaves it out if the help would be longer than a screen."""


class OneScreenCommand(cloup.Command):
    """A command whose ``--help`` fits on a screen, with examples; ``--help-all`` shows all options in full."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, with ``--config``, ``--help-all`` and ``--help`` at the end."""
        *params, help_option = super().get_params(ctx)
        config = [_config_option()] if any(map(section_of, params)) else []
        return [*params, *config, _help_all_option(), help_option]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, and store them for ``--config``."""
        ctx.meta[ARGUMENTS] = list(args)
        return super().parse_args(ctx, args)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the most complete help that fits on a screen of the usual width."""
        shorter: tuple[dict[str, bool], ...] = ({}, {"is_common": True}, {"is_whole": False, "is_common": True})
        shortest = {"is_whole": False, "is_common": True, "is_brief": True}
        for level in (*shorter, shortest):
            screen = ctx.make_formatter()
            screen.width = WIDTH
            self._write(ctx, screen, **level)
            if level is shortest or len(screen.getvalue().rstrip("\n").splitlines()) <= LINES:
                self._write(ctx, formatter, **level)
                return

    def write_all(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the description and all options in full."""
        self._write(ctx, formatter)

    def examples(self) -> list[str]:
        """Return the examples of the help, one command each, which may be continued on further lines."""
        texts = [paragraph.removeprefix("\b\n") for paragraph in self._paragraphs() if _is_example(paragraph)]
        return [example for text in texts for example in re.split(r"\n(?=kgprobe )", text)]

    def _paragraphs(self) -> list[str]:
        return re.split(r"\n\s*\n", inspect.cleandoc(self.help or ""))

    def _write(
        self,
        ctx: click.Context,
        formatter: click.HelpFormatter,
        *,
        is_whole: bool = True,
        is_common: bool = False,
        is_brief: bool = False,
    ) -> None:
        """Write a help.

        Args:
            is_whole: True for the whole description, else its first paragraph.
            is_common: True without rare options.
            is_brief: True for the first sentence of each option's text.
        """
        self.format_usage(ctx, formatter)
        paragraphs = [paragraph for paragraph in self._paragraphs() if not _is_example(paragraph)]
        for paragraph in paragraphs if is_whole else paragraphs[:1]:
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(paragraph)
        sections: dict[str, list[tuple[str, str]]] = {}
        params = self.get_params(ctx)
        shown = [param for param in params if not (is_common and isinstance(param, RareOption))]
        for param in shown:
            record = param.get_help_record(ctx)
            if record is not None and record[1]:
                name, text = record
                sections.setdefault(_section(param), []).append((name, _first_sentence(text) if is_brief else text))
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)
        examples = self.examples()
        if examples:
            with formatter.section("Examples"):
                formatter.write_text("\n".join(["\b", *examples]))
        left_out = len(params) - len(shown)
        if left_out:
            formatter.write_paragraph()
            formatter.write_text(f"{counted(left_out, 'more option')}: --help-all")


def _config_option() -> click.Option:
    return RareOption(
        ["--config"],
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        is_eager=True,
        expose_value=False,
        callback=set_defaults_of_file,
        metavar="FILE",
        help="File of option values for all commands, in TOML."
        f"  [default: {CONFIG_FILE} in the graph's folder, if it exists]",
    )


def _help_all_option() -> click.Option:
    return click.Option(
        ["--help-all"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_print_all,
        help="Show all options in full.",
    )


def _print_all(ctx: click.Context, _: click.Parameter, is_given: bool) -> None:
    """Print the whole help of a command, and exit."""
    if is_given and isinstance(ctx.command, OneScreenCommand):
        formatter = ctx.make_formatter()
        ctx.command.write_all(ctx, formatter)
        click.echo(formatter.getvalue().rstrip("\n"), color=ctx.color)
        ctx.exit()


def _is_example(paragraph: str) -> bool:
    return paragraph.removeprefix("\b\n").startswith("kgprobe ")


def _section(param: click.Parameter) -> str:
    """Return the title of a parameter's section."""
    if isinstance(param, click.Argument):
        return "Arguments"
    group = getattr(param, "group", None)
    return "Options" if group is None else str(group.title)


def _first_sentence(text: str) -> str:
    """Return the first sentence of an option's text, with its default.

    >>> _first_sentence("Seed of all draws. The same seed repeats a result.  [default: 0; x>=0]")
    'Seed of all draws.  [default: 0]'
    """
    match = _RECORD.fullmatch(text)
    sentences, brackets = (match[1], match[2] or "") if match else (text, "")
    sentence = re.split(r"(?<=[.;])\s", sentences)[0].rstrip(";.")
    default = _DEFAULT.search(brackets)
    return f"{sentence}.  [{default[0]}]" if default else f"{sentence}."
