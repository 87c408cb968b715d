"""Labels as properties of a user's own graph: written, written again, removed; the rest of the graph never changes."""

import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import kgprobe
from kgprobe.api.loading import load
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.graph import located_facts
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from kgprobe.labelling.exports.write_back import WriteBack
from kgprobe.labelling.table import SCHEMES, LabelTable
from kgprobe.sources.values import fact_id
from tests.cli.inprocess import run
from tests.conftest import require_engine
from tests.graph.servers.shared import REPOSITORY, wipe
from tests.kills import Moment, ending_at, kill_child
from tests.labelling.exports.own_graphs import FILMS, MAPPING, content, labelled, rows, write_table

# The engine of kgprobe's graph, and that of the user's.
ON_BOTH = pytest.mark.parametrize(("endpoint", "own"), [("arcadedb", "arcadedb"), ("arcadedb", "neo4j")], indirect=True)
ON_ONE = pytest.mark.parametrize(("endpoint", "own"), [("arcadedb", "arcadedb")], indirect=True)
KILLED_ON = pytest.mark.parametrize(
    ("endpoint", "own"),
    [("arcadedb", "arcadedb"), pytest.param("arcadedb", "neo4j", marks=pytest.mark.slow)],
    indirect=True,
)
# Places of the graph of films: three roles, two directors, one contract.
PLACES = 6

WRITTEN = """
MATCH (s)-[r]->(o) WHERE r.kgprobe_run IS NOT NULL
RETURN coalesce(s.name, s.title) AS s, type(r) AS t, o.title AS o, r.kgprobe_known AS known, r.kgprobe_low AS low,
       r.kgprobe_high AS high, r.kgprobe_class AS class, r.kgprobe_belief AS belief, r.kgprobe_basis AS basis,
       r.kgprobe_run AS run, r.kgprobe_model AS model
"""


@pytest.fixture
def own(
    request: pytest.FixtureRequest,
    start_server: Callable[[str], Endpoint],
    second_endpoint: Endpoint,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Graph]:
    """A user's own graph of films, with its credentials set."""
    require_engine(request.param)
    endpoint = second_endpoint if request.param == "arcadedb" else start_server(request.param)
    for name, value in credentials(endpoint).items():
        monkeypatch.setenv(name, value)
    with Graph(endpoint) as connection:
        wipe(connection)
        list(connection.run_text(FILMS, {})[1])
        yield connection


def credentials(endpoint: Endpoint) -> dict[str, str]:
    given = {"USER": endpoint.user, "PASSWORD": endpoint.password, "DATABASE": endpoint.database or ""}
    return {f"KGPROBE_FROM_{name}": value for name, value in given.items()}


@pytest.fixture
def mapping(tmp_path: Path) -> Path:
    path = tmp_path / "films.toml"
    path.write_text(MAPPING, encoding="utf-8")
    return path


@pytest.fixture
def table(own: Graph, graph: Graph, mapping: Path, tmp_path: Path) -> LabelTable:
    """Labels of all facts of the films, as kgprobe has loaded them."""
    load(graph, "graph", source=own.endpoint.address, mapping=mapping)
    return write_table(tmp_path / "films", labelled(graph))


def write(table: LabelTable, own: Graph, mapping: Path, **options: Any) -> WriteBack:
    return kgprobe.write_back(table, own.endpoint.address, mapping, **options)


@ON_BOTH
def test_written_labels_are_those_of_the_table(own: Graph, table: LabelTable, mapping: Path) -> None:
    before = content(own)
    trial = write(table, own, mapping, dry_run=True)
    assert content(own) == before
    done = write(table, own, mapping)
    assert (trial.written, done.written, done.unchanged, done.removed) == (PLACES, PLACES, 0, 0)
    by_ends = {(row["s"], row["t"], row["o"]): row for row in rows(own, WRITTEN)}
    assert len(by_ends) == 5
    for fact in table.rows():
        ends = (fact.subject_name, fact.relation, fact.object_name)
        if fact.relation == "directed by":
            ends = (fact.object_name, "DIRECTED", fact.subject_name)
        if fact.relation in ("ACTED_IN", "directed by"):
            row = by_ends[ends]
            assert (row["known"], row["low"], row["high"]) == (fact.known, fact.known_low, fact.known_high)
            assert (row["class"], row["belief"], row["basis"]) == (fact.slick, fact.belief, fact.basis)
            assert (row["run"], row["model"]) == ("films", "demo")
    assert rows(own, "MATCH (c:Contract) RETURN c.kgprobe_run AS run") == [{"run": "films"}]
    assert done.obstacles == {"the fact is a property of a node": 1}
    counts = {row.relation: (row.labelled, row.found, row.not_writable, row.missing) for row in done.relations}
    assert counts["ACTED_IN"] == (3, 3, 0, 0)
    assert counts["released"] == (1, 0, 1, 0)
    assert write(table, own, mapping).unchanged == PLACES
    assert kgprobe.remove_labels(own.endpoint.address).cleared == PLACES
    assert content(own) == before


