"""``kgprobe load wikidata``: the forms of dumps, what is read of them, and what is said of what cannot be."""

import gzip
import json
import os
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.records import Entity, Fact, Placed, Relation
from kgprobe.loaders.wikidata import Dump, DumpSelection, open_dump, read_ids
from kgprobe.sources.contract import open_source
from tests.loaders.entities import Json, aliases, dump, entity, item, snak, statement, terms, time
from tests.loaders.streams import messages, records

SHARED = Path(__file__).parents[2] / ".." / "shared" / "data" / "wikidata"

FRANCE = entity(
    "Q142",
    labels=terms(en="France", de="Frankreich", mul="France"),
    descriptions=terms(de="Staat in Europa", en="country in Europe"),
    aliases=aliases(en=["French Republic", "FR"], de=["Französische Republik"], fr=["République"], mul=["FR"]),
    claims={
        "P31": [
            statement("P31", item(3624078), "Q142$a", rank="preferred"),
            statement("P31", item(6256), "Q142$b"),
            statement("P31", item(417175), "Q142$c", rank="deprecated"),
        ],
        "P279": [statement("P279", item(6256), "Q142$d")],
        "P36": [statement("P36", item(90), "Q142$e")],
        "P35": [
            statement(
                "P35",
                item(329),
                "Q142$f",
                P580=time("+2007-05-16T00:00:00Z"),
                P582=time("+2012-05-00T00:00:00Z", precision=10),
            ),
            statement("P35", item(3052772), "Q142$g", rank="preferred", P580=time("+2017-05-14T00:00:00Z")),
            statement("P35", item(2105), "Q142$h", rank="deprecated"),
        ],
        "P18": [statement("P18", {"value": "map.svg", "type": "string"}, "Q142$j")],
    },
    sitelinks={"enwiki": {"site": "enwiki", "title": "France"}, "dewiki": {"site": "dewiki", "title": "Frankreich"}},
)
# France with a quantity and a date.
FRANCE_WITH_LITERALS = deepcopy(FRANCE)
FRANCE_WITH_LITERALS["claims"] |= {
    "P1082": [statement("P1082", {"value": {"amount": "+68000000", "unit": "1"}, "type": "quantity"}, "Q142$i")],
    "P571": [statement("P571", time("+0843-08-00T00:00:00Z", precision=10), "Q142$k")],
}
PARIS = entity("Q90", labels=terms(en="Paris"), claims={"P31": [statement("P31", item(515))]})
CAPITAL = entity("P36", labels=terms(en="capital"), aliases=aliases(en=["seat"]), descriptions=terms(en="seat of it"))
LEXEME = {"type": "lexeme", "id": "L1", "lemmas": terms(en="go"), "lexicalCategory": "Q24905", "language": "Q1860"}


def opened(folder: Path, content: str | bytes, **selected: Any) -> Dump:
    path = folder / "dump.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    # So that equal contents have equal fingerprints.
    os.utime(path, ns=(1, 1))
    return open_dump(path, shipped=False, selection=DumpSelection(**selected))


def everything(source: Dump) -> list[list[Any]]:
    return [records(source.relations()), records(source.entities()), records(source.facts())]


