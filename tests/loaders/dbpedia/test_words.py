"""IRIs as ids and names, values as literals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgprobe.loaders.dbpedia.identifiers import DBpediaVocabulary, class_, name_of_thing, relation, thing
from kgprobe.loaders.rdf.literals import (
    EMPTY_TEXT,
    LONG_TEXT,
    OTHER_LANGUAGE,
    TEXT_LIMIT,
    Value,
    date_bound,
    read_value,
    value_entity,
    value_id,
)
from kgprobe.loaders.rdf.vocabulary import WEB_ADDRESS, words

XSD, UNIT = "http://www.w3.org/2001/XMLSchema#", "http://dbpedia.org/datatype/"


@pytest.mark.parametrize(
    ("iri", "id_"),
    [
        ("http://dbpedia.org/resource/France", "dbr:France"),
        ("http://dbpedia.org/resource/Se7en:_a_film", "dbr:Se7en:_a_film"),
        ("http://de.dbpedia.org/resource/Frankreich", "dbr-de:Frankreich"),
        ("http://dbpedia.org/resource/Category:France", None),
        ("http://dbpedia.org/resource/File:Flag.svg", None),
        ("http://dbpedia.org/resource/Template_talk:Flag", None),
        ("http://dbpedia.org/resource/", None),
        ("http://dbpedia.org/ontology/City", None),
        ("http://example.org/France", None),
    ],
)
def test_things(iri: str, id_: str | None) -> None:
    assert thing(iri) == id_


def test_properties_of_the_ontology_and_of_info_boxes_are_apart() -> None:
    assert relation("http://dbpedia.org/ontology/capital") == "dbo:capital"
    assert relation("http://dbpedia.org/property/capital") == "dbp:capital"
    assert relation("http://de.dbpedia.org/property/hauptstadt") == "dbp-de:hauptstadt"
    assert relation("http://dbpedia.org/ontology/PopulatedPlace/areaTotal") == "dbo:PopulatedPlace/areaTotal"
    assert relation("http://xmlns.com/foaf/0.1/name") is None
    assert class_("http://dbpedia.org/ontology/City") == "dbo:City"
    assert class_("https://schema.org/City") == class_("http://schema.org/City") == "schema:City"
    assert class_("http://dbpedia.org/ontology/capital") is None
    assert class_("http://www.w3.org/2002/07/owl#Thing") is None


def test_names() -> None:
    assert name_of_thing("dbr:Maserati_(band)") == "Maserati"
    assert name_of_thing("dbr:Z%C3%BCrich") == "Zürich"
    assert name_of_thing("dbr:(114)_Kassandra") == "(114) Kassandra"
    assert name_of_thing("dbr:(What)") == "(What)"
    assert words("dbo:birthPlace") == "birth place"
    assert words("dbo:TelevisionShow") == "television show"
    assert words("dbo:PopulatedPlace/areaTotal") == "area total"
    assert words("dbo:imdbID") == "imdb ID"


def test_intermediate_nodes_belong_to_a_page() -> None:
    assert DBpediaVocabulary().owner("dbr:Barack_Obama__Tenure__1") == "dbr:Barack_Obama"
    assert DBpediaVocabulary().owner("dbr:Zinedine_Zidane__CareerStation__12") == "dbr:Zinedine_Zidane"
    assert DBpediaVocabulary().owner("dbr:Zinedine_Zidane__2") == "dbr:Zinedine_Zidane"
    assert DBpediaVocabulary().owner("dbr:Christopher__Bowen") is None
    assert DBpediaVocabulary().owner("dbr:Apollo_11") is None


@pytest.mark.parametrize(
    ("text", "datatype", "id_", "label"),
    [
        ("1879-03-14", f"{XSD}date", "1879-03-14", "14 March 1879"),
        ("-0044-03-15", f"{XSD}date", "-0044-03-15", "15 March 44 BC"),
        ("1950", f"{XSD}gYear", "1950", "1950"),
        ("1950-01-01T00:00:00+02:00", f"{XSD}gYear", "1950", "1950"),
        ("1950+02:00", f"{XSD}gYear", "1950", "1950"),
        ("1950-05", f"{XSD}gYearMonth", "1950-05", "May 1950"),
        ("1969-07-20T20:17:40Z", f"{XSD}dateTime", "1969-07-20", "20 July 1969"),
        ("--02-29", f"{XSD}gMonthDay", "--02-29^^dayOfYear", "29 February"),
        ("007", f"{XSD}nonNegativeInteger", "7^^integer", "7"),
        ("+7", f"{XSD}integer", "7^^integer", "7"),
        ("3.355E7", f"{XSD}double", "33550000^^decimal", "33550000"),
        ("5.20", f"{UNIT}kilometre", "5.2^^kilometre", "5.2 kilometres"),
        ("1", f"{UNIT}usDollar", "1^^usDollar", "1 US dollar"),
        ("2", f"{UNIT}kilometrePerSecond", "2^^kilometrePerSecond", "2 kilometres per second"),
        ("6", f"{UNIT}foot", "6^^foot", "6 feet"),
        ("3", f"{UNIT}perCent", "3^^perCent", "3 per cent"),
        (" two\nlines ", f"{XSD}string", "two lines^^string", "two lines"),
        ("true", f"{XSD}boolean", "true^^string", "true"),
        # Ids are plain, labels become so on loading.
        ("New\u00a0York\u200e", f"{XSD}string", "New York^^string", "New\u00a0York\u200e"),
    ],
)
def test_values(text: str, datatype: str, id_: str, label: str) -> None:
    value = read_value(text, None, datatype, ("en",))
    assert value is not None
    entity = value_entity(value)
    assert (value_id(value), entity.id, entity.label) == (id_, id_, label)
    assert entity.types == (entity.datatype,)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        *[("1950-02-30", "date"), ("1950-13-01", "date"), ("yesterday", "date"), ("--02-30", "gMonthDay")],
        *[("12.5", "integer"), ("many", "integer"), ("1e99999", "double"), ("", "double")],
    ],
)
def test_what_is_no_value_of_its_type_is_refused(text: str, kind: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_value(text, None, f"{XSD}{kind}", ("en",))


def test_texts_that_nobody_could_be_asked_for_are_left_out() -> None:
    string = f"{XSD}string"
    assert read_value("Haus", "de", string, ("en",)) == OTHER_LANGUAGE
    assert read_value("house", "en", string, ("en",)) == Value("house", "string")
    assert read_value(" \n", None, string, ("en",)) == read_value("\u200e", None, string, ("en",)) == EMPTY_TEXT
    assert isinstance(read_value("x" * TEXT_LIMIT, None, string, ("en",)), Value)
    assert read_value("x" * (TEXT_LIMIT + 1), None, string, ("en",)) == LONG_TEXT
    assert read_value("http://a/", None, f"{XSD}anyURI", ("en",)) == WEB_ADDRESS


def test_years_are_bounds_whatever_their_type() -> None:
    assert [date_bound(Value("1950-05", "date")), date_bound(Value("1950", "integer"))] == ["1950-05", "1950"]
    assert date_bound(Value("present", "string")) is None


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30, places=6))
def test_number_has_one_id_however_it_is_written(number: object) -> None:
    spellings = [f"{number:f}", f"{number:E}", f"{number:f}000", f" {number:f} "]
    values = {read_value(text, None, f"{XSD}double", ("en",)) for text in spellings}
    assert len(values) == 1
    (value,) = values
    assert value is not None
    assert type(number)(value.value) == number  # type: ignore[call-arg]