@KILLED_ON
def test_killed_write_back_is_completed_and_removed(
    own: Graph, table: LabelTable, mapping: Path, tmp_path: Path
) -> None:
    before = content(own)
    write(table, own, mapping)
    undisturbed = content(own)
    kgprobe.remove_labels(own.endpoint.address)
    work = partial(write_in_batches, folder=table.folder, mapping=mapping)
    kill_child(own.endpoint, tmp_path, work, Moment("committed", "own/label_relationships", times=2))
    half = content(own)
    assert half not in (before, undisturbed)
    again = write(table, own, mapping)
    assert (again.written, again.unchanged) == (PLACES - 4, 4)
    assert content(own) == undisturbed
    kill_child(own.endpoint, tmp_path, remove_in_batches, Moment("committed", "own/label_relationships"))
    assert content(own) not in (before, undisturbed)
    kgprobe.remove_labels(own.endpoint.address)
    assert content(own) == before


def write_in_batches(own: Graph, folder: Path, mapping: Path) -> None:
    located_facts.AT_ONCE = 2
    os.environ.update(credentials(own.endpoint))
    kgprobe.write_back(folder, own.endpoint.address, mapping)


def remove_in_batches(own: Graph) -> None:
    located_facts.AT_ONCE = 2
    os.environ.update(credentials(own.endpoint))
    kgprobe.remove_labels(own.endpoint.address)


@ON_ONE
def test_second_table_replaces_the_labels_of_the_first(
    own: Graph, table: LabelTable, mapping: Path, tmp_path: Path
) -> None:
    write(table, own, mapping)
    acted = [fact for fact in table.rows() if fact.relation == "ACTED_IN"]
    done = write(write_table(tmp_path / "acted", acted[:2]), own, mapping)
    assert (done.written, done.removed) == (2, 4)
    assert {(row["t"], row["run"]) for row in rows(own, WRITTEN)} == {("ACTED_IN", "acted")}


@ON_ONE
def test_two_prefixes_hold_labels_of_two_tables(own: Graph, table: LabelTable, mapping: Path) -> None:
    before = content(own)
    write(table, own, mapping)
    first = content(own)
    write(table, own, mapping, prefix="other_")
    assert kgprobe.remove_labels(own.endpoint.address, prefix="other_").cleared == PLACES
    assert content(own) == first
    kgprobe.remove_labels(own.endpoint.address)
    assert content(own) == before


HALLE = "MATCH (:Person {name: 'Halle Berry'})-[r:ACTED_IN]->()"
# Properties of the user, with the text that names them, and the relationships and nodes that have them.
FOREIGN = {
    "text": (f"{HALLE} SET r.last_run = 'monday'", "last_run (1)", "last_run = 'monday'", 1),
    "number": ("MATCH ()-[r:ACTED_IN]->() SET r.last_run = 7", "last_run (3)", "last_run = 7", 3),
    "list": (f"{HALLE} SET r.last_class = ['a']", "last_class (1)", "last_class = ['a']", 1),
    "date": (f"{HALLE} SET r.last_run = date('2026-01-02')", "last_run (1)", "last_run = ", 1),
    "digest": (f"{HALLE} SET r.last_digest = '0123456789abcdef'", "last_digest (1)", "last_digest = ", 1),
    "node": ("MATCH (r:Contract) SET r.last_model = 'T1'", "last_model (1)", "node ", 1),
    "unlabelled": ("MATCH ()-[r:DIRECTED]->() SET r.last_run = 'x'", "last_run (2)", "last_run = 'x'", 2),
}
# Changes of properties that kgprobe has written.
CHANGED = {
    "changed": (f"{HALLE} SET r.last_class = 'mine'", "last_class (1)", "last_class = 'mine'", 1),
    "removed": (f"{HALLE} REMOVE r.last_low", "last_known (1)", "last_known = ", 1),
    "undigested": (f"{HALLE} REMOVE r.last_digest", "last_run (1)", "last_run = 'films'", 1),
    "integer": (f"{HALLE} SET r.last_high = 1", "last_high (1)", "last_high = 1", 1),
}


