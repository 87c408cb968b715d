"""Speed of the Wikidata reader: entities of 13 KB per second on one core, by compression and by stream.

The peer is a straightforward reader of the same file: each line is parsed by ``json`` (or ``orjson``, if installed),
and the same records are taken from it. Seconds are processor time of one thread; each figure is the best of several
runs.
"""

import bz2
import gzip
import importlib.util
import json
import random
import tempfile
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import click

from benchmarks.report import Report, Row, show, versions_of
from kgprobe.base.records import Entity, Fact
from kgprobe.cli.options import json_option, seed_option
from kgprobe.sources.contract import Source, open_source

# A complete entity of Wikidata; without the file, a synthetic one of the same shape.
REAL = Path(__file__).parents[2] / "shared" / "data" / "wikidata" / "Q22.json"

PACK: Mapping[str, Callable[[bytes], bytes]] = {"plain": bytes, "gz": gzip.compress, "bz2": bz2.compress}
OPEN: Mapping[str, Callable[[Path], Any]] = {"plain": lambda path: path.open("rb"), "gz": gzip.open, "bz2": bz2.open}
STREAMS = ("relations", "entities", "facts")


def base_entity() -> dict[str, Any]:
    """Return a rich entity in Wikidata's JSON format, from which smaller ones are cut."""
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
    """Yield lines of a dump without brackets and commas: entities of 13 KB on average, with qualifiers and references.

    The shares of labels, statements and site links are those of the rich entity; ids, hashes and references are
    new for each, since they compress least.
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
    copy = deepcopy(statement)
    value = copy["mainsnak"].get("datavalue", {}).get("value")
    if isinstance(value, dict) and "numeric-id" in value:
        copy["mainsnak"] = _item_snak(copy["mainsnak"]["property"], choices.randrange(1, 120_000_000))
        if choices.random() < 0.3:
            copy["qualifiers"] = {"P580": [_time_snak("P580", choices)], "P582": [_time_snak("P582", choices)]}
            copy["qualifiers-order"] = ["P580", "P582"]
    copy["id"] = f"{subject}${uuid.UUID(int=choices.getrandbits(128))}"
    copy["references"] = [
        {
            "hash": f"{choices.getrandbits(160):040x}",
            "snaks": {
                "P248": [_item_snak("P248", choices.randrange(1, 10_000_000))],
                "P813": [_time_snak("P813", choices)],
            },
            "snaks-order": ["P248", "P813"],
        }
    ]
    return copy


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


def plain_records(kind: str, path: Path, stream: str, loads: Callable[[bytes], Any]) -> Iterator[tuple[Any, ...]]:
    """Return the compared fields of a dump by the straightforward reader."""
    with OPEN[kind](path) as lines:
        for line in lines:
            text = line.strip().rstrip(b",")
            if text not in (b"[", b"]"):
                yield from _PICK[stream](loads(text))


def _pick_entity(entity: Any) -> Iterator[tuple[Any, ...]]:
    label = entity["labels"].get("en") or entity["labels"].get("mul") or {"value": ""}
    types = [item for relation in ("P31", "P279") for _, _, item in _items(entity["claims"].get(relation, []))]
    yield entity["id"], label["value"], tuple(dict.fromkeys(types)), len(entity["sitelinks"])


def _pick_facts(entity: Any) -> Iterator[tuple[Any, ...]]:
    for relation, statements in entity["claims"].items():
        if relation not in ("P31", "P279"):
            for identifier, rank, item in _items(statements):
                yield identifier, entity["id"], relation, item, rank


def _items(statements: Any) -> Iterator[tuple[str, str, str]]:
    for statement in statements:
        value = statement["mainsnak"].get("datavalue", {"type": ""})
        if value["type"] == "wikibase-entityid" and statement["rank"] != "deprecated":
            yield statement["id"], statement["rank"], f"Q{value['value']['numeric-id']}"


_PICK = {"entities": _pick_entity, "facts": _pick_facts}


def own_records(source: Source, stream: str) -> Iterator[tuple[Any, ...]]:
    """Return the same fields of our records."""
    for placed in getattr(source, stream)():
        record = placed.record
        if isinstance(record, Entity):
            yield record.id, record.label, record.types, record.popularity
        elif isinstance(record, Fact):
            yield record.id, record.subject, record.relation, record.object, record.rank


def seconds_of(work: Callable[[], object], repeats: int) -> float:
    """Return the least processor seconds of a task."""
    timings = []
    for _ in range(repeats):
        before = time.process_time()
        work()
        timings.append(time.process_time() - before)
    return min(timings)


def exhaust(records: Iterator[object]) -> None:
    """Read all of a stream."""
    for _ in records:
        pass


def measure(folder: Path, count: int, repeats: int, seed: int, kinds: Collection[str]) -> list[Row]:
    """Return all rows: each stream in each compression, and the three streams of a load."""
    peers = {"json": json.loads}
    with suppress(ImportError):
        peers["orjson"] = importlib.import_module("orjson").loads
    dump = b"[\n" + b",\n".join(usual_entities(count, seed)) + b"\n]\n"
    rows = [Row("all", "entity size", len(dump) / count / 1000, "KB")]
    for kind in kinds:
        path = folder / f"dump.{kind}"
        path.write_bytes(PACK[kind](dump))
        # The peers read no dates and quantities.
        source, with_literals = (open_source("wikidata", dump=path, literals=given) for given in (False, True))
        whole = 0.0
        for stream in STREAMS:
            seconds = seconds_of(lambda: exhaust(getattr(source, stream)()), repeats)  # noqa: B023
            whole += seconds
            case = f"{kind}, {stream}"
            rows.append(Row(case, "throughput", len(dump) / seconds / 1e6, "MB/s"))
            if stream not in _PICK:
                rows.append(Row(case, "rate", count / seconds, "entities/s"))
                continue
            slower = seconds_of(lambda: exhaust(getattr(with_literals, stream)()), repeats)  # noqa: B023
            rows.append(Row(f"{case} with dates and quantities", "rate", count / slower, "entities/s"))
            for name, loads in peers.items():
                theirs = seconds_of(lambda: exhaust(plain_records(kind, path, stream, loads)), repeats)  # noqa: B023
                different = set(own_records(source, stream)) ^ set(plain_records(kind, path, stream, loads))
                rate, their_rate = count / seconds, count / theirs
                rows.append(Row(case, "rate", rate, "entities/s", name, their_rate, max_difference=len(different)))
        rows.append(Row(f"{kind}, all three", "rate", count / whole, "entities/s"))
    return rows


@click.command()
@click.option(
    "--entities", "count", default=5000, show_default=True, type=click.IntRange(1), help="Entities in the dump."
)
@click.option("--repeats", default=3, show_default=True, type=click.IntRange(1), help="Runs; the best counts.")
@click.option(
    "--kind", "kinds", multiple=True, type=click.Choice(list(PACK)), help="Compression; repeatable.  [default: all]"
)
@seed_option
@json_option
def main(count: int, repeats: int, kinds: tuple[str, ...], seed: int, as_json: bool) -> None:
    """Measure the Wikidata reader on one core, compared with a straightforward reader."""
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(Path(folder), count, repeats, seed, kinds or list(PACK))
    unpacker = ["isal"] if importlib.util.find_spec("isal") else []
    show(Report("wikidata", rows, seed, versions_of("msgspec", *unpacker)), as_json=as_json)


if __name__ == "__main__":
    main()
