"""Errors whose messages are written for the user: the fault, the place, the remedy.

Messages put arguments of the library in backquotes (`` `as_of` ``); the command line replaces these by its own options.
"""

import difflib
from collections.abc import Callable, Iterable

from kgprobe.base.sanitize import visible_lines


def how_to_install(extra: str) -> str:
    """Return the end of a message: the command that installs an extra. kgprobe is not on PyPI.

    >>> how_to_install("ray")
    'run `python -m pip install -e ".[ray]"` in your clone of kgprobe'
    """
    return f'run `python -m pip install -e ".[{extra}]"` in your clone of kgprobe'


def expected_one_of(value: object, choices: Iterable[str], compared: Callable[[str], str] = str) -> str:
    """Return the middle of a message about a value that is not among the choices: the choices, and the nearest one.

    >>> f"`color` is 'gren'; {expected_one_of('gren', ['red', 'green'])}."
    "`color` is 'gren'; expected one of red, green (did you mean green?)."

    Args:
        compared: returns the part of a value and of a choice that is compared.
    """
    known = {compared(choice): choice for choice in choices}
    nearest = difflib.get_close_matches(compared(str(value)), known, 1)
    suggestion = f" (did you mean {known[nearest[0]]}?)" if nearest else ""
    return f"expected one of {', '.join(known.values())}{suggestion}"


def first_line(error: BaseException) -> str:
    r"""Return the first line of an error's message, or its type if it has no message.

    >>> first_line(ValueError("bad header\nin line 3")), first_line(KeyboardInterrupt())
    ('bad header', 'KeyboardInterrupt')
    """
    return (str(error).strip() or type(error).__name__).splitlines()[0]


class KgprobeError(Exception):
    """An error that the user can fix; the command line prints the message and exits with 1."""

    def __init__(self, message: str) -> None:
        """Store the message; control characters in it (from file names, labels, servers) are escaped."""
        super().__init__(visible_lines(message))


class UnknownNameError(KgprobeError):
    """An unknown name of a query, probe, model, run, …; the command line exits with 2."""


class ArgumentError(KgprobeError):
    """An invalid argument; the command line exits with 2.

    Attributes:
        argument: name of the argument.
        problem: the rest of the message.
    """

    def __init__(self, argument: str, problem: str) -> None:
        """Build the message from the argument's name and the problem, which ends with a full stop."""
        super().__init__(f"`{argument}` {problem}")
        self.argument = argument
        self.problem = problem

    def __reduce__(self) -> tuple[type["ArgumentError"], tuple[str, str]]:
        """Pickle both arguments: workers of a cluster pass errors on."""
        return (type(self), (self.argument, self.problem))