@ON_ONE
@pytest.mark.parametrize("case", [*FOREIGN, *CHANGED])
@pytest.mark.representatives(3)
def test_properties_of_the_user_are_refused_and_kept(case: str, own: Graph, table: LabelTable, mapping: Path) -> None:
    acted = [fact for fact in table.rows() if fact.relation == "ACTED_IN"]
    labels = table if case != "unlabelled" else write_table(table.folder.parent / "acted", acted)
    if case in CHANGED:
        write(table, own, mapping, prefix="last_")
    change, counted, example, count = (FOREIGN | CHANGED)[case]
    rows(own, change)
    before = content(own)
    for dry_run in (True, False):
        with pytest.raises(KgprobeError, match=r"not written, or that were changed.*Nothing was changed") as raised:
            write(labels, own, mapping, prefix="last_", dry_run=dry_run)
        assert counted in str(raised.value)
        assert example in str(raised.value)
        assert content(own) == before
    trial = kgprobe.remove_labels(own.endpoint.address, prefix="last_", dry_run=True)
    assert content(own) == before
    removed = kgprobe.remove_labels(own.endpoint.address, prefix="last_")
    assert removed == replace(trial, dry_run=False)
    assert (removed.cleared, removed.left) == (PLACES - count if case in CHANGED else 0, count)
    assert counted in removed.summary()
    kept = rows(own, "MATCH ()-[r]->() WHERE any(name IN keys(r) WHERE name STARTS WITH 'last_') RETURN r")
    assert len(kept) == (0 if case == "node" else count)


@ON_ONE
def test_prefix_must_begin_a_name(own: Graph, table: LabelTable, mapping: Path) -> None:
    with pytest.raises(ArgumentError, match="`prefix` is 'a b'"):
        write(table, own, mapping, prefix="a b")


# Writes of the user after kgprobe has read the graph.
MEANWHILE = {
    "value": f"{HALLE} SET r.kgprobe_class = 'mine'",
    "all values": f"{HALLE} SET r += {{kgprobe_run: 'films', kgprobe_digest: 'mine'}}",
    "deleted": f"{HALLE} DELETE r",
}


@ON_BOTH
@pytest.mark.parametrize("case", MEANWHILE)
@pytest.mark.representatives(2)
def test_write_of_the_user_in_between_is_kept(case: str, own: Graph, table: LabelTable, mapping: Path) -> None:
    with ending_at(Moment("before", "own/label_relationships"), lambda: write_elsewhere(own, MEANWHILE[case])):
        done = write(table, own, mapping)
    assert (done.written, done.notes) == (PLACES - 1, (f"1 relationships or nodes {CHANGED_MEANWHILE}",))
    mine = rows(own, f"{HALLE} RETURN keys(r) AS keys")
    assert mine == [] if case == "deleted" else "kgprobe_known" not in mine[0]["keys"]
    rows(own, f"{HALLE} REMOVE r.kgprobe_class, r.kgprobe_run, r.kgprobe_digest")
    assert write(table, own, mapping).unchanged == PLACES - 1
    changed = MEANWHILE[case].replace("Halle Berry", "Keanu Reeves")
    with ending_at(Moment("before", "own/label_relationships"), lambda: write_elsewhere(own, changed)):
        removed = kgprobe.remove_labels(own.endpoint.address)
    assert (removed.changed, removed.left) == (2, 0)
    assert CHANGED_MEANWHILE in removed.summary()
    assert len(rows(own, WRITTEN)) == (0 if case == "deleted" else 2)


CHANGED_MEANWHILE = "were changed or deleted in the meantime, and left alone."


