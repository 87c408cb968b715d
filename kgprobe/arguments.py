"""Checks of arguments that many calls share: whole numbers, lists of texts, names of folders, model specs."""

import operator
import re
from collections.abc import Iterable
from typing import Any

from kgprobe.errors import ArgumentError, UnknownNameError, expected_one_of

_FOLDER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def whole_number(name: str, value: Any, minimum: int = 1) -> int:
    """Return a whole number, also from NumPy's types, of at least ``minimum``.

    >>> whole_number("limit", 20)
    20

    Args:
        name: name of the argument, for the message.

    Raises:
        ArgumentError: the value is not a whole number, or below the minimum.
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or number < minimum:
        raise ArgumentError(name, f"is {value!r}; a whole number from {minimum} is expected.")
    return number


def optional_number(name: str, value: Any) -> int | None:
    """Return a whole number from 1 on, or None for None; see :func:`whole_number`."""
    return None if value is None else whole_number(name, value)


def several(name: str, values: Iterable[str]) -> tuple[str, ...]:
    """Return texts as a tuple, in their order.

    Args:
        name: name of the argument, for the message.

    Raises:
        ArgumentError: the values are a single text, or contain something other than texts.
    """
    if isinstance(values, str):
        raise ArgumentError(name, f"is {values!r}; a list is expected, such as [{values!r}].")
    given = list(values)
    wrong = [value for value in given if not isinstance(value, str)]
    if wrong:
        raise ArgumentError(name, f"contains {wrong[0]!r}; a list of texts is expected.")
    # Convert NumPy's subclasses of str, which cannot be serialized.
    return tuple(map(str, given))


def check_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Raise if a value is not among the choices.

    Args:
        name: name of the argument, for the message.

    Raises:
        ArgumentError: the value is not among the choices; the message lists them, with the nearest one.
    """
    known = list(choices)
    if value not in known:
        raise ArgumentError(name, f"is {value!r}; {expected_one_of(value, known)}.")


def folder_name(name: str, value: Any) -> str:
    """Return a name that is valid for a folder on every system, without separators of paths.

    Args:
        name: name of the argument, for the message.

    Raises:
        ArgumentError: the value is not a valid name.
    """
    if not isinstance(value, str) or not _FOLDER_NAME.fullmatch(value):
        raise ArgumentError(
            name, f"is {value!r}; letters, digits, dots, dashes and underscores, up to 100, are expected."
        )
    return value


def optional_folder_name(value: Any) -> str | None:
    """Return the argument ``name`` as :func:`folder_name` does, or None for None."""
    return None if value is None else folder_name("name", value)


def refuse_half_characters(spec: str) -> None:
    """Raise if a model's spec has a lone surrogate: undecodable bytes of a command line, which no file can store.

    Raises:
        UnknownNameError: the spec has a lone surrogate.
    """
    try:
        spec.encode()
    except UnicodeEncodeError:
        raise UnknownNameError(
            f"The name of the model {spec!r} contains half a character (a lone surrogate)."
        ) from None
