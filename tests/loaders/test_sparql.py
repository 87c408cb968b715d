"""``kgprobe load sparql`` against a real SPARQL server: what it gathers is what plain walks over the data reach."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgprobe.base.errors import KgprobeError
from kgprobe.base.records import Entity, Fact, Rejected, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from kgprobe.graph.ingest import load
from kgprobe.loaders.example import FOLDER
from kgprobe.loaders.sparql import TOPICS as CENTERS
from kgprobe.loaders.sparql_client import SparqlClient
from kgprobe.loaders.sparql_topic import EntityFilters, Topic, TopicChoice, open_topic
from kgprobe.loaders.sparql_walk import WalkPlan
from kgprobe.loaders.wikidata import DumpSelection, open_dump
from kgprobe.loaders.wikidata_model import OWN_PAGES, read_inactive_relations, shipped_relations
from kgprobe.papers.tables import all_numbers
from kgprobe.sources.contract import open_source
from tests.cli.inprocess import run as kgprobe
from tests.graph.servers.shared import environment_of
from tests.loaders.entities import Json, aliases, dump, entity, item, snak, statement, terms, time
from tests.loaders.sparql_server import Fault, Proxy, oxigraph, proxy
from tests.loaders.wikidata_rdf import to_rdf

GERMANY, FRANCE, KENYA = "Q183", "Q142", "Q114"
ODD, CATEGORY, NAMELESS, GERMAN_ONLY, LONELY = "Q900001", "Q900002", "Q900003", "Q900004", "Q900005"
ITEMS = "http://www.wikidata.org/entity/"
JULIAN = "http://www.wikidata.org/entity/Q1985786"
ODD_QUANTITIES = (("+78782.50", f"{ITEMS}Q712226"), ("-3", "1"), ("+5", f"{ITEMS}Q5"))
# Fewer than the shipped list has, so that walks have somewhere to go.
INACTIVE = {"P463": "every state is in many"}


def example() -> list[Json]:
    lines = (FOLDER / "entities.json").read_text(encoding="utf-8").splitlines()
    return [json.loads(line.rstrip(",")) for line in lines if len(line) > 1]


def odd_entities() -> list[Json]:
    """Entities that the example lacks: ranks, dates of all kinds, values that are no items, entities to be left out."""
    julian = time("+1752-09-02T00:00:00Z")
    julian["value"]["calendarmodel"] = JULIAN
    old_julian = time("-0044-03-15T00:00:00Z")
    old_julian["value"]["calendarmodel"] = JULIAN
    unknown = statement("P36", item(64), f"{ODD}$dated-8")
    unknown["qualifiers"] = {
        "P580": [snak("P580", None, "somevalue")],
        "P585": [snak("P585", time("+2001-02-03T00:00:00Z"))],
    }
    ended = statement("P36", item(64), f"{ODD}$dated-10")
    ended["qualifiers"] = {
        "P582": [snak("P582", None, "somevalue")],
        "P585": [snak("P585", time("+2001-02-03T00:00:00Z"))],
    }
    endless = statement("P36", item(64), f"{ODD}$dated-11")
    endless["qualifiers"] = {"P582": [snak("P582", None, "novalue")]}
    several = statement("P36", item(64), f"{ODD}$dated-9")
    several["qualifiers"] = {
        "P580": [snak("P580", time(f"{year}-00-00T00:00:00Z", 9)) for year in ("+1990", "-0010", "+2001")],
        "P582": [snak("P582", time(f"{year}-00-00T00:00:00Z", 9)) for year in ("+1995", "+2010")],
    }
    claims = {
        "P31": [
            statement("P31", item(6256), f"{ODD}$t1", rank="preferred"),
            statement("P31", item(3624078), f"{ODD}$t2"),
            statement("P31", item(515), f"{ODD}$t3", rank="deprecated"),
            {**statement("P31", item(1), f"{ODD}$t6"), "mainsnak": snak("P31", None, "somevalue")},
        ],
        "P279": [statement("P279", item(6256), f"{ODD}$t4"), statement("P279", item(5), f"{ODD}$t5")],
        "P6": [
            statement("P6", item(183), f"{ODD}$r1", rank="deprecated"),
            statement("P6", item(183), f"{ODD}$r2"),
            statement("P6", item(142), f"{ODD}$r3", rank="preferred"),
        ],
        "P36": [
            statement("P36", item(64), f"{ODD}$dated-1", P580=julian, P582=time("+1801-00-00T00:00:00Z", 7)),
            statement("P36", item(64), f"{ODD}$dated-2", P580=old_julian, P582=time("-0001-00-00T00:00:00Z", 9)),
            statement("P36", item(64), f"{ODD}$dated-3", P580=time("-0050-00-00T00:00:00Z", 7)),
            statement("P36", item(64), f"{ODD}$dated-4", P585=time("+1980-00-00T00:00:00Z", 8)),
            statement("P36", item(64), f"{ODD}$dated-5", P582=time("+2012-05-00T00:00:00Z", 10)),
            unknown,
            ended,
            endless,
            several,
        ],
        "P47": [
            statement("P47", item(int(ODD[1:])), f"{ODD}$loop"),
            statement(
                "P47",
                item(int(ODD[1:])),
                f"{ODD}$bad",
                P580=time("+2012-05-01T00:00:00Z"),
                P582=time("+2011-05-01T00:00:00Z"),
            ),
            statement("P47", item(183), f"{ODD}$out"),
            {**statement("P47", item(1), f"{ODD}$some"), "mainsnak": snak("P47", None, "somevalue")},
            {**statement("P47", item(1), f"{ODD}$none"), "mainsnak": snak("P47", None, "novalue")},
        ],
        "P571": [
            statement("P571", julian, f"{ODD}$time-1"),
            statement("P571", old_julian, f"{ODD}$time-2"),
            statement("P571", time("-0044-00-00T00:00:00Z", 9), f"{ODD}$time-3", P580=time("+1990-00-00T00:00:00Z", 9)),
            statement("P571", time("+1879-03-00T00:00:00Z", 10), f"{ODD}$time-4", rank="preferred"),
            statement("P571", time("+1980-00-00T00:00:00Z", 8), f"{ODD}$time-5"),
            statement("P571", time("+1879-03-14T00:00:00Z"), f"{ODD}$time-6", rank="deprecated"),
        ],
        "P2046": [
            statement("P2046", {"value": {"amount": amount, "unit": unit}, "type": "quantity"}, f"{ODD}$size-{number}")
            for number, (amount, unit) in enumerate(ODD_QUANTITIES)
        ],
        "P18": [statement("P18", {"value": "Map of it.svg", "type": "string"}, f"{ODD}$text")],
    }
    return [
        entity(
            ODD, labels=terms(en='Odd "place"\\', de="Ort"), aliases=aliases(mul=["Oddity"], de=["Nö"]), claims=claims
        ),
        entity(
            CATEGORY,
            labels=terms(en="Category:Odd"),
            claims={
                "P31": [statement("P31", item(4167836), f"{CATEGORY}$a")],
                "P47": [statement("P47", item(183), f"{CATEGORY}$b")],
            },
        ),
        entity(NAMELESS, claims={"P47": [statement("P47", item(183), f"{NAMELESS}$b")]}),
        entity(
            GERMAN_ONLY, labels=terms(de="Nur hier"), claims={"P47": [statement("P47", item(183), f"{GERMAN_ONLY}$b")]}
        ),
        entity(LONELY, labels=terms(en="Lonely"), descriptions=terms(en="nothing leads there"), claims={}),
    ]


@pytest.fixture(scope="module")
def world() -> list[Json]:
    """The example graph with labels in other languages and pages on it, and some odd entities beside it."""
    entities = example()
    for one in entities:
        number = int(one["id"][1:])
        label = one["labels"]["en"]["value"]
        one["labels"].update(terms(**{code: f"{label} {code}" for code in ("de", "fr", "sw", "ja")[: number % 5]}))
        one["sitelinks"] = {f"site{index}": {} for index in range(number % 40)}
    return entities + odd_entities()


@pytest.fixture(scope="module")
def server(world: list[Json], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    relations = {relation for one in world for relation in one["claims"]} - {"P18", "P571", "P2046"}
    lines = (FOLDER / "relations.jsonl").read_text(encoding="utf-8").splitlines()
    properties = [entity(one["id"], labels=terms(en=one["label"])) for one in map(json.loads, lines)]
    with oxigraph(to_rdf([*world, *properties], sorted(relations)), tmp_path_factory.mktemp("oxigraph")) as address:
        yield address


@pytest.fixture
def through(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """The server behind a proxy, and a home of the test's own."""
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path / "home"))
    with proxy(server) as made:
        yield made


