"""Options of a probe, a loader, a study: the fields of a frozen dataclass, with what one has to know of each.

    @dataclass(frozen=True, slots=True)
    class Options:
        distractors: int = option(10, "Wrong objects that stand beside the right one.", minimum=1)

The library takes them by the field's name (``distractors=20``), and the command line makes its options from them
(``--distractors 20``): name, type, range, help and default are said once. Types are ``str``, ``int``, ``float``,
``bool``, ``Path``, a ``tuple[…, ...]`` of one of these for what can be given several times, and any of them or None.
"""

import dataclasses
import difflib
import numbers
import types
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from kgprobe.errors import ArgumentError

T = TypeVar("T")

_KEY = "kgprobe.option"


@dataclass(frozen=True, slots=True)
class About:
    """What is said of an option beside its name, type and default.

    Attributes:
        help: for people, a sentence.
        minimum, maximum: bounds of numbers, themselves allowed.
        above, below: bounds of numbers, themselves not allowed.
        choices: the only values, or what gives them when they are needed.
        flag: on the command line, where it is not the field's name with hyphens; of a field that can be given several
            times, it names one.
        metavar: what stands for the value in the help.
        none: the word on the command line for None; without one, None is what is not given.
        shown_default: what the help says of the default, where the value itself says nothing.
        variable: of the environment, that gives the value where nobody else does.
        positional: whether the command line takes it without a name.
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


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a kind of options.

    Attributes:
        type: of a value; of one of the values where ``several``.
        optional: whether None is a value.
        default: ``dataclasses.MISSING`` where it has to be given.
    """

    name: str
    type: type
    several: bool
    optional: bool
    default: Any
    about: About

    @property
    def required(self) -> bool:
        """Whether it has to be given."""
        return self.default is dataclasses.MISSING

    def choices(self) -> Sequence[str] | None:
        """The only values; None where there are others."""
        choices = self.about.choices
        return choices() if callable(choices) else choices

    def problem(self, value: Any) -> str | None:
        """What is wrong with a value, to be read after the option's name; None if nothing is."""
        if value is None:
            return None if self.optional else f"is None; {self._expected()} is expected"
        if self.several:
            if isinstance(value, str) or not isinstance(value, Sequence):
                return f"is {value!r}; a sequence is expected, each {self._expected()}"
            if self.required and not value:
                return f"is empty; at least one is expected, each {self._expected()}"
            return next((problem for one in value if (problem := self._problem_of_one(one))), None)
        return self._problem_of_one(value)

    def _problem_of_one(self, value: Any) -> str | None:
        fits = isinstance(value, (int, float) if self.type is float else self.type)
        if not fits or (isinstance(value, bool) and self.type is not bool):
            return f"is {value!r}; {self._expected()} is expected"
        choices = self.choices()
        if choices is not None and value not in choices:
            close = difflib.get_close_matches(str(value), choices, 1)
            return f"is {value!r}; one of {', '.join(choices)} is expected{f' ({close[0]}?)' if close else ''}"
        if self.type in (int, float) and not self._in_range(value):
            return f"is {value}; {self._expected()} is expected"
        return None

    def _in_range(self, value: int | float) -> bool:
        about = self.about
        # Only NaN differs from itself; an integer may be too large to be made a float.
        return (
            value == value
            and (about.minimum is None or value >= about.minimum)
            and (about.maximum is None or value <= about.maximum)
            and (about.above is None or value > about.above)
            and (about.below is None or value < about.below)
        )

    def _expected(self) -> str:
        named = {str: "a text", int: "a whole number", float: "a number", bool: "True or False", Path: "a path"}
        bounds = [
            f"{word} {bound:g}"
            for word, bound in (
                ("from", self.about.minimum),
                ("above", self.about.above),
                ("up to", self.about.maximum),
                ("below", self.about.below),
            )
            if bound is not None
        ]
        return " ".join([named.get(self.type, self.type.__name__), *bounds])


def option(default: Any = dataclasses.MISSING, help: str = "", **about: Any) -> Any:  # noqa: A002 (as click calls it)
    """A field of options.

    Args:
        default: none makes it required.
        help: a sentence for people.
        about: see :class:`About`.
    """
    return dataclasses.field(default=default, metadata={_KEY: About(help, **about)})


def options_of(kind: type) -> list[Option]:
    """The options of a dataclass, in its order; fields that :func:`option` did not make are none."""
    hints = get_type_hints(kind)
    found = []
    for field in dataclasses.fields(kind):
        if _KEY in field.metadata:
            type_, several, optional = _typed(hints[field.name])
            found.append(Option(field.name, type_, several, optional, field.default, field.metadata[_KEY]))
    return found


def make_options(kind: type[T], given: Mapping[str, Any], whose: str) -> T:
    """Options from what was given by name; the rest are defaults.

    Args:
        whose: what has these options, for messages: ``the probe questions``.

    Raises:
        ArgumentError: there is no option of a name, one is missing, or a value is none of its values.
    """
    known = {one.name: one for one in options_of(kind)}
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            meant = f"; did you mean `{close[0]}`?" if close else f"; it has {', '.join(known) or 'none'}."
            raise ArgumentError(name, f"is no option of {whose}{meant}")
    values = {}
    for name, one in known.items():
        if name not in given and one.required:
            raise ArgumentError(name, f"is missing: {whose} needs it. {one.about.help}")
        if name in given:
            value = _widened(one, given[name])
            problem = one.problem(value)
            if problem is not None:
                raise ArgumentError(name, f"{problem}.")
            values[name] = value
    return kind(**values)


def _widened(one: Option, value: Any) -> Any:
    """A value as its field holds it: a path may be given as text, several values as any sequence."""
    if one.several and isinstance(value, (list, tuple)):
        return tuple(_widened_one(one, each) for each in value)
    return _widened_one(one, value)


def _widened_one(one: Option, value: Any) -> Any:
    if one.type is Path and isinstance(value, str):
        return Path(value)
    if one.type in (int, float) and isinstance(value, numbers.Integral) and not isinstance(value, bool):
        # Also one of NumPy's; one beyond all floats stays, for its range to refuse.
        with suppress(OverflowError):
            return one.type(value)
    return value


def _typed(hint: Any) -> tuple[type, bool, bool]:
    """The type of a value, whether there can be several, and whether it can be None."""
    optional = False
    if get_origin(hint) in (Union, types.UnionType):
        kinds = [each for each in get_args(hint) if each is not type(None)]
        optional = len(kinds) < len(get_args(hint))
        (hint,) = kinds
    if get_origin(hint) is tuple:
        return get_args(hint)[0], True, optional
    return hint, False, optional