def test_dump(tmp_path: Path) -> None:
    source = opened(tmp_path, dump(FRANCE_WITH_LITERALS, LEXEME, CAPITAL, PARIS))
    assert list(source.entities()) == [
        Placed(
            2,
            Entity(
                "Q142", "France", ("French Republic", "FR"), "country in Europe", ("Q3624078", "Q6256"), popularity=2.0
            ),
            "dump.json",
        ),
        Placed(
            2,
            Entity("68000000^^integer", "68000000", types=("integer",), value="68000000", datatype="integer"),
            "dump.json",
        ),
        Placed(2, Entity("0843-08", "August 843", types=("month",), value="0843-08", datatype="month"), "dump.json"),
        Placed(5, Entity("Q90", "Paris", types=("Q515",)), "dump.json"),
    ]
    assert list(source.relations()) == [Placed(4, Relation("P36", "capital", ("seat",), "seat of it"), "dump.json")]
    assert list(source.facts()) == [
        Placed(2, Fact("Q142$e", "Q142", "P36", "Q90"), "dump.json"),
        Placed(2, Fact("Q142$f", "Q142", "P35", "Q329", start="2007-05-16", end="2012-05"), "dump.json"),
        Placed(2, Fact("Q142$g", "Q142", "P35", "Q3052772", rank="preferred", start="2017-05-14"), "dump.json"),
        Placed(2, Fact("Q142$i", "Q142", "P1082", "68000000^^integer"), "dump.json"),
        Placed(2, Fact("Q142$k", "Q142", "P571", "0843-08"), "dump.json"),
    ]
    assert source.not_loaded == {"deprecated": 2, "string": 1}
    assert source.done == source.total == 3 * (tmp_path / "dump.json").stat().st_size
    assert source.partial