def choice(*centers: str, filters: EntityFilters | None = None, **plan: Any) -> TopicChoice:
    return TopicChoice(
        centers, WalkPlan(**{"steps": 3, "walks": 15, **plan}), filters or EntityFilters(), 10_000, inactive=INACTIVE
    )


def client(through: Proxy, **options: Any) -> SparqlClient:
    return SparqlClient(through.address, **{"pause": 0, "back_off": 0.001, **options})


def everything(topic: Topic) -> list[list[Any]]:
    streams = (topic.relations(), topic.entities(), topic.facts())
    return [[placed.record for placed in stream] for stream in streams]


def facts_of(topic: Topic) -> list[Fact]:
    return [record for record in everything(topic)[2] if isinstance(record, Fact)]


def ends(topic: Topic) -> set[str]:
    return {end for fact in facts_of(topic) for end in (fact.subject, fact.object) if end.startswith("Q")}


class Plain:
    """The same data, read by the loader of dumps, and walks over it one after the other."""

    def __init__(self, world: list[Json], folder: Path, wanted: TopicChoice) -> None:
        path = folder / "world.json"
        path.write_text(dump(*world), encoding="utf-8")
        selected = DumpSelection(languages=wanted.languages, truthy=wanted.truthy, years=wanted.years)
        source = open_dump(path, selection=selected)
        self.entities = {p.record.id: p.record for p in source.entities() if isinstance(p.record, Entity)}
        facts = [placed.record for placed in source.facts()]
        self.facts = sorted((fact for fact in facts if isinstance(fact, Fact)), key=lambda fact: fact.id)
        self.rejected = [fact for fact in facts if isinstance(fact, Rejected)]
        # Also a statement whose dates cannot be leads somewhere.
        bad = Fact(f"{ODD}$bad", ODD, "P47", ODD)
        self.edges = sorted([*self.facts, bad], key=lambda fact: fact.id)
        self.wanted = wanted

    def admits(self, identifier: str) -> bool:
        filters, one = self.wanted.filters, self.entities.get(identifier)
        return (
            one is not None
            and one.label != ""
            and (one.popularity or 0) >= filters.min_sitelinks
            and (one.aliases != () or not filters.with_alias)
            and not set(one.types) & set(filters.without_types)
        )

    def reached(self) -> set[str]:
        found = set(self.wanted.centers)
        for center in self.wanted.centers:
            for number in range(self.wanted.plan.walks):
                found.update(self.one_walk(center, number))
        for fact in self.facts:
            if (fact.relation, fact.object) in self.wanted.where and self.admits(fact.subject):
                found |= {fact.subject, fact.object}
        return found

    def one_walk(self, center: str, number: int) -> list[str]:
        random = np.random.default_rng((self.wanted.plan.seed, int(center[1:]), number))
        path = [center]
        for _ in range(self.wanted.plan.steps):
            at = path[-1]
            usable = [
                fact
                for fact in self.edges
                if fact.relation not in self.wanted.inactive and not self.is_literal(fact.object)
            ]
            ways = [
                [fact.object for fact in usable if fact.subject == at],
                [fact.subject for fact in usable if fact.object == at],
            ]
            backwards_first = random.integers(2) == 1
            ways = ways[::-1] if backwards_first else ways
            in_order = [way[index] for way in ways for index in random.permutation(len(way))]
            good = [name for name in in_order if name not in path and self.admits(name)]
            if not good:
                break
            path.append(good[0])
        return path

    def graph(self) -> tuple[dict[str, Entity], dict[str, Fact]]:
        reached = self.reached()
        types = {type_ for name in reached for type_ in self.entities[name].types}
        facts = [fact for fact in self.facts if fact.subject in reached]
        literals = {fact.object for fact in facts if self.is_literal(fact.object)}
        objects: set[str] = set()
        if self.wanted.all_objects:
            pairs = {(fact.subject, fact.relation) for fact in facts if fact.object in reached}
            items = [fact for fact in facts if fact.object not in literals]
            objects = {fact.object for fact in items if (fact.subject, fact.relation) in pairs} - reached
            # Others are deleted.
            objects &= self.entities.keys()
            facts = [fact for fact in facts if fact.object not in objects or (fact.subject, fact.relation) in pairs]
            types |= {type_ for name in objects if name in self.entities for type_ in self.entities[name].types}
        names = reached | types | literals | objects
        entities = {name: self.entities.get(name, Entity(name)) for name in names}
        return entities, {fact.id: fact for fact in facts if fact.object in reached | literals | objects}

    def is_literal(self, identifier: str) -> bool:
        return identifier in self.entities and self.entities[identifier].datatype is not None


