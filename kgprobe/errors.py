"""Errors that are messages for the user: what was wrong, where, and what would be right.

A message names arguments of the library in backquotes (`` `as_of` ``); the command line puts its own options there.
"""

from kgprobe.sanitize import visible_lines


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra, for the end of a message: kgprobe is not on PyPI.

    >>> how_to_install("ray")
    'run `python -m pip install -e ".[ray]"` in your clone of kgprobe'
    """
    return f'run `python -m pip install -e ".[{extra}]"` in your clone of kgprobe'


class KgprobeError(Exception):
    """Something a user can understand and mend; the command line prints the message and exits with 1."""

    def __init__(self, message: str) -> None:
        """Say what was wrong; what others wrote in it (file names, labels, answers of servers) is made visible."""
        super().__init__(visible_lines(message))


class UnknownNameError(KgprobeError):
    """A name the user gave (query, probe, model, run, …) is not one we know; the command line exits with 2."""


class ArgumentError(KgprobeError):
    """An argument that cannot be what it is; the command line exits with 2.

    Attributes:
        argument: its name.
    """

    def __init__(self, argument: str, problem: str) -> None:
        """Say what is wrong with an argument.

        Args:
            problem: to be read after the argument's name, with a full stop.
        """
        super().__init__(f"`{argument}` {problem}")
        self.argument = argument
