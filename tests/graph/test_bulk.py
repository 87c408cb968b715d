"""Import files: they say what a load makes, record by record, and Neo4j's import makes it of them."""

import os
import shutil
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import kgprobe
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.progress import Task
from kgprobe.base.records import Entity, Fact, Rejected, Relation
from kgprobe.graph import ingest, record_batches
from kgprobe.graph.bulk import converting, reading, staging
from kgprobe.graph.bulk.converting import convert
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from kgprobe.graph.loading import load_source
from kgprobe.graph.record_batches import EntityRows, entity_rows
from kgprobe.graph.servers.bulk_loading import load_bulk_source, write_bulk_source
from kgprobe.graph.servers.folder import Folder, Import
from kgprobe.graph.servers.processes import key_of
from kgprobe.graph.state import digest_of, stored_nodes
from kgprobe.loaders.table import TableSource
from kgprobe.sampling.columns import graph_columns, making
from kgprobe.sampling.columns.graph_columns import keep_imported_columns, open_columns
from kgprobe.sources.contract import open_source
from tests.conftest import require_engine
from tests.graph.imported_files import graph_of, rows_of
from tests.graph.servers.shared import wipe
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
    "x" * 29_000,
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


@pytest.fixture(params=["neo4j"])
def neo4j(request: pytest.FixtureRequest, start_server: Callable[[str], Endpoint]) -> Iterator[Graph]:
    """A connection to an empty Neo4j."""
    require_engine(request.param)
    with Graph(start_server(request.param)) as connection:
        wipe(connection)
        yield connection


def made_by_load(graph: Graph) -> list[str]:
    """Return all that a graph holds, without what is random of it."""
    nodes = [(sorted(row["labels"]), row["properties"]) for row in stored_nodes(graph)]
    relationships = [
        ([row["type"], row["from"], row["to"]], row["properties"]) for row in graph.stream("copy/relationships")
    ]
    return told(nodes, relationships)


def told(nodes: Any, relationships: Any) -> list[str]:
    lines = []
    for labels, properties in nodes:
        # The end of an import writes what its load has created.
        its = {key: value for key, value in properties.items() if key not in ("uid", "created", "changed", "time")}
        if labels == ["KgprobeLoad"]:
            its |= {"stage": "facts", "finished": True}
        lines.append(repr((labels, sorted(its.items()))))
    return sorted([*lines, *(repr((ends, sorted(its.items()))) for ends, its in relationships)])


def both(graph: Graph, source: WrittenSource, folder: Path) -> tuple[Any, Any]:
    """Return what a load and a conversion say of the same source."""
    heard: tuple[list[str], list[str]] = ([], [])
    done = ingest.load(graph, source, report_problem=heard[0].append)
    files = convert(source, folder, report_problem=heard[1].append)

    def report(written: Any, problems: Any, outside: int, messages: list[str]) -> Any:
        return +written, +problems, outside, sorted(messages)

    told_ = files.records
    return (
        report(done.written, done.problems, done.outside, heard[0]),
        report(Counter(told_.written), Counter(told_.problems), told_.outside, heard[1]),
    )


def assert_same_columns(graph: Graph, folder: Path) -> None:
    """Compare the columns of a graph with those of the import files in a folder."""
    written = []
    for name, parts in (("read", making.graph_parts(graph)), ("imported", making.file_parts(folder / "files"))):
        (folder / name).mkdir()
        making.write_columns(parts, folder / name, Task("writing", time.monotonic))
        written.append({path.name: path.read_bytes() for path in (folder / name).iterdir()})
    assert written[0] == written[1]
    assert len(written[0]) == 16


@pytest.mark.parametrize("size", [2, 3, 10_000])
@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.representatives(2)
def test_files_say_what_a_load_makes(
    size: int, partial: bool, neo4j: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_batches, "BATCH_RECORDS", size)
    if size == 2:
        # The ends of each batch are looked up alone.
        monkeypatch.setattr(converting, "_BYTES_AT_ONCE", 1)
        monkeypatch.setattr(staging, "_FACTS_AT_ONCE", 3)
    loaded, converted = both(neo4j, hostile(partial=partial), tmp_path / "files")
    assert loaded[:3] == converted[:3]
    assert told(*graph_of(tmp_path / "files")) == made_by_load(neo4j)
    assert_same_columns(neo4j, tmp_path)