def comparable(one: Entity) -> Entity:
    return replace(one, aliases=tuple(sorted(one.aliases)), types=tuple(sorted(one.types)), popularity=one.popularity)


def assert_same(topic: Topic, plain: Plain) -> tuple[dict[str, Entity], dict[str, Fact]]:
    relations, entities, facts = everything(topic)
    expected_entities, expected_facts = plain.graph()
    assert {one.id: comparable(one) for one in entities} == {
        name: comparable(one) for name, one in expected_entities.items()
    }
    assert {fact.id: fact for fact in facts if isinstance(fact, Fact)} == expected_facts
    assert {relation.id for relation in relations} >= {fact.relation for fact in expected_facts.values()}
    return expected_entities, expected_facts


CASES = {
    "three steps from two centres": choice(GERMANY, KENYA),
    "one step": choice(GERMANY, steps=1, walks=40),
    "another seed": choice(GERMANY, KENYA, seed=7),
    "from what is odd": choice(ODD, walks=40),
    "from where nothing leads": choice(LONELY),
    "from a type": choice("Q6256", GERMANY),
    "all objects": replace(choice(GERMANY, steps=2, walks=10), all_objects=True),
    "ranks": replace(choice(ODD, walks=40), truthy=True),
    "languages": replace(choice(GERMANY, walks=60), languages=("de", "fr")),
    "years": replace(choice(ODD, walks=40), years=True),
    "by statements": replace(choice(), where=(("P47", GERMANY), ("P36", "Q90"))),
    "statements and walks": replace(choice(KENYA, walks=5), where=(("P47", FRANCE),), truthy=True, years=True),
    "by pages": choice(FRANCE, filters=EntityFilters(min_sitelinks=25)),
    "by alias": choice(FRANCE, GERMANY, filters=EntityFilters(with_alias=True)),
    "by type": choice(FRANCE, GERMANY, filters=EntityFilters(without_types=(*OWN_PAGES, "Q6256"))),
    "all pages": choice(GERMANY, steps=1, walks=100, filters=EntityFilters(without_types=())),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.representatives(4)
def test_what_is_gathered_is_what_plain_walks_reach(
    case: str, world: list[Json], through: Proxy, tmp_path: Path
) -> None:
    topic = open_topic(CASES[case], client(through))
    entities, facts = assert_same(topic, Plain(world, tmp_path, CASES[case]))
    if case == "all objects":
        assert len(facts) > len(open_topic(replace(CASES[case], all_objects=False), client(through)).gathered.facts)
    if case != "from where nothing leads":
        assert len(entities) > 10
        assert facts
    assert topic.done == topic.total


def test_items_with_a_statement_are_limited_and_named(
    world: list[Json], through: Proxy, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = replace(choice(limit=4), where=(("P47", GERMANY),))
    topic = open_topic(wanted, client(through))
    names = [one.id for one in topic.gathered.entities]
    # The item of the statement, then the lowest numbers.
    assert names[:4] == [GERMANY, "Q31", "Q32", "Q35"]
    assert GERMANY in ends(topic) <= set(names[:4])
    left = len(Plain(world, tmp_path, wanted).reached()) - 4
    assert f"{left} items with P47=Q183 are left out by the limit of 4." in capsys.readouterr().err
    assert topic.name == "P47=Q183"
    with pytest.raises(KgprobeError, match=r"has no item with P47=Q90 that can be loaded\. Check the ids and filters"):
        open_topic(replace(wanted, where=(("P47", "Q90"),)), client(through))


def test_odd_ones_are_read_as_from_a_dump(world: list[Json], through: Proxy, tmp_path: Path) -> None:
    wanted = choice(ODD, walks=60)
    topic, plain = open_topic(wanted, client(through)), Plain(world, tmp_path, wanted)
    _, facts = assert_same(topic, plain)
    assert {f"{ODD}$loop", *(f"{ODD}$dated-{number}" for number in (1, 2, 3, 4, 5, 8, 9, 10, 11))} <= facts.keys()
    rejected = [record.reason for record in everything(topic)[2] if isinstance(record, Rejected)]
    assert rejected == [record.reason for record in plain.rejected]
    assert rejected == [f"{ODD}, P47, statement '{ODD}$bad': the end 2011-05-01 lies before the start 2012-05-01"]


def test_graph_holds_it(world: list[Json], through: Proxy, tmp_path: Path, graph: Graph) -> None:
    wanted = replace(choice(GERMANY, walks=30), inactive={"P463": "", "P17": ""})
    expected_entities, expected_facts = Plain(world, tmp_path, wanted).graph()
    report = load(graph, open_topic(wanted, client(through), templates=FOLDER / "relations.jsonl"))
    assert report.problems["unreadable"] <= 1
    assert report.problems.total() == report.problems["unreadable"]
    assert report.written["facts"] == len(expected_facts)
    query = (
        "MATCH (s:Entity)-[f:FACT]->(o:Entity) RETURN f.id AS id, s.id AS subject, f.relation AS relation,"
        " o.id AS object, f.rank AS rank, f.start AS start, f.end AS end"
    )
    rows = list(graph.run_text(query, {})[1])
    assert {row["id"]: Fact(**row) for row in rows} == expected_facts
    nodes = graph.run_text("MATCH (e:Entity) WHERE e.number IS NOT NULL RETURN e.id AS id, e.label AS label", {})[1]
    assert {row["id"]: row["label"] for row in nodes} == {name: one.label for name, one in expected_entities.items()}
    query = "MATCH (r:Relation) RETURN r.id AS id, r.active AS active, r.clozes AS clozes"
    relations = list(graph.run_text(query, {})[1])
    used = {fact.relation for fact in expected_facts.values()}
    assert {row["id"] for row in relations} == used
    assert {row["id"] for row in relations if not row["active"]} == used & set(wanted.inactive) != set()
    assert all(row["clozes"] for row in relations)
    again = load(graph, open_topic(wanted, client(through), templates=FOLDER / "relations.jsonl"))
    assert again.written == report.written
    assert list(graph.run_text("MATCH ()-[f:FACT]->() RETURN count(f) AS facts", {})[1]) == [{"facts": len(rows)}]


def test_templates_give_sentences_to_the_relations_there_are(through: Proxy, tmp_path: Path) -> None:
    templates = tmp_path / "relations.jsonl"
    lines = [
        {"id": "P36", "clozes": ["The capital of [X] is [Y]"]},
        {"id": "P17", "label": "is in", "clozes": ["[X] is in [Y]"]},
        {"id": "P999", "label": "not there", "clozes": ["[X] is not [Y]"]},
        {"id": "P47", "clozes": ["no place for anything"]},
    ]
    templates.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    wanted = replace(choice(GERMANY, steps=2, walks=60), inactive={"P47": "", "P17": ""})
    topic = open_topic(wanted, client(through), templates=templates, shipped=False)
    records = everything(topic)[0]
    relations = {record.id: record for record in records if isinstance(record, Relation)}
    assert relations["P36"] == Relation("P36", "capital", active=True, clozes=("The capital of [X] is [Y]",))
    assert relations["P17"] == Relation("P17", "is in", active=False, clozes=("[X] is in [Y]",))
    assert relations["P6"] == Relation("P6", "head of government", active=True)
    assert "P999" not in relations
    assert next(record.reason for record in records if isinstance(record, Rejected)).startswith("P47: ")
    plain = open_topic(wanted, client(through), shipped=False)
    assert plain.fingerprint != topic.fingerprint
    assert len(everything(plain)[0]) == len(relations)
    shipped = open_topic(wanted, client(through), templates=templates)
    assert len({source.fingerprint for source in (plain, topic, shipped)}) == 3
    written = {record.id: record for record in everything(shipped)[0] if isinstance(record, Relation)}
    assert written.keys() == relations.keys()
    assert {relation: written[relation].clozes for relation in ("P36", "P17")} == {
        "P36": ("The capital of [X] is [Y]",),
        "P17": ("[X] is in [Y]",),
    }
    # Neither the endpoint nor the user has a description.
    assert written["P36"] == replace(relations["P36"], description=shipped_relations()["P36"].description)
    assert written["P6"] == replace(shipped_relations()["P6"], active=True)
    assert not written["P47"].active


def test_seeds(through: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = open_topic(choice(GERMANY), client(through))
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path / "elsewhere"))
    again = open_topic(choice(GERMANY), client(through))
    other = open_topic(choice(GERMANY, seed=1), client(through))
    assert everything(first) == everything(again)
    assert first.fingerprint == again.fingerprint
    assert first.fingerprint != other.fingerprint
    assert everything(first) != everything(other)


def test_limit(through: Proxy) -> None:
    topic = open_topic(choice(GERMANY, KENYA, walks=60, limit=20), client(through))
    full = open_topic(choice(GERMANY, KENYA, walks=60), client(through))
    reached = [one.id for one in everything(full)[1]]
    assert [one.id for one in everything(topic)[1]][:20] == reached[:20]
    assert len(ends(topic)) <= 20 < len(ends(full))


@pytest.mark.parametrize(("hub", "inactive"), [("Q458", {}), (GERMANY, {"P17": ""})])
def test_of_what_leads_to_a_hub_a_sample_is_drawn(
    hub: str, inactive: dict[str, str], world: list[Json], through: Proxy, tmp_path: Path
) -> None:
    wanted = replace(choice(hub, steps=1, walks=200), branches=3, inactive=inactive)
    plain = Plain(world, tmp_path, wanted)
    facts = [fact for fact in plain.facts if fact.object == hub and fact.relation not in inactive]
    assert len(facts) > 8

    def order(fact: Fact) -> str:
        address = f"http://www.wikidata.org/entity/statement/{fact.id.replace('$', '-')}"
        return hashlib.md5(address.encode()).hexdigest()  # noqa: S324

    sample = {fact.subject for fact in sorted(facts, key=order)[:3]} & {
        name for name in plain.entities if plain.admits(name)
    }
    entered = {fact.subject for fact in facts_of(open_topic(wanted, client(through))) if fact.object == hub}
    own = {fact.object for fact in plain.facts if fact.subject == hub}
    assert entered - own == sample - own
    assert sample <= entered


def test_unknown_centre(through: Proxy) -> None:
    for unknown in ("Q123456789", NAMELESS, GERMAN_ONLY):
        with pytest.raises(KgprobeError, match=f"has no {unknown} with a label in en, mul"):
            open_topic(choice(GERMANY, unknown), client(through))


def test_centre_by_name_is_the_item_with_most_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path / "home"))
    few, many = {"enwiki": {"title": "x"}}, {name: {"title": "x"} for name in ("enwiki", "dewiki", "frwiki")}
    claims = {"P47": [statement("P47", item(3), "Q2$to-3")]}
    world = [
        entity("Q1", labels=terms(en='The "Clippers"'), sitelinks=few),
        entity("Q2", labels=terms(en="L.A."), aliases=aliases(en=['The "Clippers"']), claims=claims, sitelinks=many),
        entity("Q3", labels=terms(en="Lakers", de="Die Lakers"), sitelinks=few),
    ]
    with oxigraph(to_rdf(world, ["P47"]), tmp_path) as address:
        options = {"endpoint": address, "pause": 0.0, "all_objects": True}
        topic = open_source("sparql", centers=['The "Clippers"'], **options)
        with pytest.raises(KgprobeError, match=r"no item with the English name 'Die Lakers'\. Give its id"):
            open_source("sparql", centers=["Q1", "Die Lakers"], **options)
    assert isinstance(topic, Topic)
    assert [one.id for one in topic.gathered.entities] == ["Q2", "Q3"]


