"""The templates commands as a user types them."""

import json
from pathlib import Path

import pytest

from tests.servers.servers import kgprobe


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A user's own folder."""
    return {"KGPROBE_HOME": str(tmp_path_factory.mktemp("home")), "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def sample(home: dict[str, str]) -> object:
    """The sample graph, on a server that runs from test to test."""
    assert kgprobe("graph", "start", "--memory", "512m", **home).returncode == 0
    loaded = kgprobe("load", "sample", **home)
    assert loaded.returncode == 0, loaded.stderr
    yield
    assert kgprobe("graph", "stop", "--force", **home).returncode == 0


@pytest.mark.usefixtures("sample")
def test_list_fills_templates_with_facts(home: dict[str, str]) -> None:
    done = kgprobe("templates", "list", "--relation", "P36", "--as-of", "2024", "--json", **home)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["kind"] for row in rows] == ["cloze"] * 3 + ["past_cloze"] * 3 + [
        "statement",
        "yes_no_question",
        "wh_question",
    ]
    assert {(row["relation"], row["label"]) for row in rows} == {("P36", "capital")}
    assert rows[0]["template"] == "The capital of [X] is [Y]"
    assert rows[0]["sentence"].startswith("The capital of ")
    shown = kgprobe("templates", "list", "--relation", "P36", "--as-of", "2024", **home)
    assert "The capital of" in shown.stdout
    unknown = kgprobe("templates", "list", "--relation", "P9", **home)
    assert (unknown.returncode, unknown.stderr) == (2, "Error: The graph has no relation P9.\n")


@pytest.mark.usefixtures("sample")
def test_check_of_a_graph(home: dict[str, str]) -> None:
    done = kgprobe("templates", "check", **home)
    assert done.returncode == 0, done.stderr
    assert "117 templates of 15 relations: 0 errors, 1 warning." in done.stdout
    found = json.loads(kgprobe("templates", "check", "--json", **home).stdout)
    assert found.keys() == {"relations", "templates", "flaws", "without_clozes", "errors"}
    assert [flaw["template"] for flaw in found["flaws"]] == ["[X] rose to high office as a politician of [Y]"]


def test_check_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "relations.jsonl"
    path.write_text(json.dumps({"id": "P1", "clozes": ["The the head of [X] is [Y]"]}) + '\n{"id": "P2"}\n')
    # No graph is needed.
    done = kgprobe("templates", "check", str(path), KGPROBE_GRAPH="bolt://127.0.0.1:1")
    assert done.returncode == 1
    assert "1 template of 2 relations: 1 error, 0 warnings." in done.stdout
    assert "Without a cloze: 1 relation (P2)" in done.stdout
    assert "Traceback" not in done.stderr
    found = json.loads(kgprobe("templates", "check", str(path), "--json").stdout)
    assert (found["errors"], found["flaws"][0]["problem"]) == (1, "has two determiners in a row: 'The the'")
    missing = kgprobe("templates", "check", str(tmp_path / "none.jsonl"))
    assert (missing.returncode, "none.jsonl" in missing.stderr, "Traceback" in missing.stderr) == (1, True, False)


@pytest.fixture(scope="module")
def bare(home: dict[str, str], sample: object, tmp_path_factory: pytest.TempPathFactory) -> None:  # noqa: ARG001
    """Relations without a cloze, in the sample graph; what looks at all of the graph comes before."""
    folder = tmp_path_factory.mktemp("bare")
    relations = [{"id": "R1", "label": "twin town"}, {"id": "R2"}, {"id": "R3", "label": "ruled by"}]
    (folder / "r.jsonl").write_text("".join(json.dumps(relation) + "\n" for relation in relations))
    facts = [
        ("Q90", "R1", "Q220", ""),
        ("Q64", "R1", "Q84", ""),
        ("Q142", "R3", "Q30", "1999"),
        ("Q90", "R2", "Q84", ""),
    ]
    lines = ["\t".join(fact) for fact in [("subject", "relation", "object", "end"), *facts]]
    (folder / "f.tsv").write_text("\n".join(lines))
    options = ("--relations", str(folder / "r.jsonl"), "--facts", str(folder / "f.tsv"))
    loaded = kgprobe("load", "table", *options, **home)
    assert (loaded.returncode, "4 facts" in loaded.stdout) == (0, True), loaded.stderr