FORMS = {
    "an entity a line in an array": dump(FRANCE, CAPITAL, PARIS),
    "JSON lines": "\n".join(map(json.dumps, (FRANCE, CAPITAL, PARIS))),
    "JSON lines with blank ones and carriage returns": "\r\n\r\n".join(map(json.dumps, (FRANCE, CAPITAL, PARIS))),
    "brackets beside entities": f"[{json.dumps(FRANCE)},\n{json.dumps(CAPITAL)},\n{json.dumps(PARIS)}]",
    "an array in one line": json.dumps([FRANCE, CAPITAL, PARIS]),
    "an array laid out": json.dumps([FRANCE, CAPITAL, PARIS], indent=2),
    "Special:EntityData": json.dumps({"entities": {"Q142": FRANCE, "P36": CAPITAL, "Q90": PARIS}}),
    "Special:EntityData laid out": json.dumps({"entities": {"Q142": FRANCE, "P36": CAPITAL, "Q90": PARIS}}, indent=1),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_the_same_entities_reads_the_same(tmp_path: Path, form: str) -> None:
    expected = everything(opened(tmp_path, dump(FRANCE, CAPITAL, PARIS)))
    assert [len(stream) for stream in expected] == [1, 2, 3]
    assert everything(opened(tmp_path, FORMS[form])) == expected


def test_lines_of_a_document_are_where_entities_begin(tmp_path: Path) -> None:
    text = json.dumps([FRANCE, PARIS], indent=2)
    second = text[: text.rindex('{\n    "type": "item",\n    "id": "Q90"')].count("\n") + 1
    assert [placed.line for placed in opened(tmp_path, text).entities()] == [2, second]


def test_entity_values_in_the_old_form(tmp_path: Path) -> None:
    old = deepcopy(FRANCE)
    for statements in old["claims"].values():
        for each in statements:
            if each["mainsnak"]["datavalue"]["type"] == "wikibase-entityid":
                del each["mainsnak"]["datavalue"]["value"]["id"]
    assert everything(opened(tmp_path, dump(old))) == everything(opened(tmp_path, dump(FRANCE)))


def test_values_that_are_entities_but_no_items_are_no_facts(tmp_path: Path) -> None:
    values = [
        {"entity-type": "property", "numeric-id": 36, "id": "P36"},
        {"entity-type": "property", "numeric-id": 36},
        {"entity-type": "lexeme", "numeric-id": 1, "id": "L1"},
        {"entity-type": "form", "id": "L1-F1"},
    ]
    claims = {"P1": [statement("P1", {"value": value, "type": "wikibase-entityid"}) for value in values]}
    assert records(opened(tmp_path, dump(entity("Q1", claims=claims))).facts()) == []


def test_unknown_value_and_no_value_are_no_facts_and_no_bounds(tmp_path: Path) -> None:
    term = statement("P35", item(5), "Q1$a")
    term["qualifiers"] = {"P580": [snak("P580", None, "somevalue")], "P582": [snak("P582", None, "novalue")]}
    claims = {"P35": [term, *({**term, "mainsnak": snak("P35", None, kind)} for kind in ("somevalue", "novalue"))]}
    assert records(opened(tmp_path, dump(entity("Q1", claims=claims))).facts()) == [Fact("Q1$a", "Q1", "P35", "Q5")]


def test_point_in_time_is_the_start_without_bounds(tmp_path: Path) -> None:
    year = time("+1998-00-00T00:00:00Z", precision=9)
    century = time("+1801-00-00T00:00:00Z", precision=7)
    claims = {
        "P1": [
            statement("P1", item(1), "a", P585=year),
            statement("P1", item(2), "b", P585=year, P580=time("+2000-01-01T00:00:00Z")),
            statement("P1", item(3), "c", P585=century),
            statement("P1", item(4), "d", P585=year, P582=time("+2000-01-01T00:00:00Z")),
        ]
    }
    facts = records(opened(tmp_path, dump(entity("Q1", claims=claims))).facts())
    assert [(fact.start, fact.end) for fact in facts] == [
        ("1998", None),
        ("2000-01-01", None),
        ("1801", None),
        (None, "2000-01-01"),
    ]


def test_end_of_unknown_value_is_an_end_at_an_unknown_day(tmp_path: Path) -> None:
    ended, known = statement("P1", item(1), "a"), statement("P1", item(2), "b")
    somewhen, year = snak("P582", None, "somevalue"), snak("P582", time("+2010-00-00T00:00:00Z", 9))
    ended["qualifiers"] = {"P580": [snak("P580", time("+1990-00-00T00:00:00Z", 9))], "P582": [somewhen]}
    known["qualifiers"] = {"P582": [somewhen, year]}
    facts = records(opened(tmp_path, dump(entity("Q1", claims={"P1": [ended, known]}))).facts())
    assert [(fact.start, fact.end) for fact in facts] == [("1990", "unknown"), (None, "2010")]


def test_of_several_bounds_the_widest_count(tmp_path: Path) -> None:
    term = statement("P1", item(1), "a")
    starts, ends = ["+1990-00-00", "-0010-00-00", "+2001-00-00"], ["+1995-00-00", "+2010-00-00"]
    term["qualifiers"] = {
        "P580": [snak("P580", time(f"{start}T00:00:00Z", 9)) for start in starts],
        "P582": [snak("P582", time(f"{end}T00:00:00Z", 9)) for end in ends],
    }
    (fact,) = records(opened(tmp_path, dump(entity("Q1", claims={"P1": [term]}))).facts())
    assert (fact.start, fact.end) == ("-0010", "2010")


def test_statements_without_ids_get_readable_ones(tmp_path: Path) -> None:
    claims = {"P1": [statement("P1", item(2)), statement("P1", item(2), P580=time("+2001-02-03T00:00:00Z"))]}
    facts = records(opened(tmp_path, dump(entity("Q1", claims=claims))).facts())
    assert [fact.id for fact in facts] == ["Q1 P1 Q2", "Q1 P1 Q2 @2001-02-03"]


def test_truthy_keeps_the_preferred_where_there_are_any(tmp_path: Path) -> None:
    source = opened(tmp_path, dump(FRANCE), truthy=True)
    assert [fact.id for fact in records(source.facts())] == ["Q142$e", "Q142$g"]
    assert records(source.entities())[0].types == ("Q3624078", "Q6256")


@pytest.mark.parametrize(
    ("languages", "label", "names", "description"),
    [
        (("en", "mul"), "France", ("French Republic", "FR"), "country in Europe"),
        (("de",), "Frankreich", ("Französische Republik",), "Staat in Europa"),
        (("fr", "de"), "Frankreich", ("République", "Französische Republik"), "Staat in Europa"),
        (("xx",), "", (), ""),
    ],
)
def test_languages_with_fallbacks(
    tmp_path: Path, languages: tuple[str, ...], label: str, names: tuple[str, ...], description: str
) -> None:
    (france,) = records(opened(tmp_path, dump(FRANCE), languages=languages).entities())
    assert (france.label, france.aliases, france.description) == (label, names, description)


@pytest.mark.parametrize(
    ("languages", "label"),
    [
        (["de", "en"], "Kyjiw"),
        (["fr", "en"], "Kyiv (mul)"),
        (["fr", "mul", "en"], "Kyiv (mul)"),
        (["fr", "en", "mul"], "Kyiv"),
        (["de-at", "de"], "Kyjiw"),
        (["fr-ca", "fr"], "Kyiv (mul)"),
        (["de"], "Kyjiw"),
        (["fr"], "Kyiv (mul)"),
    ],
)
def test_mul_label_follows_the_first_language(tmp_path: Path, languages: list[str], label: str) -> None:
    names = {"labels": terms(de="Kyjiw", en="Kyiv", mul="Kyiv (mul)"), "aliases": aliases(mul=["Kiew-Stadt"])}
    path = tmp_path / "dump.json"
    path.write_text(dump(entity("Q1899", **names)), encoding="utf-8")
    (kyiv,) = records(open_source("wikidata", dump=path, languages=languages).entities())
    assert (kyiv.label, kyiv.aliases[-1]) == (label, "Kiew-Stadt")


@pytest.mark.parametrize(
    "record",
    [
        '{"id": "Q777", "missing": ""}',
        '{"id": "Q777", "missing": true}',
        '{"entities": {"Q777": {"id": "Q777", "missing": ""}}}',
        '{"id": "P777", "missing": ""}',
        '{"id": "L777", "missing": ""}',
        '{"type": "item", "id": "Q777", "missing": ""}',
    ],
)
def test_deleted_entity_is_rejected(tmp_path: Path, record: str) -> None:
    source = opened(tmp_path, record)
    (reason,) = messages(source.entities())
    assert reason.endswith("777: it is missing: deleted or never there")
    assert records(source.relations()) == records(source.facts()) == []
    # Not an entity of the selection.
    assert messages(opened(tmp_path, record, ids=frozenset({"Q1"})).entities()) == []


def test_filters(tmp_path: Path) -> None:
    text = dump(FRANCE, CAPITAL, PARIS)
    by_relation = opened(tmp_path, text, relations=frozenset({"P36"}))
    assert [fact.relation for fact in records(by_relation.facts())] == ["P36"]
    assert [relation.id for relation in records(by_relation.relations())] == ["P36"]
    assert len(records(by_relation.entities())) == 2
    by_type = opened(tmp_path, text, types=frozenset({"Q515", "Q1"}))
    assert [found.id for found in records(by_type.entities())] == ["Q90"]
    assert records(by_type.facts()) == []
    by_other_type = opened(tmp_path, text, types=frozenset({"Q6256"}))
    assert len(records(by_other_type.facts())) == 3
    by_id = opened(tmp_path, text, ids=frozenset({"Q142"}))
    assert [found.id for found in records(by_id.entities())] == ["Q142"]
    assert len(records(by_id.facts())) == 3
    again = opened(tmp_path, text, ids=frozenset({"Q142"}))
    assert again.fingerprint == by_id.fingerprint
    compact = "\n".join(json.dumps(each, separators=(",", ":")) for each in (FRANCE, PARIS))
    assert [found.id for found in records(opened(tmp_path, compact, ids=frozenset({"Q90"})).entities())] == ["Q90"]
    plain_, truthy = opened(tmp_path, text), opened(tmp_path, text, truthy=True)
    german = opened(tmp_path, text, languages=("de",))
    typed = opened(tmp_path, text, types_as_facts=True)
    chosen = (by_relation, by_type, by_other_type, by_id, plain_, truthy, german, typed)
    assert len({source.fingerprint for source in chosen}) == 8


def test_several_languages_give_names_in_each(tmp_path: Path) -> None:
    source = opened(
        tmp_path, dump(FRANCE, CAPITAL, PARIS), languages=("en", "mul", "de", "fr"), named=("en", "de", "fr")
    )
    france, paris = (record for record in records(source.entities()) if isinstance(record, Entity))
    assert source.languages == ("en", "de", "fr")
    # Where a language lacks a label, that of all languages counts.
    assert france.texts == {
        "en": {"label": "France", "aliases": ("French Republic", "FR"), "description": "country in Europe"},
        "de": {"label": "Frankreich", "aliases": ("Französische Republik", "FR"), "description": "Staat in Europa"},
        "fr": {"label": "France", "aliases": ("République", "FR"), "description": ""},
    }
    assert paris.texts == {"en": {"label": "Paris", "aliases": (), "description": ""}}
    one = opened(tmp_path, dump(FRANCE), languages=("de", "mul"))
    assert [record.texts for record in records(one.entities()) if isinstance(record, Entity)] == [{}]
    assert one.languages == ("de",)


def test_where_reads_the_items_with_a_statement(tmp_path: Path) -> None:
    whole = dump(FRANCE_WITH_LITERALS, CAPITAL, PARIS, {**FRANCE, "id": "Q1", "claims": []})

    def read(*where: tuple[str, str], **options: Any) -> set[str]:
        source = opened(tmp_path, whole, where=where, **options)
        subjects = {fact.subject for fact in records(source.facts())}
        items = {one.id for one in records(source.entities()) if one.datatype is None}
        assert subjects <= items
        # Properties are read as without a selection.
        assert [one.id for one in records(source.relations())] == ["P36"]
        return items

    assert read(("P36", "Q90")) == read(("P6", "Q1"), ("P35", "Q329")) == {"Q142"}
    assert read(("P36", "Q9")) == read(("P6", "Q90")) == set()
    # Deprecated, and not preferred.
    assert read(("P35", "Q2105")) == read(("P35", "Q329"), truthy=True) == set()


def test_years_replace_dates_once_each(tmp_path: Path) -> None:
    world = deepcopy(FRANCE_WITH_LITERALS)
    times = {"a": ("+0843-08-10", 11), "b": ("+0843-00-00", 9), "c": ("-0044-03-15", 11), "d": ("+0900-00-00", 9)}
    world["claims"]["P571"] = [
        statement("P571", time(f"{written}T00:00:00Z", precision), f"Q142${name}")
        for name, (written, precision) in times.items()
    ]
    path = tmp_path / "dump.json"
    path.write_text(dump(world), encoding="utf-8")
    source = open_source("wikidata", dump=path, relations=["P571"], dates="years", where=["P36=Q90"])
    facts = [(fact.id, fact.object) for fact in records(source.facts())]
    assert facts == [("Q142$a", "0843"), ("Q142$c", "-0044"), ("Q142$d", "0900")]
    literals = [one for one in records(source.entities()) if one.datatype is not None]
    assert [(one.id, one.label, one.datatype) for one in literals] == [
        ("0843", "843", "year"),
        ("-0044", "44 BC", "year"),
        ("0900", "900", "year"),
    ]
    stated = open_source("wikidata", dump=path, relations=["P571"])
    assert source.fingerprint != stated.fingerprint
    assert [fact.object for fact in records(stated.facts())] == ["0843-08-10", "0843", "-0044-03-15", "0900"]
    # Relations without a property in the dump are those of the selected items.
    other = open_source("wikidata", dump=path, relations=["P571"], where=["P36=Q1"])
    assert [[one.id for one in records(each.relations())] for each in (source, other)] == [["P571"], []]


def test_options(tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    path.write_text(dump(FRANCE, PARIS), encoding="utf-8")
    ids = tmp_path / "ids.txt"
    ids.write_text("# cities\nQ90\n\n", encoding="utf-8")

    def found(**options: Any) -> list[str]:
        return [one.id for one in records(open_source("wikidata", dump=path, **options).entities())]

    assert found() == found(languages=["en"], relations=["P36"]) == ["Q142", "Q90"]
    assert found(ids=ids) == found(types=["Q515"]) == ["Q90"]
    for wrong, message in (
        ({"relations": ["capital"]}, "`relations` names 'capital'; one like P36 is expected."),
        ({"relations": ["P31"]}, "`relations` names P31, which is read as .* not as facts: set `types_as_facts`"),
        ({"types": ["P31"]}, "`types` names 'P31'; one like Q6256 is expected."),
        ({"languages": ["en "]}, "`languages` names 'en '; one like en is expected."),
        ({"languages": []}, "`languages` is empty; at least one like en is expected."),
    ):
        with pytest.raises(ArgumentError, match=message):
            found(**wrong)
    ids.write_text("Q90\nParis\n", encoding="utf-8")
    with pytest.raises(KgprobeError, match=r"ids\.txt, line 2: 'Paris' is not an item id"):
        read_ids(ids)


def test_templates_are_joined_to_the_properties(tmp_path: Path) -> None:
    templates = tmp_path / "templates.jsonl"
    templates.write_text(
        '{"id": "P36", "clozes": ["The capital of [X] is [Y]"]}\n{"id": "P35", "label": "head", "clozes": ["[Y]"]}\n',
        encoding="utf-8",
    )
    path = tmp_path / "dump.json"
    path.write_text(dump(CAPITAL, entity("P30", labels=terms(en="continent"))), encoding="utf-8")
    problem, capital, continent, head = open_dump(path, templates=templates, shipped=False).relations()
    assert messages(iter([problem]))[0].startswith("templates.jsonl, line 2: P35: '[Y]' of its clozes")
    assert capital == Placed(
        1, Relation("P36", "capital", ("seat",), "seat of it", clozes=("The capital of [X] is [Y]",)), "templates.jsonl"
    )
    assert continent == Placed(3, Relation("P30", "continent"), "dump.json")
    assert head == Placed(2, Relation("P35", "head"), "templates.jsonl")


@pytest.mark.parametrize("part", ["labels", "descriptions", "aliases", "claims", "sitelinks"])
def test_empty_map_may_stand_as_a_list_and_nothing_else_may(tmp_path: Path, part: str) -> None:
    good = opened(tmp_path, dump({**FRANCE, part: []}, PARIS))
    assert [found.id for found in records(good.entities())] == ["Q142", "Q90"]
    assert not messages(good.facts())
    bad = opened(tmp_path, dump({**FRANCE, part: ["France"]}, PARIS))
    assert messages(bad.entities()) == [f"dump.json, line 2: Q142: Expected `object`, got `array` - at `$.{part}`"]
    assert [found.id for found in records(bad.entities())[1:]] == ["Q90"]
    assert not messages(bad.facts())


def test_empty_qualifiers_may_stand_as_a_list(tmp_path: Path) -> None:
    claims = {"P36": [{**statement("P36", item(90), "a"), "qualifiers": []}]}
    assert records(opened(tmp_path, dump(entity("Q1", claims=claims))).facts()) == [Fact("a", "Q1", "P36", "Q90")]


def wrong_statement(**changes: Any) -> Json:
    return {**statement("P36", item(90), "Q1$bad"), **changes}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (
            statement("P36", {"value": 1, "type": "colour"}),
            "Invalid value 'colour' - at `$.claims.P36[1].mainsnak.datavalue.type`",
        ),
        (wrong_statement(rank="best"), "Invalid enum value 'best' - at `$.claims.P36[1].rank`"),
        ("Q90", "Expected `object`, got `str` - at `$.claims.P36[1]`"),
        (
            wrong_statement(mainsnak=snak("P36", None)),
            "P36, statement 'Q1$bad': the statement has neither a value nor says",
        ),
        (
            wrong_statement(mainsnak=snak("P36", {"value": {"entity-type": "item"}, "type": "wikibase-entityid"})),
            "P36, statement 'Q1$bad': the value has neither an id nor numeric-id",
        ),
        (
            statement("P36", item(90), "Q1$bad", P580=time("soon")),
            "P36, statement 'Q1$bad': 'soon' with precision 11 is not a point in time",
        ),
        (
            statement("P36", item(90), "Q1$bad", P580=time("+2001-01-01T00:"), P582=time("+1999-01-01T00:")),
            "P36, statement 'Q1$bad': the end 1999-01-01 lies before the start 2001-01-01",
        ),
    ],
)  # fmt: skip
def test_statement_that_cannot_be_read_costs_only_itself(tmp_path: Path, bad: Any, message: str) -> None:
    claims = {
        "P36": [statement("P36", item(1), "a"), bad, statement("P36", item(2), "b")],
        "P30": [statement("P30", item(3), "c")],
    }
    source = opened(tmp_path, dump(entity("Q1", claims=claims), PARIS))
    assert sorted(fact.id for fact in records(source.facts()) if isinstance(fact, Fact)) == ["a", "b", "c"]
    (said,) = messages(source.facts())
    assert said.startswith("dump.json, line 2: Q1")
    assert message in said
    assert not messages(source.entities())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"type":"item","id":"Q1","labels":{}', "not JSON: Input data was truncated"),
        (b"not JSON", "not JSON: JSON is malformed"),
        (b'{"type":"item"}', "Object missing required field `id`"),
        (b'{"type":"item","id":"Q1","labels":7}', "Q1: Expected `object`, got `int` - at `$.labels`"),
        (b'{"type":"item","id":""}', "the id is empty"),
        (b'{"type":"item","id":"P1"}', "'P1' is not a Wikidata id such as Q42 or P36"),
        (b'{"type":"item","id":"France"}', "'France' is not a Wikidata id"),
        (b'{"type":"item","id":"Q1","labels":{"en":{"value":"\xff"}}}', "Q1: not UTF-8: invalid start byte in a text"),
        (rb'{"type":"item","id":"Q1","labels":{"en":{"value":"\ud800 x"}}}', "not JSON: "),
        (b'{"type":"item","id":"Q1","claims":{"P31":[{"mainsnak":{"snaktype":"value"}}]}}', "neither a value nor says"),
        (b'{"id":"Q1","more":' + b"[" * 100_000, "nested too deeply"),
    ],
)
def test_lines_without_entity_are_reported_once(tmp_path: Path, line: bytes, message: str) -> None:
    text = json.dumps(FRANCE).encode() + b",\n" + line + b",\n" + json.dumps(PARIS).encode() + b"\n]\n"
    source = opened(tmp_path, b"[\n" + text)
    assert [found.id for found in records(source.entities()) if isinstance(found, Entity)] == ["Q142", "Q90"]
    (said,) = messages(source.entities())
    assert said.startswith("dump.json, line 3: ")
    assert message in said
    assert len(records(source.facts())) == 3
    assert not messages(source.relations())


