"""What arguments that many calls share may be: whole numbers, ids, names of folders."""

import operator
import re
from collections.abc import Iterable
from typing import Any

from kgprobe.errors import ArgumentError, UnknownNameError

_FOLDER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def whole_number(name: str, value: Any, minimum: int = 1) -> int:
    """A whole number from ``minimum``, also one of NumPy's.

    >>> whole_number("limit", 20)
    20

    Args:
        name: the argument's, for the message.

    Raises:
        ArgumentError: it is none.
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or number < minimum:
        raise ArgumentError(name, f"is {value!r}; a whole number from {minimum} is expected.")
    return number


def several(name: str, values: Iterable[str]) -> tuple[str, ...]:
    """Texts, in their order.

    Args:
        name: the argument's, for the message.

    Raises:
        ArgumentError: it is a single text, or something in it is none.
    """
    if isinstance(values, str):
        raise ArgumentError(name, f"is {values!r}; a list is expected, such as [{values!r}].")
    given = list(values)
    wrong = [value for value in given if not isinstance(value, str)]
    if wrong:
        raise ArgumentError(name, f"has {wrong[0]!r}; a list of texts is expected.")
    # A text of NumPy's or of a column is one, too, but cannot be written as one.
    return tuple(str(text) for text in given)


def folder_name(name: str, value: Any) -> str:
    """What can name a folder on every system, and leads to no other.

    Args:
        name: the argument's, for the message.

    Raises:
        ArgumentError: it cannot.
    """
    if not isinstance(value, str) or not _FOLDER_NAME.fullmatch(value):
        raise ArgumentError(
            name, f"is {value!r}; letters, digits, dots, dashes and underscores, up to 100, are expected."
        )
    return value


def refuse_half_characters(spec: str) -> None:
    """See that a model's spec can be written down: bytes of a command line that are no text cannot.

    Raises:
        UnknownNameError: it cannot.
    """
    try:
        spec.encode()
    except UnicodeEncodeError:
        raise UnknownNameError(f"There is no model {spec!r}: half a character (a lone surrogate) is in it.") from None
