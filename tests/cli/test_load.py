"""The load commands as a user types them: what is said of good and of bad input, and with which exit code."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from kgprobe.verbalize.askable_relations import askable_relations
from tests.cli.inprocess import run as kgprobe
from tests.cli.inprocess import succeed
from tests.conftest import require_engine
from tests.graph.servers.shared import environment_of

ENTITY = {"id": "Q142", "label": "France", "aliases": [], "description": "", "types": ["Q6256"]}
FACTS = "subject\trelation\tobject\tstart\tend\n"


@pytest.fixture(scope="module")
def graph_endpoint(add_graph: Callable[[], Endpoint]) -> Endpoint:
    """A graph of this file's own."""
    return add_graph()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, graph_endpoint: Endpoint) -> dict[str, str]:
    """A user's own folder, and that graph."""
    return {"KGPROBE_HOME": str(tmp_path_factory.mktemp("home")), **environment_of(graph_endpoint)}


def write(path: Path, text: str | bytes) -> str:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_load_says_what_it_did(tmp_path: Path, home: dict[str, str]) -> None:
    lines = "\n".join(json.dumps(ENTITY | {"id": f"Q{n}", "label": f"name {n}"}) for n in range(3))
    entities = write(tmp_path / "entities.jsonl", lines)
    facts = write(tmp_path / "facts.tsv", FACTS + "Q0\tP1\tQ1\t2011\t\nQ9\tP1\tQ1\t\t\nQ0\tP1\n")
    done = succeed("load", "table", "--entities", entities, "--facts", facts, **home)
    assert "3 entities, 0 relations, 1 facts" in done.stdout
    assert "1 missing" in done.stdout
    assert "1 unreadable" in done.stdout
    assert "facts.tsv, line 3: the subject Q9" in done.stderr
    assert "facts.tsv, line 4: 2 columns where 5 are expected" in done.stderr
    assert done.stderr.count("Skipped; --strict stops here.") == 2
    assert "Traceback" not in done.stderr
    as_json = json.loads(kgprobe("load", "table", "--entities", entities, "--facts", facts, "--json", **home).stdout)
    assert as_json["entities"] == 3
    assert as_json["skipped"] == {"unreadable": 1, "duplicate": 0, "missing": 1}


def test_strict_and_rejected(tmp_path: Path, home: dict[str, str]) -> None:
    bad = "".join(f"{{'bad': {n}\n" for n in range(30))
    entities = write(tmp_path / "entities.jsonl", bad + json.dumps(ENTITY) + "\n")
    rejected = tmp_path / "rejected.txt"
    done = succeed("load", "table", "--entities", entities, "--rejected", str(rejected), **home)
    assert len(rejected.read_text().splitlines()) == 30
    assert done.stderr.count("entities.jsonl, line") == 20
    assert "--rejected FILE keeps all" in done.stderr
    nowhere = tmp_path / "no folder" / "rejected.txt"
    unwritable = kgprobe("load", "table", "--entities", entities, "--rejected", str(nowhere), **home)
    assert unwritable.returncode == 1
    assert unwritable.stderr.startswith(f"Error: The file of skipped records {nowhere} cannot be written: No such file")
    strict = kgprobe("load", "table", "--entities", entities, "--strict", **home)
    assert strict.returncode == 1
    assert strict.stderr.startswith("Error: entities.jsonl, line 1: ")
    assert "Traceback" not in strict.stderr
    assert "Traceback" in kgprobe("load", "table", "--entities", entities, "--strict", "--debug", **home).stderr


def test_files_and_their_names_cannot_steer_the_terminal(tmp_path: Path, home: dict[str, str]) -> None:
    facts = write(tmp_path / "\x1b[2J.tsv", "subject\trelation\tobject\n\x1b[2Js\tp\t\x9b31mo\nQ404\tp\tx\u202ey\n")
    rejected = tmp_path / "rejected.txt"
    done = kgprobe("load", "table", "--facts", facts, "--rejected", str(rejected), **home)
    wrong = kgprobe("load", "table", "--facts", write(tmp_path / "x", "\x1b[2Ja\tb\n"), **home)
    unknown = kgprobe("load", "\x1b[2J", **home)
    for text in (done.stdout, done.stderr, rejected.read_text(), wrong.stderr, unknown.stderr):
        assert not set("\x1b\x9b\u202e") & set(text)
    assert "\\x1b[2J.tsv, line 2: " in rejected.read_text()