def test_topic_of_the_paper_has_its_centers(through: Proxy) -> None:
    options = {"endpoint": through.address, "pause": 0.0, "walks": 1, "steps": 1}
    topic = open_source("sparql", topic="countries", **options)
    assert isinstance(topic, Topic)
    labels = {one.label for one in topic.gathered.entities[:16]}
    for table, listed in (("figure-6", "countries"), ("figure-9", "nba")):
        published = {number.row for number in all_numbers() if (number.paper, number.table) == ("kglens", table)}
        lines = [line.split("\t") for line in CENTERS.read_text(encoding="utf-8").splitlines()]
        assert {name for own, _, name in lines if own == listed} == published
        if listed == "countries":
            assert labels == published - {"Republic of Ireland"} | {"Ireland"}
    # The list has P17, which is walked along and asked if it is active.
    asked = open_source("sparql", centers=[GERMANY], active=["P17"], **{**options, "walks": 20})
    assert isinstance(asked, Topic)
    by_default, chosen = ({one.id: one.active for one in each.gathered.relations}["P17"] for each in (topic, asked))
    assert (by_default, chosen) == (False, True)


def test_endpoint_without_wikidata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path / "home"))
    with (
        oxigraph("<http://a> <http://b> <http://c> .\n", tmp_path) as address,
        pytest.raises(KgprobeError, match="has no Q183"),
    ):
        open_topic(choice(GERMANY), SparqlClient(address, pause=0))


