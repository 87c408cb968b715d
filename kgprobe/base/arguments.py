"""Checks of arguments that many calls share: whole numbers, shares, lists of texts, names of folders, model specs."""

import operator
import re
from collections.abc import Iterable
from typing import Any

from kgprobe.base.errors import ArgumentError, UnknownNameError, expected_one_of

_SHARE = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(%?)")
_FOLDER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def whole_number(name: str, value: Any, minimum: int = 1) -> int:
    """Return a whole number, also from NumPy's types, of at least ``minimum``.

    >>> whole_number("limit", 20)
    20
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


def share_of(value: Any) -> Any:
    """Return a share that is written as a text, such as ``2%`` or ``0.02``, as a number; other values unchanged.

    >>> share_of("2%"), share_of("0.02"), share_of(0.02)
    (0.02, 0.02, 0.02)

    Raises:
        ValueError: the text is not a share, or a number from 1 on without a percent sign; the message follows the
            argument's name.
    """
    if not isinstance(value, str):
        return value
    match = _SHARE.fullmatch(value.strip())
    if match is None:
        raise ValueError(f"is {value!r}; a share is expected, such as 2% or 0.02")
    number = float(match[1])
    if match[2]:
        return number / 100
    if number >= 1:
        raise ValueError(f"is {value}, which is not a share; write {number:g}% or {number / 100:g}")
    return number


def share_below(name: str, value: Any, limit: float = 1.0, *, positive: bool = False) -> float:
    """Return a share below a limit, from a number or a text; see :func:`share_of`.

    Args:
        positive: True to exclude 0.
    """
    try:
        number = share_of(value)
    except ValueError as error:
        raise ArgumentError(name, f"{error}.") from None
    is_number = isinstance(number, (int, float)) and not isinstance(number, bool)
    if not is_number or not 0 <= number < limit or (positive and number == 0):
        bounds = f"{'above' if positive else 'from'} 0 below {limit:g}"
        raise ArgumentError(name, f"is {value!r}; a share {bounds} is expected, such as 2% or 0.02.")
    return float(number)


def several(name: str, values: Iterable[str]) -> tuple[str, ...]:
    """Return texts as a tuple, in their order."""
    if isinstance(values, str):
        raise ArgumentError(name, f"is {values!r}; a list is expected, such as [{values!r}].")
    given = list(values)
    wrong = [value for value in given if not isinstance(value, str)]
    if wrong:
        raise ArgumentError(name, f"contains {wrong[0]!r}; a list of texts is expected.")
    # Convert NumPy's subclasses of str, which cannot be serialized.
    return tuple(map(str, given))


def check_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Raise if a value is not among the choices."""
    known = list(choices)
    if value not in known:
        raise ArgumentError(name, f"is {value!r}; {expected_one_of(value, known)}.")


def folder_name(name: str, value: Any) -> str:
    """Return a name that is valid for a folder on every system, without separators of paths."""
    if not isinstance(value, str) or not _FOLDER_NAME.fullmatch(value):
        raise ArgumentError(
            name, f"is {value!r}; letters, digits, dots, dashes and underscores, up to 100, are expected."
        )
    return value


def optional_folder_name(value: Any) -> str | None:
    """Return the argument ``name`` as :func:`folder_name` does, or None for None."""
    return None if value is None else folder_name("name", value)


def refuse_half_characters(spec: str) -> None:
    """Raise if a model's spec has a lone surrogate: undecodable bytes of a command line, which no file can store."""
    try:
        spec.encode()
    except UnicodeEncodeError:
        raise UnknownNameError(
            f"The name of the model {spec!r} contains half a character (a lone surrogate)."
        ) from None
