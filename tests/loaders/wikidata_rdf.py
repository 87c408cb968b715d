"""Entities in Wikidata's JSON form, put into its RDF form as N-Triples: the part of it that says something of items.

https://www.mediawiki.org/wiki/Wikibase/Indexing/RDF_Dump_Format. What the loader does not ask for is there too, where
it could be mistaken for what it asks for: simple values of qualifiers, references, labels under other names, blanks.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any

Json = dict[str, Any]

WD = "http://www.wikidata.org/entity/"
PROP = "http://www.wikidata.org/prop/"
WIKIBASE = "http://wikiba.se/ontology#"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
LABELS = (
    "<http://www.w3.org/2000/01/rdf-schema#label>",
    "<http://www.w3.org/2004/02/skos/core#prefLabel>",
    "<http://schema.org/name>",
)
ALIAS = "<http://www.w3.org/2004/02/skos/core#altLabel>"
DESCRIPTION = "<http://schema.org/description>"
ABOUT = "<http://schema.org/about>"
XSD = "http://www.w3.org/2001/XMLSchema#"
RANKS = {"preferred": "PreferredRank", "normal": "NormalRank", "deprecated": "DeprecatedRank"}


def to_rdf(entities: Iterable[Json], properties: Iterable[str]) -> str:
    """N-Triples of entities; ``properties`` have items as their values, P571 times, P2046 quantities, P18 files.

    Of every second item the number of pages stands beside it, as on Wikidata's service; else where dumps have it.
    """
    lines = [f"{subject} {predicate} {object_} ." for entity in entities for subject, predicate, object_ in _of(entity)]
    for identifier in properties:
        lines += [" ".join((*triple, ".")) for triple in _property(identifier, "WikibaseItem")]
    for identifier, kind in (("P18", "CommonsMedia"), ("P571", "Time"), ("P2046", "Quantity")):
        lines += [" ".join((*triple, ".")) for triple in _property(identifier, kind)]
    return "\n".join(lines) + "\n"


def rdf_time(value: Json) -> str:
    """Return a point in time as RDF has it: the year before 1 is 0, days are Gregorian, what is coarser has a first."""
    sign, (year, month, day) = value["time"][0], value["time"][1:11].split("-")
    number = int(sign + year)
    if value["precision"] >= 11 and value["calendarmodel"].endswith("Q1985786"):
        number, month, day = _gregorian(number + (number < 0), int(month), int(day))
    elif number < 0 and value["precision"] >= 9:
        number += 1
    return f"{'-' if number < 0 else ''}{abs(number):04}-{int(month) or 1:02}-{int(day) or 1:02}T00:00:00Z"


def _gregorian(year: int, month: int, day: int) -> tuple[int, int, int]:
    """Day by day from a day that both calendars know, which is slow and plain."""
    julian, gregorian = [1582, 10, 5], [1582, 10, 15]
    step = 1 if (year, month, day) >= tuple(julian) else -1
    while tuple(julian) != (year, month, day):
        _move(julian, step, lambda y: y % 4 == 0)
        _move(gregorian, step, lambda y: y % 4 == 0 and (y % 100 != 0 or y % 400 == 0))
    return gregorian[0], gregorian[1], gregorian[2]


def _move(date: list[int], step: int, is_leap: Any) -> None:
    lengths = [31, 29 if is_leap(date[0]) else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    date[2] += step
    if date[2] > lengths[date[1] - 1]:
        date[1:] = [date[1] + 1, 1]
    elif date[2] == 0:
        date[1] -= 1
        date[2] = lengths[date[1] - 1] if date[1] else 31
    if date[1] == 13:
        date[:2] = [date[0] + 1, 1]
    elif date[1] == 0:
        date[:2] = [date[0] - 1, 12]


def _name(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _text(text: str, language: str) -> str:
    return f"{json.dumps(text, ensure_ascii=False)}@{language}"


def _literal(text: object, kind: str) -> str:
    return f'"{text}"^^<{XSD}{kind}>'


def _of(entity: Json) -> Iterator[tuple[str, str, str]]:
    identifier = entity["id"]
    subject, page = f"<{WD}{identifier}>", f"<http://www.wikidata.org/wiki/Special:EntityData/{identifier}>"
    for term in entity["labels"].values():
        yield from ((subject, label, _text(term["value"], term["language"])) for label in LABELS)
    for terms in entity["aliases"].values():
        yield from ((subject, ALIAS, _text(term["value"], term["language"])) for term in terms)
    for term in entity["descriptions"].values():
        yield subject, DESCRIPTION, _text(term["value"], term["language"])
    yield page, ABOUT, subject
    if "sitelinks" in entity:
        where = subject if int(identifier[1:]) % 2 else page
        yield where, f"<{WIKIBASE}sitelinks>", _literal(len(entity["sitelinks"]), "integer")
        for site in entity["sitelinks"]:
            yield f"<https://{site}.example.org/wiki/{identifier}>", ABOUT, subject
    for relation, statements in entity["claims"].items():
        ranks = [statement["rank"] for statement in statements]
        best = next((rank for rank in ("preferred", "normal") if rank in ranks), None)
        for number, statement in enumerate(statements):
            yield from _statement(identifier, relation, number, statement, statement["rank"] == best)


def _statement(
    subject: str, relation: str, number: int, statement: Json, is_best: bool
) -> Iterator[tuple[str, str, str]]:
    identifier = statement.get("id") or f"{subject}${relation}-{number}"
    node = f"<{WD}statement/{identifier.replace('$', '-')}>"
    yield f"<{WD}{subject}>", f"<{PROP}{relation}>", node
    yield node, TYPE, f"<{WIKIBASE}Statement>"
    yield node, f"<{WIKIBASE}rank>", f"<{WIKIBASE}{RANKS[statement['rank']]}>"
    if is_best:
        yield node, TYPE, f"<{WIKIBASE}BestRank>"
    snak = statement["mainsnak"]
    if snak["snaktype"] == "somevalue":
        yield node, f"<{PROP}statement/{relation}>", "_:" + _name(node)
    elif snak["snaktype"] == "novalue":
        yield node, TYPE, f"<{PROP}novalue/{relation}>"
    else:
        value, kind = snak["datavalue"]["value"], snak["datavalue"]["type"]
        if kind in ("time", "quantity"):
            yield from _full_value(node, f"{PROP}statement/value/{relation}", value, kind)
        else:
            yield from _simple_value(subject, node, relation, value, is_best)
    for name, snaks in statement.get("qualifiers", {}).items():
        for one in snaks:
            if one["snaktype"] == "novalue":
                yield node, TYPE, f"<{PROP}novalue/{name}>"
                continue
            if one["snaktype"] == "somevalue":
                yield node, f"<{PROP}qualifier/{name}>", "_:" + _name(node + name)
                continue
            time = {"calendarmodel": f"{WD}Q1985727", **one["datavalue"]["value"]}
            yield node, f"<{PROP}qualifier/{name}>", _literal(rdf_time(time), "dateTime")
            yield from _full_value(node, f"{PROP}qualifier/value/{name}", time, "time")


def _simple_value(subject: str, node: str, relation: str, value: Any, is_best: bool) -> Iterator[tuple[str, str, str]]:
    """Yield an item or a text."""
    object_ = f"<{WD}{value['id']}>" if isinstance(value, dict) else json.dumps(value)
    yield node, f"<{PROP}statement/{relation}>", object_
    if is_best:
        yield f"<{WD}{subject}>", f"<{PROP}direct/{relation}>", object_
    # Stated in, on an item: a hub in Wikidata, of references.
    reference = f"<http://www.wikidata.org/reference/{_name(node)}>"
    yield node, "<http://www.w3.org/ns/prov#wasDerivedFrom>", reference
    yield reference, f"<{PROP}reference/P248>", f"<{WD}Q5>"


def _full_value(node: str, predicate: str, value: Json, kind: str) -> Iterator[tuple[str, str, str]]:
    """Yield a point in time or a quantity in full."""
    full = f"<http://www.wikidata.org/value/{_name(repr(value))}>"
    yield node, f"<{predicate}>", full
    if kind == "time":
        yield full, f"<{WIKIBASE}timeValue>", _literal(rdf_time(value), "dateTime")
        yield full, f"<{WIKIBASE}timePrecision>", _literal(value["precision"], "integer")
        yield full, f"<{WIKIBASE}timeCalendarModel>", f"<{value['calendarmodel'].replace('https:', 'http:')}>"
    else:
        unit = f"{WD}Q199" if value["unit"] == "1" else value["unit"]
        yield full, f"<{WIKIBASE}quantityAmount>", _literal(value["amount"], "decimal")
        yield full, f"<{WIKIBASE}quantityUnit>", f"<{unit}>"


def _property(identifier: str, kind: str) -> Iterator[tuple[str, str, str]]:
    subject = f"<{WD}{identifier}>"
    yield subject, TYPE, f"<{WIKIBASE}Property>"
    yield subject, f"<{WIKIBASE}propertyType>", f"<{WIKIBASE}{kind}>"
    yield subject, f"<{WIKIBASE}directClaim>", f"<{PROP}direct/{identifier}>"
    yield subject, f"<{WIKIBASE}claim>", f"<{PROP}{identifier}>"
    yield subject, f"<{WIKIBASE}statementProperty>", f"<{PROP}statement/{identifier}>"
    yield subject, f"<{WIKIBASE}statementValue>", f"<{PROP}statement/value/{identifier}>"
    yield subject, f"<{WIKIBASE}qualifier>", f"<{PROP}qualifier/{identifier}>"
