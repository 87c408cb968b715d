"""``kgprobe``: the root command; sub-commands are imported when needed."""

import io
import os
import sys
import traceback
from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any, TextIO

import click

from kgprobe.base.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.base.files import place_is_unusable, temporary_files
from kgprobe.base.sanitize import visible_lines
from kgprobe.base.version import __version__
from kgprobe.cli.groups import NearestNameGroup
from kgprobe.graph.servers.signals import ending_in_order

# name -> (module:command, summary). With the summaries here, --help imports no module.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "beliefs": (
        "kgprobe.cli.rounds:beliefs",
        "Write the beliefs of a run into the graph, paint them, or write them into your own graph.",
    ),
    "check": ("kgprobe.cli.compare:check", "Test if a changed model lost more accuracy than a margin, in a CI job."),
    "compare": ("kgprobe.cli.compare:compare", "Compare models, label tables, judges, or logs of other tools."),
    "dataset": ("kgprobe.cli.dataset:dataset", "Build, ask and export multiple-choice data sets."),
    "delete": ("kgprobe.cli.results:delete", "Delete stored results."),
    "demo": ("kgprobe.cli.rounds:demo", "Show all steps: example graph, small model, rounds, results page."),
    "estimate": ("kgprobe.cli.rounds:estimate", "Estimate the share of the whole graph that a model knows."),
    "export": ("kgprobe.cli.export:export", "Write training sets, facts to retrieve and results for other tools."),
    "gap": ("kgprobe.cli.compare:gap", "Find the facts that a model knows by one probe and misses by another."),
    "graph": ("kgprobe.cli.graph:graph", "Start, stop and query the graph server."),
    "judge": ("kgprobe.cli.judge:judge", "Judge a whole graph from a few thousand answers."),
    "label": ("kgprobe.cli.label:label", "Label facts by how a model answers them: classes and probabilities."),
    "load": ("kgprobe.cli.load:load", "Load entities, relations and facts into the graph."),
    "paper": ("kgprobe.cli.paper:paper", "List the papers' tables and figures, with commands that repeat them."),
    "probe": ("kgprobe.cli.probe:probe", "Ask a model a sample of facts once each, by one probe."),
    "report": ("kgprobe.cli.report:report", "Show stored results on one page, or as a picture."),
    "results": ("kgprobe.cli.results:results", "List all stored results of this machine."),
    "rounds": ("kgprobe.cli.rounds:rounds", "Ask a model about the graph in adaptive rounds."),
    "sample": ("kgprobe.cli.sample:sample", "Show facts, distractors, negatives and questions as a probe draws them."),
    "templates": ("kgprobe.cli.templates:templates", "List, check and write the templates of relations."),
    "show": ("kgprobe.cli.results:show", "Show a stored result of any kind."),
    "study": ("kgprobe.cli.study:study", "Analyse measures and sampling rules: tables, plots, data."),
}

# Titles with commands, in the order of the first help.
SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Start here": ("demo", "load", "results", "show", "delete"),
    "Ask a model": ("probe", "rounds", "estimate", "label", "judge"),
    "After a fine-tune": ("compare", "check", "gap"),
    "Hand on": ("export", "report"),
    "The graph": ("graph", "beliefs", "templates"),
    "Research": ("study", "paper", "sample", "dataset"),
}


class _PatientFile(io.FileIO):
    """Standard output or error whose reader may leave early (`| head`): the command continues to its own exit code."""

    def write(self, content: Any) -> int:
        """Write some bytes; after the reader has left, into nothing."""
        try:
            return super().write(content)
        except BrokenPipeError:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.fileno())
            os.close(null)
            return super().write(content)


def _patient(stream: Any) -> TextIO:
    """Return a stream of the same file and encoding that does not fail when its reader leaves."""
    file = io.BufferedWriter(_PatientFile(stream.fileno(), "wb", closefd=False))
    return io.TextIOWrapper(
        file, stream.encoding, stream.errors, line_buffering=stream.isatty() or stream is sys.stderr
    )


class _FailedError(click.ClickException):
    """Failure; exits with 1."""


class _WrongUsageError(click.ClickException):
    """Wrong usage; exits with 2."""

    exit_code = 2


class LazyGroup(NearestNameGroup):
    """A group whose commands are imported when needed."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; name flags in errors of the library instead of arguments."""
        if temporary_files().is_dir():
            from kgprobe.base.temporary import delete_left_folders

            delete_left_folders()
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except KgprobeError as error:
            from kgprobe.cli.options import in_flags

            message = in_flags(str(error), ctx)
            usage = isinstance(error, (ArgumentError, UnknownNameError))
            raise (_WrongUsageError if usage else _FailedError)(message) from error

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names, sorted."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command; None for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = resolve_name(COMMANDS[cmd_name][0])
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the names with their summaries, by section."""
        width = max(map(len, COMMANDS))
        for title, names in SECTIONS.items():
            rows = [(name.ljust(width), COMMANDS[name][1]) for name in names if name in COMMANDS]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="kgprobe")
def kgprobe() -> None:
    """Measure the knowledge that a language model has of a knowledge graph, with its uncertainty.

    Data goes to stdout, progress and messages to stderr. Exit codes: 0 done, 1 failed, 2 wrong usage.
    """


def main() -> None:
    """Run the command line; errors are messages, with a traceback only for ``--debug``."""
    if "--debug" in sys.argv:
        import logging

        logging.basicConfig()
    # A program that starts without standard output has None.
    if sys.stdout is not None and sys.stdout is sys.__stdout__:
        sys.stdout = _patient(sys.stdout)
    if sys.stderr is not None and sys.stderr is sys.__stderr__:
        sys.stderr = _patient(sys.stderr)
    try:
        # Outside click's standalone mode, a command's own exit returns its code.
        with ending_in_order():
            code = kgprobe.main(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        if "--debug" in sys.argv and error.__cause__ is not None:
            traceback.print_exception(error.__cause__)
            sys.exit(error.exit_code)
        message_file = io.StringIO()
        error.show(message_file)
        click.echo(visible_lines(message_file.getvalue()), nl=False, err=True)
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
