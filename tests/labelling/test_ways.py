"""Ways of asking are read by name, and their repetitions differ."""

import pytest

from kgprobe.base.errors import ArgumentError
from kgprobe.labelling.ways import WAYS, parse_ways
from kgprobe.probes.register import PROBES


def test_ways_are_read_in_order_once() -> None:
    assert [way.name for way in parse_ways("questions, distractors,questions")] == ["questions", "distractors"]


@pytest.mark.parametrize(
    ("text", "message"), [(" ,", "names no way"), ("distractors,guesses", "has 'guesses'; one or")]
)
def test_unknown_or_no_way_is_refused(text: str, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        parse_ways(text)


def test_options_of_each_way_are_those_of_its_probe() -> None:
    for way in WAYS.values():
        if way.probe in PROBES:
            for number in range(3):
                way.kind.options_from(way.options_of(number))


def test_repetitions_of_questions_have_other_words() -> None:
    first, second, third, fourth = (WAYS["thinking"].options_of(number) for number in range(4))
    assert (second["wording"], third["with_alias"], fourth) == ("generic", True, first)
    assert {first["thinking"], second["thinking"]} == {"on"}