def test_thirty_facts_of_my_own(tmp_path: Path, home: dict[str, str], graph_endpoint: Endpoint) -> None:
    rows = [
        "Subject;relation;object;start",
        "Alien;director;Ridley Scott;1979",
        "Blade Runner;director;Ridley Scott;",
        "Ridley Scott;place of birth;South Shields;",
        "Alien;director;Ridley Scott;nineteen",
    ]
    done = kgprobe("load", "table", write(tmp_path / "films.csv", "\n".join(rows) + "\n"), **home)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "films.csv: 4 entities, 2 relations, 3 facts.")
    assert "films.csv, line 5: 'nineteen' is not a date" in done.stderr
    with Graph(graph_endpoint) as graph:
        rows = askable_relations(graph, ["clozes"])
    assert {relation: row["clozes"] for relation, row in rows.items()} == {
        "director": ["The director of [X] is [Y]"],
        "place of birth": ["The place of birth of [X] is [Y]"],
    }
    assert all(row["generic"] for row in rows.values())


def test_load_that_loads_nothing_fails_and_says_why(tmp_path: Path, home: dict[str, str]) -> None:
    done = kgprobe("load", "wikidata", write(tmp_path / "dump.json", ""), **home)
    assert (done.returncode, "is empty" in done.stderr) == (1, True)
    done = kgprobe("load", "table", write(tmp_path / "films.csv", "subject,relation,object\nAlien,director\n"), **home)
    assert done.returncode == 1
    assert "Error: Nothing was loaded from films.csv; 1 records were left out." in done.stderr
    assert "films.csv, line 2: 2 columns where 3 are expected" in done.stderr


@pytest.mark.parametrize(
    ("loader", "name", "content", "fault"),
    [
        ("table", "films.csv", "subject,relation,object\nAlien,director\n", "Error: Nothing was loaded from films.csv"),
        ("table", "films.csv", 'subject,relation,object\nA,r,B\n"C,r,D\n', "Error: Only a part of films.csv"),
        (
            "dbpedia",
            "own.ttl",
            "<http://a/x> <http://a/p> <http://a/y> .\n",
            "own.ttl, line 1: http://a/x is not of DBpedia",
        ),
    ],
)
def test_failed_load_prints_no_import_command(
    tmp_path: Path, home: dict[str, str], loader: str, name: str, content: str, fault: str
) -> None:
    files = tmp_path / "files"
    done = kgprobe("load", loader, write(tmp_path / name, content), "--bulk-files", str(files), **home)
    assert done.returncode == 1
    assert fault in done.stderr
    assert "neo4j-admin" not in done.stdout + done.stderr
    # Files of nothing are not left for an import.
    assert files.exists() == ("A,r,B" in content)


def test_import_files_are_written_and_the_command_is_told(tmp_path: Path, home: dict[str, str]) -> None:
    entities = write(tmp_path / "entities.jsonl", json.dumps(ENTITY))
    facts = write(tmp_path / "facts.tsv", FACTS + "Q142\tP47\tQ142\t\t\nQ142\tP47\tQ9\t\t\n")
    given = ["load", "table", "--entities", entities, "--facts", facts]
    files = tmp_path / "the files"
    done = succeed(*given, "--bulk-files", str(files), "--json", **home)
    said = json.loads(done.stdout)
    assert (said["entities"], said["facts"], said["skipped"]["missing"]) == (1, 1, 1)
    assert "facts.tsv, line 3: the object Q9" in done.stderr
    assert f"cd '{files}' && neo4j-admin database import full neo4j --overwrite-destination" in done.stderr
    assert "--bad-tolerance=0" in done.stderr
    assert f"--finish-import '{files}' --graph bolt://HOST:7687 in place of --bulk-files" in done.stderr
    again = kgprobe(*given, "--bulk-files", str(files), **home)
    assert (again.returncode, again.stdout) == (2, "")
    assert f"--bulk-files is {files}, which exists" in again.stderr
    # A graph that was not imported from them is not finished.
    kept = kgprobe(*given, "--bulk-files", str(files), "--remove-missing", **home)
    assert (kept.returncode, "--remove-missing has no effect with --bulk" in " ".join(kept.stderr.split())) == (2, True)
    wrong = kgprobe(*given, "--finish-import", str(files), **home)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "--graph was not imported from the files in" in wrong.stderr


@pytest.mark.parametrize(
    ("graph", "said"),
    [
        ("bolt://127.0.0.1:9", "--graph is bolt://127.0.0.1:9, a running server; only its administrator"),
        ("FOLDER", "a graph of arcadedb; an import needs Neo4j"),
    ],
)
def test_what_cannot_take_an_import_is_told(
    graph: str, said: str, home: dict[str, str], graph_endpoint: Endpoint
) -> None:
    require_engine("neo4j")
    named = str(graph_endpoint.folder) if graph == "FOLDER" else graph
    done = kgprobe("load", "example", "--bulk", "--graph", named, **home)
    assert (done.returncode, done.stdout, "Traceback" in done.stderr) == (2, "", False)
    assert said in done.stderr