@pytest.mark.usefixtures("bare")
def test_write_from_labels_goes_on_and_loads(home: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "templates.jsonl"
    options = ("templates", "write", "--from-label", "-o", str(path))
    first = kgprobe(*options, "--relation", "R1", "--relation", "P36", "--json", **home)
    assert first.returncode == 0, first.stderr
    [written] = json.loads(first.stdout)["written"]
    assert (written["relation"], written["clozes"]) == ("R1", ["The twin town of [X] is [Y]"])
    assert "Not active, or with clozes already: P36." in first.stderr
    before = path.read_text()
    second = kgprobe(*options, **home)
    assert second.returncode == 0, second.stderr
    assert f"{path} has 1 relation already" in second.stderr
    assert "R2 (R2): it has no label." in second.stderr
    assert "1 relation written" in second.stdout
    assert path.read_text().startswith(before)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["id"] for line in lines] == ["R1", "R3"]
    # Its fact has an end.
    assert (lines[1]["clozes"], lines[1]["past_clozes"]) == (["[X] is ruled by [Y]"], ["[X] was ruled by [Y]"])
    assert kgprobe("templates", "check", str(path)).returncode == 0
    anew = kgprobe(*options, "--force", "--load", "--json", **home)
    assert json.loads(anew.stdout)["loaded"] is True
    listed = kgprobe("templates", "list", "--relation", "R1", "--json", **home)
    assert json.loads(listed.stdout)["template"] == "The twin town of [X] is [Y]"
    path.write_text("no relation\n")
    broken = kgprobe(*options, **home)
    assert (broken.returncode, "line 1: no relation" in broken.stderr, path.read_text()) == (1, True, "no relation\n")


@pytest.mark.usefixtures("bare")
def test_write_says_why_a_model_wrote_nothing(home: dict[str, str], model: str, tmp_path: Path) -> None:
    path = tmp_path / "templates.jsonl"
    done = kgprobe("templates", "write", "--model", model, "-o", str(path), "--relation", "R2", "--json", **home)
    assert (done.returncode, path.read_text()) == (1, "")
    [failed] = json.loads(done.stdout)["failed"]
    assert failed["relation"] == "R2"
    assert "longer than the 256 that the model takes in" in failed["reason"]
    both = kgprobe("templates", "write", "--model", model, "--from-label", **home)
    assert (both.returncode, "either the --model that writes, or --from-label" in both.stderr) == (2, True)


def test_convert_makes_a_file_that_loads(tmp_path: Path) -> None:
    source, path = tmp_path / "P19.jsonl", tmp_path / "templates.jsonl"
    source.write_text(
        '{"pattern": "[X] was born in [Y] ."}\n{"pattern": "[Y] saw the birth of [X]."}\n{"pattern": 1}\n'
    )
    options = ("templates", "convert", str(source), "-o", str(path))
    done = kgprobe(*options, "--json")
    assert (done.returncode, done.stderr) == (0, "P19.jsonl, line 3: a text is expected, not 1.\n")
    assert json.loads(done.stdout) == {
        "output": str(path),
        "relations": 1,
        "clozes": 1,
        "statements": 1,
        "without_cloze": 0,
        "problems": 1,
    }
    assert json.loads(path.read_text())["clozes"] == ["[X] was born in [Y]"]
    assert kgprobe("templates", "check", str(path)).returncode == 0
    again = kgprobe(*options)
    assert (again.returncode, "exists; --force overwrites it" in again.stderr) == (1, True)
    assert kgprobe(*options, "--force").returncode == 0
    source.write_text('{"pattern": "nothing"}\n')
    nothing = kgprobe(*options, "--force")
    assert (nothing.returncode, "nothing is written" in nothing.stderr) == (1, True)
    assert path.read_text()
