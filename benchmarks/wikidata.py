"""How fast the Wikidata reader goes: entities a second of the usual 13 KB on one core, by compression and by pass."""

import json
import random
import uuid
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

# One whole entity as Wikidata gave it; where it is absent, one made up in the same shape stands in for it.
REAL = Path(__file__).parents[2] / "shared" / "data" / "wikidata" / "Q22.json"
USUAL_BYTES = 13_000


def base_entity() -> dict[str, Any]:
    """A rich entity in Wikidata's JSON form, from which smaller ones are cut."""
    if REAL.exists():
        entity: dict[str, Any] = json.loads(REAL.read_text(encoding="utf-8"))
        return entity
    languages = [first + second for first in "abcdefgh" for second in "klmnopqrstuvw"]
    return {
        "type": "item",
        "id": "Q22",
        "labels": {code: {"language": code, "value": f"a label in {code}"} for code in ["en", *languages]},
        "descriptions": {code: {"language": code, "value": f"a description in {code}"} for code in ["en", *languages]},
        "aliases": {code: [{"language": code, "value": f"an alias in {code}"}] for code in ["en", *languages[:20]]},
        "claims": {
            f"P{number}": [{"mainsnak": _item_snak(f"P{number}", number * 7), "type": "statement", "rank": "normal"}]
            for number in [31, *range(100, 170)]
        },
        "sitelinks": {f"{code}wiki": {"site": f"{code}wiki", "title": f"A page in {code}"} for code in languages},
    }


def usual_entities(count: int, seed: int) -> Iterator[bytes]:
    """Lines of a dump, without brackets and commas: entities of 13 KB on average, with qualifiers and references.

    The shares of labels, statements and site links are those of the rich entity; ids, hashes and references are
    made anew for each, as they are what compresses least.
    """
    base, choices = base_entity(), random.Random(seed)
    for number in range(1, count + 1):
        yield json.dumps(_usual_entity(base, number, choices), ensure_ascii=False, separators=(",", ":")).encode()


def _usual_entity(base: dict[str, Any], number: int, choices: random.Random) -> dict[str, Any]:
    identifier, scale = f"Q{number}", choices.lognormvariate(-0.07, 0.4)
    entity: dict[str, Any] = {"type": "item", "id": identifier}
    for name, kept in (("labels", 40), ("descriptions", 30), ("aliases", 8)):
        codes = choices.sample(sorted(base[name]), min(len(base[name]), max(1, round(kept * scale))))
        entity[name] = {code: base[name][code] for code in {"en", *codes} if code in base[name]}
    relations = choices.sample(sorted(base["claims"]), min(len(base["claims"]), max(2, round(6 * scale))))
    entity["claims"] = {
        relation: [_usual_statement(statement, identifier, choices) for statement in base["claims"][relation][:3]]
        for relation in {"P31", *relations}
    }
    sites = choices.sample(sorted(base["sitelinks"]), min(len(base["sitelinks"]), round(10 * scale)))
    entity["sitelinks"] = {site: base["sitelinks"][site] for site in sites}
    return entity


def _usual_statement(statement: dict[str, Any], subject: str, choices: random.Random) -> dict[str, Any]:
    made = deepcopy(statement)
    value = made["mainsnak"].get("datavalue", {}).get("value")
    if isinstance(value, dict) and "numeric-id" in value:
        made["mainsnak"] = _item_snak(made["mainsnak"]["property"], choices.randrange(1, 120_000_000))
        if choices.random() < 0.3:
            made["qualifiers"] = {"P580": [_time_snak("P580", choices)], "P582": [_time_snak("P582", choices)]}
            made["qualifiers-order"] = ["P580", "P582"]
    made["id"] = f"{subject}${uuid.UUID(int=choices.getrandbits(128))}"
    made["references"] = [
        {
            "hash": f"{choices.getrandbits(160):040x}",
            "snaks": {"P248": [_item_snak("P248", choices.randrange(1, 10_000_000))], "P813": [_time_snak("P813", choices)]},
            "snaks-order": ["P248", "P813"],
        }
    ]
    return made


def _item_snak(relation: str, number: int) -> dict[str, Any]:
    value = {"entity-type": "item", "numeric-id": number, "id": f"Q{number}"}
    return {
        "snaktype": "value",
        "property": relation,
        "datavalue": {"value": value, "type": "wikibase-entityid"},
        "datatype": "wikibase-item",
    }


def _time_snak(relation: str, choices: random.Random) -> dict[str, Any]:
    year = choices.randrange(*((1600, 1800) if relation == "P580" else (1800, 2020)))
    value = {
        "time": f"+{year}-{choices.randrange(1, 13):02}-{choices.randrange(1, 29):02}T00:00:00Z",
        "timezone": 0,
        "before": 0,
        "after": 0,
        "precision": 11,
        "calendarmodel": "http://www.wikidata.org/entity/Q1985727",
    }
    return {
        "snaktype": "value",
        "property": relation,
        "hash": f"{choices.getrandbits(160):040x}",
        "datavalue": {"value": value, "type": "time"},
        "datatype": "time",
    }
