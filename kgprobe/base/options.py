"""Options of a probe, a loader, a study: the fields of a frozen dataclass, each with its help and range.

    @dataclass(frozen=True, slots=True)
    class Options:
        distractors: int = option(10, "Wrong objects per fact.", minimum=1)

The library takes them by the field's name (``distractors=20``), and the command line derives its options from them
(``--distractors 20``). Types are ``str``, ``int``, ``float``, ``bool``, ``Path``, ``tuple[…, ...]`` of one of these for
options that can be repeated, and any of them or None.
"""

import dataclasses
import inspect
import numbers
import re
import textwrap
import types
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import ge, gt, le, lt
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from kgprobe.base.arguments import share_of
from kgprobe.base.errors import ArgumentError, expected_one_of

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

_KEY = "kgprobe.option"
# Characters in a line of a docstring.
_WIDTH = 100
_TYPE_NAMES = {str: "a text", int: "a whole number", float: "a number", bool: "True or False", Path: "a path"}


@dataclass(frozen=True, slots=True)
class OptionDescription:
    """Help, range and command-line form of an option.

    Attributes:
        help: help text, a sentence.
        minimum, maximum: inclusive bounds of a number.
        above, below: exclusive bounds of a number.
        choices: allowed values, or a function that returns them when they are needed.
        flag: name on the command line, if not the field's name with hyphens; the singular for an option that can be
            repeated.
        metavar: placeholder of the value in the help.
        none: word on the command line for None; without one, None means that the option is not given.
        shown_default: description of the default in the help, instead of its value.
        variable: environment variable with the value, if the option is not given.
        positional: True if the command line takes it as an argument.
        common: True if most people set it: then it is in the short help, which fits on a screen.
        is_share: True for a share, a float that can also be written as a text: ``2%`` or ``0.02``.
    """

    help: str
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    below: float | None = None
    choices: Sequence[str] | Callable[[], Sequence[str]] | None = None
    flag: str | None = None
    metavar: str | None = None
    none: str | None = None
    shown_default: str | None = None
    variable: str | None = None
    positional: bool = False
    common: bool = False
    is_share: bool = False


@dataclass(frozen=True, slots=True)
class Option:
    """An option: a field of a dataclass of options.

    Attributes:
        type: type of the value, or of each value where ``several``.
        several: True if the value is a tuple.
        optional: True if the value can be None.
        default: ``dataclasses.MISSING`` if the option is required.
    """

    name: str
    type: type
    several: bool
    optional: bool
    default: Any
    about: OptionDescription

    @property
    def required(self) -> bool:
        """True without a default."""
        return self.default is dataclasses.MISSING

    def choices(self) -> Sequence[str] | None:
        """Return the allowed values; None if they are not listed."""
        choices = self.about.choices
        return choices() if callable(choices) else choices

    def problem(self, value: Any) -> str | None:
        """Return the fault of a value, to follow the option's name in a message; None for a valid value."""
        if value is None:
            return None if self.optional else f"is None; {self._expected()} is expected"
        if self.several:
            if isinstance(value, str) or not isinstance(value, Sequence):
                return f"is {value!r}; a sequence is expected, each {self._expected()}"
            if self.required and not value:
                return f"is empty; at least one is expected, each {self._expected()}"
            return next(filter(None, map(self._problem_of_single, value)), None)
        return self._problem_of_single(value)

    def _problem_of_single(self, value: Any) -> str | None:
        fits = isinstance(value, (int, float) if self.type is float else self.type)
        if not fits or (isinstance(value, bool) and self.type is not bool):
            return f"is {value!r}; {self._expected()} is expected"
        choices = self.choices()
        if choices is not None and value not in choices:
            return f"is {value!r}; {expected_one_of(value, choices)}"
        if self.type in (int, float) and not self._in_range(value):
            return f"is {value}; {self._expected()} is expected"
        return None

    def _in_range(self, value: int | float) -> bool:
        about = self.about
        bounds = [(about.minimum, ge), (about.maximum, le), (about.above, gt), (about.below, lt)]
        # NaN is in no range. Not math.isnan: an integer may be too large for a float.
        is_number = value == value
        return is_number and all(bound is None or holds(value, bound) for bound, holds in bounds)

    def _expected(self) -> str:
        about = self.about
        bounds = {"from": about.minimum, "above": about.above, "up to": about.maximum, "below": about.below}
        limits = [f"{word} {bound:g}" for word, bound in bounds.items() if bound is not None]
        noun = "a share" if about.is_share else _TYPE_NAMES.get(self.type, self.type.__name__)
        return " ".join([noun, *limits]) + (", such as 2% or 0.02," if about.is_share else "")