SAID = [statement("P36", item(number), f"Q1$a{number}") for number in (2, 3)]


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        (b'"P36":[%b],"P36":[%b]', "Q1: the key 'P36' occurs 2 times; only the last one is read"),
        (
            b'"P36":[%b]},"claims":{"P36":[%b]',
            "Q1: the key 'claims' occurs 2 times; only the last one is read",
        ),
        (b'"P36":[%b],"P\xff":[%b]', "Q1: not UTF-8: invalid start byte in a text; its facts are lost"),
    ],
    ids=["relation", "claims", "invalid"],
)
def test_facts_with_equal_keys_are_reported(tmp_path: Path, claims: bytes, message: str) -> None:
    first, second = (json.dumps(one).encode() for one in SAID)
    line = b'{"type":"item","id":"Q1","claims":{' + claims % (first, second) + b"}}"
    source = opened(tmp_path, line + b"\n")
    assert len(records(source.entities())) == 1
    assert messages(source.facts()) == [f"dump.json, line 1: {message}"]


def test_truncated_gz_ends_with_where_it_broke_said_once(tmp_path: Path) -> None:
    entities = [entity(f"Q{number}", labels=terms(en=f"{number * 7919 % 10007}")) for number in range(1, 5001)]
    packed = gzip.compress(dump(*entities).encode())
    source = opened(tmp_path, packed[: len(packed) * 2 // 3])
    *kept, last = source.entities()
    assert len(kept) > 1000
    assert messages(iter([last]))[0].startswith(f"dump.json, line {len(kept) + 2}: the file breaks off: ")
    assert not messages(source.facts())
    assert not messages(source.relations())


def test_labels_of_any_kind(tmp_path: Path) -> None:
    labels = [
        "x" * 2**20,
        "القاهرة",
        "🏴‍☠️ ⊕",
        'quote " backtick ` MATCH (n)',
        "<script>alert(1)</script>",
        "\x00a\tb\n",
    ]
    source = opened(tmp_path, dump(*(entity(f"Q{at + 1}", labels=terms(en=label)) for at, label in enumerate(labels))))
    assert [found.label for found in records(source.entities())] == [*labels[:-1], "a b"]


plain = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=20).map(
    lambda text: text.strip() or "x"
)
numbers = st.integers(1, 10**9)
days = st.dates().map(lambda day: day.isoformat())
spans = st.tuples(days, days).map(sorted)


@given(
    number=numbers,
    label=plain,
    names=st.lists(plain, unique=True, max_size=4),
    types=st.lists(numbers, unique=True, max_size=3),
    facts=st.lists(st.tuples(st.integers(1000, 2000), numbers, spans), max_size=4),
    escaped=st.booleans(),
)
def test_any_entity_comes_back_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory,
    number: int,
    label: str,
    names: list[str],
    types: list[int],
    facts: list[tuple[int, int, list[str]]],
    escaped: bool,
) -> None:
    claims: dict[str, list[Json]] = {"P31": [statement("P31", item(type_)) for type_ in types]}
    expected = []
    for relation, object_, (start, end) in facts:
        made = statement(
            f"P{relation}", item(object_), f"s{len(expected)}",
            P580=time(f"+{start}T00:00:00Z"), P582=time(f"+{end}T00:00:00Z"),
        )  # fmt: skip
        claims.setdefault(f"P{relation}", []).append(made)
        expected.append(Fact(made["id"], f"Q{number}", f"P{relation}", f"Q{object_}", start=start, end=end))
    whole = entity(f"Q{number}", labels=terms(en=label), aliases=aliases(en=names), claims=claims)
    source = opened(tmp_path_factory.getbasetemp(), json.dumps(whole, ensure_ascii=escaped))
    others = tuple(name for name in names if name != label)
    assert records(source.entities()) == [Entity(f"Q{number}", label, others, types=tuple(f"Q{t}" for t in types))]
    assert sorted(records(source.facts()), key=lambda fact: fact.id) == expected


def test_public_files_read_whole() -> None:
    if not SHARED.exists():
        pytest.skip(f"{SHARED} is not here")
    whole = open_dump(SHARED / "Q22.json")
    scotland, *literals = records(whole.entities())
    assert [literal.label for literal in literals] == ["78782 square kilometres", "16 years old"]
    assert (scotland.id, scotland.label, scotland.types) == ("Q22", "Scotland", ("Q3336843",))
    assert scotland.aliases == ("Alba", "Scotland, United Kingdom", "SCT", "Caledonia", "scot")
    dated = {fact.object: (fact.start, fact.end) for fact in records(whole.facts()) if fact.relation == "P131"}
    assert dated == {
        "Q145": ("1922-12-06", None),
        "Q174193": ("1800-12-31", "1922-12-06"),
        "Q161885": ("1707-01-01", "1800-12-31"),
    }
    old = open_dump(SHARED / "sample-dump-20150815.json.gz")
    relations, entities, facts = everything(old)
    # Without P31, whose statements are types.
    assert [len(relations), len(entities), len(facts)] == [45, 55, 0]
    assert next(found for found in entities if found.id == "Q23").types == ("Q5",)