def write_elsewhere(own: Graph, cypher: str) -> None:
    """Run Cypher of the user in a connection of its own."""
    with Graph(own.endpoint) as connection:
        rows(connection, cypher)


@ON_BOTH
def test_open_transaction_of_the_user_is_waited_for(own: Graph, table: LabelTable, mapping: Path) -> None:
    writing = threading.Event()
    notes: list[str] = []

    def write_labels() -> None:
        with ending_at(Moment("before", "own/label_relationships"), writing.set):
            notes.extend(write(table, own, mapping).notes)

    with Graph(own.endpoint) as connection:
        # Committed after its rows are read.
        _, uncommitted = connection.run_text(f"{HALLE} SET r.kgprobe_class = 'mine' RETURN r", {})
        writer = threading.Thread(target=write_labels)
        writer.start()
        assert writing.wait(60)
        # The engine that locks makes the writer wait here; the other one lets it commit first.
        writer.join(1)
        with suppress(KgprobeError):
            list(uncommitted)
            assert rows(own, f"{HALLE} RETURN r.kgprobe_class AS value") == [{"value": "mine"}]
        writer.join()
    if notes:
        assert notes == [f"1 relationships or nodes {CHANGED_MEANWHILE}"]
        assert "kgprobe_known" not in rows(own, f"{HALLE} RETURN keys(r) AS keys")[0]["keys"]


@ON_ONE
def test_labels_of_other_ids_match_by_triple(own: Graph, table: LabelTable, mapping: Path, tmp_path: Path) -> None:
    acted = [fact for fact in table.rows() if fact.relation == "ACTED_IN"]
    others = [replace(fact, fact=f"Q{number}") for number, fact in enumerate(acted)]
    # Two terms of one triple cannot be told apart.
    twice = [*others[:2], others[2], replace(others[2], fact="Q9")]
    done = write(write_table(tmp_path / "others", twice), own, mapping)
    assert (done.written, done.relations[0].found) == (2, 2)
    assert done.obstacles == {"several labelled facts have its subject, relation and object": 2}
    # Two relationships of one fact both get its label.
    list(own.run_text("MATCH (p {name: 'Halle Berry'}), (m {title: 'Cloud Atlas'}) CREATE (p)-[:ACTED_IN]->(m)", {})[1])
    assert write(write_table(tmp_path / "own", acted), own, mapping).written == 4


@ON_ONE
def test_label_of_one_term_is_not_written_onto_another(
    own: Graph, table: LabelTable, mapping: Path, tmp_path: Path
) -> None:
    keanu = "MATCH (p {name: 'Keanu Reeves'})-[r:ACTED_IN]->(m {title: 'The Matrix'})"
    list(own.run_text(f"{keanu} SET r.since = '1999' CREATE (p)-[:ACTED_IN {{since: '2003'}}]->(m)", {})[1])
    mapping.write_text(MAPPING.replace('label = "acted in"', 'label = "acted in"\nstart = "since"'))
    ends = ("Keanu Reeves", "ACTED_IN", "The Matrix")
    (fact,) = [row for row in table.rows() if (row.subject_name, row.relation, row.object_name) == ends]
    first = replace(fact, fact=fact_id(fact.subject, fact.relation, fact.object, "1999"))
    assert write(write_table(tmp_path / "first", [first]), own, mapping).written == 1
    assert rows(own, f"{keanu} WHERE r.kgprobe_run IS NOT NULL RETURN r.since AS since") == [{"since": "1999"}]
    # Another id of the same triple: both terms are candidates.
    assert write(write_table(tmp_path / "either", [replace(fact, fact="Q1")]), own, mapping).written == 2


@ON_ONE
def test_mapping_without_a_match_names_properties_and_ids(
    own: Graph, table: LabelTable, mapping: Path, tmp_path: Path
) -> None:
    elsewhere = [replace(fact, subject=f"Q{number}", fact=f"f{number}") for number, fact in enumerate(table.rows())]
    with pytest.raises(KgprobeError) as raised:
        write(write_table(tmp_path / "elsewhere", elsewhere), own, mapping)
    message = str(raised.value)
    assert "matches none of the 7 facts of elsewhere. Their relations are " in message
    assert "ACTED_IN (3)" in message
    assert "('Q0', " in message
    assert "'Person:" in message
    assert "nodes Person by 'name' (their properties: known_for, name)" in message
    mapping.write_text(MAPPING.replace('"ACTED_IN"', '"PLAYED_IN"').replace('"DIRECTED"', '"MADE"'))
    mapping.write_text(mapping.read_text().split("[[node_facts]]")[0])
    with pytest.raises(KgprobeError, match=r"looks for relationships PLAYED_IN.*Its relationships are ACTED_IN \(3\)"):
        write(table, own, mapping)


