"""Dates and quantities of Wikidata's JSON as literals, against an independent reading of the same values."""

import calendar
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from kgprobe.base.records import Entity, Fact, Rejected
from kgprobe.loaders.literals import measure_literal, number_literal
from kgprobe.loaders.wikidata import Dump, DumpSelection, open_dump
from kgprobe.loaders.wikidata_literals import COARSE_DATE, OTHER_UNIT, quantity_literal, time_literal, unit_names
from kgprobe.loaders.wikidata_time import JULIAN
from tests.loaders.entities import Json, dump, entity, item, snak, statement, time

ITEM = "http://www.wikidata.org/entity/"
UNITS = {"1": "", f"{ITEM}Q712226": "square kilometres", f"{ITEM}Q11573": "metres", f"{ITEM}Q3710": "feet"}


def quantity(amount: str, unit: str = "1") -> Json:
    """Return a quantity as a value."""
    return {"value": {"amount": amount, "unit": unit}, "type": "quantity"}


def opened(folder: Path, claims: dict[str, list[Json]], **selected: Any) -> Dump:
    path = folder / "dump.json"
    path.write_text(dump(entity("Q1", claims=claims)), encoding="utf-8")
    return open_dump(path, selection=DumpSelection(**selected))


def read(source: Dump) -> tuple[dict[str, Entity], list[Fact], list[str]]:
    """Return the literals by id, the facts, and the messages about rejected statements."""
    entities = [placed.record for placed in source.entities()]
    literals = [record for record in entities if isinstance(record, Entity) and record.datatype is not None]
    facts = [placed.record for placed in source.facts()]
    by_id = {literal.id: literal for literal in literals}
    assert len(by_id) == len(literals)
    return (
        by_id,
        [record for record in facts if isinstance(record, Fact)],
        [record.reason for record in facts if isinstance(record, Rejected)],
    )


def label_of(value: Json) -> str:
    """Return the words of a value, read without the loader's code."""
    inner = value["value"]
    if value["type"] == "time":
        sign, (year, month, day) = inner["time"][0], map(int, inner["time"][1:].split("T")[0].split("-"))
        parts = [str(day), calendar.month_name[month], str(year)][11 - inner["precision"] :]
        return " ".join(parts) + (" BC" if sign == "-" else "")
    number = Decimal(inner["amount"])
    text = f"{number:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return f"{text} {UNITS[inner['unit']]}".strip()


def drawn_values(count: int) -> list[Json]:
    random_ = random.Random(0)
    values = []
    for _ in range(count // 2):
        year, month, day = random_.randint(1, 2100), random_.randint(1, 12), random_.randint(1, 28)
        value = time(f"{random_.choice('+++-')}{year:04}-{month:02}-{day:02}T00:00:00Z", random_.randint(9, 11))
        if random_.random() < 0.2:
            value["value"]["calendarmodel"] = JULIAN
        amount = Decimal(random_.randint(2, 10**7)) / 10 ** random_.randint(0, 3)
        values += [value, quantity(f"{random_.choice('++-')}{amount}", random_.choice(list(UNITS)))]
    return values


def test_literals_agree_with_an_independent_reading(tmp_path: Path) -> None:
    values = drawn_values(200)
    claims = {"P1": [statement("P1", value, f"Q1${number}") for number, value in enumerate(values)]}
    literals, facts, messages = read(opened(tmp_path, claims))
    assert not messages
    assert [literals[fact.object].label for fact in facts] == [label_of(value) for value in values]
    for fact, value in zip(facts, values, strict=True):
        literal = literals[fact.object]
        assert literal.types == (literal.datatype,)
        if value["type"] == "time":
            assert literal.datatype == {9: "year", 10: "month", 11: "date"}[value["value"]["precision"]]
        else:
            assert Decimal(literal.value or "") == Decimal(value["value"]["amount"])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (time("+2011-02-30T00:00:00Z"), "its month or day does not exist"),
        (time("+0000-00-00T00:00:00Z", 9), "is in the year 0, which does not exist"),
        (time("2011"), "is not a point in time"),
        (time("+2011-05-07T00:00:00Z", 99), "is not a point in time"),
        (time(f"+{'9' * 16}-01-01T00:00:00Z", 9), "is not a date"),
        ({"value": None, "type": "time"}, "Expected `object`, got `null`"),
        (quantity("+Infinity"), "'+Infinity' is not a number"),
        (quantity("+1e99999"), "is not a number"),
        (quantity(""), "'' is not a number"),
        (quantity("+" + "1" * 2000 + ".5"), "more than 1,000"),
        (quantity("+1", "kilometre"), "the unit 'kilometre' is not an item of Wikidata"),
        (quantity("+Infinity", f"{ITEM}Q5"), "'+Infinity' is not a number"),
        ({"value": {"amount": "+1"}, "type": "quantity"}, "missing required field `unit`"),
    ],
)
def test_unreadable_value_is_rejected_alone(tmp_path: Path, value: Json, message: str) -> None:
    good = statement("P1", quantity("+3"), "Q1$good")
    literals, facts, messages = read(opened(tmp_path, {"P1": [statement("P1", value, "Q1$bad"), good]}))
    assert list(literals) == ["3^^integer"]
    assert [fact.id for fact in facts] == ["Q1$good"]
    assert len(messages) == 1
    assert message in messages[0]


