"""Commands in the test's own process: what a user types, without the seconds that a new Python takes."""

import io
import json
import logging
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias
from unittest import mock

from kgprobe.cli.main import main
from tests.graph.servers.servers import clean_environment

Completed: TypeAlias = "subprocess.CompletedProcess[str]"


def run(*arguments: str, typed: str = "", **environment: str) -> Completed:
    """Run the command line to its end; a drop-in for :func:`tests.graph.servers.servers.kgprobe`.

    Streams are no terminals, as in a pipe, and 80 characters wide where the environment has no COLUMNS. What a process
    leaves behind by design stays: modules that were imported, and what they read of the environment then.
    """
    with _streams(typed) as (out, err), _process(arguments, environment):
        code = _exit_code()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    stdout, stderr = (stream.buffer.getvalue().decode() for stream in (out, err))
    return subprocess.CompletedProcess(["kgprobe", *arguments], code, stdout, stderr)


def succeed(*arguments: str, typed: str = "", **environment: str) -> Completed:
    """Run the command line to its end, which has to be a good one."""
    done = run(*arguments, typed=typed, **environment)
    assert done.returncode == 0, done.stderr
    return done


def printed(*arguments: str, typed: str = "", **environment: str) -> Any:
    """Return what a command that succeeds prints as JSON."""
    return json.loads(succeed(*arguments, typed=typed, **environment).stdout)


class _Stream(io.TextIOWrapper):
    """Text that is kept."""

    buffer: io.BytesIO

    def __init__(self, text: str = "", errors: str = "strict") -> None:
        super().__init__(io.BytesIO(text.encode()), encoding="utf-8", errors=errors, write_through=True)


@contextmanager
def _streams(typed: str) -> Iterator[tuple[_Stream, _Stream]]:
    out, err = _Stream(), _Stream(errors="backslashreplace")
    with (
        mock.patch.object(sys, "stdin", _Stream(typed)),
        mock.patch.object(sys, "stdout", out),
        mock.patch.object(sys, "stderr", err),
    ):
        yield out, err


@contextmanager
def _process(arguments: tuple[str, ...], environment: dict[str, str]) -> Iterator[None]:
    """Provide what a process has of its own: its environment, its arguments, its program, its log."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    variables = {"COLUMNS": "80"} | clean_environment() | environment
    with (
        mock.patch.dict("os.environ", variables, clear=True),
        mock.patch.object(sys, "argv", ["kgprobe", *arguments]),
        # By which click tells how the program is called.
        mock.patch.object(sys.modules["__main__"], "__package__", None),
    ):
        try:
            yield
        finally:
            root.handlers[:] = handlers
            root.setLevel(level)


def _exit_code() -> int:
    """Run the command, and end as Python would."""
    try:
        main()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return (end.code or 0) & 0xFF
        print(end.code, file=sys.stderr)
        return 1
    except Exception:
        traceback.print_exc()
        return 1
    return 0