@ON_ONE
def test_graph_of_kgprobe_is_refused(
    graph: Graph, table: LabelTable, mapping: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mapping.write_text(
        '[[entities]]\nlabel = "Entity"\nname = "label"\nid = "id"\n[[relationship_facts]]\ntype = "FACT"'
    )
    monkeypatch.setenv("KGPROBE_FROM_DATABASE", graph.endpoint.database or "")
    monkeypatch.setenv("KGPROBE_FROM_PASSWORD", graph.endpoint.password)
    before = content(graph)
    with pytest.raises(KgprobeError, match=r"`output` is .*, a graph that kgprobe has loaded"):
        kgprobe.write_back(table, graph.endpoint.address, mapping)
    assert content(graph) == before


@ON_ONE
def test_nodes_of_several_facts_and_shared_ids_are_not_writable(own: Graph, table: LabelTable, mapping: Path) -> None:
    list(own.run_text("MATCH (c:Contract), (m:Movie {title: 'Speed'}) CREATE (c)-[:FOR]->(m)", {})[1])
    list(own.run_text("CREATE (:Person {name: 'Halle Berry'})", {})[1])
    done = write(table, own, mapping)
    assert done.obstacles == {
        "several nodes have the id of its subject or object": 1,
        "one node stands for several facts": 1,
        "the fact is a property of a node": 1,
    }
    assert done.written == PLACES - 2


@ON_ONE
def test_command_writes_and_removes(own: Graph, table: LabelTable, mapping: Path) -> None:
    before = content(own)
    environment = {name: value for name, value in os.environ.items() if name.startswith("KGPROBE_")}
    to = ["--output", own.endpoint.address]
    trial = run("beliefs", "write-back", str(table.folder), *to, "--mapping", str(mapping), "--dry-run", **environment)
    assert trial.returncode == 0, trial.stderr
    assert "films: 6 of 7 labelled facts are in the graph." in trial.stdout
    assert content(own) == before
    done = run(
        *("beliefs", "write-back", str(table.folder), *to, "--mapping", str(mapping), "--scheme", "belief", "--json"),
        **environment,
    )
    assert '"written": 6' in done.stdout
    assert {row["class"] for row in rows(own, WRITTEN)} == {"surely known", "leans unknown"}
    assert run("beliefs", "write-back", *to, **environment).returncode == 2
    removed = run("beliefs", "write-back", *to, "--remove", **environment)
    assert removed.stdout == "Removed the labels from 6 relationships and nodes.\n"
    assert content(own) == before


@ON_ONE
def test_queries_of_the_guide_use_the_labels(own: Graph, table: LabelTable, mapping: Path) -> None:
    write(table, own, mapping)
    guide = (REPOSITORY / "docs" / "guides" / "write-back.md").read_text(encoding="utf-8")
    surely, by_person = re.findall(r"```cypher\n(.*?)```", guide, re.DOTALL)
    acted = [fact for fact in table.rows() if fact.relation == "ACTED_IN"]
    assert {row["person"]: row["roles"] for row in rows(own, by_person)} == {"Keanu Reeves": 2, "Halle Berry": 1}
    known = [row["known"] for row in rows(own, by_person) if row["person"] == "Halle Berry"]
    assert known == [fact.known for fact in acted if fact.subject_name == "Halle Berry"]
    # The labels lean; none is sure.
    assert rows(own, surely) == []
    leaning = rows(own, surely.replace("surely unknown", "leans unknown"))
    unknown = sorted((fact.subject_name, fact.object_name, fact.known) for fact in acted if fact.known < 0.5)
    assert [(row["person"], row["movie"], row["known"]) for row in leaning] == unknown


def test_classes_of_the_command_are_the_schemes() -> None:
    from kgprobe.cli.write_back import CLASSES

    assert set(CLASSES) == set(SCHEMES)
