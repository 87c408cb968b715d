"""The templates commands as a user types them; what they find is tested in tests/api/test_templates.py."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kgprobe.graph.endpoint import Endpoint
from tests.cli.inprocess import run
from tests.cli.inprocess import run as kgprobe
from tests.models.api.fault_proxy import FaultProxy
from tests.servers.shared import environment_of


def test_list_fills_templates_with_facts(home: dict[str, str]) -> None:
    options = ("templates", "list", "--relation", "P36", "--as-of", "2024")
    rows = [json.loads(line) for line in run(*options, "--json", **home).stdout.splitlines()]
    assert [row["kind"] for row in rows] == [
        *(["cloze"] * 3 + ["past_cloze"] * 3),
        *("statement", "yes_no_question", "wh_question"),
    ]
    assert {(row["relation"], row["label"]) for row in rows} == {("P36", "capital")}
    assert rows[0]["template"] == "The capital of [X] is [Y]"
    assert rows[0]["sentence"].startswith("The capital of ")
    assert "The capital of" in run(*options, **home).stdout
    unknown = run("templates", "list", "--relation", "P9", **home)
    assert (unknown.returncode, unknown.stderr) == (
        2,
        "Error: No relation of this graph is called 'P9'; close to it: P19, P159.\n",
    )


def test_check_of_a_graph(home: dict[str, str]) -> None:
    done = run("templates", "list", "--check", **home)
    assert done.returncode == 0, done.stderr
    assert "123 templates of 15 relations: 0 errors, 1 warning." in done.stdout
    found = json.loads(run("templates", "list", "--check", "--json", **home).stdout)
    assert found.keys() == {"relations", "templates", "flaws", "without_clozes", "errors"}
    assert [flaw["template"] for flaw in found["flaws"]] == ["[X] rose to high office as a politician of [Y]"]


def test_check_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "relations.jsonl"
    path.write_text(json.dumps({"id": "P1", "clozes": ["The the head of [X] is [Y]"]}) + '\n{"id": "P2"}\n')
    # No graph is needed.
    done = kgprobe("templates", "list", str(path), "--check", KGPROBE_GRAPH="bolt://127.0.0.1:1")
    assert done.returncode == 1
    assert "1 template of 2 relations: 1 error, 0 warnings." in done.stdout
    assert "Without a cloze: 1 relation (P2)" in done.stdout
    assert "Traceback" not in done.stderr
    found = json.loads(run("templates", "list", str(path), "--check", "--json").stdout)
    assert (found["errors"], found["flaws"][0]["problem"]) == (1, "has two determiners in a row: 'The the'")
    missing = run("templates", "list", str(tmp_path / "none.jsonl"), "--check")
    assert (missing.returncode, "none.jsonl" in missing.stderr, "Traceback" in missing.stderr) == (1, True, False)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory, add_graph: Callable[[], Endpoint]) -> dict[str, str]:
    """A user's own folder, with a graph whose relations have no cloze."""
    return load_bare(tmp_path_factory.mktemp("bare"), add_graph())


def load_bare(folder: Path, endpoint: Endpoint) -> dict[str, str]:
    """Load relations without templates into a graph, and return the environment of its user."""
    home = {"KGPROBE_HOME": str(folder / "home"), **environment_of(endpoint)}
    relations = [{"id": "R1", "label": "twin town"}, {"id": "R2"}]
    (folder / "r.jsonl").write_text("".join(json.dumps(relation) + "\n" for relation in relations))
    entities = [{"id": f"Q{n}", "label": f"Town {n}"} for n in range(4)]
    (folder / "e.jsonl").write_text("".join(json.dumps(entity) + "\n" for entity in entities))
    (folder / "f.tsv").write_text("subject\trelation\tobject\nQ0\tR1\tQ1\nQ2\tR2\tQ3\n")
    files = {"entities": "e.jsonl", "relations": "r.jsonl", "facts": "f.tsv"}
    options = [f"--{name}={folder / file}" for name, file in files.items()]
    loaded = run("load", "table", *options, **home)
    assert (loaded.returncode, "2 facts" in loaded.stdout) == (0, True), loaded.stderr
    return home