def test_interrupted_load_goes_on_and_asks_nothing_twice(through: Proxy) -> None:
    wanted = choice(GERMANY, KENYA)

    class Interruption(Exception):  # noqa: N818
        pass

    def interrupt(after: int) -> SparqlClient:
        stopping = client(through)

        def report(message: str) -> None:
            if through.requests and len(through.requests) >= after:
                raise Interruption(message)

        stopping.report = report
        return stopping

    for after in (1, 8, 12):
        with pytest.raises(Interruption):
            open_topic(wanted, interrupt(after))
    topic = open_topic(wanted, client(through))
    queries = [request.query for request in through.requests]
    assert len(queries) == len(set(queries))
    asked = len(queries)
    again = open_topic(wanted, client(through))
    assert len(through.requests) == asked
    assert everything(again) == everything(topic)
    fresh = open_topic(wanted, client(through), refresh=True)
    assert len(through.requests) == 2 * asked
    assert fresh.fingerprint == topic.fingerprint


def test_what_takes_too_long_is_asked_in_smaller_parts(through: Proxy) -> None:
    wanted = choice(GERMANY, FRANCE, KENYA, walks=10)
    undisturbed = open_topic(wanted, client(through))
    slow = Fault(500, "java.util.concurrent.TimeoutException: Query deadline is expired")
    through.decide = lambda query, before: slow if query.count("UNION") < 5 and query.count("SELECT (wd:") > 1 else None
    in_parts = open_topic(wanted, client(through), refresh=True)
    assert everything(in_parts) == everything(undisturbed)