def test_statements_not_loaded_are_counted_by_kind(tmp_path: Path) -> None:
    claims = {
        "P1": [
            statement("P1", time("+1980-00-00T00:00:00Z", 8)),
            statement("P1", time("+1801-00-00T00:00:00Z", 7)),
            statement("P1", quantity("+5", f"{ITEM}Q5")),
            statement("P1", {"value": "text", "type": "string"}),
            statement("P1", quantity("+7"), rank="deprecated"),
            {"mainsnak": snak("P1", None, "somevalue")},
            {"mainsnak": snak("P1", None, "novalue")},
            statement("P1", {"value": {"entity-type": "property", "id": "P36"}, "type": "wikibase-entityid"}),
        ],
        "P31": [statement("P31", item(5)), {"mainsnak": snak("P31", None, "somevalue")}],
    }
    source = opened(tmp_path, claims)
    expected = {
        "date coarser than a year": 2,
        "quantity in another unit": 1,
        "string": 1,
        "deprecated": 1,
        "unknown value": 2,
        "no value": 1,
        "other entity": 1,
    }
    for _ in range(2):
        assert read(source) == ({}, [], [])
        assert source.not_loaded == expected


def test_literals_no_leaves_them_out_and_counts_them(tmp_path: Path) -> None:
    values = [item(2), time("+2011-05-07T00:00:00Z"), quantity("+3"), quantity("+3", f"{ITEM}Q11573")]
    claims = {"P1": [statement("P1", value, f"Q1${number}") for number, value in enumerate(values)]}
    source = opened(tmp_path, claims, literals=False)
    literals, facts, messages = read(source)
    assert not literals
    assert not messages
    assert [fact.object for fact in facts] == ["Q2"]
    assert source.not_loaded == {"date": 1, "quantity": 2}
    assert source.fingerprint != opened(tmp_path, claims).fingerprint


def test_truthy_counts_statements_not_preferred(tmp_path: Path) -> None:
    ranks = ("preferred", "normal", "deprecated")
    claims = {"P1": [statement("P1", quantity(f"+{at}"), f"Q1${at}", rank) for at, rank in enumerate(ranks)]}
    source = opened(tmp_path, claims, truthy=True)
    literals, facts, _ = read(source)
    assert list(literals) == [fact.object for fact in facts] == ["0^^integer"]
    assert source.not_loaded == {"not preferred": 1, "deprecated": 1}


def test_values_without_words_are_not_loaded() -> None:
    assert time_literal("+1980-00-00T00:00:00Z", 8, "") is COARSE_DATE
    assert quantity_literal("+5", f"{ITEM}Q5") is OTHER_UNIT


def test_units_have_distinct_names() -> None:
    names = unit_names()
    assert len(set(names.values())) == len(names) > 60
    assert len({measure_literal("2", name).datatype for name in names.values()}) == len(names)


@pytest.mark.parametrize(
    ("amount", "unit", "identifier", "label"),
    [
        ("+1", "kilometre per hour", "1^^kilometrePerHour", "1 kilometre per hour"),
        ("-2.50", "degree Celsius", "-2.5^^degreeCelsius", "-2.5 degrees Celsius"),
        ("+90", "kilometre per hour", "90^^kilometrePerHour", "90 kilometres per hour"),
        ("+3", "US dollar", "3^^usDollar", "3 US dollars"),
        ("+6", "foot", "6^^foot", "6 feet"),
    ],
)
def test_measure_literal_has_unit_in_words(amount: str, unit: str, identifier: str, label: str) -> None:
    literal = measure_literal(amount, unit)
    assert (literal.id, literal.label, literal.types) == (identifier, label, (literal.datatype,))


def test_number_literal_is_integer_or_decimal() -> None:
    assert number_literal("+5.00").id == "5^^integer"
    assert number_literal("-0.5").id == "-0.5^^decimal"
    assert number_literal("1e30").datatype == "decimal"