def option(default: Any = dataclasses.MISSING, help: str = "", **about: Any) -> Any:  # noqa: A002 (as click calls it)
    """Return a field of a dataclass of options.

    Args:
        default: default value; without one, the option is required.
        help: help text, a sentence.
        about: other attributes of :class:`OptionDescription`.
    """
    return dataclasses.field(default=default, metadata={_KEY: OptionDescription(help, **about)})


def documented(*options: type, parameters: Sequence[type] = ()) -> Callable[[F], F]:
    """Return a decorator that describes options of dataclasses in the docstring of the function that takes them.

    What the section ``Args`` of the docstring describes itself stays.

    Args:
        options: dataclasses whose fields the function takes as ``**options``.
        parameters: dataclasses some of whose fields are parameters of the function.
    """

    def describe(function: F) -> F:
        signature = inspect.signature(function).parameters
        text = inspect.cleandoc(function.__doc__ or "")
        before, _, rest = text.partition("\nArgs:\n")
        own, gap, after = rest.partition("\n\n")
        names = {name for line in re.findall(r"^ {4}([\w, ]+): ", own, re.MULTILINE) for name in line.split(", ")}
        entries = [own] if own else []
        for kind in (*options, *parameters):
            for field in dataclasses.fields(kind):
                is_parameter = kind in options or field.name in signature
                if is_parameter and _KEY in field.metadata and field.name not in names:
                    names.add(field.name)
                    entries.append(_entry(field))
        function.__doc__ = "\n".join([before, "Args:", *entries]) + gap + after
        return function

    return describe


def _entry(field: "dataclasses.Field[Any]") -> str:
    """Return an option as in a docstring, with its default; it names other options as parameters, not as flags."""
    about: OptionDescription = field.metadata[_KEY]
    default = about.shown_default or ("" if field.default in (None, (), dataclasses.MISSING) else str(field.default))
    text = f"{field.name}: {about.help}{f' Default: {default}.' if default else ''}"
    text = re.sub(r"--(\w[\w-]*)", lambda flag: f"``{flag[1].replace('-', '_')}``", text)
    return textwrap.fill(text, _WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 8)


def options_of(kind: type) -> list[Option]:
    """Return the options of a dataclass in its order, without fields that :func:`option` did not create."""
    hints = get_type_hints(kind)
    options = []
    for field in dataclasses.fields(kind):
        if _KEY in field.metadata:
            hint, optional = hints[field.name], False
            if get_origin(hint) in (Union, types.UnionType):
                kinds = [each for each in get_args(hint) if each is not type(None)]
                optional = len(kinds) < len(get_args(hint))
                (hint,) = kinds
            several = get_origin(hint) is tuple
            type_ = get_args(hint)[0] if several else hint
            options.append(Option(field.name, type_, several, optional, field.default, field.metadata[_KEY]))
    return options


def make_options(kind: type[T], given: Mapping[str, Any], whose: str) -> T:
    """Return options with the given values, else defaults."""
    known = {option.name: option for option in options_of(kind)}
    for name in given:
        if name not in known:
            remedy = expected_one_of(name, known) if known else "it has none"
            raise ArgumentError(name, f"is not an option of {whose}; {remedy}.")
    values = {}
    for name, option in known.items():
        if name not in given and option.required:
            raise ArgumentError(name, f"is missing: {whose} needs it. {option.about.help}")
        if name in given:
            value, problem = given[name], None
            try:
                if option.several and isinstance(value, (list, tuple)):
                    value = tuple(_convert_single(option, each) for each in value)
                else:
                    value = _convert_single(option, value)
            except ValueError as error:
                problem = str(error)
            problem = problem or option.problem(value)
            if problem is not None:
                raise ArgumentError(name, f"{problem}.")
            values[name] = value
    return kind(**values)


def _convert_single(option: Option, value: Any) -> Any:
    if option.type is Path and isinstance(value, str):
        return Path(value)
    if option.about.is_share and isinstance(value, str):
        return share_of(value)
    if option.type in (int, float) and isinstance(value, numbers.Integral) and not isinstance(value, bool):
        # Includes NumPy's integers. One too large for a float is refused by its range.
        with suppress(OverflowError):
            return option.type(value)
    return value