def test_walk_backwards_avoids_hubs_that_cannot_be_asked(world: list[Json], through: Proxy, tmp_path: Path) -> None:
    told: list[str] = []
    slow = Fault(504, "upstream request timeout")
    through.decide = lambda query, before: slow if "(wd:Q183 AS ?object)" in query else None
    wanted = choice(GERMANY, steps=1, walks=60)
    topic = open_topic(wanted, client(through, report=told.append))
    forwards = {fact.object for fact in Plain(world, tmp_path, wanted).facts if fact.subject == GERMANY}
    assert len(ends(topic)) > 3
    assert ends(topic) <= {GERMANY, *forwards}
    assert "Too much leads to these to be asked for, so no walk went there: Q183." in told


def plainly_not_loaded(world: list[Json], reached: set[str], truthy: bool, literals: bool) -> Counter[str]:
    """Return the statements of the reached entities that are not loaded, out of their JSON."""
    other = {"string": "string", "monolingualtext": "text in a language", "globecoordinate": "coordinates"}
    counts: Counter[str] = Counter()
    for one in world:
        for relation, statements in one["claims"].items() if one["id"] in reached else ():
            ranks = {each["rank"] for each in statements}
            for each in statements:
                main = each["mainsnak"]
                kind = None if main["snaktype"] != "value" else main["datavalue"]["type"]
                if each["rank"] == "deprecated":
                    counts["deprecated"] += 1
                elif truthy and each["rank"] == "normal" and "preferred" in ranks:
                    counts["not preferred"] += 1
                elif kind is None:
                    counts["unknown value" if main["snaktype"] == "somevalue" else "no value"] += 1
                elif kind in other:
                    counts[other[kind]] += 1
                elif kind in ("time", "quantity"):
                    counts["date" if kind == "time" else kind] += not literals
                elif relation not in ("P31", "P279"):
                    counts["object not reached"] += main["datavalue"]["value"]["id"] not in reached
    return +counts


