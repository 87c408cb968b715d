"""Import files: they say what a load makes, record by record, and Neo4j's import makes it of them."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kgprobe
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.graph import ingest, record_batches
from kgprobe.graph.bulk import sorted_runs
from kgprobe.graph.bulk.converting import convert
from kgprobe.graph.client import Graph
from kgprobe.graph.digest import digest_of
from kgprobe.graph.endpoint import Endpoint
from kgprobe.library.bulk_loading import load_bulk_source
from kgprobe.records import Entity, Fact, Rejected, Relation
from tests.conftest import require_engine, wipe
from tests.graph.imported_files import graph_of
from tests.written_source import WrittenSource

HOSTILE = [
    'a "quoted" name, with commas; and \\ backslashes \\',
    '"',
    '""',
    ",",
    "line\nbreak",
    "carriage\r\nreturn\r",
    "\x00nothing\uffff",
    "\ufeffmark \u2028 separator \u0085",
    "\u202eright to left\u202c \u2067isolated\u2069",
    "  space at the ends  ",
    "delimiter \x1f within",
    "👩\u200d👩\u200d👧 e\u0301",
    "x" * 100_000,
    "",
]
ENTITIES = [
    *(Entity(f"H{number}{text[:500]}", text, (text,), text, ("T1",)) for number, text in enumerate(HOSTILE)),
    Entity("many", "many", tuple(HOSTILE), "all aliases", ("T1", "T1", "T2", "many", *HOSTILE[:4])),
    Entity("T1", "a type that is read", types=("T2",)),
    Entity("count", "count", popularity=3),
    Entity("float", "float", popularity=0.1, types=("T3",)),
    Entity("inf", "infinite", popularity=float("inf")),
    Entity("1969", "1969", value="", datatype="year"),
    Entity("float", "a duplicate", types=("named by a duplicate alone",), value="x", datatype="text"),
    Rejected("no record at all"),
]
ENDS = [entity.id for entity in ENTITIES if isinstance(entity, Entity)]
FACTS = [
    *(Fact(f"f{text[:400]}", ENDS[number], "R1", ENDS[-number - 3], text[:50]) for number, text in enumerate(HOSTILE)),
    Fact("f1", "T1", "R2", "T2", start="1990-10-03", end="unknown"),
    Fact("f2", "T1", "R2", "T1", start="-0044", end="2011-05"),
    Fact("f3", "T1", "named by facts alone", "T3"),
    Fact("f1", "T1", "R2", "T3"),
    Fact("f1", "T2", "R2", "T3"),
    Fact("f4", "nobody", "R3", "T3"),
    Fact("f5", "T1", 'R4\n,"', "nobody"),
    Rejected("no fact at all"),
    Fact("f1", "T1", "named by a duplicate alone", "nobody"),
]
RELATIONS = [
    Relation("R1", 'is, "so to say"\nnear', ("",), clozes=("[X] is near [Y]", "a\x1fb")),
    Relation("R2", "", active=False),
    Relation("never used", "never"),
]


def hostile(**changes: Any) -> WrittenSource:
    its = {"entity_records": ENTITIES, "fact_records": FACTS, "relation_records": RELATIONS}
    return WrittenSource(**its | {"name": 'written, by "us"'} | changes)


@pytest.fixture
def neo4j(start_server: Callable[[str], Endpoint]) -> Iterator[Graph]:
    """A connection to an empty Neo4j."""
    require_engine("neo4j")
    with Graph(start_server("neo4j")) as connection:
        wipe(connection)
        yield connection


def made_by_load(graph: Graph) -> list[str]:
    """All that a graph holds, without what is random of it."""
    nodes = [(sorted(row["labels"]), row["properties"]) for row in graph.stream("copy/nodes")]
    relationships = [
        ([row["type"], row["from"], row["to"]], row["properties"]) for row in graph.stream("copy/relationships")
    ]
    return told(nodes, relationships)


def told(nodes: Any, relationships: Any) -> list[str]:
    lines = []
    for labels, properties in nodes:
        its = {key: value for key, value in properties.items() if key != "uid"}
        if labels == ["Load"]:
            its |= {"stage": "facts", "finished": True}
        lines.append(repr((labels, sorted(its.items()))))
    return sorted([*lines, *(repr((ends, sorted(its.items()))) for ends, its in relationships)])


def both(graph: Graph, source: WrittenSource, folder: Path) -> tuple[Any, Any]:
    """What a load and a conversion say of the same source."""
    heard: tuple[list[str], list[str]] = ([], [])
    done = ingest.load(graph, source, report_problem=heard[0].append)
    files = convert(source, folder, report_problem=heard[1].append)

    def report(written: Any, problems: Any, outside: int, messages: list[str]) -> Any:
        return +written, +problems, outside, sorted(messages)

    from collections import Counter

    told_ = files.told
    return (
        report(done.written, done.problems, done.outside, heard[0]),
        report(Counter(told_.written), Counter(told_.problems), told_.outside, heard[1]),
    )


@pytest.mark.parametrize("size", [2, 3, 10_000])
@pytest.mark.parametrize("partial", [False, True])
def test_the_files_say_what_a_load_makes(
    size: int, partial: bool, neo4j: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_batches, "BATCH_RECORDS", size)
    loaded, converted = both(neo4j, hostile(partial=partial), tmp_path / "files")
    assert loaded[:3] == converted[:3]
    assert told(*graph_of(tmp_path / "files")) == made_by_load(neo4j)


class SeveralALine(WrittenSource):
    """Three records stand on each line, as they do in a dump of entities with their facts."""

    def _placed(self, records: Any) -> Any:
        return (placed._replace(line=placed.line // 3) for placed in super()._placed(records))


def some_of(names: str) -> Any:
    return st.sampled_from(names)


RANDOM_ENTITIES = st.builds(
    Entity,
    some_of("abcd"),
    label=some_of("xy"),
    types=st.lists(some_of("cdef"), max_size=2).map(tuple),
    datatype=st.none() | some_of("t"),
)
RANDOM_FACTS = st.builds(Fact, some_of("12"), some_of("abz"), some_of("RST"), some_of("abez"), start=some_of([None, "2011"]))


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    entities=st.lists(RANDOM_ENTITIES, max_size=14),
    facts=st.lists(RANDOM_FACTS, max_size=14),
    partial=st.booleans(),
    size=st.sampled_from([1, 2, 4]),
)
def test_whatever_repeats_itself_is_treated_as_a_load_treats_it(
    entities: list[Entity],
    facts: list[Fact],
    partial: bool,
    size: int,
    neo4j: Graph,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    wipe(neo4j)
    source = SeveralALine(entities, facts, [Relation("R", "r")], partial=partial)
    folder = tmp_path_factory.mktemp("bulk") / "files"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_batches, "BATCH_RECORDS", size)
        loaded, converted = both(neo4j, source, folder)
    assert loaded[:3] == converted[:3]
    assert told(*graph_of(folder)) == made_by_load(neo4j)
