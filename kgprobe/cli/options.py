"""Options that mean the same everywhere, each defined once."""

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from kgprobe.errors import KgprobeError
from kgprobe.intervals import last_day, today

F = TypeVar("F", bound=Callable[..., Any])


class _AsOf(click.ParamType[int]):
    name = "date"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            return last_day(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def graph_option(command: F) -> F:
    """``--graph``: which graph a command works on."""
    return click.option(
        "--graph",
        "graph",
        envvar="KGPROBE_GRAPH",
        show_envvar=True,
        metavar="ADDRESS|FOLDER",
        help="A server's address (bolt://…, neo4j://…), or the folder of an embedded graph."
        "  [default: a folder of your own, started when needed]",
    )(command)


def seed_option(command: F) -> F:
    """``--seed``: what all random choices follow from."""
    return click.option(
        "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="What all random choices follow from."
    )(command)


def as_of_option(command: F) -> F:
    """``--as-of``: the reference date, as ``yyyymmdd``."""
    return click.option(
        "--as-of", type=_AsOf(), default=today, show_default="today", help="Facts count as current at this date."
    )(command)


def json_option(command: F) -> F:
    """``--json``: machine-readable output on stdout."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for programs instead of a table.")(command)


def debug_option(command: F) -> F:
    """``--debug``: show the traceback of an error."""
    return click.option("--debug", is_flag=True, expose_value=False, help="Show where an error came from.")(command)


def ask_password(prompt: str) -> str:
    """Ask the user for a password, on the terminal and unseen.

    Raises:
        KgprobeError: there is no terminal to ask on.
    """
    if not sys.stdin.isatty():
        raise KgprobeError(f"{prompt}: there is no terminal to ask on. Set KGPROBE_GRAPH_PASSWORD.")
    return str(click.prompt(prompt, hide_input=True, err=True))


def model_option(command: F) -> F:
    """``--model``: which model is asked."""
    return click.option(
        "--model",
        required=True,
        metavar="SPEC",
        help="demo, hf:NAME of the Hugging Face hub, or hf:./folder with a model in it.",
    )(command)