@pytest.mark.parametrize("literals", [True, False])
@pytest.mark.parametrize("case", ["one step", "from what is odd", "ranks", "from where nothing leads"])
@pytest.mark.representatives(2)
def test_statements_not_loaded_are_counted(
    case: str, literals: bool, world: list[Json], through: Proxy, tmp_path: Path
) -> None:
    chosen = replace(CASES[case], literals=literals)
    topic = open_topic(chosen, client(through))
    reached = set(Plain(world, tmp_path, chosen).reached())
    counts = plainly_not_loaded(world, reached, chosen.truthy, literals)
    unreadable = {"date coarser than a year", "quantity in another unit"}
    found = {kind: count for kind, count in topic.not_loaded.items() if kind not in unreadable}
    assert found == counts
    if ODD in reached:
        assert {"string", "unknown value", "no value", "deprecated"} <= found.keys()
        assert (unreadable <= topic.not_loaded.keys()) == (literals and not chosen.truthy)


def test_no_more_than_a_few_requests(through: Proxy) -> None:
    """One for 5 entities left, 15 reached, 50 looked at, 200 facts; and nothing is asked for twice."""
    topic = open_topic(choice(GERMANY, KENYA, walks=100), client(through))
    _, entities, facts = everything(topic)
    assert len(entities) > 150
    most = len(entities) / 5 + len(entities) / 15 + 3 * len(entities) / 50 + len(facts) / 200 + 3 * 6
    assert len(through.requests) <= most
    asked: dict[str, list[str]] = {"?entity {": [], "?subject {": [], "AS ?object": []}
    for request in through.requests:
        ids = dict.fromkeys(re.findall(r"(?<=wd:)Q[0-9]+", request.query))
        for kind, found in asked.items():
            if kind in request.query:
                found.extend(ids)
    for found in asked.values():
        assert len(found) == len(set(found)) > 50


