"""Options as dataclasses: what of each is known, what is refused, and in which words."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kgprobe.base.errors import ArgumentError
from kgprobe.base.options import make_options, option, options_of

FOUND_LATER = ["one", "two"]


@dataclass(frozen=True, slots=True)
class Kettle:
    """One option of each kind."""

    name: str = option(help="What it is called.")
    size: int = option(10, "How much goes in.", minimum=1, maximum=100)
    heat: float = option(0.5, "How hot.", above=0, below=1)
    loud: bool = option(False, "Whether it whistles.")
    lid: Path | None = option(None, "Where its lid lies.")
    colour: str = option("red", "What it looks like.", choices=("red", "green"))
    mood: str = option("one", "What it feels like.", choices=lambda: FOUND_LATER)
    cups: tuple[int, ...] = option((), "What is poured.", minimum=1, flag="--cup")
    books: tuple[Path, ...] = option((), "What is read beside it.")
    tags: tuple[str, ...] | None = option(None, "What it is filed under.")
    steps: int | None = option(None, "How many.", none="all")
    secret: int = 7


def made(**given: Any) -> Kettle:
    return make_options(Kettle, {"name": "K", **given}, "the kettle")


def test_what_is_known_of_each_option() -> None:
    options = {one.name: one for one in options_of(Kettle)}
    assert list(options) == [name for name in Kettle.__dataclass_fields__ if name != "secret"]
    assert {name: (one.type, one.several, one.optional) for name, one in options.items()} == {
        "name": (str, False, False),
        "size": (int, False, False),
        "heat": (float, False, False),
        "loud": (bool, False, False),
        "lid": (Path, False, True),
        "colour": (str, False, False),
        "mood": (str, False, False),
        "cups": (int, True, False),
        "books": (Path, True, False),
        "tags": (str, True, True),
        "steps": (int, False, True),
    }
    assert [name for name, one in options.items() if one.required] == ["name"]
    assert (options["size"].default, options["size"].about.help) == (
        10,
        "How much goes in.",
    )
    assert (options["cups"].about.flag, options["steps"].about.none) == ("--cup", "all")
    assert options["colour"].choices() == ("red", "green")
    assert options["name"].choices() is None


def test_choices_are_looked_up_when_they_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ArgumentError, match="expected one of one, two"):
        made(mood="three")
    monkeypatch.setitem(globals(), "FOUND_LATER", ["three"])
    assert made(mood="three").mood == "three"


def test_what_is_not_given_is_the_default() -> None:
    assert made() == Kettle("K")
    assert made(size=3) == Kettle("K", size=3)
    assert made().secret == 7


def test_values_become_what_their_field_holds() -> None:
    kettle = made(heat=0.25, lid="a/b", cups=[1, 2], books=["a", Path("b")], tags=("x",), steps=None)
    assert (kettle.lid, kettle.cups, kettle.books) == (Path("a/b"), (1, 2), (Path("a"), Path("b")))
    assert (kettle.tags, kettle.steps) == (("x",), None)

    @dataclass(frozen=True)
    class Scale:
        weight: float = option(1.0, "How much.", minimum=0)

    (weight,) = (make_options(Scale, {"weight": 2}, "the scale").weight,)
    assert (weight, type(weight)) == (2.0, float)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"size": 0}, "`size` is 0; a whole number from 1 up to 100 is expected."),
        ({"size": 101}, "`size` is 101; a whole number from 1 up to 100 is expected."),
        ({"size": 2.0}, "`size` is 2.0; a whole number from 1 up to 100 is expected."),
        ({"size": True}, "`size` is True; a whole number from 1 up to 100 is expected."),
        ({"size": "3"}, "`size` is '3'; a whole number from 1 up to 100 is expected."),
        ({"size": None}, "`size` is None; a whole number from 1 up to 100 is expected."),
        ({"heat": 0}, "`heat` is 0.0; a number above 0 below 1 is expected."),
        ({"heat": 1.0}, "`heat` is 1.0; a number above 0 below 1 is expected."),
        ({"heat": float("nan")}, "`heat` is nan; a number above 0 below 1 is expected."),
        ({"heat": "hot"}, "`heat` is 'hot'; a number above 0 below 1 is expected."),
        ({"heat": False}, "`heat` is False; a number above 0 below 1 is expected."),
        ({"loud": 1}, "`loud` is 1; True or False is expected."),
        ({"name": 3}, "`name` is 3; a text is expected."),
        ({"lid": 3}, "`lid` is 3; a path is expected."),
        ({"colour": "gren"}, "`colour` is 'gren'; expected one of red, green (did you mean green?)."),
        ({"colour": "#"}, "`colour` is '#'; expected one of red, green."),
        ({"cups": 3}, "`cups` is 3; a sequence is expected, each a whole number from 1."),
        ({"cups": "12"}, "`cups` is '12'; a sequence is expected, each a whole number from 1."),
        ({"cups": [1, 0]}, "`cups` is 0; a whole number from 1 is expected."),
        ({"cups": (1, "b")}, "`cups` is 'b'; a whole number from 1 is expected."),
        ({"sizes": 3}, "`sizes` is not an option of the kettle; expected one of name, size, "),
        ({"secret": 3}, "`secret` is not an option of the kettle; expected one of name, size, heat, "),
    ],
)
def test_what_cannot_be_is_refused_with_what_would_be(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError) as raised:
        made(**given)
    assert str(raised.value).startswith(message)
    assert raised.value.argument == next(iter(given))


def test_what_has_to_be_given_is_missed() -> None:
    with pytest.raises(ArgumentError, match=r"^`name` is missing: the kettle needs it. What it is called.$") as raised:
        make_options(Kettle, {"size": 3}, "the kettle")
    assert raised.value.argument == "name"


def test_what_has_no_options_takes_none() -> None:
    @dataclass(frozen=True)
    class Nothing:
        """No options."""

    assert make_options(Nothing, {}, "the rest") == Nothing()
    with pytest.raises(ArgumentError, match="`size` is not an option of the rest; it has none"):
        make_options(Nothing, {"size": 1}, "the rest")


numbers = some.integers(-3, 5) | some.floats(-3, 5)
bounds = some.none() | some.integers(-2, 4)


@given(some.sampled_from([int, float]), bounds, bounds, bounds, bounds, numbers)
def test_range_is_its_bounds(
    kind: type, minimum: float | None, maximum: float | None, above: float | None, below: float | None, value: float
) -> None:
    said = {"minimum": minimum, "maximum": maximum, "above": above, "below": below}
    bounded = dataclass(frozen=True)(
        type("Bounded", (), {"__annotations__": {"x": kind}, "x": option(help="X.", **said)})
    )
    fits = (
        (kind is float or isinstance(value, int))
        and (minimum is None or value >= minimum)
        and (maximum is None or value <= maximum)
        and (above is None or value > above)
        and (below is None or value < below)
    )
    try:
        assert make_options(bounded, {"x": value}, "it").x == value  # type: ignore[attr-defined]
        assert fits
    except ArgumentError:
        assert not fits
