"""``kgprobe``: the root command, whose sub-commands are imported only when they are called for."""

import importlib
import io
import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from kgprobe import __version__
from kgprobe.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.files import place_is_unusable, temporary_files
from kgprobe.sanitize import visible_lines
from kgprobe.servers.signals import ending_in_order

# name -> (module:command, summary). The summaries stand here so that --help imports none of the modules.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "beliefs": ("kgprobe.cli.beliefs:beliefs", "What runs believe of facts, to look at in the graph."),
    "compare": ("kgprobe.cli.compare:compare", "Models side by side, from answers that are kept."),
    "dataset": ("kgprobe.cli.dataset:dataset", "Multiple-choice data sets: build, look, ask, hand on."),
    "demo": ("kgprobe.cli.demo:demo", "The whole way: example graph, small model, rounds, finding."),
    "estimate": ("kgprobe.cli.estimate:estimate", "How much of the whole graph a model knows, asked or not."),
    "graph": ("kgprobe.cli.graph:graph", "Start, stop and query the graph server."),
    "judge": ("kgprobe.cli.judge:judge", "What a model would say of a whole graph, from a few thousand answers."),
    "load": ("kgprobe.cli.load:load", "Load entities, relations and facts into the graph."),
    "probe": ("kgprobe.cli.probe:probe", "Ask a model about a sample of facts by one method."),
    "report": ("kgprobe.cli.report:report", "A page of what stored results say: unknown, known, why, where."),
    "rounds": ("kgprobe.cli.rounds:rounds", "Ask a model about the graph, round by round."),
    "sample": ("kgprobe.cli.sample:sample", "Look at what would be asked, and why."),
    "templates": ("kgprobe.cli.templates:templates", "Look at, check and write the sentences that facts are put in."),
    "study": ("kgprobe.cli.study:study", "Analyses of the measures: tables, plots, data."),
    "view": ("kgprobe.cli.view:view", "An index of all results on this machine."),
}


@contextmanager
def until_nobody_reads() -> Iterator[None]:
    """Exit with 0 when whoever read our output has left (`| head`); click and rich would make that a failure."""
    try:
        yield
    except (BrokenPipeError, SystemExit) as error:
        if not isinstance(error, BrokenPipeError) and not isinstance(error.__context__, BrokenPipeError):
            raise
        _discard_output()
        raise click.exceptions.Exit(0) from error


def _discard_output() -> None:
    # What is still in the buffers must not be flushed into the pipe when the interpreter ends.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.dup2(nowhere, sys.stderr.fileno())


class _FailedError(click.ClickException):
    """What could not be done; exits with 1."""


class _WrongUsageError(click.ClickException):
    """What cannot be asked for; exits with 2."""

    exit_code = 2


class LazyGroup(click.Group):
    """A group whose commands are named now and imported when one of them is needed."""

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Read the command line; --help is printed here."""
        with until_nobody_reads():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Its errors name its options where the library's name arguments.

        Raises:
            UsageError: an argument cannot be what it is.
        """
        if temporary_files().is_dir():
            from kgprobe.temporary import delete_left_folders

            delete_left_folders()
        try:
            with until_nobody_reads():
                result = super().invoke(ctx)
                sys.stdout.flush()
                return result
        except KgprobeError as error:
            from kgprobe.cli.options import in_flags

            message = in_flags(str(error), ctx)
            usage = isinstance(error, (ArgumentError, UnknownNameError))
            raise (_WrongUsageError if usage else _FailedError)(message) from error

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The names, sorted."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the command, or None where there is no such name."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name][0].split(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the names with their summaries."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(ctx)])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="kgprobe")
def kgprobe() -> None:
    """What does a language model know of a knowledge graph, and how sure can one be?

    Data goes to stdout, progress and messages to stderr. Exit codes: 0 done, 1 failed, 2 wrong usage.
    """


def main() -> None:
    """Run the command line; errors are messages, and tracebacks are shown with ``--debug`` alone."""
    if "--debug" in sys.argv:
        import logging

        logging.basicConfig()
    try:
        # Outside of click's standalone mode, an exit of a command's own comes back as its code.
        with ending_in_order():
            code = kgprobe.main(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        if "--debug" in sys.argv and error.__cause__ is not None:
            traceback.print_exception(error.__cause__)
            sys.exit(error.exit_code)
        shown = io.StringIO()
        error.show(shown)
        click.echo(visible_lines(shown.getvalue()), nl=False, err=True)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped.", err=True)
        sys.exit(1)
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        unusable = place_is_unusable(error) if isinstance(error, OSError) else None
        message = unusable or f"{type(error).__name__}: {error}. --debug shows where."
        click.echo(visible_lines(f"Error: {message}"), err=True)
        sys.exit(1)