def test_list_of_inactive_relations(tmp_path: Path) -> None:
    own = read_inactive_relations()
    assert own["P17"].startswith("country: ")
    assert all(own.values())
    mine = tmp_path / "mine.txt"
    mine.write_text("# mine\n\nP1\nP2\tbecause of this\nP3   why not\n", encoding="utf-8")
    assert read_inactive_relations(mine) == {"P1": "", "P2": "because of this", "P3": "why not"}
    mine.write_text("P1 a\nQ2 b\n", encoding="utf-8")
    with pytest.raises(KgprobeError, match=r"mine.txt, line 2: 'Q2' is not a relation id such as P17."):
        read_inactive_relations(mine)
    mine.write_text("P1 a\nP1 b\n", encoding="utf-8")
    with pytest.raises(KgprobeError, match=r"mine.txt, line 2: P1 is repeated."):
        read_inactive_relations(mine)


def test_command_line(through: Proxy, tmp_path: Path, start_server: Callable[[str], Endpoint]) -> None:
    endpoint = start_server("arcadedb")
    environment = {
        "KGPROBE_HOME": str(tmp_path / "home"),
        "KGPROBE_CONTACT": "me@example.org",
        **environment_of(endpoint),
    }
    command = ("load", "sparql", "--center", GERMANY, "--steps", "2", "--walks", "20", "--endpoint", through.address)
    done = kgprobe(*command, "--pause", "0", "--with-alias", "--json", **environment)
    assert done.returncode == 0, done.stderr
    loaded = json.loads(done.stdout)
    assert loaded["source"] == GERMANY
    assert loaded["entities"] > 5
    assert loaded["facts"] > 5
    assert "Step 2 of 2: " in done.stderr
    assert {request.headers["User-Agent"].split()[1] for request in through.requests} == {"(me@example.org)"}
    shown = kgprobe("load", "sparql", "--show-inactive")
    assert shown.returncode == 0
    listed = tmp_path / "shown.txt"
    listed.write_text(shown.stdout, encoding="utf-8")
    assert read_inactive_relations(listed) == read_inactive_relations()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"centers": []}, "`centers` is empty; expected at least one, a `topic`, or a statement: `where`."),
        ({"where": ["P166"]}, "`where` names 'P166'; one like P166=Q38104 is expected."),
        ({"dates": "years", "literals": False}, "`dates` is years, which has no effect without `literals`."),
        ({"active": ["131"]}, "`active` names '131'; one like P131 is expected."),
        ({"languages": ['en")']}, "`languages` names 'en\")'; one like en is expected."),
        ({"without_types": ["P1"]}, "`without_types` names 'P1'; one like Q4167410 is expected."),
        ({"endpoint": "https://me:se/cret@host/sparql"}, "`endpoint` contains a user or a password before 'host',"),
        ({"endpoint": "file:///etc"}, "`endpoint` is 'file:///etc'; expected the address of a SPARQL endpoint"),
        ({"endpoint": "http://[::1/sparql"}, "`endpoint` is 'http://[::1/sparql'; expected the address"),
        ({"contact": "me (at home)"}, "`contact` is 'me (at home)'; expected a mail address or a web page"),
        ({"inactive": "no/such/file"}, "no/such/file does not exist."),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], said: str, through: Proxy) -> None:
    with pytest.raises(KgprobeError, match=re.escape(said)):
        open_source("sparql", **{"centers": ["Q1"], "endpoint": through.address, **options})
    assert not through.requests


def test_who_gives_wikimedia_no_contact_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    # Refused before anything is asked.
    with pytest.raises(KgprobeError, match="no/such/file does not exist"):
        open_source("sparql", centers=["Q1"], templates="no/such/file")
    assert "`contact`" in capsys.readouterr().err


def test_mul_names_and_a_deleted_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path / "home"))
    claims = {"P47": [statement("P47", item(number), f"Q1$to-{number}") for number in (2, 3, 777)]}
    names = {"labels": terms(mul="Berlin"), "aliases": aliases(mul=["Berlin-Stadt"])}
    world = [
        entity("Q1", labels=terms(de="Bonn", mul="Bonn (mul)"), claims=claims, sitelinks={}),
        entity("Q2", **names, sitelinks={}),
        # It exists, without a name in these languages.
        entity("Q3", labels=terms(fr="Berne"), sitelinks={}),
    ]
    with oxigraph(to_rdf(world, ["P47"]), tmp_path) as address:
        chosen = {"centers": ["Q1"], "languages": ["de"], "with_alias": True, "all_objects": True}
        topic = open_source("sparql", endpoint=address, pause=0.0, **chosen)
    assert isinstance(topic, Topic)
    entities = {one.id: (one.label, one.aliases) for one in topic.gathered.entities}
    assert entities == {"Q1": ("Bonn", ()), "Q2": ("Berlin", ("Berlin-Stadt",)), "Q3": ("", ())}
    assert [fact.object for fact in topic.gathered.facts] == ["Q2", "Q3"]
    assert topic.not_loaded == {"object deleted": 1}