def test_write_from_labels_goes_on_and_loads(bare: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "templates.jsonl"
    options = ("templates", "write", "--from-label", "-o", str(path))
    first = run(*options, **bare, COLUMNS="200")
    assert first.returncode == 0, first.stderr
    assert "The twin town of [X] is [Y]" in first.stdout
    assert f"6 templates of 1 relation, written to {path}." in first.stdout
    assert first.stderr == "R2 (R2): it has no label.\n1 relation still without new templates.\n"
    again = run(*options, "--json", **bare)
    assert json.loads(again.stdout)["kept"] == 1
    assert f"{path} has 1 relation already; --force overwrites it." in again.stderr
    anew = json.loads(run(*options, "--force", "--load", "--json", **bare).stdout)
    assert (anew["loaded"], anew["kept"]) == (True, 0)
    assert anew["written"] == [
        {
            "relation": "R1",
            "label": "twin town",
            "templates": {
                "clozes": ["The twin town of [X] is [Y]"],
                "past_clozes": ["The twin town of [X] was [Y]"],
                "statements": ["The twin town of [X] is [Y]."],
                "yes_no_questions": ["Is [Y] the twin town of [X]?"],
                "wh_questions": ["What is the twin town of [X]?"],
                "reverse_clozes": ["[Y] is the twin town of [X]"],
            },
            "written_by": "label",
            "sources": dict.fromkeys(
                [
                    "clozes",
                    "past_clozes",
                    "statements",
                    "yes_no_questions",
                    "wh_questions",
                    "reverse_clozes",
                ],
                "generic",
            ),
        }
    ]
    listed = run("templates", "list", "--relation", "R1", "--json", **bare)
    assert [json.loads(line)["template"] for line in listed.stdout.splitlines()] == [
        "The twin town of [X] is [Y]",
        "The twin town of [X] was [Y]",
        "The twin town of [X] is [Y].",
        "Is [Y] the twin town of [X]?",
        "What is the twin town of [X]?",
    ]
    path.write_text("no relation\n")
    broken = run(*options, **bare)
    assert (broken.returncode, "line 1: not JSON" in broken.stderr, path.read_text()) == (1, True, "no relation\n")


def test_write_says_why_a_model_wrote_nothing(bare: dict[str, str], model: str, tmp_path: Path) -> None:
    path = tmp_path / "templates.jsonl"
    done = run("templates", "write", "--model", model, "-o", str(path), "--relation", "R2", "--json", **bare)
    assert (done.returncode, path.read_text()) == (1, "")
    [failed] = json.loads(done.stdout)["failed"]
    assert failed["relation"] == "R2"
    assert "longer than the 256 that the model accepts" in failed["reason"]
    assert "Error: No template could be written" in done.stderr
    both = run("templates", "write", "--model", model, "--from-label", **bare)
    assert (both.returncode, "--model or --from-label is expected, exactly one of them" in both.stderr) == (2, True)


TWIN = """\
Sentence: The twin town of [X] is [Y].
Statement: [Y] is the twin town of [X].
Yes/no question: Is [Y] the twin town of [X]?
Wh-question: Twin town [X] is what?
"""


def answer(prompt: str) -> str:
    """Return templates, or a positive second reading."""
    return TWIN if prompt.startswith("Write") else "Yes, it does."


def test_write_by_an_api_model_resumes_after_a_spent_budget(add_graph: Callable[[], Endpoint], tmp_path: Path) -> None:
    bare = load_bare(tmp_path, add_graph())
    path = tmp_path / "templates.jsonl"
    with FaultProxy(upstream=answer) as proxy:
        command = ("templates", "write", "--model", f"openai:m@{proxy.url}", "-o", str(path), "--relation", "R1")
        options = ("--proposals", "2", "--concurrency", "1")
        short = run(*command, *options, "--max-tokens", "3000", **bare)
        assert (short.returncode, path.read_text()) == (1, ""), short.stderr
        assert "Finished relations are in the file; repeat the command to continue." in short.stderr
        paid = len(proxy.seen)
        assert paid > 0
        done = run(*command, *options, **bare, COLUMNS="250")
        assert done.returncode == 0, done.stderr
        # Answers of the first call are cached: two to the same prompt with different seeds, one to each reading.
        bodies = [json.dumps(seen.body, sort_keys=True) for seen in proxy.seen]
        assert len(set(bodies)) == len(bodies) > paid
        [line] = [json.loads(text) for text in path.read_text().splitlines()]
        assert line["sources"] == {
            "clozes": "model",
            "past_clozes": "model",
            "statements": "model",
            "yes_no_questions": "model",
            "wh_questions": "generic",
            "reverse_clozes": "generic",
        }
        assert "To look through" in done.stdout
        asked = len(proxy.seen)
        again = json.loads(run(*command, *options, "--json", **bare).stdout)
        assert (again["written"], again["kept"], len(proxy.seen)) == ([], 1, asked)
        listed = json.loads(run(*command, *options, "--force", "--json", **bare).stdout)
        assert len(proxy.seen) == asked
        doubt = listed["look_through"][0]
        assert (doubt["kind"], doubt["template"]) == ("wh_question", "What is the twin town of [X]?")
        assert "does not begin with a question word" in doubt["reason"]


def test_convert_makes_a_file_that_loads(tmp_path: Path) -> None:
    source, path = tmp_path / "P19.jsonl", tmp_path / "templates.jsonl"
    source.write_text('{"pattern": "[X] was born in [Y] ."}\n{"pattern": 1}\n')
    options = ("templates", "write", "--from", str(source), "-o", str(path))
    done = run(*options, "--json")
    assert (done.returncode, done.stderr) == (0, "P19.jsonl, line 2: a text is expected, not 1.\n")
    assert json.loads(done.stdout) == {
        "output": str(path),
        "relations": 1,
        "clozes": 1,
        "mined_clozes": 0,
        "statements": 0,
        "without_cloze": 0,
        "problems": 1,
    }
    source.write_text('{"pattern": "[X] was born in [Y] ."}\n' + '{"pattern": 1}\n' * 32)
    many = run(*options, "--force")
    assert many.stderr.count("a text is expected") == 20
    assert many.stderr.endswith("… and 12 more.\n")
    again = run(*options)
    assert again.returncode == 1
    assert f"{path} exists; --force overwrites it, --output names another file." in again.stderr
    assert f"{path}: 1 relation, 1 cloze, 0 statements" in run(*options, "--force").stdout
    seeded = run(*options, "--keep", "2")
    assert (seeded.returncode, "--keep has no effect with --from and --mined" in seeded.stderr) == (2, True)
    listed = run("templates", "list", str(path))
    assert (listed.returncode, "FILE is for --check" in listed.stderr) == (2, True)