class SeveralALine(WrittenSource):
    """Three records stand on each line, as they do in a dump of entities with their facts."""

    def _placed(self, records: Any) -> Any:
        return (placed._replace(line=placed.line // 3) for placed in super()._placed(records))


def some_of(names: str) -> Any:
    return st.sampled_from(names)


# Records of one entity on one line leave the same properties empty; others differ in a load and an import.
RANDOM_ENTITIES = st.builds(
    lambda id_, label, types: Entity(
        id_, label, types=types if id_ != "a" else (), datatype="t" if id_ > "b" else None
    ),
    some_of("abcd"),
    label=some_of("xy"),
    types=st.lists(some_of("cdef"), min_size=1, max_size=2).map(tuple),
)
RANDOM_FACTS = st.builds(
    Fact, some_of("12"), some_of("abz"), some_of("RST"), some_of("abez"), start=some_of([None, "2011"])
)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    entities=st.lists(RANDOM_ENTITIES, max_size=14),
    facts=st.lists(RANDOM_FACTS, max_size=14),
    partial=st.booleans(),
    size=st.sampled_from([1, 2, 4]),
)
# Of two records of an id on a line, the later one counts; a fact with both ends is no duplicate of those without.
# An end on an unknown day is before every date.
@example(
    entities=[Entity("b", "x", types=("c",)), Entity("b", "y", types=("d",)), *[Entity("a", "x")] * 3],
    facts=[
        Fact("1", "b", "R", "a"),
        Fact("1", "b", "S", "b", start="2011"),
        *[Fact("2", "b", "R", "z")] * 6,
        Fact("2", "b", "R", "b"),
        Fact("3", "a", "R", "b", end="unknown"),
    ],
    partial=False,
    size=1,
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
    assert_same_columns(neo4j, folder.parent)


@pytest.mark.slow
@pytest.mark.usefixtures("home")
def test_import_makes_the_same_graph_as_a_load(
    neo4j: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(record_batches, "BATCH_RECORDS", 4)
    source, folder = hostile(), Folder(tmp_path / "a graph, (new)")
    # As an import leaves it that was killed: the graph is whole for nobody, and the same call begins again.
    folder.create("neo4j")
    folder.importing.touch()
    with pytest.raises(KgprobeError, match="is incomplete: an import into it was interrupted"):
        kgprobe.open_graph(folder.path)

    def keep(graph: Graph, bulk_files: Path) -> None:
        keep_imported_columns(graph, bulk_files)
        shutil.copytree(bulk_files, tmp_path / "kept")

    report = load_bulk_source(folder.path, source, on_import=keep)
    loaded = load_source(neo4j, source)
    assert (report.entities, report.relations, report.facts) == (loaded.entities, loaded.relations, loaded.facts)
    assert (report.skipped, report.outside) == (loaded.skipped, loaded.outside)
    assert not (folder.path / "bulk").exists()
    with kgprobe.open_graph(folder.path) as imported:
        # The load has kept the columns, which are not read from the graph.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(graph_columns, "graph_parts", None)
            kept = open_columns(imported)
        assert kept.fact_ids.equals(open_columns(neo4j).fact_ids)
        indexes = [{row["name"] for row in each.run_text("SHOW INDEXES", {})[1]} for each in (imported, neo4j)]
        assert indexes[0] == indexes[1]
        for each in (imported, neo4j):
            each.query("MATCH (load:KgprobeLoad) SET load.time = ''")
        before = digest_of(imported)
        # The graph's own name is drawn at random.
        assert before.differences(digest_of(neo4j)) == [":KgprobeCounter: 1 in both, with other properties"]
        with pytest.raises(ArgumentError, match=r"`graph` is .*, which contains \d+ nodes; an import needs an empty"):
            load_bulk_source(folder.path, source)
        # A load of the same goes through it, and changes nothing but the number of batches.
        assert load_source(imported, source).facts == report.facts
        assert digest_of(imported).differences(before) == [":KgprobeCounter: 1 in both, with other properties"]
        # After a change, the files are no longer those of the graph.
        load_source(imported, WrittenSource([Entity("later", "Later")], name="later"))
        keep_imported_columns(imported, tmp_path / "kept")
        assert "(the graph has changed since its import)" in capsys.readouterr().err
        assert "later" in open_columns(imported).entity_ids.to_pylist()


class Meddled(WrittenSource):
    """A source during whose reading something else happens."""

    def __init__(self, meddle: Callable[[], None]) -> None:
        super().__init__(ENTITIES[:3])
        self._meddle = meddle

    def facts(self) -> Any:
        self._meddle()
        return super().facts()


def test_folder_while_files_are_written_is_reserved(tmp_path: Path) -> None:
    require_engine("neo4j")
    folder = Folder(tmp_path / "graph")

    def open_elsewhere() -> None:
        with pytest.raises(KgprobeError, match=rf"is reserved: process {os.getpid()} imports into it"):
            kgprobe.open_graph(folder.path)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load_bulk_source(folder.path, Meddled(open_elsewhere))
    # Nothing was changed, so the folder is free.
    assert not folder.importing.exists()


def test_folder_that_changed_meanwhile_takes_no_import(tmp_path: Path) -> None:
    require_engine("neo4j")
    folder = Folder(tmp_path / "graph")
    with pytest.raises(KgprobeError, match="is no longer reserved for this import"):
        load_bulk_source(folder.path, Meddled(folder.remove_import))
    assert not (folder.path / "neo4j").exists()


def test_folder_of_another_import_is_refused(tmp_path: Path) -> None:
    require_engine("neo4j")
    folder = Folder(tmp_path / "graph")
    folder.create("neo4j")
    with subprocess.Popen(["sleep", "60"]) as other:
        folder.write_import(Import(key_of(other.pid), begun=False))
        with pytest.raises(KgprobeError, match=rf"Another process \({other.pid}\) already imports"):
            load_bulk_source(folder.path, hostile())
        other.kill()


def test_embedded_folder_is_refused_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Folder(tmp_path / "graph").create("arcadedb")
    for name in ("PATH", "JAVA_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    with pytest.raises(ArgumentError, match="a graph of arcadedb; an import needs Neo4j"):
        load_bulk_source(tmp_path / "graph", hostile())


def test_what_cannot_take_an_import_is_told(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"`graph` is bolt://host, a running server.*`bulk_files`"):
        load_bulk_source("bolt://host", hostile())
    Folder(tmp_path / "other").create("arcadedb")
    with pytest.raises(ArgumentError, match=r"`graph` is .*other, a graph of arcadedb; an import needs Neo4j"):
        load_bulk_source(tmp_path / "other", hostile())
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    with pytest.raises(KgprobeError, match="contains other files"):
        load_bulk_source(tmp_path / "full", hostile())
    with pytest.raises(ArgumentError, match=r"`bulk_files` is .*full, which exists"):
        write_bulk_source(tmp_path / "full", hostile())


def test_load_refuses_to_resume_an_unfinished_import(neo4j: Graph) -> None:
    load = {"id": "written-1", "stage": "imported", "position": 5, "finished": False}
    neo4j.write("copy/load", rows=[{"id": "written-1", "properties": load}])
    with pytest.raises(KgprobeError, match=r"was imported into this graph, but the import is not finished"):
        ingest.load(neo4j, hostile())


def test_conversion_that_ends_early_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KgprobeError, match='written, by "us" cannot be read: the disk is gone'):
        write_bulk_source(tmp_path / "files", hostile(fail_at_fact=5))
    with pytest.raises(KgprobeError, match=r"written, by .*, line 21: float is already on line 18"):
        write_bulk_source(tmp_path / "files", hostile(), strict=True)
    with pytest.raises(KgprobeError, match="contains no complete import files"):
        kgprobe.import_command(tmp_path / "files")
    assert list(tmp_path.iterdir()) == []


@given(st.lists(st.tuples(st.text() | st.none(), st.integers(0, 9) | st.none()), max_size=5))
def test_row_files_any_text_is_read_back(rows: list[tuple[str | None, int | None]]) -> None:
    with TemporaryDirectory() as folder:
        texts, numbers = zip(*rows, strict=True) if rows else ((), ())
        table = pa.table({"text": pa.array(texts, pa.string()), "number:long": pa.array(numbers, pa.int64())})
        with staging.staging_database(Path(folder)) as database:
            names, count = staging.write_rows(database, Path(folder), "rows", "FROM waiting", table)
        written = {name: list(rows_of(Path(folder) / name)) for name in names}
    assert count == len(rows)
    # A line with empty columns alone would be a blank line in a file of one column.
    expected = [[text, None if number is None else str(number)] for text, number in rows]
    with_breaks = [row for row in expected if row[0] is not None and ("\n" in row[0] or "\r" in row[0])]
    assert written.pop("rows.csv")[1:] == [row for row in expected if row not in with_breaks]
    assert [row for rows in written.values() for row in rows[1:]] == with_breaks


def test_further_properties_of_entities_become_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    further = {
        "a": {"label_de": 'ein "Name"\n', "aliases_de": ["x", "y"]},
        "b": {"aliases_de": ["d\x1fe"]},
        "d": {"label_de": ""},
    }

    def with_further(*given: Any) -> EntityRows:
        batch = entity_rows(*given)
        for row in batch.rows:
            row["properties"] |= further.get(row["id"], {})
        return batch

    monkeypatch.setattr(converting, "entity_rows", with_further)
    monkeypatch.setattr(record_batches, "BATCH_RECORDS", 2)
    convert(WrittenSource([Entity("c"), *map(Entity, "abd")]), tmp_path / "files")
    nodes, _ = graph_of(tmp_path / "files")
    found = {}
    for labels, properties in nodes:
        if labels == ["Entity"]:
            found[properties["id"]] = {name: properties[name] for name in properties if name.endswith("_de")}
    assert found == {"c": {}, **further}


FACT_LINES = ["subject\trelation\tobject\tstart", *(f"e{n % 7}\tR{n % 3}\te{n % 11}\t{2000 + n}" for n in range(40))]


@pytest.fixture
def table(tmp_path: Path) -> Callable[[], Any]:
    """Open a table of eight entities and of facts, some of which have other ends or are unreadable."""
    entities, facts = tmp_path / "entities.jsonl", tmp_path / "facts.tsv"
    entities.write_text("".join(f'{{"id": "e{n}", "label": "entity {n}"}}\n' for n in range(8)))
    facts.write_text("\n".join([*FACT_LINES, "e1\tR1", FACT_LINES[-1], FACT_LINES[-2]]))
    return partial(open_source, "table", entities=entities, facts=facts)


def test_facts_read_in_another_process_are_the_same(
    table: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    for name, least in (("here", 10**9), ("apart", 0)):
        monkeypatch.setattr(reading, "APART_BYTES", least)
        monkeypatch.setattr(reading.os, "cpu_count", lambda: 2)
        heard: list[str] = []
        source = table()
        counts = convert(source, tmp_path / name, report_problem=heard.append).records
        assert source.done == source.total
        made.append((told(*graph_of(tmp_path / name)), heard, counts.written, counts.problems))
        with pytest.raises(KgprobeError, match=r"facts.tsv, line 42: 2 columns where 4 are expected"):
            convert(table(), tmp_path / "strict", strict=True)
    assert made[0] == made[1]
    assert len(made[0][1]) > 10
    assert sorted(path.name for path in tmp_path.iterdir()) == ["apart", "entities.jsonl", "facts.tsv", "here"]


class DyingTable(TableSource):
    """A source that ends the process which unpickles it."""

    def __reduce__(self) -> Any:
        return os._exit, (3,)


def test_reading_process_that_ends_is_reported(
    table: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "APART_BYTES", 0)
    monkeypatch.setattr(reading.os, "cpu_count", lambda: 2)
    whole = table()
    dying = DyingTable(name="t", fingerprint="t", readings=whole.readings, header=whole.header)
    with pytest.raises(KgprobeError, match=r"The process that read the facts of t ended with code 3"):
        convert(dying, tmp_path / "files")
    (tmp_path / "facts.tsv").unlink()
    with pytest.raises(KgprobeError, match=r"facts.tsv does not exist"):
        convert(whole, tmp_path / "files")
    assert [path.name for path in tmp_path.iterdir()] == ["entities.jsonl"]


def test_staging_interrupted_query_raises_keyboard_interrupt(tmp_path: Path) -> None:
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt), staging.staging_database(tmp_path) as database:
        database.execute("SELECT sum(a.range) FROM range(1_000_000) a, range(1_000_000)").fetchall()
    assert list(tmp_path.iterdir()) == []


def test_conversion_without_space_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "_MEMORY", "1MB")
    with pytest.raises(KgprobeError, match=r"files.*cannot be written"):
        convert(hostile(), tmp_path / "files")
    assert list(tmp_path.iterdir()) == []
