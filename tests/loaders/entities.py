"""Small entities in Wikidata's JSON form."""

import json
from typing import Any

Json = dict[str, Any]

GREGORIAN = "http://www.wikidata.org/entity/Q1985727"


def entity(identifier: str, **parts: Any) -> Json:
    """Return an entity with nothing but what is said of it."""
    kind = "property" if identifier.startswith("P") else "item"
    empty: Json = {"labels": {}, "descriptions": {}, "aliases": {}, "claims": {}}
    return {"type": kind, "id": identifier, **empty, **parts}


def terms(**by_language: str) -> Json:
    """Labels or descriptions."""
    return {code: {"language": code, "value": value} for code, value in by_language.items()}


def aliases(**by_language: list[str]) -> Json:
    """Aliases, several a language."""
    return {code: [{"language": code, "value": value} for value in values] for code, values in by_language.items()}


def item(number: int) -> Json:
    """Return an item as a value, in the present form."""
    value = {"entity-type": "item", "numeric-id": number, "id": f"Q{number}"}
    return {"value": value, "type": "wikibase-entityid"}


def time(written: str, precision: int = 11) -> Json:
    """Return a point in time as a value."""
    value = {
        "time": written,
        "timezone": 0,
        "before": 0,
        "after": 0,
        "precision": precision,
        "calendarmodel": GREGORIAN,
    }
    return {"value": value, "type": "time"}


def snak(relation: str, value: Json | None, snaktype: str = "value") -> Json:
    """Return a relation with a value, or with none."""
    return {"snaktype": snaktype, "property": relation, **({"datavalue": value} if value else {})}


def statement(relation: str, value: Json, identifier: str = "", rank: str = "normal", **qualifiers: Json) -> Json:
    """Return a statement; qualifiers are single values by relation."""
    made = {"mainsnak": snak(relation, value), "type": "statement", "id": identifier, "rank": rank}
    if qualifiers:
        made["qualifiers"] = {name: [snak(name, qualifier)] for name, qualifier in qualifiers.items()}
    return made


def dump(*entities: Json) -> str:
    """Return an array with an entity a line, as dumps are."""
    return "[\n" + ",\n".join(json.dumps(each, ensure_ascii=False) for each in entities) + "\n]\n"
